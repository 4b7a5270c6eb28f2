"""Maps of networks over the plane: log-volume and curvature of their hidden layers, prediction, and boundaries."""

import numpy as np
import torch

from book.chapters.volume_element.pictures import OVER_ENDS
from book.chapters.volume_element.results import weights
from book.figures import figures, turns
from book.figures.figures import ACCENT, GREY
from book.measures.sigmoid.views import log_volume
from support import geometry
from support.networks.sigmoid import logits

HALF = 1.5  # of the square that the paper draws
CLIP = 100.0  # curvatures are clipped to +-CLIP before they are drawn, as the paper's


def ricci_map(w, x, layer=None):
    """sign(R) log10(1 + |R|) of the one hidden layer, R clipped to +-CLIP; NaN where rounding hides it."""
    R, error = geometry.shallow_ricci_scalar(w["W1"], w["b1"], "sigmoid", x, with_error=True)
    R = torch.where(error <= R.abs().clamp_min(1) / 100, R, torch.nan).clamp(-CLIP, CLIP)
    return R.sign() * torch.log10(1 + R.abs())


def probability_map(w, x, layer=None):
    """Probability that the network gives to class 1."""
    return logits(w, x).softmax(-1)[:, 1]


QUANTITIES = {  # map, label of the colour bar, colours, and their ends or None
    "volume": (log_volume, "log-volume\n(nats)", "cividis", None),
    "ricci": (ricci_map, "curvature\nsign$(R)\\,\\log_{10}(1+|R|)$", "RdBu_r", np.log10(1 + CLIP)),
    "class": (probability_map, "probability\nof class 1", "PuOr_r", None),
}


def maps(axes, networks, quantity: str, points: int, layer: int | None = None, centred: bool = False):
    """Draws a quantity for the networks, of a hidden layer (by default the last), all on one colour scale, with their
    boundaries. centred: minus the mean over each map."""
    f, label, colours, end = QUANTITIES[quantity]
    x, side = geometry.square(points, HALF), np.linspace(-HALF, HALF, points)
    values = [f(w, x, layer).view(points, points).numpy() for w in networks]
    values = [v - v.mean() for v in values] if centred else values
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
    fig, axes = figures.subplots(3, len(epochs), height=5.6, squeeze=False, sharex=True, sharey=True)
    for row, quantity in zip(axes, QUANTITIES, strict=True):
        maps(row, networks, quantity, points)
    _name_epochs(axes[0], epochs)
    return fig


def widths_figure(runs_by_width: dict, epochs, points: int = 40):
    """The log-volume: rows widths, columns epochs, of one network a width; one colour scale a row."""
    rows = len(runs_by_width)
    fig, axes = figures.subplots(rows, len(epochs), height=0.4 + 2.0 * rows, squeeze=False, sharex=True, sharey=True)
    for row, (width, run) in zip(axes, runs_by_width.items(), strict=True):
        maps(row, [weights(run, epoch) for epoch in epochs], "volume", points)
        row[0].set_ylabel(f"{width} units")
    _name_epochs(axes[0], epochs)
    return fig


def change_figure(runs_by_width: dict, points: int = 40):
    """The log-volume minus its mean over the map: before training above, after it below, a column a width, and one
    colour scale for all."""
    fig, axes = figures.subplots(2, len(runs_by_width), height=3.3, squeeze=False, sharex=True, sharey=True)
    runs = list(runs_by_width.values())
    networks = [weights(run, epoch) for epochs in ([0] * len(runs), [r.spec.epochs for r in runs])
                for run, epoch in zip(runs, epochs, strict=True)]  # fmt: skip
    maps(axes.ravel(), networks, "volume", points, centred=True)
    for ax, width in zip(axes[0], runs_by_width, strict=True):
        ax.set_title(f"{width} units")
    for ax, name in zip(axes[:, 0], ("before", "after"), strict=True):
        ax.set_ylabel(name)
    return fig


def layers_figure(run, points: int = 40):
    """The log-volume of each hidden layer of one network: before training above, after it below."""
    layers = range(1, run.spec.layers + 1)
    fig, axes = figures.subplots(2, len(layers), height=3.9, squeeze=False, sharex=True, sharey=True)
    for row, (name, epoch) in zip(axes, (("before", 0), ("after", run.spec.epochs)), strict=True):
        for ax, layer in zip(row, layers, strict=True):
            maps([ax], [weights(run, epoch)], "volume", points, layer)
        row[0].set_ylabel(name)
    for bar in fig.axes[axes.size :]:
        bar.set_ylabel("")
    for ax, layer in zip(axes[0], layers, strict=True):
        ax.set_title(f"layer {layer}")
    return fig


def _name_epochs(axes, epochs):
    for ax, epoch in zip(axes, epochs, strict=True):
        ax.set_title(f"epoch {epoch:,}" if epoch else "before training")


def two_lines_figure(run, epochs, segments, points: int = 56):
    """Above, the log-volume of a network at these epochs, with a line across its boundary (solid) and one within a
    class (dashed). Below, the log-volume along both, over the mean of the ends of each.

    segments: the ends of both lines; the first crosses the last epoch's boundary once.
    """
    fig, axes = figures.subplots(2, len(epochs), height=5.2, squeeze=False, sharey="row", height_ratios=(1.7, 1))
    networks = [weights(run, epoch) for epoch in epochs]
    maps(axes[0], networks, "volume", points)
    t = torch.linspace(0, 1, 121, dtype=torch.float64)
    for (above, below), w in zip(axes.T, networks, strict=True):
        for ends, line, label in zip(segments, ("-", "--"), ("across the boundary", "within a class"), strict=True):
            a, b = torch.tensor(ends, dtype=torch.float64)
            above.plot(*torch.stack([a, b]).T, line, color=ACCENT, linewidth=2.2, marker="o", markersize=4)
            values = log_volume(w, torch.lerp(a, b, t[:, None]))
            below.plot(t, values - (values[0] + values[-1]) / 2, line, color=ACCENT, linewidth=2.2, label=label)
        below.axhline(0, color=GREY, linewidth=0.8, zorder=1)
        below.set(xticks=(0, 0.5, 1), xlabel="place on the line")
    across = torch.tensor(segments[0], dtype=torch.float64)
    margin = logits(networks[-1], torch.lerp(across[0], across[1], t[:, None])).diff(dim=1)
    crossing = float(t[margin[:, 0].sign().diff().abs().argmax()])
    axes[1][-1].axvline(crossing, color="black", linewidth=0.8)
    axes[1][-1].text(crossing, 1.03, "boundary", transform=axes[1][-1].get_xaxis_transform(), ha="center", fontsize=9)
    axes[1][0].set_ylabel(OVER_ENDS)
    _name_epochs(axes[0], epochs)
    figures.legend_below(fig, axes[1][0], 2)
    return fig


def training_turn(runs_by_width: dict, epochs: list[int], segments, width: int) -> dict:
    """The volume element through training, for readers to step through: weights of one network of each width at these
    epochs; the page computes maps and lines from them.

    Args:
        runs_by_width: width -> record.
        segments: two lines, each as two points of the plane: one across the boundary, and one within a class.
        width: shown at first.
    """
    networks = []
    for units, run in runs_by_width.items():
        layers, offsets = [], []
        for w in (weights(run, epoch) for epoch in epochs):
            adds = w["W2"][1] - w["W2"][0]  # of a unit to the output "class 1 minus class 0"
            layers.append(np.column_stack([w["W1"].numpy(), w["b1"].numpy(), adds.numpy()]))
            offsets.append(float(w["b2"][1] - w["b2"][0]))
        packed = turns.packed(np.stack(layers), "<f4")
        networks.append({"width": units, "weights": packed, "offsets": turns.rounded(offsets, 6)})
    return {
        "kind": "volume",
        "look": "Slide the epoch from its start to its end. The solid line runs from S to E across the white "
        "boundary, the dashed one from s to e within a class. Where does a bump appear? Move both lines, and choose "
        "another number of hidden units. Can you find a place within a class with a bump as high?",
        "legend": [
            ["white", "boundary"],
            ["orange", "line across the boundary, and the log-volume along it"],
            ["dashed", "the same within a class"],
            ["upright", "where a line crosses it"],
            ["dot", "the two places that the contrast compares"],
        ],
        "networks": networks,
        "shown": list(runs_by_width).index(width),
        "epochs": epochs,
        "half": HALF,
        "segments": [turns.rounded(list(map(list, ends)), 3) for ends in segments],
    }
