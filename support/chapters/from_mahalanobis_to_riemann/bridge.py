"""From the Mahalanobis distance to Riemannian geometry: the toys, tables and figures of the last chapter.

A `Measure` is a map of a chapter on the Mahalanobis distance with the Gaussian that it should know: the exact
whitening, or the hidden layer of a trained network. What `classifiers.class_metrics` finds of classifiers is in their
records.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import nn

from support.activations import ACTIVATIONS
from support.evidence import figures, statistics
from support.evidence.distances.results import DistanceArm, weights
from support.geometry import geodesic, line, path_length, pullback_metric, ricci_scalar
from support.networks.architectures import architecture
from support.networks.data import Dataset
from support.networks.distance_networks import exact, module
from support.networks.gaussians import DistanceData, Gaussian
from support.networks.layers import Neg, OffsetL2
from support.training.classifiers.class_metrics import Frame, discriminant_share, spread
from support.training.classifiers.specs import MetricSpec

SMOOTH = ("whitening", "trained MD_Sigmoid")  # the maps with two derivatives everywhere
GREY = "#888888"


# -- one Gaussian, several maps -----------------------------------------------------------------------------------


def maps(data: DistanceData, arm: DistanceArm) -> dict[str, nn.Module]:
    """Title -> map (d,) -> (k,): the exact whitening, its folds, and the hidden layers of an arm's best networks."""
    W, b = exact(data.gaussian)
    found = {
        "whitening": module("MD_Abs", W, b)[:1],
        "whitening, Abs": module("MD_Abs", W, b)[:2],
        "whitening, mirrored ReLUs": module("MD_ReLU", torch.cat([W, -W]), torch.cat([b, -b]))[:2],
    }
    if arm.trials:
        runs = {(r.spec.network, r.spec.seed): r for r in arm.records}
        for place in arm.best().items():
            found[f"trained {place[0]}"] = module(place[0], *weights(runs[place], arm.study.steps))[:2]
    return {title: f.requires_grad_(False) for title, f in found.items()}


def ends(gaussian: Gaussian, pairs: int, seed: int = 0) -> torch.Tensor:
    """(pairs, 2, d): ends of segments, drawn from the Gaussian."""
    generator = torch.Generator().manual_seed(seed)
    z = torch.randn(2 * pairs, gaussian.dimension, generator=generator, dtype=torch.float64)
    values, vectors = gaussian.eigen
    return (gaussian.mean + (z * values.sqrt()) @ vectors).view(pairs, 2, -1)


def facts(data: DistanceData, found: dict[str, nn.Module], pairs: int = 4, points: int = 200) -> pd.DataFrame:
    """What each map makes of the Gaussian; the first points of the training set, and segments between such points.

    "spread" (nats) of the mean metric against the precision; "unit", the root of the mean eigenvalue of Sigma G, by
    which the map's unit of length is larger than the Mahalanobis distance's; "volume varies", the SD of the
    log-volume over the points, in nats; "median |R|", where the map has two derivatives; "geodesic", the mean
    length of shortest paths over unit times the Mahalanobis distance, NaN where one was not found; "straight", the
    same of straight segments.
    """
    x, rows = data.train[0][:points], {}
    for title, f in found.items():
        G = pullback_metric(f, x).mean(0)
        L = torch.linalg.cholesky(data.gaussian.covariance)
        scale = float(torch.linalg.eigvalsh(L.T @ G @ L).mean().sqrt())
        ratios = []
        for a, b in ends(data.gaussian, pairs):
            distance = scale * float(Gaussian(b, data.gaussian.covariance).distance(a))
            try:
                length = geodesic(f, a, b, points=25).length
            except RuntimeError:  # of a metric that nearly vanishes, a polygon finds no shortest path
                length = np.nan
            ratios.append([length / distance, path_length(f, line(a, b, 200)) / distance])
        volume = log_volume(f, x)
        rows[title] = [float(spread(G, data.gaussian.covariance)), scale, float(volume.std())]
        curved = float(ricci_scalar(f, x).abs().median()) if title in SMOOTH else np.nan
        rows[title] += [curved, *np.mean(ratios, 0)]
    columns = ["spread", "unit", "volume varies", "median |R|", "geodesic", "straight"]
    return pd.DataFrame.from_dict(rows, orient="index", columns=columns)


def shortening(f, pairs: torch.Tensor) -> float:
    """Mean length of the shortest paths between the pairs (P, 2, d), over that of straight segments."""
    found = [geodesic(f, a, b, points=33) for a, b in pairs]
    return float(np.mean([path.length / path.straight for path in found]))


def log_volume(f, x):
    """Of points (N, d); -inf where the metric is singular, as behind hyperplanes of ReLUs without a mirror image."""
    J = torch.linalg.slogdet(pullback_metric(f, x))
    return torch.where(J.sign > 0, J.logabsdet / 2, -torch.inf)


def geodesics_figure(panels: dict[str, tuple], half: float = 3.0):
    """One panel a map: log-volume over the plane, ellipses of the Gaussians, segments (dashed) and shortest paths.

    panels: title -> (map, Gaussians, ends (pairs, 2, 2)); half: side of a panel, in SDs of all that is in it.
    """
    fig, axes = figures.subplots(1, len(panels), height=2.7, squeeze=False)
    drawn = {}
    for title, (f, gaussians, _) in panels.items():
        means = torch.stack([g.mean for g in gaussians])
        mean, reach = means.mean(0), half * float(max(g.covariance.diagonal().max() for g in gaussians)) ** 0.5
        reach += float((means - mean).abs().max())
        side = torch.linspace(-reach, reach, 60, dtype=torch.float64)  # even: the centre itself may be on a fold
        grid = torch.stack(torch.meshgrid(mean[0] + side, mean[1] + side, indexing="xy"), -1)
        volume = log_volume(f, grid.view(-1, 2)).view(60, 60)
        drawn[title] = grid, volume - volume.median()
    bound = max(float(volume.abs().max()) for _, volume in drawn.values())
    for ax, (title, (f, gaussians, pairs)) in zip(axes[0], panels.items(), strict=True):
        grid, volume = drawn[title]
        low, high = grid[0, 0].tolist(), grid[-1, -1].tolist()
        image = ax.imshow(
            volume,
            origin="lower",
            extent=(low[0], high[0], low[1], high[1]),
            cmap="PuOr",
            vmin=-bound,
            vmax=bound,
        )
        for g in gaussians:
            ax.contour(grid[..., 0], grid[..., 1], g.distance(grid), (1, 2), colors="black", linewidths=0.6)
        for a, b in pairs:
            path = geodesic(f, a, b, points=33).points
            ax.plot(*torch.stack([a, b]).T, "--o", color="black", linewidth=1, markersize=3.5)
            ax.plot(*path.T, "-", color="black", linewidth=1.8)
        ax.set(title=title, aspect="equal", xticks=[], yticks=[])
        ax.grid(visible=False)
    fig.colorbar(image, ax=axes[0].tolist(), shrink=0.8, label="log-volume (nats)")
    return fig


# -- three classes in the plane -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Toy:
    """Three Gaussian classes: points x (N, 2) and their labels, and the Gaussians."""

    x: torch.Tensor
    labels: torch.Tensor
    gaussians: tuple[Gaussian, ...]


def toy(members: int = 150, seed: int = 0) -> Toy:
    """Three long thin classes that point in different directions."""
    generator, x, gaussians = torch.Generator().manual_seed(seed), [], []
    for centre, degrees in (((-2.0, 0.0), 90), ((2.0, 0.5), 30), ((0.0, 3.0), -20)):
        angle = torch.tensor(degrees * torch.pi / 180, dtype=torch.float64)
        along = torch.stack([angle.cos(), angle.sin()])
        axes = torch.stack([along, torch.stack([-along[1], along[0]])], 1) * torch.tensor([1.2, 0.3]).double()
        mean = torch.tensor(centre, dtype=torch.float64)
        x.append(mean + torch.randn(members, 2, generator=generator, dtype=torch.float64) @ axes.T)
        gaussians.append(Gaussian(mean, axes @ axes.T))
    return Toy(torch.cat(x), torch.arange(3).repeat_interleave(members), tuple(gaussians))


def toy_ends(data: Toy) -> torch.Tensor:
    """(6, 2, 2): from centre to centre, and along each class."""
    means = torch.stack([g.mean for g in data.gaussians])
    along = torch.stack([1.8 * g.eigen[0][0].sqrt() * g.eigen[1][0] for g in data.gaussians])
    return torch.cat([torch.stack([means, means.roll(1, 0)], 1), torch.stack([means - along, means + along], 1)])


def toy_networks(data: Toy, hidden: int = 32, steps: int = 400, seed: int = 0) -> dict[str, nn.Sequential]:
    """Title -> network, trained by Adam on the cross-entropy, float64, all from the same first layer."""
    kinds = {
        "Abs, linear head": ("abs", False),
        "tanh, linear head": ("tanh", False),
        "tanh, OffsetL2": ("tanh", True),
    }
    found = {}
    for title, (activation, distances) in kinds.items():
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            layers = [nn.Linear(2, hidden), ACTIVATIONS[activation].module()]
            layers += [OffsetL2(hidden, 3, "paper"), Neg()] if distances else [nn.Linear(hidden, 3)]
        network = nn.Sequential(*layers).double()
        adam = torch.optim.Adam(network.parameters(), lr=0.02)
        for _ in range(steps):
            adam.zero_grad()
            nn.functional.cross_entropy(network(data.x), data.labels).backward()
            adam.step()
        found[title] = network.requires_grad_(False)
    return found


def toy_figure(data: Toy, networks: dict[str, nn.Sequential]):
    """One panel a network: points, decision boundary, and at the points of a grid the unit circle of the metric that
    its hidden layer pulls back, all circles of a panel in one unit."""
    from matplotlib.patches import Ellipse

    fig, axes = figures.subplots(1, len(networks), height=2.4, squeeze=False, sharex=True, sharey=True)
    side = torch.linspace(-4, 4, 9, dtype=torch.float64)
    grid = torch.stack(torch.meshgrid(side, side + 1.2, indexing="xy"), -1).view(-1, 2)
    fine = torch.linspace(-4.5, 4.5, 181, dtype=torch.float64)
    plane = torch.stack(torch.meshgrid(fine, fine + 1.2, indexing="xy"), -1)
    for ax, (title, network) in zip(axes[0], networks.items(), strict=True):
        for c, marker in enumerate("os^"):
            ax.plot(*data.x[data.labels == c].T, marker, color="#bbbbbb", markersize=1.5)
        classes = network(plane.view(-1, 2)).argmax(1).view(181, 181)
        for c in range(3):
            ax.contour(plane[..., 0], plane[..., 1], (classes == c).double(), (0.5,), colors=GREY, linewidths=0.8)
        values, vectors = torch.linalg.eigh(pullback_metric(network[:2], grid))
        radii = values.clamp_min(1e-12).rsqrt()
        unit = 0.42 / float(radii[:, 0].quantile(0.9))  # eigenvalues ascend, so the first radius is the longer
        for x, r, v in zip(grid, radii * unit, vectors, strict=True):
            angle = float(torch.atan2(v[1, 0], v[0, 0]).rad2deg())
            ax.add_patch(Ellipse(x.tolist(), *(2 * r).tolist(), angle=angle, fill=False, linewidth=0.8))
        ax.set(title=title, aspect="equal", xticks=[], yticks=[], xlim=(-4.5, 4.5), ylim=(-3.3, 5.7))
        ax.title.set_fontsize(9)
        ax.grid(visible=False)
    return fig


# -- classifiers, from their records ------------------------------------------------------------------------------


def table(records: Iterable) -> pd.DataFrame:
    """A row for each network and seed: mean over the classes of what `classifiers.class_metrics.metrics` finds, by
    when.

    "own before", "own", "others", "slope before", "slope", "discriminant before", "discriminant" (percent), the same
    with "head" for OffsetL2 heads, "euclid";
    "effect before", "effect", "same effect before", "same effect", "contrast before" and "contrast" of the logits at
    the boundary after training (see `geometry.boundary`), "contrast gained"; "hidden contrast before" and "hidden
    contrast" of the hidden layer; "accuracy" in percent. Differences of spreads: "trained - untrained",
    "own - others", "head: own - others" and "head - Euclid".
    """
    rows = {}
    for r in records:
        a = r.arrays
        row = {"accuracy": a["test_accuracy"][-1], "euclid": a["euclid"].mean()}
        for name in ("own", "others", "slope", "discriminant"):
            for stored, title in ((name, name), (f"head_{name}", f"head {name}")):
                if stored in a:
                    values = 100 * a[stored] if name == "discriminant" else a[stored].mean(1)
                    row[f"{title} before"], row[title] = values
        for stored in ("effect", "same_effect", "contrast"):
            name = stored.replace("_", " ")
            row[f"{name} before"], row[name] = a[stored][:, 1]
        row["contrast gained"] = row["contrast"] - row["contrast before"]
        row["trained - untrained"], row["own - others"] = row["own"] - row["own before"], row["own"] - row["others"]
        if "head own" in row:
            row["head: own - others"] = row["head own"] - row["head others"]
            row["head - Euclid"] = row["head own"] - row["euclid"]
        row["hidden contrast before"], row["hidden contrast"] = a["contrast"][:, 0]
        rows[r.spec.architecture, r.spec.seed] = row
    index = pd.MultiIndex.from_tuples(list(rows), names=["network", "seed"]) if rows else None
    return pd.DataFrame(list(rows.values()), index=index).sort_index()


def summary(found: pd.DataFrame, columns: dict[str, str]) -> pd.DataFrame:
    """Mean over the seeds with its 95% interval, by network; columns: of `table` -> heading."""

    def said(values):
        if values.isna().any():
            return ""
        return f"{statistics.mean_interval(values.to_numpy(float)):.2f}"

    names = list(dict.fromkeys(found.index.get_level_values(0)))
    found = found.reindex(columns=list(columns))  # without OffsetL2 there is no head to tell of
    rows = {name: [said(found.loc[name][c]) for c in columns] + [len(found.loc[name])] for name in names}
    return pd.DataFrame.from_dict(rows, orient="index", columns=[*columns.values(), "n"])


def spreads_figure(found: dict[str, pd.DataFrame]):
    """One panel a data set: every network's spread before training, after, and of its OffsetL2 head."""
    kinds: dict[str, tuple[Any, Any]] = {
        "hidden layer, untrained": ("own before", {"marker": "o", "mfc": "white"}),
        "hidden layer, trained": ("own", {"marker": "o"}),
        "OffsetL2 head, trained": ("head own", {"marker": "D"}),
    }
    fig, axes = figures.subplots(1, len(found), height=3.3, squeeze=False, sharey=True)
    for ax, (title, one) in zip(axes[0], found.items(), strict=True):
        names = list(dict.fromkeys(one.index.get_level_values(0)))
        for place, name in enumerate(names):
            hue = figures.HUES[architecture(name).hidden]
            for shift, (column, look) in zip((-0.25, 0, 0.25), kinds.values(), strict=True):
                if column in one and one.loc[name][column].notna().all():
                    values = np.sort(one.loc[name][column])
                    aside = 0.14 * (figures.jitter(len(values)) - 0.5)
                    ax.plot(place + shift + aside, values, linestyle="none", color=hue, markersize=4, **look)
        ax.axhline(one["euclid"].mean(), color="black", linestyle="--", linewidth=1)
        for where, name in ((one["euclid"].mean(), "Euclid"), (0, "Mahalanobis")):
            ax.text(len(names) - 0.45, where, name, ha="right", va="bottom", fontsize=8)
        ax.set_xticks(
            range(len(names)), [n.replace("-L2-Paper-Neg", "\nOffsetL2").replace("-Bias", "\nlinear") for n in names]
        )
        ax.tick_params(axis="x", labelsize=7)
        ax.set(title=title, xlim=(-0.6, len(names) - 0.4))
        ax.grid(axis="x", visible=False)
    axes[0][0].set_ylabel("spread against the precision (nats)")
    axes[0][0].set_ylim(bottom=0)  # last: it ends the search for limits that all panels share
    from matplotlib.lines import Line2D

    handles = [Line2D([], [], color="black", linestyle="none", label=k, **look) for k, (_, look) in kinds.items()]
    fig.legend(handles=handles, loc="outside lower center", ncols=3)
    return fig


def headline(found: pd.DataFrame) -> str:
    """In how many networks of a `table` training moved the metric where; spreads, and contrasts by head."""
    if not len(found):
        return "No network of the study is recorded yet."
    mean = found.groupby(level=0).mean()
    linear, l2 = ([n for n in mean.index if (architecture(n).head == head)] for head in ("linear", "offset_l2"))

    def span(values):
        low, high = f"{values.min():.2f}", f"{values.max():.2f}"
        return low if low == high else f"{low} to {high}"

    nearer = (found["own"] < found["own before"]).sum()
    towards = (found["discriminant"] > found["discriminant before"]).sum()
    return (
        f"Training brought the metric of the hidden layer nearer to the precisions of the classes in {nearer} of "
        f"{len(found)} networks, and turned it towards the directions in which class centres differ in {towards}. "
        f"Spread against the precision of a class: {span(mean['own before'])} nats "
        f"before training, {span(mean['own'])} after, by network; Euclid's is {span(mean['euclid'])}. Contrast at "
        f"the boundary: {span(mean.loc[linear, 'contrast'])} with linear heads, {span(mean.loc[l2, 'contrast'])} "
        f"with OffsetL2 (means over {len(found) // len(mean)} networks of each kind)."
    )


def contrast_sentence(title: str, found: pd.DataFrame) -> str:
    """The contrast of each OffsetL2 network minus that of the linear head with the same activation, by seed, after
    training; and by how much training changed it."""
    names, said = list(dict.fromkeys(found.index.get_level_values(0))), []
    linear = {architecture(n).hidden: n for n in names if architecture(n).head == "linear"}
    for l2 in (n for n in names if architecture(n).head == "offset_l2" and architecture(n).hidden in linear):
        other = linear[architecture(l2).hidden]
        columns = ["contrast", "contrast gained"]
        difference = (found.loc[l2][columns] - found.loc[other][columns]).dropna().to_numpy(float)
        if len(difference) > 1:
            after, gained = map(statistics.mean_interval, difference.T)
            said.append(
                f"{l2} minus {other}, {after:+.2f} nats after training, which changed it by {gained:+.2f} nats "
                f"(n = {after.n})"
            )
    return f"{title}: {'; '.join(said)}." if said else f"{title}: too few networks."


def references(spec: MetricSpec, dataset: Dataset) -> dict[str, float]:
    """What metrics that nobody trained score on the images of a run, in the directions of
    `classifiers.class_metrics.look`.

    Means over the classes of the spread, in nats, of "Euclid", the "pooled" precision, "another" class's precision;
    "Euclid's share" in the directions in which centres differ, and the "variance" in the directions, in percent.
    """
    frame = Frame.asked_for(spec, dataset)
    euclid, precisions = torch.eye(spec.components).double(), torch.linalg.inv(frame.covariances)
    every = spread(precisions[:, None], frame.covariances[None])
    classes = len(every)
    return {
        "Euclid": float(spread(euclid, frame.covariances).mean()),
        "pooled": float(spread(torch.linalg.inv(frame.covariances.mean(0)), frame.covariances).mean()),
        "another": float((every.sum() - every.trace()) / (classes * (classes - 1))),
        "Euclid's share": 100 * float(discriminant_share(euclid, frame)),
        "variance": 100 * frame.share,
    }
