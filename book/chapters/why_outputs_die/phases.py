"""The phase diagram: what a network reaches, by the size of its first layer's steps and first preactivations.

A `study.PhaseGrid` trains every architecture at the same points in every input scaling; `law.runs` has its runs.
Scaling the inputs by c is scaling the first layer's weights by c and their rate by c squared; so if these two sizes
are all that an input scaling does, both scalings draw the same picture. `explained` says how far they do.
"""

import pandas as pd

APART = 10.0  # points of accuracy between the means of the scalings at one point of the grid: it leaves the axes


def explained(runs: pd.DataFrame) -> pd.Series:
    """Percent of the variance of test accuracy that the two axes explain, by architecture, over seeds and scalings.

    One minus the variance within the grid's points over the total, both unbiased (adjusted R^2). What is left differs
    between seeds or between scalings at one point. NaN with one network a point, or where nothing varies.
    """
    total = runs.groupby("network")["accuracy"].var()
    within = runs.groupby(["network", "curvature", "preactivation"])["accuracy"].var().groupby("network").mean()
    return 100 * (1 - within / total)


def leaving(runs: pd.DataFrame) -> pd.DataFrame:
    """The points that leave the axes: where the scalings are over APART points of accuracy apart, farthest first.

    A row for each point: its network, its coordinates, and the mean test accuracy of each scaling in percent.
    """
    points = ["network", "curvature", "preactivation"]
    means = runs.pivot_table("accuracy", points, "scaling").rename_axis(columns=None)
    means["apart"] = means.max(axis=1) - means.min(axis=1)
    far = means[means["apart"] > APART].sort_values("apart", ascending=False)
    return far.rename_axis(index={"curvature": "rate x curvature"}).round(1)
