"""Records of runs, statistics, rules and verdicts; `say` and `claim` put them into sentences."""

from support.evidence.prose import claim, say

__all__ = ["claim", "say", "table"]


def table(folder=None):
    """All recorded runs as a pandas frame, a row for each run; `export.COLUMNS` explains its columns.

    folder: a folder of records; by default the committed ones.
    """
    from support.evidence import export, records  # here, so that importing the package stays cheap

    return export.table(records.Store(*[folder] if folder else []))
