"""The figures of the chapter on the Mahalanobis distance."""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import torch

from book.chapters.mahalanobis.claims import CHANCE, ERROR, NETWORKS, WHITE
from book.chapters.mahalanobis.derived import BEGINS
from book.chapters.mahalanobis.landscape import bound, reach
from book.figures import figures, turns
from book.measures.distances.results import DistanceArm, weights
from support.networks.distance_networks import module
from support.networks.gaussians import DistanceData, Gaussian

LOOKS = {  # the book's colour law: hue is the activation
    "MD_Abs": {"color": figures.HUES["abs"], "marker": "o"},
    "MD_ReLU": {"color": figures.HUES["relu"], "marker": "s"},
    "MD_Sigmoid": {"color": "black", "marker": "^"},
}
NAMES = {network: network.removeprefix("MD_") for network in LOOKS}
Panels = dict[str, tuple[DistanceData, str, Any, Any]]  # title -> (data, network, W, b)
LEVELS = (1, 2, 3)  # Mahalanobis distances
GREY, HUE = "#777777", figures.HUES["abs"]


def geometry_figure(arms: list[DistanceArm]):
    """Every network of the arms: error of its output against error of its metric, both on a logarithmic axis.

    Shaded: what counts as a match of the distance and of the precision.
    """
    fig, ax = figures.subplots(height=3.6)
    low = 1e-6
    ax.fill_between([1e-3, ERROR], low, WHITE, color="#e8f0e4")
    ax.axvline(ERROR, color=GREY, linewidth=0.8)
    ax.axhline(WHITE, color=GREY, linewidth=0.8)
    for network, look in LOOKS.items():
        found = pd.concat([arm.of(network) for arm in arms])
        counted = f"{NAMES[network]}: {int((found['error'] < ERROR).sum())} of {len(found)} learn the distance"
        places = found["error"], found["precision_error"].clip(lower=2 * low)
        ax.plot(*places, linestyle="none", alpha=0.55, markersize=5, label=counted, **look)
    ax.text(1.2e-3, WHITE * 1.3, "whitens, below this line", color=GREY, fontsize=9)
    ax.text(ERROR * 0.85, 1.5e-6, "learns the distance,\nleft of this line", color=GREY, fontsize=9, ha="right")
    ax.set(xscale="log", yscale="log", xlim=(1e-3, 100), ylim=(low, 3))
    ax.set(xlabel="error of the distance, fresh points (%)", ylabel="error of the metric (relative)")
    figures.legend_below(fig, ax, 2)
    return fig


def plane(
    ax, data: DistanceData, network: str, W, b, points: int = 150, arrows: bool = False, width: float = 0.7
) -> None:
    """Points, true ellipses (grey) and learned contours at distances 1, 2, 3, and each unit's hyperplane, dashed.

    arrows: along each row w from the foot of the mean on its hyperplane, 1/|w| long, as an eigenvector's half axis.
    width: of the dashed lines.
    """
    mean, look, half = data.gaussian.mean, LOOKS[network], half_width(data)
    side = torch.linspace(-1, 1, 121, dtype=torch.float64) * half
    grid = torch.stack(torch.meshgrid(mean[0] + side, mean[1] + side, indexing="xy"), -1)
    with torch.no_grad():
        learned = module(network, W, b)(grid.reshape(-1, 2)).view(121, 121)
    where = grid[..., 0].numpy(), grid[..., 1].numpy()
    x = data.train[0][:points]
    ax.plot(x[:, 0], x[:, 1], ".", color="#bbbbbb", markersize=1.5)
    ax.contour(*where, data.gaussian.distance(grid).numpy(), LEVELS, colors="#777777", linewidths=0.8)
    ax.contour(*where, learned.numpy(), LEVELS, colors=look["color"], linewidths=1.2)
    for w, foot, ends in hyperplanes(data, W, b):
        ax.plot(ends[:, 0], ends[:, 1], "--", color=look["color"], linewidth=width)
        if arrows:
            tip = foot + w / (w @ w)
            ax.annotate("", tip.tolist(), foot.tolist(), arrowprops={"arrowstyle": "->", "linewidth": 1.6})
    low, high = (mean - half).tolist(), (mean + half).tolist()
    ax.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), aspect="equal", xticks=[], yticks=[])
    ax.grid(visible=False)


def half_width(data: DistanceData) -> torch.Tensor:
    """Half the side of the square around the mean that a picture shows."""
    return 3.6 * data.gaussian.covariance.diagonal().sqrt().max()


def hyperplanes(data: DistanceData, W, b) -> list[tuple[torch.Tensor, torch.Tensor, torch.Tensor]]:
    """For each unit: its row, the foot of the mean on the line where it is 0, and its ends (2, 2), far outside."""
    mean, found = data.gaussian.mean, []
    for w, offset in zip(W, b, strict=True):
        foot = mean - (w @ mean + offset) / (w @ w) * w
        along = torch.stack([-w[1], w[0]]) / w.norm() * 4 * half_width(data)
        found.append((w, foot, torch.stack([foot - along, foot + along])))
    return found


def ends_figure(learned: Panels, as_round: str, stuck: Panels):
    """Networks on one cloud in the plane, with its principal axes beside those that learned the distance.

    as_round: title of a panel that shows the last of these again, with space squeezed until the cloud is round.
    """
    last = list(learned.values())[-1]
    directions = last[0].gaussian.eigen[1]
    panels = learned | {as_round: made_round(*last)} | stuck
    fig, axes = figures.subplots(1, len(panels), height=3.0, squeeze=False)
    fig.set_layout_engine("compressed")
    for ax, (title, network) in zip(axes.flat, panels.items(), strict=True):
        plane(ax, *network, points=60, width=1.6)
        mean, half = network[0].gaussian.mean, 0.95 * half_width(network[0])
        for direction in directions if title not in stuck else ():
            ends = torch.stack([mean - half * direction, mean + half * direction])
            ax.plot(ends[:, 0], ends[:, 1], color="black", linewidth=2.6, zorder=1.9)
        ax.set_title(title)
    looks = {
        "axes of the cloud": ("-", "black", 2.2),
        "true distances": ("-", GREY, 0.8),
        "learned distances": ("-", HUE, 1.2),
        "a hidden unit is 0": ("--", HUE, 1.6),
    }
    for label, (line, colour, width) in looks.items():
        axes[0][0].plot([], [], line, color=colour, linewidth=width, label=label)
    figures.legend_below(fig, axes[0][0], 2)
    return fig


def made_round(data: DistanceData, network: str, W: Any, b: Any) -> tuple[DistanceData, str, Any, Any]:
    """The same network on the same points, with space squeezed along the axes of the cloud until this is round."""
    mean, (values, vectors) = data.gaussian.mean, data.gaussian.eigen
    root = vectors.T @ (values.sqrt()[:, None] * vectors)  # of the covariance; it keeps the axes
    points = torch.linalg.solve(root, (data.train[0] - mean).T).T
    round_ = Gaussian(torch.zeros_like(mean), torch.eye(2).to(mean))
    return replace(data, gaussian=round_, train=(points, data.train[1])), network, W @ root, W @ mean + b


def rotations_turn(data: DistanceData, W: torch.Tensor) -> dict:
    """The exact network with weights W in the plane, which the reader turns."""
    mean, root = data.gaussian.mean, torch.linalg.inv(W)  # columns: the half axes
    return {
        "kind": "whitening",
        "look": "Turn the weights. What to look for: the ellipses and the distance of the circle stay, while the "
        "dashed hyperplanes and all weights change. Drag the circle, and turn again.",
        "legend": [
            ["orange", "distances 1, 2 and 3"],
            ["thin", "principal axes"],
            ["dashed", "hyperplanes of the two rows"],
            ["knob", "a point to drag"],
            ["grey", "weights now"],
            ["upright", "weights before the turn"],
        ],
        "mean": turns.rounded(mean),
        "weight": turns.rounded(W, 6),
        "root": turns.rounded(root, 6),
        "half": turns.rounded(3.6 * data.gaussian.covariance.diagonal().sqrt().max()),
        "largest": turns.rounded(W.norm(dim=0).max()),
        "points": turns.rounded(data.train[0][:150], 2),
        "probe": turns.rounded(mean + 2**0.5 * root.sum(1)),  # two standard deviations out, between the axes
        "degrees": 20,  # of the turn at first
    }


def trials_figure(arm: DistanceArm):
    """Every network of an arm in the plane, a panel each, by kind and then by error, which is the title."""
    columns = min(10, arm.trials)
    each = -(-arm.trials // columns)  # lines of a kind
    lines = each * len(arm.study.networks)
    fig, axes = figures.subplots(lines, columns, height=0.86 * lines, squeeze=False)
    fig.set_layout_engine("constrained", w_pad=0.01, h_pad=0.01, wspace=0, hspace=0)
    for ax in axes.flat:
        ax.set_axis_off()
    for first, network in zip(range(0, lines, each), arm.study.networks, strict=True):
        errors = arm.of(network)["error"].sort_values()
        for ax, (trial, error) in zip(axes[first : first + each].flat, errors.items(), strict=False):
            run = arm.runs[network, trial]
            plane(ax, run.spec.draw(), network, *weights(run, arm.study.steps), points=40)
            ax.set_axis_on()
            ax.set_title(f"{error:.2g}%", fontsize=7, pad=2)
        axes[first, 0].set_ylabel(NAMES[network], fontsize=8)
    return fig


def plane_figure(panels: Panels, height: float = 2.3, arrows: bool = False):
    """Networks in the plane, see `plane`, in one row: title -> (data, network, W, b)."""
    fig, axes = figures.subplots(1, len(panels), height=height, squeeze=False)
    for ax, (title, one) in zip(axes.flat, panels.items(), strict=True):
        plane(ax, *one, arrows=arrows)
        ax.set_title(title)
    return fig


def errors_figure(arms: list[DistanceArm]):
    """A row for each arm and network: every network's error on fresh points, and how many are within ERROR."""
    rows = [(arm, network) for arm in arms for network in LOOKS]
    fig, ax = figures.subplots(height=0.5 + 0.34 * len(rows))
    for row, (arm, network) in enumerate(rows):
        error = np.sort(arm.of(network)["error"].to_numpy(float))
        height = row + 0.5 * (figures.jitter(len(error)) - 0.5)
        ax.plot(error, height, linestyle="none", alpha=0.7, **LOOKS[network])
        ax.text(130, row, f"{int((error < ERROR).sum())} of {len(error)}", va="center", fontsize=9)
        if row and row % len(LOOKS) == 0:
            ax.axhline(row - 0.5, color=GREY, linewidth=0.8)
    ax.axvline(ERROR, color=GREY, linewidth=0.8, linestyle="--")
    labels = [f"{arm.name}   {NAMES[n]}" if n == "MD_Abs" else NAMES[n] for arm, n in rows]
    figures.name_rows(ax, labels, above=0.6, below=0.4)
    ax.set(xscale="log", xlim=(3e-3, 100), xlabel="error on fresh points (% of the mean distance, log scale)")
    ax.set_title(f"within {ERROR:g}%", loc="right", fontsize=9)
    return fig


def descents_figure(table: pd.DataFrame):
    """A panel each network, a row each arm: how many match after Adam and after both descents of `derived.descents`.

    A darker cell holds a larger share of the networks.
    """
    networks = list(dict.fromkeys(table["network"]))
    columns = ["Adam", "Adam, then\n2nd order", "2nd order\ninstead"]  # in the order of BEGINS
    fig, axes = figures.subplots(1, len(networks), height=3.0, squeeze=False, sharey=True)
    by_descent = table.assign(adam=table["adam"] < ERROR, error=table["error"] < ERROR).set_index("from")
    for ax, network in zip(axes[0], networks, strict=True):
        arms = by_descent[by_descent["network"] == network].groupby("arm", sort=False)
        cells = [[some["adam"][BEGINS[0]], *(some["error"][begin] for begin in BEGINS)] for _, some in arms]
        shares = np.array([[matches.mean() for matches in row] for row in cells])
        ax.imshow(shares, cmap="Greys", vmin=0, vmax=1.2, aspect="auto")
        for (row, column), share in np.ndenumerate(shares):
            text = f"{cells[row][column].sum()} of {len(cells[row][column])}"
            hue = "white" if share > 0.7 else "black"
            ax.text(column, row, text, ha="center", va="center", color=hue, fontsize=9)
        ax.set_title(NAMES[network], color=LOOKS[network]["color"])
        ax.set_xticks(range(len(columns)), columns, fontsize=8)
        ax.set_yticks(range(len(cells)), arms.groups)
        ax.grid(visible=False)
    return fig


def axes_figure(arms: list[DistanceArm]):
    """A row for each arm and network that has matches: of each match, the share of random rotations of its rows that
    align as well with the eigenvectors. Shaded: the rare ones, up to CHANCE."""
    tables = {(arm.name, network): arm.of(network) for arm in arms for network in NETWORKS}
    rows = {key: t[t["error"] < ERROR]["eigenvector_cosine_own_p"] for key, t in tables.items()}
    rows = {key: shares for key, shares in rows.items() if len(shares)}
    fig, ax = figures.subplots(height=1.0 + 0.36 * len(rows))
    ax.axvspan(0, 100 * CHANCE, color="#e8f0e4")
    for row, ((_, network), shares) in enumerate(rows.items()):
        ax.vlines(100 * shares, row - 0.32, row + 0.32, color=LOOKS[network]["color"], linewidth=1.8)
    figures.name_rows(ax, [f"{name}   {NAMES[network]}" for name, network in rows], above=0.6, below=0.4)
    ax.axvline(50, color=GREY, linewidth=0.8, linestyle=":")
    ax.set(xlim=(0, 100), xlabel="closer ←   rotations as close to the axes (%)   → farther")
    return fig


def reach_figure(arms: list[DistanceArm], moves: dict[str, dict]):
    """One panel an arm: each trial's error against how far its biases have to move at least, and how far Adam gets.

    moves: name of the arm -> (network, trial) -> how far.
    """
    fig, axes = figures.subplots(1, len(arms), height=3.4, squeeze=False, sharey=True)
    for ax, arm in zip(axes[0], arms, strict=True):
        ways = moves[arm.name]
        for network in NETWORKS:
            error, look = arm.of(network)["error"], LOOKS[network] | {"linestyle": "none", "alpha": 0.8}
            ax.plot([ways[network, t] for t in error.index], error, label=NAMES[network], **look)
        steady, most = reach(arm.study.steps), bound(arm.study.steps)
        end = 2 * max([most, *ways.values()])
        ax.set_xscale("symlog", linthresh=1)
        ax.set(title=arm.name, xlabel="least distance a bias must move", xlim=(-0.2, end))
        ax.set(yscale="log", ylim=(3e-3, 400))
        ax.axvspan(steady, most, color="#eeeeee")
        ax.axvspan(most, end, color="#cccccc")
        ax.axhline(ERROR, color=GREY, linewidth=0.8, linestyle="--")
        ax.text(0.99, 0.02, "out of\nreach", fontsize=9, ha="right", transform=ax.transAxes)
    axes[0][0].set_ylabel("error (%, log scale)")
    axes[0][0].legend(loc="lower left", handlelength=1)
    return fig
