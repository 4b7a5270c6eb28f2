"""The figures of the chapter on the volume element. Every network is sigmoid, so black; grey is a control."""

import math

import numpy as np
import torch

from support import geometry
from support.chapters.volume_element.results import at, through_training, weights
from support.evidence import figures
from support.geometry.boundary import along
from support.training.sigmoid import views
from support.training.sigmoid.stack import logits
from support.training.sigmoid.views import hidden_layers, hidden_map, log_volume

HALF = 1.5  # of the square that the source draws
CLIP = 100.0  # curvatures are clipped to +-CLIP before they are drawn, as the source's
GREY = "#888888"


def grid(points: int, half: float = HALF) -> torch.Tensor:
    """Points of an even grid on the square, (points^2, 2), rows along x2."""
    side = torch.linspace(-half, half, points, dtype=torch.float64)
    return torch.stack(torch.meshgrid(side, side, indexing="xy"), -1).reshape(-1, 2)


def ricci_map(w, x, layer=None):
    """sign(R) log10(1 + |R|), R the Ricci scalar of a hidden layer, by default the last, clipped to +-CLIP; NaN where
    rounding may change R by more than a hundredth, of |R| or of 1."""
    layer = layer or hidden_layers(w)
    if len(w["b1"]) == 2:  # as many units as inputs: the map is a change of coordinates, and flat
        return torch.zeros(len(x), dtype=torch.float64)
    if layer == 1:
        R, error = geometry.shallow_ricci_scalar(w["W1"], w["b1"], "sigmoid", x, with_error=True)
    else:
        R, error = geometry.ricci_scalar(hidden_map(w, layer), x, with_error=True)
    R = torch.where(error <= R.abs().clamp_min(1) / 100, R, torch.nan)
    R = R.clamp(-CLIP, CLIP)
    return R.sign() * torch.log10(1 + R.abs())


def probability_map(w, x, layer=None):
    """Probability that the network gives to class 1."""
    return logits(w, x).softmax(-1)[:, 1]


QUANTITIES = {  # map, label of the colour bar, colours, and their ends or None
    "volume": (log_volume, "log-volume\n(nats)", "cividis", None),
    "ricci": (ricci_map, r"sign$(R)\,\log_{10}(1+|R|)$", "RdBu_r", np.log10(1 + CLIP)),
    "class": (probability_map, "probability of class 1", "PuOr_r", None),
}


def maps(axes, networks, quantity: str, points: int, layer: int | None = None):
    """Draws a quantity for the networks, of a hidden layer (by default the last), all on one colour scale, with their
    boundaries."""
    f, label, colours, end = QUANTITIES[quantity]
    x, side = grid(points), np.linspace(-HALF, HALF, points)
    values = [f(w, x, layer).view(points, points).numpy() for w in networks]
    low, high = (-end, end) if end else (0, 1) if quantity == "class" else np.quantile(values, [0.02, 1])
    for ax, w, v in zip(axes, networks, values, strict=True):
        ax.set(xticks=(-1, 0, 1), yticks=(-1, 0, 1), aspect="equal")
        ax.grid(visible=False)
        ax.set_facecolor(GREY)  # shows through where a value is NaN
        image = ax.pcolormesh(side, side, v, cmap=colours, vmin=low, vmax=high, shading="nearest", rasterized=True)
        margin = (logits(w, x) @ torch.tensor([-1.0, 1.0], dtype=torch.float64)).view(points, points).numpy()
        if margin.min() < 0 < margin.max():
            ax.contour(side, side, margin, [0], colors="white" if quantity == "volume" else "black", linewidths=1)
    bar = {"extend": "min"} if quantity == "volume" else {"extend": "both"} if end else {}
    axes[0].figure.colorbar(image, ax=list(axes), label=label, shrink=0.95, **bar)


def stages_figure(run, epochs, points: int = 40):
    """Rows volume, curvature and prediction, columns epochs, of one network."""
    networks = [weights(run, epoch) for epoch in epochs]
    fig, axes = figures.subplots(3, len(epochs), height=5.2, squeeze=False, sharex=True, sharey=True)
    for row, quantity in zip(axes, QUANTITIES, strict=True):
        maps(row, networks, quantity, points)
    for ax, epoch in zip(axes[0], epochs, strict=True):
        ax.set_title(f"epoch {epoch:,}")
    return fig


def widths_figure(runs_by_width: dict, epochs, quantity: str = "volume", points: int = 40):
    """Rows widths, columns epochs, of one network a width; one colour scale a row."""
    rows = len(runs_by_width)
    fig, axes = figures.subplots(rows, len(epochs), height=0.5 + 1.4 * rows, squeeze=False, sharex=True, sharey=True)
    for row, (width, run) in zip(axes, runs_by_width.items(), strict=True):
        maps(row, [weights(run, epoch) for epoch in epochs], quantity, points)
        row[0].set_ylabel(f"width {width}")
    for ax, epoch in zip(axes[0], epochs, strict=True):
        ax.set_title(f"epoch {epoch:,}")
    return fig


def layers_figure(run, epochs, points: int = 40):
    """Of one network: rows hidden layers from below, columns the log-volume at these epochs, one colour scale a row,
    and the curvature in the end."""
    rows, columns = run.spec.layers, len(epochs) + 1
    fig, axes = figures.subplots(rows, columns, height=0.5 + 1.4 * rows, squeeze=False, sharex=True, sharey=True)
    for layer, row in enumerate(axes, 1):
        maps(row[:-1], [weights(run, epoch) for epoch in epochs], "volume", points, layer)
        maps(row[-1:], [weights(run, run.spec.epochs)], "ricci", points, layer)
        row[0].set_ylabel(f"layer {layer}")
    titles = [*(f"epoch {epoch:,}" for epoch in epochs), "curvature"]
    for ax, title in zip(axes[0], titles, strict=True):
        ax.set_title(title, fontsize=9)
    return fig


def last_figure(runs_by_width: dict, quantity: str, points: int = 40):
    """One panel a width, after training."""
    fig, axes = figures.subplots(1, len(runs_by_width), height=1.9, squeeze=False, sharex=True, sharey=True)
    maps(axes[0], [weights(run, run.spec.epochs) for run in runs_by_width.values()], quantity, points)
    for ax, width in zip(axes[0], runs_by_width, strict=True):
        ax.set_title(f"width {width}")
    return fig


def networks_figure(arms):
    """One panel an arm: the contrast of every network, by width: after training, before, and with shuffled labels."""
    kinds = {
        "after training": (("true", "contrast"), {"color": "black", "marker": "o"}),
        "same places, step 0": (("true", "before_contrast"), {"color": "black", "marker": "o", "mfc": "white"}),
        "shuffled labels": (("shuffled", "contrast"), {"color": GREY, "marker": "^"}),
    }
    fig, axes = figures.subplots(1, len(arms), height=3.3, squeeze=False)
    for ax, arm in zip(axes[0], arms, strict=True):
        for place, width in enumerate(arm.study.widths):
            for shift, (name, ((labels, column), look)) in zip((-0.25, 0, 0.25), kinds.items(), strict=True):
                values = np.sort(arm.of(width, labels)[column])
                if not len(values):
                    continue
                spread = 0.16 * (figures.jitter(len(values)) - 0.5)
                label = name if width == arm.study.widths[0] else None
                ax.plot(place + shift + spread, values, label=label, linestyle="none", markersize=3.5, **look)
                ax.plot([place + shift - 0.1, place + shift + 0.1], [values.mean()] * 2, color="black", linewidth=2)
        ax.axhline(0, color="black", linewidth=0.8)
        ax.set_xticks(range(len(arm.study.widths)), list(map(str, arm.study.widths)))
        ax.set(title=arm.name, xlabel="hidden units")
        ax.grid(axis="x", visible=False)
    axes[0][0].set_ylabel("contrast (nats)")
    shown = max((ax.get_legend_handles_labels() for ax in axes[0]), key=lambda found: len(found[0]))
    fig.legend(*shown, loc="outside lower center", ncols=3)
    return fig


def training_figure(arms):
    """Rows arms, columns widths: the contrast where the last boundary is, by epoch; every network, and the mean."""
    columns = max(len(arm.study.widths) for arm in arms)
    fig, axes = figures.subplots(len(arms), columns, height=0.7 + 1.5 * len(arms), squeeze=False, sharey="row")
    for row, arm in zip(axes, arms, strict=True):
        for ax in row[len(arm.study.widths) :]:
            ax.set_axis_off()
        found = through_training(arm.runs)
        for ax, width in zip(row, arm.study.widths, strict=False):
            for labels, hue in (("shuffled", GREY), ("true", "black")):
                seeds = arm.of(width, labels).index
                if not len(seeds):
                    continue
                curves = found.loc[width, labels].loc[seeds]
                ax.plot(curves.columns, curves.T, color=hue, linewidth=0.5, alpha=0.5)
                ax.plot(curves.columns, curves.mean(), color=hue, label=f"{labels} labels")
            ax.axhline(0, color="black", linewidth=0.8)
            ax.set_xscale("symlog", linthresh=1)
            ax.set(xticks=(0, 10, 1000), xlim=(-0.2, 1.5 * arm.study.steps))
            ax.set_title(f"{arm.name}, width {width}", fontsize=8)
        row[0].set_ylabel("contrast (nats)")
    fig.supxlabel("epoch (log scale from 1)", fontsize=10)
    return fig


def peaks_figure(arm, width: int):
    """Where along a segment the volume peaks against where the boundary is, every pair of every network of a width:
    before training, after, and after training with shuffled labels."""
    panels = {"step 0": ("true", 0), "after training": ("true", -1), "shuffled labels": ("shuffled", -1)}
    panels = {title: kind for title, kind in panels.items() if len(arm.of(width, kind[0]))}
    fig, axes = figures.subplots(1, len(panels), height=3.3, squeeze=False, sharex=True, sharey=True)
    for ax, (title, (labels, index)) in zip(axes[0], panels.items(), strict=True):
        runs = [arm.runs[width, labels, seed] for seed in arm.of(width, labels).index]
        crossing = np.concatenate([r.arrays["crossing"] for r in runs])
        peak = np.concatenate([r.arrays["peak"][index] for r in runs])
        ax.plot([0, 1], [0, 1], color="#D55E00", linewidth=1, label="at the boundary")
        ax.axhline(0.5, color="#D55E00", linestyle="--", linewidth=1, label="in the middle")
        ax.plot(crossing, peak, ".", color="black", markersize=2.5, alpha=0.35)
        ax.set(title=title, xlabel="boundary at $t^*$", aspect="equal", xlim=(-0.03, 1.03), ylim=(-0.03, 1.03))
    axes[0][0].set_ylabel("peak at $t$")
    figures.legend_below(fig, axes[0][0], 2)
    return fig


def profiles_figure(arm, width: int):
    """Mean log-volume along the pairs, over that of their ends, of every network: across the boundary, and not."""
    found = [arm.runs[width, "true", seed] for seed in arm.table.loc[width, "true"].index]
    places = {int(step): i for i, step in enumerate(found[0].arrays["geometry_steps"])}
    fig, axes = figures.subplots(1, len(places), height=2.6, squeeze=False, sharex=True, sharey=True)
    for ax, (epoch, index) in zip(axes[0], places.items(), strict=True):
        for name, hue, label in (
            ("same_profile", GREY, "ends of one class"),
            ("profile", "black", "ends of two classes"),
        ):
            profiles = np.array([run.arrays[name][index] for run in found])
            t = np.linspace(0, 1, profiles.shape[1])
            ax.plot(t, profiles.T, color=hue, linewidth=0.5, alpha=0.5)
            ax.plot(t, profiles.mean(0), color=hue, label=label)
        ax.set(title=f"epoch {epoch:,}", xticks=(0, 0.5, 1), xlabel="segment")
    axes[0][0].set_ylabel("log-volume\nover the ends (nats)")
    figures.legend_below(fig, axes[0][0], 2)
    return fig


def shades(epochs) -> dict[int, str]:
    """A grey for every epoch, the last one black."""
    return {e: str(shade) for e, shade in zip(epochs, np.linspace(0.7, 0, len(epochs)), strict=True)}


def lines_figure(run, epochs):
    """A column for each of `views.LINES`: images along it; the log-volume at these epochs, over the mean of the ends;
    vertical lines where the class changes that the network predicts in the end."""
    a, t = run.arrays, torch.linspace(0, 1, views.POINTS, dtype=torch.float64)
    corners = torch.from_numpy(a["corners"])
    first, last = corners[torch.tensor(views.LINES)].unbind(1)
    strips = along(first, last, torch.linspace(0, 1, 5, dtype=torch.float64))
    side = math.isqrt(corners.shape[1])
    fig, axes = figures.subplots(2, len(strips), height=3.3, squeeze=False, sharey="row", height_ratios=(1, 4))
    for column, strip in enumerate(strips):
        axes[0][column].imshow(np.hstack(strip.view(-1, side, side).numpy()), cmap="gray_r")
        axes[0][column].set_axis_off()
        ax = axes[1][column]
        for epoch, shade in shades(epochs).items():
            value = a["line_volume"][at(run, epoch), column]
            ax.plot(t, value - value[[0, -1]].mean(), color=shade, label=f"epoch {epoch:,}")
        classes = a["line_class"][-1, column]
        for i in np.flatnonzero(classes[1:] != classes[:-1]):
            ax.axvline(float(t[i : i + 2].mean()), color="#D55E00", linewidth=1)
        told = classes[np.r_[True, classes[1:] != classes[:-1]]]
        ax.set_title("predicted " + " - ".join(map(str, told)), fontsize=9)
        ax.set(xticks=(0, 0.5, 1), xlabel="segment")
    axes[1][0].set_ylabel("log-volume\nover the ends (nats)")
    figures.legend_below(fig, axes[1][0], len(epochs))
    return fig


def plane_figure(run, epochs):
    """In the plane of three images, the corners of the triangle: columns epochs; rows the log-volume over the mean of
    the three, each panel on a scale of its own, and the entropy of the prediction; white: the boundaries then."""
    a, side = run.arrays, np.linspace(-1, 1, run.spec.plane)
    triangle = geometry.plane(*torch.eye(3, dtype=torch.float64), 2).anchors[[0, 1, 2, 0]]
    height = 0.5 + 14 / (len(epochs) + 0.6)  # square panels
    fig, axes = figures.subplots(2, len(epochs), height=height, squeeze=False, sharex=True, sharey=True)
    highest = np.nanmax(a["plane_entropy"])
    for (top, bottom), epoch in zip(axes.T, epochs, strict=True):
        i = at(run, epoch)
        volume = a["plane_volume"][i] - a["corner_volume"][i, :3].mean()
        square = {"origin": "lower", "extent": (-1, 1, -1, 1)}
        top.imshow(volume, **square)
        top.set_title(f"epoch {epoch:,}\n{np.nanmin(volume):+.0f} to {np.nanmax(volume):+.0f} nats", fontsize=9)
        image = bottom.imshow(a["plane_entropy"][i], vmin=0, vmax=highest, **square)
        for ax in (top, bottom):
            classes = a["plane_class"][i]
            for k in np.unique(classes):
                if (classes != k).any():
                    ax.contour(side, side, (classes == k).astype(float), (0.5,), colors="white", linewidths=0.8)
            ax.plot(*triangle.T, "-o", color="black", linewidth=0.8, markersize=3.5)
            ax.set(xticks=(), yticks=())
            ax.grid(visible=False)
    axes[0][0].set_ylabel("log-volume")
    fig.colorbar(image, ax=list(axes[1]), label="entropy (nats)", shrink=0.9)
    return fig


def spectrum_figure(runs, epochs):
    """Singular values of the Jacobian at the corners of `views`, every network, at these epochs."""
    fig, ax = figures.subplots(height=2.8)
    for epoch, shade in shades(epochs).items():
        values = np.concatenate([run.arrays["spectrum"][at(run, epoch)] for run in runs])
        ranks = np.arange(1, values.shape[1] + 1)
        ax.plot(ranks, values.T, color=shade, linewidth=0.4, alpha=0.4)
        ax.plot(ranks, np.exp(np.log(values).mean(0)), color=shade, label=f"epoch {epoch:,}")
    ax.set_yscale("log")
    ax.set(xlabel="rank", ylabel="singular value of $J$")
    ax.legend()
    return fig
