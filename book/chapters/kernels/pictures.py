"""The figures of the chapter."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Circle, Ellipse
from matplotlib.patheffects import withStroke
from matplotlib.ticker import MaxNLocator

from book.chapters.kernels import checks, derived, magnified, one_task
from book.claims.statistics import mean_interval
from book.figures.figures import ACCENT, GREY, labels_apart, name_rows, shades, subplots
from support.geometry import conformal_rbf_log_volume_element

LOOKS = {
    "plain": {"marker": "o", "markerfacecolor": "white", "color": "black"},
    "support": {"marker": "o", "color": "black"},
    "random": {"marker": "s", "color": "#999999"},
}
LINES = ("#0072B2", "#D55E00", "#007A5A", "#777777")  # of data sets, apart from each other for the colour-blind too
NAMES = {"plain": "plain", "support": "magnified at support vectors", "random": "magnified at random inputs"}


def errors_figure(table: pd.DataFrame, arms: list[dict], line: float):
    """Left: mean test errors of the three kinds of machine. Right: how magnifying changes them, with intervals.

    table: rows of "kernel-machines". arms: of the claim on the gain, as in the ledger. line: of its rule.
    """
    fig, (left, right) = subplots(1, 2, height=3.0, sharey=True)
    means = table.groupby("data")[list(LOOKS)].mean()
    for row, arm in enumerate(arms):
        for offset, (kind, look) in zip((-0.2, 0, 0.2), LOOKS.items(), strict=True):
            label = NAMES[kind] if row == 0 else None
            left.plot(means.loc[arm["name"], kind], row + offset, label=label, linestyle="none", **look)
        if arm["low"] is not None:
            right.plot([-arm["low"], -arm["high"]], [row, row], color="black", linewidth=2)
        right.plot(-arm["value"], row, linestyle="none", **LOOKS["support"])
        right.text(
            1.01,
            row,
            f"{-arm['value']:+z.2f}".replace("-", "−"),
            transform=right.get_yaxis_transform(),
            va="center",
            fontsize=9,
        )
    right.axvline(0, color="black", linewidth=0.8)
    right.axvline(-line, color="black", linewidth=0.8, linestyle="--")
    name_rows(left, [arm["name"].replace(" of ", "\nof ") for arm in arms])
    left.set_xlim(left=0)
    left.set(xlabel="test error (%)", title="errors")
    right.set(xlabel="magnified − plain (points)", title="change by magnifying")
    right.grid(axis="y", visible=False)
    fig.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=2)
    return fig


@dataclass(frozen=True)
class Shell:
    """Log-volume around one support vector, less that of the plain kernel, by distance in units of tau."""

    ratio: float  # tau sqrt(d) / sigma
    distances: np.ndarray  # (T,)
    values: np.ndarray  # (T,) nats
    peak: float  # the distance that the formula names


def shells(d: int, ratios=checks.RATIOS, points: int = 61) -> list[Shell]:
    """One for each ratio, with sigma = 1, from two derivatives of the kernel."""
    found = []
    for ratio in ratios:
        tau = ratio / np.sqrt(d)
        distances = np.linspace(0, 1.5, points)
        values = np.array([checks.ray(r * tau, d, 1.0, tau) for r in distances])
        found.append(Shell(ratio, distances, values, checks.shell_radius(d, 1.0, tau) / tau))
    return found


def shells_figure(by_dimension: dict[int, list[Shell]]):
    """A panel for each dimension: a curve for each width of h, with the formula's maximum as a dot."""
    fig, axes = subplots(1, len(by_dimension), height=3.2, squeeze=False, sharey=True)
    for ax, (d, several) in zip(axes[0], by_dimension.items(), strict=True):
        for shell, colour in zip(several, shades(len(several)), strict=True):
            ax.plot(shell.distances, shell.values, color=colour, label=f"{shell.ratio:g}")
            top = np.interp(shell.peak, shell.distances, shell.values)
            ax.plot(shell.peak, top, "o", color=colour, clip_on=False)
        ax.axhline(0, color="black", linewidth=0.8, linestyle="--")
        ax.set(title=f"{d} inputs", xlabel="distance from the vector (τ)", xlim=(0, 1.5), ylim=(-1.5, 1.0))
    axes[0][0].set_ylabel("log-volume,\nmagnified - plain (nats)")
    legend = fig.legend(*axes[0][0].get_legend_handles_labels(), loc="outside lower center", ncols=5)
    legend.set_title("τ in units of σ/√d")
    return fig


def ring_figure(taus: tuple[float, ...] = (0.15, 0.3, 0.8), half: float = 0.4, side: int = 161) -> Figure:
    """A map for each width of h around one support vector in the plane, sigma = 1, with the ring of the formula."""
    fig, axes = subplots(1, len(taus), height=2.6, squeeze=False, sharex=True, sharey=True)
    grid = np.linspace(-half, half, side)
    points = torch.from_numpy(np.stack(np.meshgrid(grid, grid), -1).reshape(-1, 2))
    vector = torch.zeros(2, dtype=points.dtype)
    for ax, hill, tau in zip(axes[0], ("narrow", "wider", "wide"), taus, strict=True):
        values = conformal_rbf_log_volume_element(vector, points, 1.0, tau).reshape(side, side)
        image = ax.pcolormesh(grid, grid, values, vmin=-1, vmax=1.2, shading="nearest", rasterized=True)
        ax.add_patch(Circle((0, 0), checks.shell_radius(2, 1.0, tau), fill=False, linestyle="--", edgecolor="black"))
        ax.plot(0, 0, "k+")
        ax.set(title=f"{hill} hill, τ = {tau:g} σ", aspect="equal", xticks=(-0.3, 0, 0.3), yticks=(-0.3, 0, 0.3))
        ax.set(xlabel="$x_1$ (σ)")
        ax.grid(visible=False)
    axes[0][0].set_ylabel("$x_2$ (σ)")
    fig.colorbar(image, ax=axes, label="log-volume over that\nof the plain kernel (nats)", shrink=0.8)
    return fig


def ring_turn() -> dict:
    """The same for readers to turn: the width of h and the number of inputs."""
    return {
        "kind": "ring",
        "look": "Change the width τ of the hill h, and the number of inputs d. What to look for: when does the ring "
        "close, and how wide can it get?",
        "width": 0.16,
        "inputs": 2,
    }


def plane_figure(x: np.ndarray, labels: np.ndarray, machines: dict[str, magnified.Machine], side: int = 121):
    """A panel for each magnified machine on two inputs: its log-volume, boundary, data and support vectors.

    x: (N, 2), length and width of petals, standardised; support vectors of the plain machine are ringed.
    """
    outlined = [withStroke(linewidth=3.2, foreground="white")]
    fig, axes = subplots(1, len(machines), height=3.4, squeeze=False, sharex=True, sharey=True)
    low, high = x.min(0) - 0.3, x.max(0) + 0.3
    grid = [np.linspace(low[k], high[k], side) for k in (0, 1)]
    points = np.stack(np.meshgrid(*grid), -1).reshape(-1, 2)
    for ax, (name, machine) in zip(axes[0], machines.items(), strict=True):
        values = machine.log_volume(torch.from_numpy(points)).numpy().reshape(side, side)
        image = ax.pcolormesh(*grid, values - values.max(), vmin=-4, vmax=0, shading="nearest", rasterized=True)
        for k, marker in zip(range(labels.max() + 1), "os^", strict=False):
            ax.plot(*x[labels == k].T, marker, color="white", markeredgecolor="black", markersize=3.5, mew=0.6)
        ax.plot(*x[machine.centres].T, "o", markerfacecolor="none", markeredgecolor="black", markersize=8,
                path_effects=outlined)  # fmt: skip
        classes = machine.predict(points).reshape(side, side)
        lines = ax.contour(*grid, classes, levels=np.arange(labels.max()) + 0.5, colors="black", linewidths=1.4)
        lines.set(path_effects=outlined)
        ax.set(title=name, xlabel="petal length (SD)")
        ax.grid(visible=False)
    axes[0][0].set_ylabel("petal width (SD)")
    fig.colorbar(image, ax=axes, label="log-volume (nats, largest = 0)", shrink=0.9)
    return fig


def widths_figure(table: pd.DataFrame, bold: str = "pairs of digits"):
    """What magnifying gains in test error over the plain machine by the width of h, a line for each data set.

    table: "kernel-machines". Shaded: widths at which the volume is largest on a shell around a support vector.
    """
    names, taus = list(dict.fromkeys(table["data"])), sorted(magnified.TAUS)
    means = table.groupby("data").mean(numeric_only=True)
    gains = {n: [means.loc[n, "plain"] - means.loc[n, f"error {tau:g}"] for tau in taus] for n in names}
    fig, ax = subplots(height=3.2)
    ax.axvspan(-0.5, sum(tau < 1 for tau in taus) - 0.5, color="#eeeeee", linewidth=0)
    ax.hlines(0, -0.5, len(taus) - 1, color="black", linewidth=0.8)
    end = len(taus) - 1
    heights = labels_apart(np.array([gain[-1] for gain in gains.values()]), 0.2)
    for (name, gain), colour, height in zip(gains.items(), LINES, heights, strict=False):
        look = {"color": "black", "linewidth": 2.5} if name == bold else {"color": colour, "linewidth": 1.5}
        ax.plot(range(len(taus)), gain, marker="o", **look)
        if name == bold:
            own = table[table["data"] == name]
            found = [mean_interval(own["plain"] - own[f"error {tau:g}"], method="t") for tau in taus]
            ends = [[f.value - f.low for f in found], [f.high - f.value for f in found]]
            ax.errorbar(range(len(taus)), gain, ends, fmt="none", color="black", capsize=3, linewidth=1.2)
        ax.plot(
            [end, end + 0.35], [gain[-1], height], color=look["color"], linewidth=0.8
        )  # from the line to its label
        ax.text(end + 0.4, height, name, va="center", color=look["color"])
    ax.text(-0.45, 0.99, "volume is largest\non a shell", transform=ax.get_xaxis_transform(), fontsize=9, va="top")
    ax.set_xticks(range(len(taus)), [f"{tau:g}" for tau in taus])
    ax.set(xlabel="width of h (τ, in units of σ/√d)", ylabel="gain by magnifying (points)")
    ax.set(xlim=(-0.5, len(taus) + 0.6))
    return fig


def rounds_figure(table: pd.DataFrame):
    """The test error of feature machines after each update of M: a panel for each data set, thin lines blocks."""
    names = list(dict.fromkeys(table["data"]))
    columns = min(3, len(names))
    lines = -(-len(names) // columns)
    fig, axes = subplots(lines, columns, height=0.4 + 2.1 * lines, squeeze=False)
    for ax in axes.flat[len(names) :]:
        ax.remove()
    for ax, name in zip(axes.flat, names, strict=False):
        errors = table[table["data"] == name].pivot(index="round", columns="block", values="error")
        ax.plot(errors.index, errors, color="#999999", linewidth=0.6)
        ax.plot(errors.index, errors.mean(axis=1), "-o", color="black")
        ax.set(title=name, ylim=(0, None), xticks=errors.index)
    for line in axes:
        line[0].set_ylabel("test error (%)")
    fig.supxlabel("updates of M", fontsize=10)
    return fig


IDEAS = {  # machine -> the row of its errors in the first picture, and its name
    "plain": (0, "plain kernel"),
    "magnified": (1.05, "magnify,\nstrength chosen"),
    "forced": (1.85, "magnify,\nstrongly"),
    "learned": (2.9, "learn\ndirections"),
}
SKETCHES = {  # kernel -> the row in whose middle its sketch lies, and the words below it
    "plain": (0, "even everywhere"),
    "magnified": (1.4, "more room at the boundary"),
    "learned": (2.85, "more room across than along"),
}


FAR = 5  # times the plain kernel's error, which would hide all other differences


def ideas_figure(panels: dict[str, dict[str, pd.Series]]):
    """Left, sketches of how kernels see a grid. Right, test errors in percent: a row for each machine of IDEAS, a dot
    for each draw or training set.

    panels: title -> machine -> errors. A mean above FAR times that of the plain kernel is written at the edge.
    """
    fig, axes = subplots(1, 1 + len(panels), height=4.2, sharey=True, width_ratios=(1.5, *[1] * len(panels)))
    for kind, (row, words) in SKETCHES.items():
        lowest = _sketch(axes[0], kind, row)
        axes[0].text(0, lowest + 0.17, words, ha="center", va="center", fontsize=9)
    axes[0].text(0, -0.56, "boundary", ha="center", va="center", fontsize=9)
    axes[0].set(title="How a kernel sees a\ngrid of points (sketch)", xlim=(-1.45, 1.45), xticks=())
    axes[0].tick_params(length=0)
    axes[0].spines[:].set_visible(False)
    for ax, (title, errors) in zip(axes[1:], panels.items(), strict=True):
        ax.axvline(errors["plain"].mean(), color=GREY, linestyle="--", linewidth=0.9)
        for name, (row, _) in IDEAS.items():
            if (mean := errors[name].mean()) <= FAR * errors["plain"].mean():
                _row_of_errors(ax, row, errors[name], "black")
            else:
                ax.text(
                    1, row, f"{mean:.0f}% →", transform=ax.get_yaxis_transform(), ha="right", va="center", fontsize=9
                )
        ax.set(title=title, xlabel="test error (%)", xlim=(0, None), ylim=(3.5, -0.75))
        ax.xaxis.set_major_locator(MaxNLocator(4, steps=(1, 2, 5, 10), integer=True))
    for ax in axes:
        ax.grid(axis="y", visible=False)
    axes[0].set_yticks([row for row, _ in IDEAS.values()], [name for _, name in IDEAS.values()])
    return fig


def seen(kind: str, points: np.ndarray) -> np.ndarray:
    """Where points (..., 2), from -1 to 1, lie in the sketch of a kernel; the class changes on the line of `edge`."""
    x, y = points[..., 0], points[..., 1]
    if kind == "magnified":
        side = np.where(x < edge(y), -1, 1) - edge(y)  # from the boundary to the end of the row
        far = (x - edge(y)) / side
        return np.stack([edge(y) + side * np.tanh(1.7 * far) / np.tanh(1.7), y], -1)
    return np.stack([1.35 * x, 0.35 * y], -1) if kind == "learned" else points


def edge(y: np.ndarray) -> np.ndarray:
    """The first coordinate of the boundary of the sketches, by the second one."""
    return 0.1 * np.sin(2.4 * y)


def _sketch(ax: Axes, kind: str, row: float) -> float:
    """A grid of points of two classes, the lines that join them, and the boundary, as a kernel sees them.

    Returns how far down it reaches.
    """
    points = np.stack(np.meshgrid(np.linspace(-1, 1, 10), np.linspace(-1, 1, 5)), -1)
    fine = np.linspace(-1, 1, 61)
    at, line = (seen(kind, p) * (1, -0.4) + (0, row) for p in (points, np.stack([edge(fine), fine], -1)))
    for several in (at, at.swapaxes(0, 1)):
        ax.plot(*several.transpose(2, 0, 1), color="#cccccc", linewidth=0.8, zorder=1)
    first = points[..., 0] < edge(points[..., 1])
    for side, hue in ((first, ACCENT), (~first, "#777777")):
        ax.plot(*at[side].T, "o", color=hue, markersize=2.8, zorder=2)
    ax.plot(*line.T, "--", color="black", linewidth=1.4, zorder=3)
    return at[..., 1].max()


def _row_of_errors(ax: Axes, row: float, errors: pd.Series, colour: str) -> None:
    """Errors in percent as dots in a row, and over their mean a bar and a number."""
    ax.plot(errors, row + np.linspace(-0.16, 0.16, len(errors)), ".", alpha=0.5, color=colour)
    mean = errors.mean()
    ax.plot([mean, mean], [row - 0.25, row + 0.25], linewidth=2.4, color=colour)
    ax.text(mean, row - 0.32, f"{mean:.1f}%", ha="center", fontsize=9, color=colour)


def directions_figure(table: pd.DataFrame):
    """Left: the toy's error before and after learning M, by the number of directions that decide. Right: the error on
    images in all directions, after learning, and in the leading directions of M alone.

    table: rows of "kernel-directions".
    """
    fig, (toy, images) = subplots(1, 2, height=3.3, sharey=True, width_ratios=(1.25, 1))
    means = table.groupby("data", sort=False).mean(numeric_only=True)
    numbers = list(derived.DIRECTIONS)
    lines = {"first": ("--", "white", "plain kernel"), "last": ("-", "black", "after learning")}
    for column, (style, fill, word) in lines.items():
        for _, draw in table[table["data"].str.startswith("toy")].groupby("block"):
            toy.plot(numbers, draw[column], style, color=GREY, linewidth=0.4)
        mean = [means.loc[f"toy, {number}", column] for number in numbers]
        toy.plot(numbers, mean, "o" + style, color="black", markerfacecolor=fill)
        toy.text(numbers[-1] + 0.3, mean[-1], f"{word}\n{mean[-1]:.0f}%", va="center", fontsize=9)
    toy.set(xlabel="directions that decide, of ten", ylabel="test error (%)", xlim=(1.5, 13.2), ylim=(0, 32))
    toy.set(xticks=numbers, title="Toy")
    kinds = {"first": "plain", "last": "weighted\nby M", "cropped": "only the top\nof M"}
    for name, colour in zip((n for n in means.index if not n.startswith("toy")), LINES, strict=False):
        mean = means.loc[name, list(kinds)]
        images.plot(range(len(kinds)), mean, "o-", color=colour)
        label = name.replace("digits", "small digits").replace(" images", "\nimages")
        images.text(len(kinds) - 0.85, mean.iloc[-1], label, va="center", color=colour, fontsize=9)
    images.set(xticks=range(len(kinds)), title="Images", xlim=(-0.4, len(kinds) + 0.2))
    images.set_xticklabels(list(kinds.values()), fontsize=9)
    return fig


ROWS = {  # column of "kernel-one-task" -> the row of its errors in the picture, and its name
    "plain": (0, "plain"),
    "support": (2, "magnify,\nstrength chosen"),
    "support, forced": (3, "magnify,\nstrongly"),
    "random, forced": (4, "the same at\nrandom points"),
    "learned": (6, "learn\ndirections"),
}


def one_task_figure(table: pd.DataFrame, found: dict[str, one_task.Slice], half: float = one_task.HALF) -> Figure:
    """Left: log-volume and unit circles of three kernels on one square. Right, next to them: their test errors.

    table: rows of "kernel-one-task". found: title of a map -> a kernel of `one_task.slices`, from top to bottom.
    half: of the square's side.
    """
    fig, axes = subplots(3, 2, height=5.6, width_ratios=(1, 2.6))
    errors = fig.add_subplot(axes[0, 1].get_gridspec()[:, 1])
    for ax in axes[:, 1]:
        ax.remove()
    for ax, (title, kernel) in zip(axes[:, 0], found.items(), strict=True):
        side = np.linspace(-half, half, len(kernel.volumes))
        ax.pcolormesh(side, side, kernel.volumes, vmin=-6, vmax=6, shading="nearest", rasterized=True)
        values, vectors = np.linalg.eigh(kernel.metrics)  # values ascend, so the last is of the shorter radius
        radii = 0.28 * np.sqrt(values[:, -1:].min() / np.maximum(values, 1e-12))
        for place, axis, r in zip(kernel.places, vectors[:, :, 0], radii, strict=True):
            angle = float(np.degrees(np.arctan2(axis[1], axis[0])))
            ax.add_patch(Ellipse(tuple(place), *(2 * r), angle=angle, fill=False, edgecolor="white", linewidth=1.2))
        ax.axvline(0, color="black", linewidth=1.6, linestyle="--")
        ax.set(title=title, aspect="equal", xlim=(-half, half), ylim=(-half, half), xticks=(), yticks=())
        ax.set(xlabel="decides", ylabel="tells nothing")
        ax.grid(visible=False)
    for number, colour in {2: LINES[-1], 10: "black"}.items():
        rows = table[table["data"] == f"{number} inputs"]
        for column, (row, _) in ROWS.items():
            _row_of_errors(errors, row, rows[column], colour)
        errors.text(rows["plain"].min(), -0.72, f"{number} inputs", fontweight="bold", color=colour)
    errors.set_yticks([row for row, _ in ROWS.values()], [name for _, name in ROWS.values()])
    errors.set(xlabel="test error (%)", xlim=(0, None), xticks=range(0, 26, 5), ylim=(6.9, -1.1))
    errors.grid(axis="y", visible=False)
    return fig


def likeness_figure(table: pd.DataFrame):
    """For each data set and start: likeness of M to the trained and untrained first layer, and of a turned M."""
    looks = {
        "trained": ({"marker": "o", "color": "black"}, "trained layer"),
        "untrained": ({"marker": "o", "markerfacecolor": "white", "color": "black"}, "untrained layer"),
        "turned": ({"marker": "s", "color": "#999999"}, "turned M, trained layer"),
    }
    return _dots(table, looks, "trained", "likeness to M", -0.6)


def convergence_figure(table: pd.DataFrame):
    """For each data set and start: the cosine of W'W and three matrices after training with decay.

    table: rows of "kernel-convergence".
    """
    looks = {
        "cosine": ({"marker": "o", "color": "black"}, "gradients of the loss times inputs"),
        "products": ({"marker": "o", "markerfacecolor": "white", "color": "black"}, "outer products"),
        "root": ({"marker": "s", "color": "#999999"}, "their root"),
        "without decay": ({"marker": "x", "color": LINES[1]}, "loss times inputs, without decay"),
    }
    return _dots(table, looks, "cosine", "cosine with W'W", -0.3)


def _dots(table: pd.DataFrame, looks: dict[str, tuple[dict, str]], told: str, xlabel: str, least: float):
    """A row for each data set and start with a dot for each value of these columns; told: whose mean is printed.

    looks: column -> how its dots look, and its label.
    """
    arms = list(dict.fromkeys(zip(table["data"], table["start"], strict=True)))
    fig, ax = subplots(height=3.4)
    for row, (data, start) in enumerate(arms):
        of = table[(table["data"] == data) & (table["start"] == start)]
        for k, (name, (look, label)) in enumerate(looks.items()):
            ax.plot(of[name], np.full(len(of), row + 0.2 * (k - (len(looks) - 1) / 2)), linestyle="none", alpha=0.6,
                    markersize=4, label=label if row == 0 else None, **look)  # fmt: skip
        ax.text(1.01, row, f"{of[told].mean():.2f}", transform=ax.get_yaxis_transform(), va="center", fontsize=9)
    ax.axvline(0, color="black", linewidth=0.8)
    name_rows(ax, [f"{data},\n{start}" for data, start in arms])
    ax.set(xlabel=xlabel, xlim=(least, 1.05))
    fig.legend(*ax.get_legend_handles_labels(), loc="outside lower center", ncols=3 if len(looks) == 3 else 2)
    return fig


def pixels_figure(table: pd.DataFrame):
    """The diagonals of metrics on the pixels of the digits, each scaled to its largest value.

    table: (64, names), the share of the trace by pixel.
    """
    fig, axes = subplots(1, table.shape[1], height=2.0, squeeze=False)
    for ax, name in zip(axes[0], table, strict=True):
        ax.imshow(table[name].to_numpy().reshape(8, 8), vmin=0)
        ax.set_title(name.replace(", ", "\n"))
        ax.set_xticks([])
        ax.set_yticks([])
        ax.grid(visible=False)
    return fig


def shares_figure(table: pd.DataFrame):
    """A panel for each data set: the share of metrics in the relevant directions before (hollow) and after training.

    Small dots: draws or blocks after training; large: means.
    """
    names = list(dict.fromkeys(table["data"]))
    fig, axes = subplots(1, len(names), height=2.4, sharey=True, sharex=True, squeeze=False)
    for ax, name in zip(axes[0], names, strict=True):
        of = {start: rows for start, rows in table[table["data"] == name].groupby("start", sort=False)}
        first, *_ = of.values()
        lines = {"M of the feature\nmachine": (first["share Euclid"], first["share M"])}
        lines |= {f"first layer,\n{start}": (rows["share W before"], rows["share W"]) for start, rows in of.items()}
        for row, (before, after) in enumerate(lines.values()):
            ax.plot([before.mean(), after.mean()], [row, row], color="#aaaaaa", linewidth=1, zorder=1)
            ax.plot(after, np.full(len(after), row + 0.22), ".", color="#777777", markersize=4)
            ax.plot(before.mean(), row, "o", color="black", markersize=7, markerfacecolor="white")
            ax.plot(after.mean(), row, "o", color="black", markersize=7)
        name_rows(ax, lines)
        ax.set(title=name, xlabel="share (%)", xlim=(0, 104))
    return fig


def described(table: pd.DataFrame) -> str:
    """What the rows of "kernel-machines" are, for captions."""
    folds = f"{derived.REPETITIONS} times {derived.FOLDS} folds"
    tables = ", ".join(name for name in dict.fromkeys(table["data"]) if name in derived.TABLES)
    blocks = int((table["data"] == "pairs of digits").sum())
    return f"{tables}: {folds}; {len(derived.PAIRS)} pairs of digits: {blocks} disjoint training sets"
