"""The figures of the chapter."""

import numpy as np
import pandas as pd
import torch
from torch import nn

from book.chapters.from_mahalanobis_to_riemann.rulers import Ruler
from book.chapters.from_mahalanobis_to_riemann.toys import Toy, log_volume
from book.figures import figures
from book.figures.figures import GREY
from support.geometry import geodesic, pullback_metric, square
from support.networks.architectures import architecture

BOUNDARY, CLASS = "#009E73", "#bbbbbb"  # neither is the colour of an activation


def geodesics_figure(panels: dict[str, tuple]):
    """One panel a map: log-volume over the plane, ellipses of the Gaussians, segments (thin) and shortest paths.

    panels: title -> (map, Gaussians, ends (pairs, 2, 2)).
    """
    fig, axes = figures.subplots(1, len(panels), height=3.0, squeeze=False)
    drawn = {}
    for title, (f, gaussians, _) in panels.items():
        means = torch.stack([g.mean for g in gaussians])
        mean, reach = means.mean(0), 3 * float(max(g.covariance.diagonal().max() for g in gaussians)) ** 0.5
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
            volume.numpy(),
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
            ax.plot(*path.T, "-", color="black", linewidth=3)
            ax.plot(*torch.stack([a, b]).T, "--o", color="black", linewidth=1.1, markersize=6)
        ax.set(title=title, aspect="equal", xticks=[], yticks=[])
        ax.grid(visible=False)
    fig.colorbar(image, ax=axes[0].tolist(), shrink=0.8, label="log-volume (nats)")
    return fig


def circles_figure(data: Toy, networks: dict[str, nn.Sequential]):
    """One panel a network: points, decision boundary, ellipses of the classes, and at the points of a grid the unit
    circle of the metric that its hidden layer pulls back."""
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
            ax.contour(plane[..., 0], plane[..., 1], (classes == c).double(), (0.5,), colors=BOUNDARY, linewidths=0.8)
        for g in data.gaussians:
            ax.contour(plane[..., 0], plane[..., 1], g.distance(plane), (1, 2), colors=CLASS, linewidths=0.8)
        _circles(ax, grid, pullback_metric(network[:2], grid), 0.42, fill=False, linewidth=0.8)
        ax.set(title=title, aspect="equal", xticks=[], yticks=[], xlim=(-4.5, 4.5), ylim=(-3.3, 5.7))
        ax.grid(visible=False)
    return fig


def shapes_figure(data: Toy, networks: dict[str, nn.Sequential], sds: float = 1.5):
    """One panel a network: the ellipse of each class, filled, and the unit circle of the hidden layer's mean metric.

    sds: how far the ellipses of the classes reach, in standard deviations. The circles have the area of the ellipses.
    """
    fig, axes = figures.subplots(1, len(networks), height=2.6, squeeze=False, sharex=True, sharey=True)
    side = torch.linspace(-4.2, 4.2, 181, dtype=torch.float64)
    plane = torch.stack(torch.meshgrid(side, side + 1.0, indexing="xy"), -1)
    for ax, (title, network) in zip(axes[0], networks.items(), strict=True):
        classes = network(plane.view(-1, 2)).argmax(1).view(181, 181)
        for c, g in enumerate(data.gaussians):
            ax.contour(plane[..., 0], plane[..., 1], (classes == c).double(), (0.5,), colors=BOUNDARY, linewidths=0.8)
            learned = pullback_metric(network[:2], data.x[data.labels == c]).mean(0)
            for metric, look in ((g.precision, {"color": "#cccccc"}), (learned, {"fill": False, "linewidth": 1.6})):
                least, most = torch.linalg.eigvalsh(metric).tolist()
                longer = sds * float(g.covariance.det()) ** 0.25 * (most / least) ** 0.25
                _circles(ax, g.mean[None], metric[None], longer, **look)
        ax.set(title=title, aspect="equal", xticks=[], yticks=[], xlim=(-4.2, 4.2), ylim=(-3.2, 5.2))
        ax.grid(visible=False)
    return fig


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
    every = axes[0].tolist()
    label = "magnified: log-volume (nats)"
    fig.colorbar(image, ax=every, label=label, extend="both", location="bottom", shrink=0.4, aspect=30)
    return fig


def slopes_figure(found: pd.DataFrame, name: str, label: str, lines: dict[str, float]):
    """Every network of `results.table` as a line from its value before training to that after, by kind of network.

    name: a column that also exists with " before"; with "head ", where it exists, a diamond for the OffsetL2 head.
    label: of the axis. lines: horizontal ones, title -> value.
    """
    fig, ax = figures.subplots(height=3.7)
    kinds = list(dict.fromkeys(found.index.get_level_values(0)))
    for place, kind in enumerate(kinds):
        hue, some = figures.HUES[architecture(kind).hidden], found.loc[kind]
        for _, row in some.iterrows():
            before, after = row[f"{name} before"], row[name]
            ax.plot([2.4 * place, 2.4 * place + 1], [before, after], color=hue, linewidth=0.9, alpha=0.7)
            ax.plot(2.4 * place, before, "o", color=hue, mfc="white")
            ax.plot(2.4 * place + 1, after, "o", color=hue)
        if f"head {name}" in some and some[f"head {name}"].notna().all():
            ax.plot([2.4 * place + 1.35] * len(some), some[f"head {name}"], "D", color=hue, alpha=0.7)
    for title, value in lines.items():
        ax.axhline(value, color="black", linestyle="--", linewidth=1)
        ax.text(2.4 * len(kinds) - 0.75, value, f" {title}", va="center", fontsize=9)
    names = [kind.split("-")[0] for kind in kinds]
    heads = ["OffsetL2" if architecture(n).head == "offset_l2" else "linear" for n in kinds]
    ax.set_xticks([2.4 * p + 0.5 for p in range(len(kinds))], map("\n".join, zip(names, heads, strict=True)))
    ax.set(ylabel=label, xlim=(-0.4, 2.4 * len(kinds) - 0.75))
    ax.grid(axis="x", visible=False)
    shown = {"untrained": ("o", "white"), "trained": ("o", GREY), "OffsetL2 head, trained": ("D", GREY)}
    for title, (marker, face) in list(shown.items())[: 3 if f"head {name}" in found else 2]:
        ax.plot([], [], marker, color=GREY, mfc=face, linestyle="none", label=title)
    figures.legend_below(fig, ax, 3)
    return fig
