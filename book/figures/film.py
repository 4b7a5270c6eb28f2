"""Two filmstrips, to an image of another class and to one of the same class, and the stretch along them.

One picture serves several networks: it shows the means over networks, and readers switch training on and off. The
other, `bumps` over `frames`, compares networks side by side.
"""

import io
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from matplotlib import pyplot
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.offsetbox import AnnotationBbox, OffsetImage

from book.figures import figures, turns

TITLES = ("two classes", "one class")
WHEN = ("before training", "after training")
LOOK = (
    "Switch training on and off (dashed: the other state), and move along the line. What to look for: what does "
    "training do to the path between two classes, and to that within one?"
)


class Film(NamedTuple):
    """What one kind of network shows.

    name: for the menu. ends: what lies at the ends of each of the two lines, in words. nats: log-volume over the mean
    of the ends, in nats per direction, (networks, 2 for before and after training, 2 lines, T). strips: images
    along each line, (2, frames, side, side) in grey from 0 (white) to 1, or (2, frames, side, side, 3) in colour, or
    None. change: from where to where on the first line, in shares of it, trained networks change the class; or None.
    """

    name: str
    ends: tuple[tuple[str, str], tuple[str, str]]
    nats: np.ndarray
    strips: np.ndarray | None = None
    change: tuple[float, float] | None = None

    @property
    def stretch(self) -> np.ndarray:
        """(2, 2, T) by how many percent a direction is stretched more than at the ends, by the mean of the nats."""
        return 100 * np.expm1(self.nats.mean(0))


def over_ends(log_volume: np.ndarray, directions: int) -> np.ndarray:
    """Log-volumes (..., T) along lines, minus the mean of the ends, in nats per direction."""
    values = np.asarray(log_volume, float)
    return (values - values[..., [0, -1]].mean(-1, keepdims=True)) / directions


def still(film: Film) -> Figure:
    """A column for each line: its images, and the stretch before (grey) and after training (black), with its value
    in the middle."""
    fig, axes = figures.subplots(2, 2, height=3.4, squeeze=False, sharey="row", height_ratios=(1, 3.4))
    t = np.linspace(0, 1, film.nats.shape[-1])
    for k, title in enumerate(TITLES):
        top, ax = axes[:, k]
        top.set_axis_off()
        first, last = film.ends[k]
        top.set_title(f"{title}: {first} to {last}")
        if film.strips is not None:
            top.imshow(np.hstack(list(film.strips[k])), cmap="gray_r", vmin=0, vmax=1)
        for when, hue, line in zip(WHEN, (figures.GREY, "black"), ("--", "-"), strict=True):
            row = WHEN.index(when)
            each = 100 * np.expm1(film.nats[:, row, k])
            ax.plot(t, each.T, color=hue, linewidth=0.4, alpha=0.4)
            ax.plot(t, film.stretch[row, k], line, color=hue, linewidth=2.2, label=when)
            middle = float(np.interp(0.5, t, film.stretch[row, k]))
            ax.plot(0.5, middle, "o", color=hue)
            look = {"ha": "center", "va": "bottom" if row else "top", "weight": "bold", "bbox": figures.PLATE}
            words, shift = f"{middle:+.0f}%".replace("-", "\N{MINUS SIGN}"), (0, 6 if row else -6)
            ax.annotate(words, (0.5, middle), shift, color=hue, textcoords="offset points", **look)
        ax.axhline(0, color="black", linewidth=0.6)
        if film.change and k == 0:
            look = {"facecolor": "#e4e4e4", "edgecolor": "#bbbbbb", "linewidth": 2, "zorder": 0}
            ax.axvspan(*film.change, **look)  # with an edge, as it may have no width
            words = {"transform": ax.get_xaxis_transform(), "ha": "center", "va": "bottom", "fontsize": 9}
            ax.text(np.mean(film.change), 1.02, "the class changes", **words)
        ax.margins(y=0.12)
        ax.set_xticks((0, 0.5, 1), (first, "middle", last))
        for label, side in zip(ax.get_xticklabels(), ("left", "center", "right"), strict=True):
            label.set_ha(side)
    axes[1][0].set_ylabel("stretched more than\nthe mean of the ends (%)")
    axes[1][0].plot([], [], color="none", label=f"({film.name})")
    figures.legend_below(fig, axes[1][0], 3)
    return fig


def bumps(ax: Axes, nats: np.ndarray, hue: str, named: bool = True, gap: str = "{:.2f} times") -> None:
    """The stretch along the line of two classes (solid) and that of one class (dashed): networks thin, means thick.

    Args:
        nats: log-volume over the mean of the ends, in nats per direction, (networks, 2 lines, T).
        named: whether the lines get their names, and the gap between them in the middle an arrow and its size.
        gap: the words for this size.
    """
    t, mean = np.linspace(0, 1, nats.shape[-1]), nats.mean(0)
    for k, line in enumerate(("-", "--")):
        ax.plot(t, nats[:, k].T, line, color=hue, linewidth=0.5, alpha=0.35)
        ax.plot(t, mean[k], line, color=hue, linewidth=2.2)
    ax.set_xlim(-0.12, 1.12)
    ax.margins(y=0.14)
    if not named:
        return
    across, alike = mean[:, len(t) // 2]
    for name, height, shift in zip(TITLES, (across, alike), (6, -9), strict=True):
        ax.annotate(name, (0.5, height), (0, shift), color=hue, ha="center", va="bottom" if shift > 0 else "top",
                    textcoords="offset points", bbox=figures.PLATE)  # fmt: skip
    arrow = {"arrowstyle": "<->", "color": figures.ACCENT, "linewidth": 1.6, "shrinkA": 0}
    ax.annotate("", (0.5, alike), (0.5, across), arrowprops=arrow)
    ax.annotate(gap.format(np.exp(across - alike)), (0.5, alike), (0, -23), ha="center", va="top",
                color=figures.ACCENT, weight="bold", textcoords="offset points", bbox=figures.PLATE)  # fmt: skip


def frames(ax: Axes, strips: np.ndarray | None, size: float = 21) -> None:
    """Below the axis, which `bumps` drew, the images along both lines at their places, or words where there are none.

    Args:
        strips: (2, frames, side, side) in grey from 0 (white) to 1, or (2, frames, side, side, 3) in colour.
        size: of an image, points.
    """
    if strips is None:
        ax.set_xticks((0, 0.5, 1), ("image", "middle", "image"))
        return
    t = np.linspace(0, 1, strips.shape[1])
    ax.set_xticks(t, [""] * len(t))
    for row, (strip, title) in enumerate(zip(strips, TITLES, strict=True)):
        down = -6 - size / 2 - row * (size + 4)
        if (at := ax.get_subplotspec()) and at.is_first_col():
            ax.annotate(title, (-0.02, 0), (0, down), "axes fraction", "offset points", ha="right", va="center",
                        fontsize=8)  # fmt: skip
        for place, image in zip(t, strip, strict=True):
            drawn = OffsetImage(image, zoom=size / image.shape[0], cmap="gray_r", norm=pyplot.Normalize(0, 1))
            ax.add_artist(
                AnnotationBbox(drawn, (place, 0), (0, down), xycoords=("data", "axes fraction"),
                               boxcoords="offset points", pad=0.05, bboxprops={"edgecolor": "#cccccc"})
            )  # fmt: skip


def turn(films: Sequence[Film]) -> dict:
    """The data of the figure of the kind "film"."""
    return {
        "kind": "film",
        "look": LOOK,
        "titles": TITLES,
        "when": WHEN,
        "films": [
            {
                "name": film.name,
                "ends": film.ends,
                "networks": len(film.nats),
                "stretch": turns.rounded(film.stretch, 1),
                "change": turns.rounded(film.change or [], 3),
                "range": [10 * np.floor(film.stretch.min() / 10), 10 * np.ceil(film.stretch.max() / 10)],
                "strips": [] if film.strips is None else [_picture(strip) for strip in film.strips],
            }
            for film in films
        ],
    }


def _picture(frames: np.ndarray) -> str:
    """Frames (n, side, side) next to each other as the address of a picture: grey, dark on white, or in colour."""
    file, strip = io.BytesIO(), np.hstack(list(frames))
    if frames.ndim == 4:
        pyplot.imsave(file, strip, format="jpg", pil_kwargs={"quality": 80})
    else:
        pyplot.imsave(file, strip, cmap="gray_r", vmin=0, vmax=1, format="png")
    return turns.data_uri("image/jpeg" if frames.ndim == 4 else "image/png", file.getvalue())
