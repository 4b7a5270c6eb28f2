"""The measured metrics of the classifiers as a table, from their records."""

import pandas as pd


def table(runs: pd.DataFrame) -> pd.DataFrame:
    """The numbers of classifiers (`numbers.measured_metric`) by network and seed; runs: the frame of a study."""
    by_network = runs.rename(columns={"architecture": "network"}).set_index(["network", "seed"])
    return by_network.sort_index().select_dtypes("number")
