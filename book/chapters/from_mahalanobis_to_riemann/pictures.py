"""The figures of the chapter."""

from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import nn

from book.chapters.from_mahalanobis_to_riemann.toys import Ruler, Toy, log_volume
from book.figures import figures
from book.figures.figures import GREY
from support.geometry import geodesic, pullback_metric, square
from support.networks.architectures import architecture
from support.networks.gaussians import Gaussian

BOUNDARY, CLASS = "#009E73", "#cccccc"  # neither is the colour of an activation
EXPECTED: dict[str, Any] = {"color": "black", "linestyle": (0, (2.2, 1.1)), "linewidth": 3}
MEASURED: dict[str, Any] = {"color": figures.HUES["relu"], "linewidth": 1.3, "alpha": 0.75}
HALF = 1.3  # length of these lines


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


def directions_figure(
    toys: dict[str, tuple[Toy, list[nn.Sequential]]], title: str, fits: dict[str, np.ndarray], circle: float
):
    """Two classes and the directions in which layers are most sensitive to them; below, mismatches on images.

    toys: title -> data, and networks of ReLUs. The ellipses are the classes; over them lies a line for each hidden
    layer and, dashed, that of a layer with the ruler of the class. The metrics are means over a class. title: of the
    panel below. fits: name -> mismatches, (n,). circle: that of a metric that is the same in all directions.
    """
    reach = [max(abs(float(g.mean[0])) for g in data.gaussians) + 1.75 for data, _ in toys.values()]
    fig, axes = figures.subplots(2, len(toys), height=4.0, squeeze=False, width_ratios=reach, height_ratios=(2, 1.15))
    for ax in axes[1, 1:]:
        ax.remove()
    axes[1][0].set_subplotspec(axes[0][0].get_gridspec()[1, :])
    _mismatches(axes[1][0], fits, circle)
    axes[1][0].set_title(title)
    for ax, half, (name, (data, networks)) in zip(axes[0], reach, toys.items(), strict=True):
        for c, g in enumerate(data.gaussians):
            _circles(ax, g.mean[None], g.precision[None], _longer(g, g.precision), color=CLASS, linewidth=0)
            members = data.x[data.labels == c]
            layers = [pullback_metric(network[:2], members).mean(0) for network in networks]
            for look, metric in [*((MEASURED, layer) for layer in layers), (EXPECTED, g.precision)]:
                along = HALF * most_sensitive(metric)
                ax.plot(*torch.stack([g.mean - along, g.mean + along]).T, **look)
        ax.set(title=name, xticks=[], yticks=[], xlim=(-half, half), ylim=(-0.9, 2.9))
        ax.set_aspect("equal", anchor="N")  # below its title
        ax.grid(visible=False)
        ax.spines[:].set_visible(False)
    for words, place, look in (
        ("expected", (-2.5, 2.3), {"color": "black", "ha": "right"}),
        (f"measured in\n{len(networks)} networks", (-3.7, -0.35), {"color": MEASURED["color"], "va": "top"}),
        ("the classes", (0, 0.55), {"color": "#666666", "ha": "center"}),
    ):
        axes[0][0].text(*place, words, fontsize=9, **look)
    return fig


def _mismatches(ax, fits: dict[str, np.ndarray], circle: float) -> None:
    """Dots in a row for each of the named sets, over a bar at their mean; dashed, the mismatch of a circle."""
    ax.axvline(circle, color="black", linestyle="--", linewidth=1)
    ax.text(circle - 0.02, 0.5, "no direction\npreferred", ha="right", va="center", fontsize=9)
    for y, (name, values) in enumerate(fits.items()):
        ax.plot(np.sort(values), y - 0.25 + 0.5 * figures.jitter(len(values)), ".", color=GREY, alpha=0.45)
        mean = float(np.mean(values))
        ax.plot([mean, mean], [y - 0.38, y + 0.38], color="black", linewidth=2.5)
        ax.text(np.max(values) + 0.03, y, f"{mean:.2f}", va="center", fontsize=9, weight="bold")
        ax.text(0.02, y, name, va="center", fontsize=9)
    figures.name_rows(ax, [""] * len(fits))
    ax.tick_params(axis="y", length=0)
    ax.set_xlim(0, 1.12 * max(map(np.max, fits.values())))
    ticks = np.arange(0, ax.get_xlim()[1], 0.5)
    ax.set_xticks(ticks, ["0: perfect", *(f"{tick:.1f}" for tick in ticks[1:])])
    ax.get_xticklabels()[0].set_ha("left")
    ax.set_xlabel("how badly the metric fits its class (mismatch, nats)")


def most_sensitive(metric: torch.Tensor) -> torch.Tensor:
    """The direction in which a metric in the plane is largest, (2,), of length 1."""
    return torch.linalg.eigh(metric)[1][:, 1]


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
    from matplotlib.patches import Ellipse

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
