"""The ledger: every claim of the book with its verdict, in the order of the chapters."""

from collections.abc import Iterable

from support.chapters import classifier_claims as classifiers
from support.chapters.infinite_width import laws
from support.chapters.mahalanobis import claims as mahalanobis
from support.chapters.volume_element import claims as volume
from support.evidence.records import Record, Store


def ledger(store: Iterable[Record] | None = None) -> list[dict]:
    """Every claim with its verdict, in the order of the chapters; by default on the committed records."""
    records = list(Store() if store is None else store)
    return [*classifiers.ledger(records), *mahalanobis.ledger(records), *volume.ledger(records), *laws.ledger()]


def ids() -> list[str]:
    """What the claims of the ledger are called, in its order; none is judged."""
    return [claim.id for claim in (*classifiers.CLAIMS, *mahalanobis.CLAIMS, *volume.CLAIMS, *laws.LAWS)]
