"""The style of the book's figures: the colour law, shared plots, and `show`.

The colour law: colour shows the hidden activation (ReLU blue, Abs vermillion, which colour-blind readers can tell
apart; others black or grey). Line and marker show what follows the second layer: nothing, an activation ("2"), or an
activation and a sign change ("2-Neg"). A hollow marker means a bias in the output layer, or OffsetL2 in the paper's
form.
"""

import base64
import io
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from scipy.optimize import isotonic_regression

from book.claims.statistics import Estimate, mean_interval
from book.claims.verdicts import LEAST_SEEDS
from book.figures import narrow, turns
from book.figures.turns import jitter
from book.words import without_tags
from support.networks.architectures import TABLE, architecture

STYLE = Path(__file__).with_name("book.mplstyle")
WIDTH = 7.0  # inches
LARGEST_SVG = 400_000  # bytes; a larger figure is shown as PNG
COORDINATES = re.compile(rb' (?:d|x|y)="[^"]*"')
DIGITS = re.compile(rb"(\.\d\d)\d+")  # hundredths of a point are enough

HUES = {"relu": "#0072B2", "abs": "#D55E00", "gelu": "black", "silu": "#777777"}
SPARE = ("#009E73", "#CC79A7", "#E69F00", "#56B4E9")  # of further activations, in the order of the table
GREY, ACCENT = "#888888", "#D55E00"  # what is compared with, and what to look at
PLATE = {"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 1}  # behind words that lie on data
OUTPUTS = {  # (head, whether there is an output activation, negated) -> line, marker
    ("linear", False, False): ("-", "o"),
    ("linear", True, False): ("--", "s"),
    ("linear", True, True): (":", "^"),
    ("offset_l2", False, False): ("-.", "D"),
    ("offset_l2", False, True): ((0, (3, 1, 1, 1, 1, 1)), "v"),
}


def style(name: str) -> dict:
    """Keyword arguments for `Axes.plot` that draw the architecture `name` by the colour law.

    Raises ValueError for a name that is not in the table of architectures.

    >>> style("Abs2-Neg")["color"], style("Abs2-Neg")["linestyle"], style("Abs2-Neg")["marker"]
    ('#D55E00', ':', '^')
    """
    a = architecture(name)
    further = [hidden for hidden in dict.fromkeys(b.hidden for b in TABLE.values()) if hidden not in HUES]
    hue = HUES.get(a.hidden) or SPARE[further.index(a.hidden) % len(SPARE)]
    line, marker = OUTPUTS[a.head, a.output is not None, a.negated]
    face = "white" if a.output_bias or a.form == "paper" else hue
    return {"color": hue, "linestyle": line, "marker": marker, "markerfacecolor": face}


def subplots(rows: int = 1, columns: int = 1, height: float = 3.2, **options) -> tuple[Figure, Any]:
    """A figure of the book's width and its axes; switches matplotlib to the book's style.

    Args:
        height: of the whole figure, inches.
        options: passed on to `matplotlib.pyplot.subplots`.
    """
    from matplotlib import pyplot

    pyplot.style.use(["default", STYLE])  # also where a matplotlibrc of the reader sets another
    return pyplot.subplots(rows, columns, figsize=(WIDTH, height), layout="constrained", **options)


def learning_curves(ax: Axes, steps: Sequence[int] | np.ndarray, curves: np.ndarray, name: str) -> None:
    """Draws each run as a thin line, and their mean on top, by the colour law.

    The mean stops where the first run has diverged (NaN), because a mean of the others would be biased.

    Args:
        steps: shape (S,), the recorded steps.
        curves: shape (runs, S), in the unit of the axis.
        name: the architecture.
    """
    steps, curves = np.asarray(steps), np.atleast_2d(np.asarray(curves, dtype=float))
    if curves.shape[1:] != steps.shape:
        raise ValueError(f"curves of shape {curves.shape} do not fit steps of shape {steps.shape}")
    look = style(name)
    thin = {"color": look["color"], "linestyle": "-", "linewidth": 0.5, "alpha": 0.25}
    ax.plot(steps, curves.T, **thin)
    ax.plot(steps, curves.mean(axis=0), label=name, markevery=landmarks(steps), **look)


def landmarks(steps: np.ndarray) -> list[int]:
    """Indices of about seven steps for markers, evenly spread on a logarithmic axis."""
    wanted = np.geomspace(max(steps[0], 1), max(steps[-1], 1), 7)
    return sorted({int(np.abs(steps - w).argmin()) for w in wanted})


def labels_apart(heights: np.ndarray, least: float) -> np.ndarray:
    """Heights for labels next to the ends of lines: in the same order, neighbours at least `least` apart.

    heights: (lines,) where the lines end, in the unit of the axis, like `least`.
    """
    heights = np.asarray(heights, dtype=float)
    order, steps = heights.argsort(), least * np.arange(len(heights))
    found = np.empty_like(heights)
    found[order] = isotonic_regression(heights[order] - steps).x + steps  # the nearest such heights
    return found


def step_axis(ax: Axes) -> None:
    """Makes the x axis show steps, logarithmic from 1, with a place for step 0."""
    ax.set_xscale("symlog", linthresh=1)
    ax.set_xlabel("step (log scale from 1)")


def legend_below(fig: Figure, ax: Axes, columns: int = 3) -> None:
    """Puts the legend of one panel below the whole figure."""
    fig.legend(*ax.get_legend_handles_labels(), loc="outside lower center", ncols=columns)


def name_rows(ax: Axes, labels: Collection[str], above: float = 0.5, below: float = 0.5) -> None:
    """Names the rows of a panel, which lie at 0, 1, 2 ... from top to bottom, with room above and below them."""
    ax.set_yticks(range(len(labels)), labels)
    ax.set_ylim(len(labels) - below, -above)
    ax.grid(axis="y", visible=False)


def interval(ax: Axes, found: Estimate, height: float, look: dict, **bar) -> None:
    """Draws an estimate as a mark with this look, and its interval as a bar of the same colour."""
    ax.plot([found.low, found.high], [height, height], color=look["color"], **bar)
    ax.plot(found.value, height, **look | {"linestyle": "none"})


def percent_axis(axis: Axis, limits: tuple[float, float], percents: Sequence[int]) -> None:
    """Labels an axis of nats, between these limits, with the percentages that they mean."""
    shown = [p for p in percents if limits[0] <= np.log1p(p / 100) <= limits[1]]
    axis.set_ticks([np.log1p(p / 100) for p in shown], [f"{p:+d}%".replace("-", "−") if p else "0" for p in shown])


def strip(ax: Axes, values_by_name: dict, within: tuple[float, float] = (-np.inf, np.inf)) -> None:
    """One row for each architecture: a dot for each run; below, the mean as a number and with its 95% interval.

    The interval of fewer than LEAST_SEEDS runs says little and can be wider than the axis, so it is left out.
    Diverged runs (NaN) are not drawn; the label of the row counts them.

    Args:
        values_by_name: architecture -> shape (runs,), in the unit of the x axis; drawn from top to bottom.
        within: bounds of the values, to which intervals are cut.
    """
    labels = []
    for row, (name, values) in enumerate(values_by_name.items()):
        values = np.asarray(values, dtype=float)
        finite = np.sort(values[np.isfinite(values)])
        lost = len(values) - len(finite)
        labels.append(f"{name}\n{lost} of {len(values)} diverged" if lost else name)
        if len(finite) == 0:
            continue
        height = row - 0.05 - 0.3 * jitter(len(finite))
        ax.plot(finite, height, **style(name) | {"linestyle": "none", "markersize": 3.2, "alpha": 0.6})
        mean = mean_interval(finite, within=within)
        if len(finite) < LEAST_SEEDS:
            mean = replace(mean, low=mean.value, high=mean.value)
        tick = {"color": "black", "marker": "|", "markersize": 9, "markeredgewidth": 2}
        interval(ax, mean, row + 0.16, tick, linewidth=1.6)
        ax.text(1.01, row, f"{mean.value:.1f}", transform=ax.get_yaxis_transform(), va="center", fontsize=9)
    name_rows(ax, labels, above=0.6)


def shades(count: int) -> list:
    """Colours for an ordered family, light to dark, all visible on white and under black lines."""
    return [matplotlib.colormaps["cividis"](v) for v in np.linspace(0.92, 0.18, count)]


def show(
    fig: Figure, *, name: str, title: str = "", caption: str, alt: str, turn: Mapping[str, Any] | None = None
) -> None:
    """Displays the figure with its label, caption and alt text, then closes it. Call it once, as a cell's last line.

    The page shows the SVG, and on a phone one whose panels are stacked (`narrow.stack`). The PNG is for notebooks
    that a reader opens without trusting them, and for figures whose SVG would be too large.

    Args:
        name: the figure's label in the book, lower case with hyphens ("fig-accuracy"), to which a link may point.
        title: the finding in one sentence, which begins the caption in bold.
        caption: how to read the figure, then data set, number of runs, and what bars and bands are.
        alt: the shape of the figure and its finding, for readers who cannot see it.
        turn: data of a figure that readers turn on the page, see `turns.page`; `fig` is then its still picture.
    Raises:
        ValueError: for a name of another form, an empty caption or an empty alt text.
    """
    if not re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", name):
        raise ValueError(f"figure name {name!r} must be lower-case words with hyphens, like 'fig-accuracy'")
    title, caption, alt = (" ".join(text.split()) for text in (title, caption, alt))
    if not caption or not alt:
        raise ValueError(f"figure {name!r} needs a caption and an alt text")
    caption = without_tags(f"**{title}** {caption}" if title else caption)  # names of folders are anything
    from IPython.display import display
    from matplotlib import pyplot

    png = io.BytesIO()
    fig.savefig(png, format="png")
    svg = _svg(fig, name)
    on_phone = _svg(fig, name) if turn is None and narrow.stack(fig) else b""
    pyplot.close(fig)
    images = {"image/png": base64.b64encode(png.getvalue()).decode()}
    if len(svg) <= LARGEST_SVG:
        images["image/svg+xml"] = svg.decode()
    facts = {"name": name, "caption": caption, "alt": alt}
    if 0 < len(on_phone) <= LARGEST_SVG:
        facts["narrow"] = on_phone.decode()
    metadata = {mime: {"alt": alt} for mime in images} | {"support": facts}
    if turn is not None:
        mime, file = ("image/svg+xml", svg) if "image/svg+xml" in images else ("image/png", png.getvalue())
        images.pop("image/svg+xml", None)  # it is in the HTML
        images["text/html"] = turns.page(turn, turns.data_uri(mime, file), alt)
    display(images | {"text/plain": caption}, raw=True, metadata=metadata)


def _svg(fig: Figure, name: str) -> bytes:
    file = io.BytesIO()
    with matplotlib.rc_context({"svg.hashsalt": name}):  # the same file from the same figure
        fig.savefig(file, format="svg", metadata={"Date": None})
    svg = re.sub(rb"\n\s+", b"\n", file.getvalue())
    return COORDINATES.sub(lambda several: DIGITS.sub(rb"\1", several[0]), svg)
