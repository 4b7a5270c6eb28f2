"""The figures of the chapter on the Mahalanobis distance."""

import numpy as np
import torch

from support.chapters.mahalanobis.claims import ERROR
from support.chapters.mahalanobis.landscape import bound, reach
from support.evidence import figures
from support.evidence.distances.recovery import by_chance, own_rotations
from support.evidence.distances.results import DistanceArm, weights
from support.networks.distance_networks import module
from support.networks.gaussians import DistanceData, Gaussian

LOOKS = {  # the book's colour law: hue is the activation
    "MD_Abs": {"color": figures.HUES["abs"], "marker": "o"},
    "MD_ReLU": {"color": figures.HUES["relu"], "marker": "s"},
    "MD_Sigmoid": {"color": "black", "marker": "^"},
}
LEVELS = (1, 2, 3)  # Mahalanobis distances


def plane(ax, data: DistanceData, network: str, W, b, points: int = 150, arrows: bool = False) -> None:
    """Points, true ellipses (grey) and learned contours at distances 1, 2, 3, and each unit's hyperplane, dashed.

    arrows: along each row w from the foot of the mean on its hyperplane, 1/|w| long, as an eigenvector's half axis.
    """
    mean, look = data.gaussian.mean, LOOKS[network]
    half = 3.6 * data.gaussian.covariance.diagonal().sqrt().max()
    side = torch.linspace(-1, 1, 121, dtype=torch.float64) * half
    grid = torch.stack(torch.meshgrid(mean[0] + side, mean[1] + side, indexing="xy"), -1)
    with torch.no_grad():
        learned = module(network, W, b)(grid.reshape(-1, 2)).view(121, 121)
    where = grid[..., 0].numpy(), grid[..., 1].numpy()
    x = data.train[0][:points]
    ax.plot(x[:, 0], x[:, 1], ".", color="#bbbbbb", markersize=1.5)
    ax.contour(*where, data.gaussian.distance(grid).numpy(), LEVELS, colors="#777777", linewidths=0.8)
    ax.contour(*where, learned.numpy(), LEVELS, colors=look["color"], linewidths=1.2)
    for w, offset in zip(W, b, strict=True):
        foot = mean - (w @ mean + offset) / (w @ w) * w
        along = torch.stack([-w[1], w[0]]) / w.norm() * 4 * half
        ends = torch.stack([foot - along, foot + along])
        ax.plot(ends[:, 0], ends[:, 1], "--", color=look["color"], linewidth=0.7)
        if arrows:
            tip = foot + w / (w @ w)
            ax.annotate("", tip.tolist(), foot.tolist(), arrowprops={"arrowstyle": "->", "linewidth": 1.6})
    low, high = (mean - half).tolist(), (mean + half).tolist()
    ax.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), aspect="equal", xticks=[], yticks=[])
    ax.grid(visible=False)


def rotations_figure(data: DistanceData, solutions: dict[str, tuple]):
    """One panel an exact MD_Abs: title -> (W, b)."""
    fig, axes = figures.subplots(1, len(solutions), height=2.1, squeeze=False)
    for ax, (title, (W, b)) in zip(axes[0], solutions.items(), strict=True):
        plane(ax, data, "MD_Abs", W, b, arrows=True)
        ax.set_title(title, fontsize=9)
    return fig


def trials_figure(runs, table, step: int):
    """Every trial of every network in the plane, a panel each, by network and then by error, which is the title."""
    by_place = {(r.spec.network, r.spec.seed): r for r in runs}
    networks = [n for n in LOOKS if n in table.index.get_level_values(0)]
    columns = min(10, max(table.groupby("network").size()))
    lines = {n: -(-len(table.loc[n]) // columns) for n in networks}
    fig, axes = figures.subplots(sum(lines.values()), columns, height=0.86 * sum(lines.values()), squeeze=False)
    fig.get_layout_engine().set(w_pad=0.01, h_pad=0.01, wspace=0, hspace=0)
    for ax in axes.flat:
        ax.set_axis_off()
    first = 0
    for network in networks:
        places = axes[first : first + lines[network]].flat
        for ax, (trial, error) in zip(places, table.loc[network]["error"].sort_values().items(), strict=False):
            run = by_place[network, trial]
            plane(ax, run.spec.draw(), network, *weights(run, step), points=40)
            ax.set_axis_on()
            ax.set_title(f"{error:.2g}%", fontsize=7, pad=2)
        first += lines[network]
    return fig


def best_figure(runs, chosen: dict[str, int], exact: tuple, step: int):
    """The exact network and the chosen trial of each network, side by side."""
    by_place = {(r.spec.network, r.spec.seed): r for r in runs}
    fig, axes = figures.subplots(1, len(chosen) + 1, height=2.2, squeeze=False)
    data = runs[0].spec.draw()
    plane(axes[0][0], data, "MD_Abs", *exact, arrows=True)
    axes[0][0].set_title("exact, untrained", fontsize=9)
    for ax, (network, trial) in zip(axes[0][1:], chosen.items(), strict=True):
        plane(ax, data, network, *weights(by_place[network, trial], step), arrows=True)
        ax.set_title(f"{network}, trial {trial}", fontsize=9)
    return fig


def errors_figure(arms: list[DistanceArm]):
    """One panel an arm: every network's error on fresh points, log scale, and the line below which it counts."""
    fig, axes = figures.subplots(1, len(arms), height=2.6, squeeze=False, sharey=True)
    for ax, arm in zip(axes[0], arms, strict=True):
        for place, (network, look) in enumerate(LOOKS.items()):
            error = np.sort(arm.of(network)["error"].to_numpy(float))
            spread = 0.5 * (figures.jitter(len(error)) - 0.5)
            ax.plot(place + spread, error, linestyle="none", markersize=3.5, alpha=0.7, **look)
        ax.axhline(ERROR, color="#777777", linewidth=0.8, linestyle="--")
        ax.set_xticks(range(len(LOOKS)), [n.removeprefix("MD_") for n in LOOKS], fontsize=8)
        ax.set(title=arm.name, yscale="log", xlim=(-0.6, len(LOOKS) - 0.4))
        ax.grid(axis="x", visible=False)
    axes[0][0].set_ylabel("error on fresh points\n(% of the mean distance)")
    return fig


def walk_figure(arms: list[DistanceArm], walks: dict[str, dict]):
    """One panel an arm: each trial's error against how far its biases have to walk at least, and how far Adam gets.

    walks: name of the arm -> (network, trial) -> how far.
    """
    fig, axes = figures.subplots(1, len(arms), height=2.9, squeeze=False, sharey=True)
    for ax, arm in zip(axes[0], arms, strict=True):
        for network in ("MD_Abs", "MD_ReLU"):
            error, look = arm.of(network)["error"], LOOKS[network] | {"linestyle": "none", "alpha": 0.8}
            ax.plot([walks[arm.name][network, t] for t in error.index], error, label=network, **look)
        ax.axvline(reach(arm.study.steps), color="black", linewidth=1.0, linestyle=":", label="rate x epochs")
        ax.axvline(bound(arm.study.steps), color="black", linewidth=1.0, linestyle="-.", label="Adam at the most")
        ax.axhline(ERROR, color="#777777", linewidth=0.8, linestyle="--")
        ax.set_xscale("symlog", linthresh=1)
        ax.set(title=arm.name, yscale="log", xlabel="way of a bias, at least (log scale from 1)", xlim=(-0.2, None))
    axes[0][0].set_ylabel("error (% of the mean distance)")
    figures.legend_below(fig, axes[0][0], 4)
    return fig


def recovery_figure(arms: list[DistanceArm], rotations: int = 99):
    """One panel an arm with one Gaussian: matched |cosine| of every MD_Abs, and what chance gives.

    Chance: random exact solutions (grey), and rotations of the networks' own rows (line).
    """
    fig, axes = figures.subplots(1, len(arms), height=3.0, squeeze=False)
    for ax, arm in zip(axes[0], arms, strict=True):
        gaussian: Gaussian = arm.study.dataset().gaussian
        chance, _ = by_chance(gaussian, gaussian.dimension, 999)
        runs = [r for r in arm.records if r.spec.network == "MD_Abs"]
        own = [own_rotations(weights(r, arm.study.steps)[0], gaussian, rotations) for r in runs]
        ax.hist(chance, bins=30, density=True, color="#cccccc", label="random exact solutions")
        ax.hist(np.concatenate(own), 30, density=True, histtype="step", color="black", label="the networks, rotated")
        high, table = ax.get_ylim()[1], arm.of("MD_Abs")
        for good, marker, label in ((True, "o", "that match the distance"), (False, "x", "that do not")):
            x = np.sort(table["eigenvector_cosine"][(table["error"] < ERROR) == good].to_numpy(float))
            height = high * (0.15 + 0.6 * figures.jitter(len(x)))
            look = {"color": LOOKS["MD_Abs"]["color"], "marker": marker, "linestyle": "none"}
            ax.plot(x, height, label=f"MD_Abs {label}", **look)
        ax.set(title=arm.name, xlabel="mean |cosine| of the matches", yticks=[])
    figures.legend_below(fig, axes[0][0], 2)
    return fig


def curves_figure(arms: list[DistanceArm], floors: dict[str, float]):
    """One panel an arm: every run's mean squared error on fresh points by epoch; dotted, the closed form's."""
    fig, axes = figures.subplots(1, len(arms), height=3.0, squeeze=False, sharey=True)
    for ax, arm in zip(axes[0], arms, strict=True):
        for run in arm.records:
            look = LOOKS[run.spec.network] | {"linewidth": 0.6, "alpha": 0.6, "marker": None}
            ax.plot(run.arrays["steps"], run.arrays["test_mse"], **look)
        if arm.name in floors:
            ax.axhline(floors[arm.name], color="black", linestyle=":", linewidth=1.2)
        ax.set(title=arm.name, xscale="symlog", yscale="log", xlabel="epoch (log scale from 1)", xlim=(0, None))
    axes[0][0].set_ylabel("mean squared error, fresh points")
    from matplotlib.lines import Line2D

    handles = [Line2D([], [], color=look["color"], label=network) for network, look in LOOKS.items()]
    handles += [Line2D([], [], color="black", linestyle=":", label="closed form")] if floors else []
    fig.legend(handles=handles, loc="outside lower center", ncols=4)
    return fig
