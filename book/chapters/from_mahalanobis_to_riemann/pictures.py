"""The figures of the chapter."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import torch
from matplotlib.patches import Ellipse
from torch import nn

from book.chapters.from_mahalanobis_to_riemann.toys import Ruler, Toy, log_volume
from book.figures import figures
from book.figures.figures import GREY
from support.geometry import geodesic, pullback_metric, square
from support.networks.architectures import architecture
from support.networks.gaussians import Gaussian

BOUNDARY, CLASS = "#009E73", "#cccccc"  # neither is the colour of an activation
STEPS = {"along": "A  along\nthe class", "across": "B  across\nthe class", "towards": "C  towards\nanother class"}


def geodesics_figure(panels: dict[str, tuple]):
    """One panel a map: log-volume over the plane, ellipses of the Gaussians, segments (thin) and shortest paths.

    panels: title -> (map, Gaussians, ends (pairs, 2, 2)).
    """
    fig, axes = figures.subplots(1, len(panels), height=3.0, squeeze=False)
    drawn = {}
    for title, (f, gaussians, _) in panels.items():
        means = torch.stack([g.mean for g in gaussians])
        mean, reach = means.mean(0), 3 * float(max(g.covariance.diagonal().max() for g in gaussians)) ** 0.5
        side = _side(reach + float((means - mean).abs().max()), 60)  # even: the centre itself may be on a fold
        grid = torch.stack(torch.meshgrid(mean[0] + side, mean[1] + side, indexing="xy"), -1)
        volume = log_volume(f, grid.view(-1, 2)).view(60, 60)
        drawn[title] = grid, volume - volume.median()
    bound = max(float(volume.abs().max()) for _, volume in drawn.values())
    for ax, (title, (f, gaussians, pairs)) in zip(axes[0], panels.items(), strict=True):
        grid, volume = drawn[title]
        (left, low), (right, high) = grid[0, 0].tolist(), grid[-1, -1].tolist()
        look = {"cmap": "PuOr", "vmin": -bound, "vmax": bound}
        image = ax.imshow(volume.numpy(), origin="lower", extent=(left, right, low, high), **look)
        for g in gaussians:
            ax.contour(*grid.unbind(-1), g.distance(grid), (1, 2), colors="black", linewidths=0.6)
        for a, b in pairs:
            ax.plot(*geodesic(f, a, b, points=33).points.T, "-", color="black", linewidth=3)
            ax.plot(*torch.stack([a, b]).T, "--o", color="black", linewidth=1.1, markersize=6)
        ax.set(title=title, aspect="equal", xticks=[], yticks=[])
        ax.grid(visible=False)
    fig.colorbar(image, ax=axes[0].tolist(), shrink=0.8, label="log-volume (nats)")
    return fig


def steps_figure(before: pd.DataFrame, after: pd.DataFrame, own: Mapping[str, float]):
    """Left, a sketch of three equal steps from the middle of a class. Right, how much they count in layers.

    before, after: a row for each network, with "network", its kind, and a column for each of STEPS. own: the same for
    the metric of the class. The unit of all is the mean over all directions.
    """
    fig, (sketch, ax) = figures.subplots(1, 2, height=2.9, width_ratios=(1, 1.7))
    _three_steps(sketch)
    of_hidden = after["network"].map(lambda kind: figures.HUES[architecture(kind).hidden])
    for row, name in enumerate(STEPS):
        for runs, height, filled in ((before, row - 0.17, False), (after, row + 0.17, True)):
            for hue, values in runs[name].groupby(of_hidden.to_numpy()):
                spread = height + 0.22 * figures.jitter(len(values))
                ax.plot(values, spread, ".", color=hue, mfc=hue if filled else "white", alpha=0.6)
        ax.plot([own[name]] * 2, [row - 0.38, row + 0.38], color="black", linewidth=3)
    figures.name_rows(ax, list(STEPS.values()))
    for label in ax.get_yticklabels():
        label.set_ha("left")
    ax.tick_params(axis="y", length=0, pad=68)
    ax.axvline(1, color=GREY, linewidth=1, linestyle="--", zorder=0)
    ax.set(xlim=(0, 2), xlabel="how much the step counts (1: an average step)")
    ax.text(own["along"] + 0.05, 0, "metric of\nthe class", va="center", fontsize=9)
    for height, words in ((0.83, "layers before training"), (1.17, "after training")):
        ax.text(0.91, height, words, ha="right", va="center", fontsize=9)
    return fig


def _three_steps(ax) -> None:
    """A class, another, and arrows of one length along the class, across it, and towards the other."""
    other, look = (3.1, 0.9), {"arrowstyle": "-|>", "linewidth": 1.8, "shrinkA": 0, "shrinkB": 0}
    for centre, angle, words in (((0.0, 0.0), 60, "the class"), (other, 110, "another")):
        ax.add_patch(Ellipse(centre, 3.8, 1.5, angle=angle, color=CLASS, linewidth=0))
        ax.text(centre[0], -2.15, words, color="#666666", ha="center", fontsize=9)
    for letter, turn in zip("ABC", np.deg2rad([60, 150, 16]), strict=True):
        end = 1.25 * np.array([np.cos(turn), np.sin(turn)])
        ax.annotate("", end, (0, 0), arrowprops=look)
        ax.text(*1.22 * end, letter, weight="bold", ha="center", va="center", bbox=figures.PLATE)
    ax.set(xlim=(-1.9, 4.3), ylim=(-2.3, 3.0), xticks=[], yticks=[], aspect="equal")
    ax.grid(visible=False)
    ax.spines[:].set_visible(False)


def toy_figure(data: Toy, networks: dict[str, nn.Sequential]):
    """One panel a network: the ellipse of each class, filled, and unit circles of the metric of the hidden layer.

    These are of the metric at the points of a grid, with one length. The ellipses reach 1.5 standard deviations.
    """
    fig, axes = figures.subplots(1, len(networks), height=2.5, squeeze=False, sharex=True, sharey=True)
    grid = torch.cartesian_prod(_side(3.8, 9), _side(3.8, 9) + 1.0)
    for ax, (title, network) in zip(axes[0], networks.items(), strict=True):
        _boundary(ax, network)
        for g in data.gaussians:
            _circles(ax, g.mean[None], g.precision[None], _longer(g, g.precision), color=CLASS)
        _circles(ax, grid, pullback_metric(network[:2], grid), 0.4, fill=False, linewidth=0.8)
        ax.set(title=title, aspect="equal", xticks=[], yticks=[], xlim=(-4.2, 4.2), ylim=(-3.2, 5.2))
        ax.grid(visible=False)
    return fig


def _boundary(ax, network: nn.Sequential) -> None:
    """Where the network changes its mind, in the plane of the toys."""
    plane = torch.cartesian_prod(_side(4.2, 181), _side(4.2, 181) + 1.0)
    classes = network(plane).argmax(1).view(181, 181)
    for c in range(int(classes.max()) + 1):
        ax.contour(*plane.view(181, 181, 2).unbind(-1), classes == c, (0.5,), colors=BOUNDARY, linewidths=0.8)


def _longer(g: Gaussian, metric: torch.Tensor) -> float:
    """The longer radius of a unit circle of the metric with the area of the Gaussian's ellipse."""
    least, most = torch.linalg.eigvalsh(metric).tolist()
    return 1.5 * float(g.covariance.det()) ** 0.25 * (most / least) ** 0.25


def _side(half: float, points: int) -> torch.Tensor:
    return torch.linspace(-half, half, points, dtype=torch.float64)


def _circles(ax, grid: torch.Tensor, metric: torch.Tensor, size: float, **look):
    """The unit circles of a metric, (N, 2, 2), at points (N, 2), each scaled to a longer radius of this size."""
    values, vectors = torch.linalg.eigh(metric)
    radii = values.clamp_min(1e-12).rsqrt()
    radii = size * radii / radii[:, :1]  # eigenvalues ascend, so the first radius is the longer
    for x, r, v in zip(grid, radii, vectors, strict=True):
        angle = float(torch.atan2(v[1, 0], v[0, 0]).rad2deg())
        ax.add_patch(Ellipse(x.tolist(), *(2 * r).tolist(), angle=angle, **look))


def rulers_figure(found: dict[str, Ruler], count: int = 121):
    """One panel a metric on the square: log-volume over its median, unit circles, and the boundary that is predicted.

    The log-volumes share one scale.
    """
    fig, axes = figures.subplots(1, len(found), height=3.4, squeeze=False, sharex=True, sharey=True)
    side = np.linspace(-1, 1, count)
    fine, grid = square(count), square(7, 0.84)
    volumes = {title: ruler.log_volume(fine) for title, ruler in found.items()}
    bound = max(float((v - v.median()).abs().quantile(0.99)) for v in volumes.values())
    for ax, (title, ruler) in zip(axes[0], found.items(), strict=True):
        over = (volumes[title] - volumes[title].median()).view(count, count).numpy()
        classes = ruler.predict(fine).view(count, count).numpy()
        image = ax.pcolormesh(side, side, over, cmap="PuOr", vmin=-bound, vmax=bound, rasterized=True)
        _circles(ax, grid, ruler.metric(grid), 0.13, fill=False, linewidth=0.8)
        ax.contour(side, side, classes, (0.5,), colors=BOUNDARY, linewidths=1.8)
        ax.set(title=title, aspect="equal", xticks=(-1, 0, 1), yticks=(-1, 0, 1), xlabel="$x_1$")
        ax.set(xlim=(-1, 1), ylim=(-1, 1))
        ax.grid(visible=False)
    axes[0][0].set_ylabel("$x_2$")
    bar: dict[str, Any] = {"extend": "both", "location": "bottom", "shrink": 0.4, "aspect": 30}
    fig.colorbar(image, ax=axes[0].tolist(), label="magnification, over the median (nats)", **bar)
    return fig


def slopes_figure(
    found: pd.DataFrame, name: str, label: str, lines: dict[str, float], turned: pd.Series | None = None
):
    """Every network of `numbers.by_network` as a line from its value before training to that after, by kind.

    name: a column that also exists with " before"; with "head ", where it exists, a diamond for the OffsetL2 head.
    label: of the axis. lines: horizontal ones, title -> value. turned: by kind, that of its metrics at random angles.
    """
    fig, ax = figures.subplots(height=3.7)
    kinds = list(dict.fromkeys(found.index.get_level_values(0)))
    end = 2.4 * len(kinds) - 0.75
    for left, kind in zip(2.4 * np.arange(len(kinds)), kinds, strict=True):
        hue, some = figures.HUES[architecture(kind).hidden], found.loc[kind]
        both = some[[f"{name} before", name]].to_numpy()
        ax.plot([left, left + 1], both.T, color=hue, linewidth=0.9, alpha=0.7)
        for x, values, face in ((left, both[:, 0], "white"), (left + 1, both[:, 1], hue)):
            ax.plot([x] * len(some), values, "o", color=hue, mfc=face)
        if f"head {name}" in some and some[f"head {name}"].notna().all():
            ax.plot([left + 1.35] * len(some), some[f"head {name}"], "D", color=hue, alpha=0.7)
        if turned is not None:
            ax.plot([left + 0.72, left + 1.28], [turned[kind]] * 2, color="black", linewidth=2.5, zorder=3)
    for title, value in lines.items():
        ax.axhline(value, color="black", linestyle="--", linewidth=1)
        ax.text(end, value, f" {title}", va="center", fontsize=9)
    heads = {"offset_l2": "OffsetL2"}
    names = [f"{kind.split('-')[0]}\n{heads.get(architecture(kind).head, 'linear')}" for kind in kinds]
    ax.set_xticks([2.4 * p + 0.5 for p in range(len(kinds))], names)
    ax.set(ylabel=label, xlim=(-0.4, end))
    ax.grid(axis="x", visible=False)
    shown = [("untrained", "o", "white"), ("trained", "o", GREY), ("OffsetL2 head, trained", "D", GREY)]
    for title, marker, face in shown[: 3 if f"head {name}" in found else 2]:
        ax.plot([], [], marker, color=GREY, mfc=face, linestyle="none", label=title)
    if turned is not None:
        ax.plot([], [], color="black", linewidth=2.5, label="trained, turned at random")
    figures.legend_below(fig, ax, 4 if turned is not None else 3)
    return fig
