"""The figures of the chapter."""

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patheffects import withStroke

from book.chapters.why_outputs_die.study import PhaseGrid
from book.claims.statistics import clopper_pearson, mean_interval
from book.figures.figures import GREY, HUES, interval, jitter, legend_below, name_rows, style, subplots
from book.measures.classifiers.frames import by_scaling
from book.measures.classifiers.shared import panels
from book.measures.tables import wide
from support.networks.architectures import SIX
from support.training.classifiers.specs import RARE


def sign_turns_figure(leads: pd.DataFrame, papers: dict[str, float]) -> Figure:
    """Above, a sketch of one large step. Below, the lead of ReLU2-Neg over ReLU2 against the step size, and the
    outputs of each of the two that are inactive in the end.

    leads: `law.leads`. papers: scaling -> the paper's step size. On the left every pair of networks, and the mean of
    each input scaling with its 95% interval; hollow: standardised inputs. On the right means over seeds; the value of
    a seed is the mean of its two scalings.
    """
    fig, axes = subplots(2, 2, height=4.9, width_ratios=(1.35, 1), height_ratios=(1, 2), sharex="row")
    grid = axes[0, 0].get_gridspec()
    for ax in axes[0]:
        ax.remove()
    sketch, (left, right) = fig.add_subplot(grid[0, :]), axes[1]
    _pushed(sketch)
    sizes, words = sorted(leads["size"].unique()), []
    for shift, face, (scaling, pairs) in zip((0.75, 1.33), ("black", "white"), by_scaling(leads), strict=True):
        for size, values in pairs.groupby("size")["lead"]:
            spread = 10 ** (0.14 * (jitter(len(values)) - 0.5))
            left.plot(size * shift * spread, np.sort(values), ".", color=GREY, markersize=4, alpha=0.6)
        look = {"color": "black", "linestyle": "none", "marker": "o", "markerfacecolor": face, "markersize": 6}
        _means(left, pairs.groupby("size")["lead"], shift, look)
        words.append(f"{'●' if face == 'black' else '○'} {scaling} pixels")
    left.axhline(0, color="black", linewidth=0.8)
    left.text(4.5, 62, "\n".join(words), va="center", fontsize=9)
    for height, side in ((93, "distances lead"), (-90, "amounts lead")):
        left.text(4.5, height, side, va="center", style="italic")
    both = leads.groupby(["size", "seed"])[["ReLU2", "ReLU2-Neg"]].mean()
    for name, label, x, y, side in (
        ("ReLU2", "amounts\n(ReLU2)", 420, 66, "right"),
        ("ReLU2-Neg", "distances\n(ReLU2-Neg)", 5, 19, "left"),
    ):
        _means(right, both[name].groupby("size"), 1, style(name) | {"markersize": 7})
        right.text(x, y, label, color=HUES["relu"], ha=side, va="center")
    for ax in (left, right):
        ax.set(xscale="log", xlim=(4, 2500), xlabel="step size of the first layer")
        ax.set_xticks(sizes, [f"{size:,}" for size in sizes])
        ax.minorticks_off()
        ax.grid(axis="x", visible=False)
    said = f"paper: {papers['standardised']:.2f}; on raw bytes {papers['raw']:,.0f}"
    left.set_xlabel(f"step size of the first layer\n({said})")
    left.set(title="The lead", ylabel="lead of distances (points)", ylim=(-105, 105))
    left.set_yticks(range(-100, 101, 50))
    right.set(title="Why: inactive outputs", ylabel="outputs at 0 on nearly\nevery image (%)", ylim=(-5, 105))
    return fig


PUSH = 1.5  # of all images together, in lengths of the weights: the step of the sketch
SHARES = {"ReLU2-Neg": 0.1, "ReLU2": 0.9}  # of the images push down an output that is large on all
KINDS = {"ReLU2-Neg": "distance", "ReLU2": "amount"}


def pushed(share: float, images: int = 24, half_angle: float = np.radians(40)) -> np.ndarray:
    """An output on `images` images before its ReLU, after the step of the sketch that this share of them pushes.

    The toy of `killed_figure`: hidden vectors of length 1 fill a wedge, and the step goes against their mean
    direction by PUSH times `share`; the weights of the output have length 1 and point into the wedge.
    """
    hidden = half_angle * (2 * jitter(images) - 1)
    return np.cos(hidden - half_angle / 2) - PUSH * share * np.cos(hidden)


def _pushed(ax: Axes) -> None:
    """An output on many images, before its ReLU: at the start, and after one step as a distance or an amount."""
    rows = {
        "at the start": (0.0, "black"),
        "as a distance:\none class pushes it": (SHARES["ReLU2-Neg"], HUES["relu"]),
        "as an amount:\nnine classes push it": (SHARES["ReLU2"], HUES["relu"]),
    }
    ax.axvspan(-0.8, 0, color="#e4e4e4", linewidth=0)
    ax.axvline(0, color="black", linewidth=0.8)
    ax.text(-0.4, 0.25, "inactive:\nalways 0", ha="center", va="center", style="italic")
    start = pushed(0).mean()
    for row, (share, hue) in enumerate(rows.values()):
        at = pushed(share)
        ax.plot(at, row + 0.46 * (np.linspace(0, 1, len(at)) - 0.5), ".", color=hue, markersize=5)
        if share:
            ax.annotate("", (at.mean(), row - 0.42), (start, row - 0.42),
                        arrowprops={"arrowstyle": "->", "shrinkA": 0, "shrinkB": 0})  # fmt: skip
    name_rows(ax, rows)
    ax.set(title="One large step (sketch)", xlim=(-0.8, 1.1), xticks=(0,))
    ax.set_xlabel("the output on each image, before its ReLU")


def _means(ax: Axes, by_size: Any, shift: float, look: dict) -> None:
    """Draws the mean of the values at each step size with its 95% interval, at `shift` times the step size."""
    means = {size * shift: mean_interval(values) for size, values in by_size}
    for x, mean in means.items():
        ax.plot([x, x], [mean.low, mean.high], color=look["color"], linewidth=2)
    ax.plot([*means], [mean.value for mean in means.values()], **look)


def gaps_figure(table: pd.DataFrame):
    """ReLU2-Neg minus ReLU2 under each start, a panel for each input scaling; table: `tables.remedies`."""
    fig, several = panels(table, 2.6, by="inputs")
    for ax, of in several:
        for row, (_, r) in enumerate(of.iterrows()):
            ax.plot([r["95% low"], r["95% high"]], [row, row], color=HUES["relu"], linewidth=2)
            ax.plot(r["gap"], row, **style("ReLU2-Neg"))
            ax.text(1.01, row, f"{r['gap']:+.0f}", transform=ax.get_yaxis_transform(), va="center", fontsize=9)
        ax.axvline(0, color="black", linewidth=0.8)
        ax.set_yticks(range(len(of)), of.index.get_level_values(1))
        ax.set_xlabel("lead of ReLU2-Neg (points)")
        ax.grid(axis="y", visible=False)
    several[0][0].invert_yaxis()
    return fig


def killed_figure(sizes, formula, dead, angles, half_angle, step):
    """Left, weight vectors after a step and the sector of the dead; right, the share dead by the size of the step.

    Args:
        sizes, formula, dead: of steps; the share by the formula (line) and among random outputs (dots).
        angles: of the weight vectors on the left before the step, from the middle of the wedge, in radians.
        half_angle, step: of the left panel, in radians and lengths of a weight vector.
    """
    from matplotlib.patches import Circle, Wedge

    fig, (left, right) = subplots(1, 2, height=2.6, width_ratios=(1.25, 1))
    half = np.degrees(half_angle)
    left.add_patch(Wedge((0, 0), 5, 90 + half, 270 - half, color="#dddddd"))
    left.add_patch(Wedge((0, 0), 1, -half, half, color="#9ecae1"))
    left.add_patch(Circle((0, 0), 1, fill=False, color=GREY, linestyle=":"))
    x, y = np.cos(angles) - step, np.sin(angles)
    gone = np.cos(np.abs(np.arctan2(np.sin(angles), np.cos(angles))) - half_angle) <= step * np.cos(half_angle)
    left.plot(x[~gone], y[~gone], "o", color=HUES["relu"], markerfacecolor="none")
    left.plot(x[gone], y[gone], "o", color="black")
    left.annotate("", (-step, -1.25), (0, -1.25), arrowprops={"arrowstyle": "->", "linewidth": 1.6})
    left.text(0.05, -1.25, "the step", va="center")
    left.text(0.5, 0, "hidden\nvectors", ha="center", va="center")
    left.text(0.75, 0.78, "before\nthe step", color=GREY)
    left.scatter(0, 0, 12, color="black", zorder=3)
    left.text(-0.1, 0, "origin", ha="right", va="center")
    left.text(-3.15, 0, "dead here:\nnegative\non every\nhidden\nvector", va="center")
    left.set(xlim=(-3.25, 1.35), ylim=(-1.4, 1.4), aspect="equal", title="weight vectors after the step")
    left.axis("off")
    right.plot(sizes, formula, color="black")
    right.plot(sizes, dead, "o", color="black", markersize=4)
    for name, share in SHARES.items():  # of the push, so their ratio is that of the steps
        at = np.interp(share, sizes, formula)
        right.scatter(share, at, 60, facecolor="none", edgecolor=HUES["relu"], linewidth=1.6, zorder=3)
        right.text(share + 0.07, at - 0.02, f"{KINDS[name]}: {share}", va="top", color=HUES["relu"])
    right.set(xlabel="size of the step", ylabel="share dead", ylim=(-0.03, 1.05))
    return fig


def losses_figure(steps: np.ndarray, active: dict[tuple[int, str], np.ndarray]) -> Figure:
    """The share of inactive outputs during training at each step size, a panel for each network (`law.activities`).

    Lines: mean over runs. Bands, at the largest steps: the middle 80% of runs.
    """
    sizes = sorted({size for size, _ in active})
    fig, axes = subplots(1, 2, height=2.9, sharey=True)
    looks = dict(zip(sizes, ((GREY, ":", 1.5), ("#56A0D3", "--", 1.8), (HUES["relu"], "-", 2.4)), strict=True))
    places = {"ReLU2": ((20, -5), (20, 12), (30, 74)), "ReLU2-Neg": ((2.5, -4), (90, 12), (7, 27))}
    for ax, name in zip(axes, places, strict=True):
        for size, place in zip(sizes, places[name], strict=True):
            shares = 100 * (active[size, name] < RARE[0]).mean(2)  # (runs, S)
            color, line, width = looks[size]
            ax.plot(steps, shares.mean(0), color=color, linestyle=line, linewidth=width)
            if size == sizes[-1]:
                band = np.quantile(shares, (0.1, 0.9), axis=0)
                ax.fill_between(steps, *band, color=color, alpha=0.15, linewidth=0)
            ax.text(*place, f"step size {size:,}", color=color, va="center")
        ax.set_xscale("symlog", linthresh=1, linscale=0.4)
        ax.set(title=f"{KINDS[name]}s ({name})", xlabel="step of the training", ylim=(-12, 103))
        ax.set_xticks([0, 1, 10, 100, 1000], ["0", "1", "10", "100", "1,000"])
        ax.minorticks_off()
    axes[0].set_ylabel("inactive outputs (%)")
    return fig


def warmup_figure(sizes, shares: dict, marks: dict[float, str]):
    """Share of inactive outputs against the step size that a warm-up has reached, for each network.

    Args:
        sizes: step size at each recorded step; shape (steps,).
        shares: network -> share of inactive outputs of each run; shape (runs, steps).
        marks: step size -> the word beside its dashed line.
    """
    fig, ax = subplots(height=2.9)
    rising = (sizes > 0) & (sizes < sizes.max())
    for name, share in shares.items():
        color, share = style(name)["color"], 100 * share[:, rising]
        ax.plot(sizes[rising], share.mean(0), **style(name))
        ax.fill_between(sizes[rising], *np.quantile(share, (0.1, 0.9), axis=0), color=color, alpha=0.15, linewidth=0)
        ax.text(sizes[rising][-1] * 1.08, share.mean(0)[-1], name, color=color, va="center")
    for size, word in marks.items():
        ax.axvline(size, color="black", linestyle="--", linewidth=1)
        ax.text(size / 1.06, 97, word, ha="right", va="top")
    ax.set(xscale="log", xlabel="step size reached (grows during training)", ylabel="inactive outputs (%)")
    ax.set(xlim=(None, sizes.max() * 1.7), ylim=(-3, 100))
    return fig


def law_figure(runs_by_size: dict[int, pd.DataFrame]):
    """Share of failing runs with its interval, a panel for each step size, a row for each network.

    runs_by_size: step size -> `law.runs`. Filled markers: raw inputs; hollow ones: standardised inputs.
    """
    names = list(dict.fromkeys(name for runs in runs_by_size.values() for name in runs["network"]))
    names.sort(key=SIX.index)
    fig, axes = subplots(1, len(runs_by_size), height=3.0, squeeze=False, sharey=True)
    for ax, (size, runs) in zip(axes[0], runs_by_size.items(), strict=True):
        for (name, scaling), of in runs.groupby(["network", "scaling"])["fails"]:
            row = names.index(name) + (-0.15 if scaling == "raw" else 0.15)
            look = style(name) | ({} if scaling == "raw" else {"markerfacecolor": "white"})
            interval(ax, clopper_pearson(int(of.sum()), len(of), whole=100), row, look)
        ax.set(title=f"step size {size:,}", xlabel="failing runs (%)", xlim=(-4, 104))
        ax.set_yticks(range(len(names)), names)
    axes[0][0].set_ylim(len(names) - 0.5, -0.5)
    marks = [
        Line2D([], [], color="black", marker="o", linestyle="none", markerfacecolor=face)
        for face in ("black", "white")
    ]
    fig.legend(marks, ["raw inputs", "standardised inputs"], loc="outside lower center", ncols=2)
    return fig


def remedies_figure(starts: dict[str, pd.DataFrame]) -> Figure:
    """One panel an input scaling: every run's test accuracy under each recipe, ReLU2 above ReLU2-Neg.

    starts: name of the recipe -> its runs (`frames`).
    """
    fig, several = panels(pd.concat(starts, names=["start"]), 4.4)
    for ax, of_scaling in several:
        for row, start in enumerate(starts):
            runs = of_scaling[of_scaling.index.get_level_values("start") == start]
            accuracy = wide(runs, "accuracy").reindex(columns=["ReLU2", "ReLU2-Neg"])
            for offset, name in ((-0.2, "ReLU2"), (0.15, "ReLU2-Neg")):
                x = np.sort(accuracy[name])
                height = row + offset + 0.16 * (jitter(len(x)) - 0.5)
                label = name if row == 0 else None
                ax.plot(x, height, label=label, **style(name) | {"linestyle": "none", "alpha": 0.7})
                ax.plot(x.mean(), row + offset, marker="|", markersize=12, markeredgewidth=2, color="black")
        name_rows(ax, starts)
        ax.set(xlabel="test accuracy (%)", xlim=(0, 100))
    legend_below(fig, several[0][0], 2)
    return fig


def phase_figure(runs: pd.DataFrame, plan, names: tuple[str, ...], marks: dict | None = None):
    """Rows input scalings, columns networks: the mean test accuracy at the points of the grid.

    A dot is a point of which some run diverged.

    Args:
        runs: `law.runs` of the plan.
        plan: a `study.PhaseGrid`.
        marks: input scaling -> (curvature, preactivation) of a protocol to mark, a cross.
    """
    means = runs.pivot_table(["accuracy", "diverged"], ["scaling", "network", "curvature"], "preactivation")
    rows = [scaling for scaling in plan.scalings if scaling in means.index]
    fig, axes = subplots(len(rows), len(names), height=1.2 + 1.5 * len(rows), squeeze=False, sharex=True, sharey=True)
    x, y = np.log10(plan.preactivations), np.log10(plan.curvatures)
    for line, scaling in zip(axes, rows, strict=True):
        for ax, name in zip(line, names, strict=True):
            of = means.loc[scaling, name]
            image = ax.pcolormesh(x, y, of["accuracy"], vmin=0, vmax=100, shading="nearest")
            ax.grid(visible=False)
            ax.set_xticks(x)
            lost = np.argwhere(of["diverged"])
            ax.plot(x[lost[:, 1]], y[lost[:, 0]], ".", color="white", markersize=5)
            if marks:
                curvature, size = marks[scaling]
                cross = ax.plot(np.log10(size), np.log10(curvature), "x", color="white", markersize=9, mew=2.5)
                cross[0].set_path_effects([withStroke(linewidth=4, foreground="black")])
            if scaling == rows[0]:
                ax.set_title(name)
        line[0].set_ylabel(f"{scaling}\n$\\log_{{10}}$ step size")
    fig.supxlabel("$\\log_{10}$ RMS of the first preactivations", fontsize=10)
    fig.colorbar(image, ax=axes, label="test accuracy (%)", shrink=0.9)
    return fig


def lead_map_figure(runs: pd.DataFrame, plan: PhaseGrid, marks: dict[str, tuple[float, float]]) -> Figure:
    """The mean lead of ReLU2-Neg over ReLU2 at the points of the grid, a panel for each input scaling.

    runs: `law.runs` of the plan. marks: input scaling -> (curvature, preactivation) of the published setting.
    """
    means = runs.pivot_table("accuracy", ["scaling", "curvature", "preactivation"], "network")
    leads = (means["ReLU2-Neg"] - means["ReLU2"]).unstack()
    fig, axes = subplots(1, 2, height=3.6, sharex=True, sharey=True)
    x, y = np.log10(plan.preactivations), np.log10(plan.curvatures)
    for ax, scaling in zip(axes, plan.scalings, strict=True):
        of = leads.loc[scaling].to_numpy()  # (curvatures, preactivations)
        image = ax.pcolormesh(x, y, of, cmap="RdBu_r", vmin=-80, vmax=80, shading="nearest")
        for (row, column), value in np.ndenumerate(of):
            ink = "white" if abs(value) > 50 else "black"
            ax.text(x[column], y[row], f"{round(value)}".replace("-", "−"), color=ink, ha="center", va="center")
        curvature, size = marks[scaling]
        ax.plot(np.log10(size), np.log10(curvature), "x", color="black", markersize=11, mew=3)
        ax.grid(visible=False)
        ax.set(title=f"{scaling} pixels", xlabel="first preactivations")
        ax.set_xticks(x, [f"{value:g}" for value in plan.preactivations])
        ax.set_yticks(y, [f"{value:,g}" for value in plan.curvatures])
    axes[0].set_ylabel("step size")
    fig.colorbar(image, ax=axes, label="lead of distances (points)", shrink=0.9)
    return fig
