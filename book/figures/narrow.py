"""The layout of a figure on a phone: its panels below each other, as wide as the screen."""

import textwrap
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.gridspec import GridSpec
from matplotlib.ticker import FixedLocator

WIDTH = 3.7  # inches
LINE, ROW = 36, 20  # letters of a line below a panel, and of the name of a row
MARK, LEADING = 8, 0.2  # letters that a mark of a legend is wide, and inches for a line


def stack(fig: Figure) -> bool:
    """Lays the panels of a figure out for a phone; changes the figure and returns whether that was possible.

    The panels of a column stay together, below its title, unless one of the panels spans several columns. More than
    two maps without words at their axes come in pairs. Panels that took labels from a neighbour get their own.
    Diagrams without axes, and several rows of maps with colour bars, cannot be stacked.
    """
    cells: dict[tuple[int, int], list[Axes]] = {}  # (column, row) -> axes
    rows, high, across = 1, {}, False  # and how many rows high each cell is, and whether one spans several columns
    for ax in fig.axes:
        if place := ax.get_subplotspec():
            cells.setdefault((place.colspan.start, place.rowspan.start), []).append(ax)
            rows, across = max(rows, place.rowspan.stop), across or len(place.colspan) > 1
            high[place.colspan.start, place.rowspan.start] = len(place.rowspan)
    panels = [ax for several in cells.values() for ax in several]
    maps = all(ax.get_aspect() != "auto" for ax in panels)
    bars = len(panels) < len(fig.axes)  # of colours
    if (bars and rows > 1) or not any(ax.axison for ax in panels):
        return False
    plain = not bars and not any(ax.get_xlabel() for ax in panels)
    columns = 2 if maps and plain and len(cells) > 2 else 1
    order = sorted(cells.items(), key=lambda cell: cell[0][::-1] if across else cell[0])
    heights = [max(high[cell] for cell, _ in order[i : i + columns]) for i in range(0, len(order), columns)]
    each = WIDTH / columns if maps else fig.get_figheight() / rows
    room = 0.0  # inches that the names of rows need, for each row of the grid
    grid = GridSpec(len(heights), columns, figure=fig, height_ratios=heights)
    firsts: dict[int, Axes] = {}  # of each row, the panel with its labels
    for number, ((_, row), several) in enumerate(order):
        for ax in several:
            ax.set_subplotspec(grid[divmod(number, columns)])
            lines = _label(ax, firsts.setdefault(row, ax), LINE // columns)
            room = max(room, (lines and lines + 4) * LEADING / high[order[number][0]])  # 4: the axis and the title
    each = max(each, room)
    if maps:  # a map keeps its shape, so a long title would make it smaller
        each += LEADING * max(ax.get_title(loc).count("\n") for ax in panels for loc in ("left", "center"))
    fig.set_size_inches(WIDTH, sum(heights) * each + sum([_narrow(fig, legend) for legend in list(fig.legends)]))
    return True


def _label(ax: Axes, first: Axes, line: int) -> int:
    """Shows the labels that a panel shares with its neighbours, and breaks those that are too long.

    Returns how many lines the names of its rows need, if some of them were broken.
    """
    if not ax.yaxis.get_tick_params().get("labelleft", True):
        ax.tick_params(labelleft=True)
        ax.set_ylabel(ax.get_ylabel() or first.get_ylabel())
    if not ax.xaxis.get_tick_params().get("labelbottom", True):
        ax.tick_params(labelbottom=True)
    for side in ("left", "center", "right"):
        if (title := ax.get_title(side)) != (broken := _broken(title, line)):
            ax.set_title(broken, loc=side)
    names = [name.get_text() for name in ax.get_yticklabels()]
    if isinstance(ax.yaxis.get_major_locator(), FixedLocator) and max(map(len, names), default=0) > ROW:
        names = [_broken(name, ROW) for name in names]
        ax.set_yticks(ax.get_yticks(), names)
        line -= ROW // 2  # the panel is so much narrower
    ax.set_xlabel(_broken(ax.get_xlabel(), line))
    return sum(name.count("\n") + 1 for name in names) if any("\n" in name for name in names) else 0


def _broken(text: str, letters: int) -> str:
    parts = (
        textwrap.fill(part, letters, break_long_words=False, break_on_hyphens=False) for part in text.split("\n")
    )
    return "\n".join(parts)


def _narrow(fig: Figure, legend: Any) -> float:
    """Replaces the legend of a figure by one in fewer columns, and returns the inches that its new lines need."""
    names, before = [text.get_text() for text in legend.get_texts()], legend._ncols
    columns = max(1, min(before, (LINE + MARK) // (max(map(len, names)) + MARK)))
    fig.legend(legend.legend_handles, names, loc="outside lower center", ncols=columns)
    legend.remove()
    return LEADING * (-(-len(names) // columns) - -(-len(names) // before))
