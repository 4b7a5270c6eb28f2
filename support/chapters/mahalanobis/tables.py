"""The tables of the chapter on the Mahalanobis distance."""

import time

import numpy as np
import pandas as pd
import torch

from support.chapters.mahalanobis import claims
from support.chapters.mahalanobis.claims import ERROR
from support.chapters.mahalanobis.landscape import Bottom, bound, descend, reach, walk
from support.chapters.mahalanobis.quadratic import quadratic_fit
from support.evidence.distances.measures import best, geometry, precision_error, sphericity, sphericity_floor
from support.evidence.distances.recovery import own_rotations
from support.evidence.distances.results import DistanceArm, weights
from support.networks.distance_networks import exact, initial_weights, module
from support.networks.gaussians import DistanceData, draw

SHOWN = {
    "error": "error (%)",
    "train_mse": "MSE, training",
    "test_mse": "MSE, fresh",
    "centring_mean": "plane to mean, mean",
    "centring_median": "median",
    "centring_mahalanobis": "median, in SD",
    "centre_error": "implied centre, in SD",
    "precision_error": "precision error",
    "sphericity": "sphericity",
    "sphericity_excess": "excess",
    "eigenvector_cosine": "|cosine|",
    "eigenvalue_error": "|log eigenvalue|",
}


def summary(arm: DistanceArm):
    """A row a measure, a column a network: median over the trials, least and largest."""
    rows = {}
    for network in arm.study.networks:
        of = arm.of(network)[list(SHOWN)]
        for name, values in (("median", of.median()), ("least", of.min()), ("largest", of.max())):
            rows[network, name] = values.rename(SHOWN)
    return pd.DataFrame(rows).style.format("{:.2g}")


def rotations(data: DistanceData, solutions: dict[str, tuple]) -> pd.DataFrame:
    """What changes and what does not when an exact network's units are rotated: title -> (W, b)."""
    shown = ("test_mse", "precision_error", "centre_error", "sphericity", "eigenvector_cosine", "eigenvalue_error")
    found = {title: geometry("MD_Abs", *solution, data, 199) for title, solution in solutions.items()}
    table = pd.DataFrame(found).T[list(shown)].rename(columns=SHOWN)
    return table.map(lambda x: f"{0.0 if x < 1e-12 else x:.2g}")


def floors(arm: DistanceArm) -> pd.DataFrame:
    """Sphericity as the source had it, all units counted, beside the least that so many units can have."""
    d, rows = arm.study.dimension, {}
    for network in arm.study.networks:
        units = [(r, weights(r, arm.study.steps)[0]) for r in arm.records if r.spec.network == network]
        found = [sphericity(W, r.spec.draw().gaussian) for r, W in units]
        k = len(units[0][1]) if units else 0
        rows[network] = [k, sphericity_floor(k, d), np.min(found), np.median(found)]
    columns = ["units", "least possible", "least found", "median found"]
    return pd.DataFrame.from_dict(rows, orient="index", columns=columns).round(2)


def pairs(arms: list[DistanceArm]) -> pd.DataFrame:
    """Mirrored pairs of MD_ReLU, by direction alone and in earnest, and what exchanging them for Abs units costs."""
    rows = []
    for arm in arms:
        of, d = arm.of("MD_ReLU"), arm.study.dimension
        for word, some in (("match the distance", of[of["error"] < ERROR]), ("do not", of[~(of["error"] < ERROR)])):
            change = (some["surgery_after"] / some["surgery_before"]).median()
            counts = [some["mirrored_pairs"].mean(), some["abs_pairs"].mean(), d]
            rows.append([arm.name, word, len(some), *counts, int(some["surgery_before"].notna().sum()), change])
    columns = ["arm", "networks that", "n", "pairs by direction", "that act as Abs", "of", "operated on", "MSE x"]
    return _blank(pd.DataFrame(rows, columns=columns).set_index(["arm", "networks that"]).round(2))


def _blank(table: pd.DataFrame) -> pd.DataFrame:
    """With nothing where there is no number."""
    return table.astype(object).where(table.notna(), "")


def recovery(arms: list[DistanceArm], rotations: int = 99) -> pd.DataFrame:
    """Matched |cosine| of rows and eigenvectors beside the median rotation's, and how many trials beat chance.

    "beat themselves": as many MD_Abs whose rows are nearer than all but a CHANCE of rotations of the same rows.
    """
    rows = []
    for arm in arms:
        own = {}
        for run in (r for r in arm.records if r.spec.network == "MD_Abs"):
            W, gaussian = weights(run, arm.study.steps)[0], run.spec.draw().gaussian
            value = arm.table.loc[("MD_Abs", run.spec.seed), "eigenvector_cosine"]
            as_good = (own_rotations(W, gaussian, rotations) >= value).sum()
            own[run.spec.seed] = (1 + as_good) / (1 + rotations) <= claims.CHANCE
        for network in ("MD_Abs", "MD_ReLU"):
            of = arm.of(network)
            learned = of[of["error"] < ERROR]
            for word, some in (("all", of), ("match the distance", learned)):
                beat = int((some["eigenvector_cosine_p"] <= claims.CHANCE).sum())
                medians = some[["eigenvector_cosine", "eigenvector_cosine_chance"]].median()
                themselves = f"{sum(own[t] for t in some.index)}" if network == "MD_Abs" else ""
                rows.append(
                    [arm.name, network, word, *medians, len(some), claims.CHANCE * len(some), beat, themselves]
                )
    columns = [
        "arm",
        "network",
        "trials",
        "|cosine|",
        "by chance",
        "n",
        "would beat it by luck",
        "beat chance",
        "beat themselves",
    ]
    return _blank(pd.DataFrame(rows, columns=columns).set_index(["arm", "network", "trials"]).round(3))


def descents(arm: DistanceArm, trials: int, evaluations: int = 300, starts_only: bool = False) -> pd.DataFrame:
    """Levenberg-Marquardt from where Adam stopped and from where it started, trial by trial.

    "curvature": the smallest eigenvalue of the Hessian, of an MD_Abs without the rotations of its units; "weakest":
    the smallest singular value of W Sigma^(1/2), which is 1 where all directions are learned.
    """
    rows = []
    for run in (r for r in arm.records if r.spec.network != "MD_Sigmoid" and r.spec.seed < trials):
        network, data = run.spec.network, run.spec.draw()
        begins = {
            "Adam's end": weights(run, arm.study.steps),
            "Adam's start": initial_weights(network, run.spec.seed, data.train[0]),
        }
        if starts_only:
            del begins["Adam's end"]
        for begin, (W, b) in begins.items():
            found: Bottom = descend(network, W, b, *data.train, evaluations)
            percent = 100 * found.error**0.5 / float(data.train[1].mean())
            adam = float(arm.table.loc[(network, run.spec.seed), "error"])
            turns = 0 if network == "MD_ReLU" else _turns(arm.study.dimension)
            least = min(sorted(found.curvatures, key=abs)[turns:])  # along a rotation it is 0, at a saddle too
            weakest = float(torch.linalg.svdvals(found.weight @ torch.linalg.cholesky(data.gaussian.covariance))[-1])
            row = [network, begin, run.spec.seed, adam, percent, found.gradient, least, weakest, found.evaluations]
            rows.append(row)
    columns = ["network", "from", "trial", "Adam (%)", "error (%)", "gradient", "curvature", "weakest"]
    columns += ["evaluations"]
    return pd.DataFrame(rows, columns=columns)


def _turns(d: int) -> int:
    return d * (d - 1) // 2  # so many directions are rotations of the units, along which nothing changes


def descended(table: pd.DataFrame) -> pd.DataFrame:
    """`descents` counted: how many match the distance, after Adam and after the descent, and where the others end."""
    rows = []
    for (network, begin), some in table.groupby(["network", "from"]):
        short = some[~(some["error (%)"] < ERROR)]
        settled = short[short["gradient"] < 1e-6]
        levels = ", ".join(f"{v:.1f}% ({n})" for v, n in short["error (%)"].round(1).value_counts().head(3).items())
        rows.append([network, begin, len(some), int((some["Adam (%)"] < ERROR).sum()), len(some) - len(short)])
        rows[-1] += [len(settled), levels, some["evaluations"].median()]
    columns = ["network", "from", "n", "match after Adam", "after descent", "settled short of it", "at (how many)"]
    return pd.DataFrame(rows, columns=[*columns, "evaluations, median"]).set_index(["network", "from"])


def closed_form(arms: list[DistanceArm]) -> pd.DataFrame:
    """The quadratic form fitted by least squares to each arm's first sample, beside the best of Adam's networks."""
    rows = {}
    for arm in arms:
        data = draw(arm.study.data, arm.study.samples)
        begun = time.perf_counter()
        M, centre = quadratic_fit(*data.train)
        took = time.perf_counter() - begun
        networks = arm.of("MD_Abs")
        learned = networks.iloc[best(networks["validation_mse"])]
        minutes = np.median([r.minutes for r in arm.records])
        rows[arm.name, "closed form"] = [
            f"{1000 * took:.1f} ms",
            fitted_error(M, centre, data),
            precision_error(M, data.gaussian),
        ]
        rows[arm.name, "best MD_Abs"] = [f"{60 * minutes:.2g} s", learned["test_mse"], learned["precision_error"]]
    columns = ["took", "MSE, fresh", "precision error"]
    index = pd.MultiIndex.from_tuples(list(rows)) if rows else None
    return pd.DataFrame(list(rows.values()), index=index, columns=columns).map(
        lambda v: v if isinstance(v, str) else f"{v:.1e}"
    )


def fitted_error(M, centre, data: DistanceData) -> float:
    """Mean squared error on fresh points of the distance that a fitted form gives."""
    x, y = data.test
    squared = torch.einsum("ni,ij,nj->n", x - centre, M, x - centre)
    return float((squared.clamp_min(0).sqrt() - y).square().mean())


def rounding(dimensions=(2, 10, 100)) -> pd.DataFrame:
    """What float32 alone costs: the exact network, its weights and points rounded."""
    rows = {}
    for d in dimensions:
        data = draw(f"gaussian-{d}", 1000)
        x, y = data.test
        with torch.no_grad():
            found = module("MD_Abs", *(v.float() for v in exact(data.gaussian)))(x.float()).double()
        values = data.gaussian.eigen[0]
        error = 100 * float((found - y).square().mean().sqrt() / y.mean())
        matches = "yes" if error < ERROR else "no"
        rows[f"d = {d}"] = [f"{float(values[0] / values[-1]):,.3g}", f"{error:.2g}", matches]
    columns = ["largest over smallest eigenvalue", "error of the exact network (%)", "matches"]
    return pd.DataFrame.from_dict(rows, orient="index", columns=columns)


def precisions(double: DistanceArm, single: DistanceArm) -> pd.DataFrame:
    """Errors of the same trials in float64 and in float32, in percent: median, least and largest; on the points that
    were trained on, too; and the largest difference that the precision makes to a trial."""
    rows = {}
    for network in double.study.networks:
        one, other = double.of(network), single.of(network)["error"]
        seen = one["error"] * (one["train_mse"] / one["test_mse"]) ** 0.5
        rows[network] = [f"{e.median():.2f} [{e.min():.2f}, {e.max():.2f}]" for e in (one["error"], seen, other)]
        rows[network].append(f"{(one['error'] - other).abs().max():.2g}")
    columns = ["float64 (%)", "on the training points (%)", "float32 (%)", "largest change of a trial (points)"]
    return pd.DataFrame.from_dict(rows, orient="index", columns=columns)


def ways(arm: DistanceArm, epochs: int) -> str:
    """How far an arm's MD_Abs have to walk, and how far Adam gets in its epochs and in so many, in a sentence."""
    gaussian = draw(arm.study.data, arm.study.samples).gaussian
    least = [
        walk(gaussian, initial_weights("MD_Abs", r.spec.seed, r.spec.draw().train[0])[1])
        for r in arm.records
        if r.spec.network == "MD_Abs"
    ]
    steps = arm.study.steps
    return (
        f"In {arm.study.dimension} dimensions some bias of each of these {len(least)} MD_Abs has to move by "
        f"{min(least):.0f} to {max(least):.0f}, at least, to be part of an exact network. In {steps:,} epochs Adam "
        f"moves it by {reach(steps):.0f} steadily and {bound(steps):.0f} at the most, in {epochs:,} by "
        f"{reach(epochs):.0f} and {bound(epochs):.0f}."
    )


def consequences(arms: list[DistanceArm]) -> str:
    """Of all networks that match the distance, how many are centred, whiten and pair up, in a sentence."""
    found = {"n": 0, "centred": 0, "whitens": 0, "relus": 0, "pairs": 0}
    for arm in (a for a in arms if a.trials):
        for network in ("MD_Abs", "MD_ReLU"):
            yes = claims.matches(arm, network)
            found["n"] += int(yes.sum())
            found["centred"] += int((yes & claims.centred(arm, network)).sum())
            found["whitens"] += int((yes & claims.whitens(arm, network)).sum())
        found["relus"] += int(yes.sum())
        found["pairs"] += int((yes & claims.pairs_up(arm, "MD_ReLU")).sum())
    return (
        f"Of the {found['n']} recorded MD_Abs and MD_ReLU that match the distance, {found['centred']} are centred "
        f"and {found['whitens']} whiten; of the {found['relus']} MD_ReLU among them, {found['pairs']} have half of "
        "their units or more in mirrored pairs that act as absolute values."
    )


def breaking(arms: list[DistanceArm]) -> pd.DataFrame:
    """Share of trials that match the distance, median error, and how long an exact row is at least at its longest."""
    rows = []
    for arm in arms:
        gaussian = draw(arm.study.data, arm.study.samples).gaussian
        for network in arm.study.networks:
            error = arm.of(network)["error"]
            matched = f"{int((error < ERROR).sum())} of {len(error)}"
            rows.append([arm.study.name, network, matched, error.median(), float(gaussian.precision.trace() ** 0.5)])
    columns = ["study", "network", "match", "median error (%)", "length of all rows"]
    return pd.DataFrame(rows, columns=columns).set_index(["study", "network"]).round(2)
