"""Drawing aids of the primer, and the arrow that is carried around a loop on a surface."""

from collections.abc import Callable
from typing import Any

import numpy as np
from matplotlib.axes import Axes


def unit_circle(metric: Any, points: int = 101) -> np.ndarray:
    """The steps v in the plane with v^T metric v = 1, shape (2, points), closed.

    >>> float(np.ptp(unit_circle([[4.0, 0.0], [0.0, 1.0]])[0]).round(9))  # twice as fine along the first axis
    1.0
    """
    angles = np.linspace(0, 2 * np.pi, points)
    return np.linalg.solve(np.linalg.cholesky(metric).T, [np.cos(angles), np.sin(angles)])


def plain(ax: Axes, title: str = "", half: float | None = None) -> None:
    """Makes a panel a picture of the plane: equal units, no ticks, no grid; from -half to half if given."""
    ax.set(title=title, aspect="equal", xticks=[], yticks=[])
    ax.grid(visible=False)
    ax.spines[:].set(visible=True, color="#cccccc")
    if half is not None:
        ax.set(xlim=(-half, half), ylim=(-half, half))


def grid(ax: Axes, move: Callable, ticks: np.ndarray) -> None:
    """Draws what `move` makes of the lines of a square grid, grey, a little beyond the first and the last tick."""
    line = np.linspace(ticks[0] - 0.3, ticks[-1] + 0.3, 60)
    for t in ticks:
        same = np.full_like(line, t)
        ax.plot(*move([line, same]), *move([same, line]), color="#cccccc", linewidth=0.8)


def arrow(ax: Axes, end: Any, start: Any = (0, 0), **look: Any) -> None:
    """An arrow from one point of a panel to another; `look` is of a patch."""
    look = {"arrowstyle": "-|>", "color": "black", "shrinkA": 0, "shrinkB": 0} | look
    ax.annotate("", end, start, arrowprops=look)


def carry(height: Callable, radius: float = 1.0, steps: int = 2000) -> tuple[np.ndarray, np.ndarray, float]:
    """Carries an arrow around a loop on the surface z = height(x, y), counter-clockwise, without turning it.

    The loop lies above the circle of this radius around the origin and begins at (0, -radius), with the arrow along
    it. At every step the arrow is projected onto the new tangent plane and gets its old length.

    Returns:
        The loop (steps + 1, 3), the arrow at each place of it (steps + 1, 3), and the turn after the whole loop in
        degrees, positive counter-clockwise as seen from above.
    """
    angles = np.linspace(-np.pi / 2, 3 * np.pi / 2, steps + 1)
    x, y = radius * np.cos(angles), radius * np.sin(angles)
    h = 1e-6
    slope_x = (height(x + h, y) - height(x - h, y)) / (2 * h)
    slope_y = (height(x, y + h) - height(x, y - h)) / (2 * h)
    normals = np.stack([-slope_x, -slope_y, np.ones_like(x)], 1)
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    arrows = [np.array([1.0, 0.0, slope_x[0]]) / np.hypot(1, slope_x[0])]
    for normal in normals[1:]:
        flat = arrows[-1] - (arrows[-1] @ normal) * normal
        arrows.append(flat / np.linalg.norm(flat))
    first, last = arrows[0], arrows[-1]
    turn = np.degrees(np.arctan2(np.cross(first, last) @ normals[0], first @ last))
    return np.stack([x, y, height(x, y)], 1), np.array(arrows), float(turn)


def surface(ax: Any, height: Callable) -> None:
    """Draws a round piece of a surface in a three-dimensional panel, without axes, seen from above the front."""
    r, angle = np.meshgrid(np.linspace(0, 1.5, 9), np.linspace(0, 2 * np.pi, 37))
    x, y = r * np.cos(angle), r * np.sin(angle)
    ax.computed_zorder = False
    ax.plot_surface(x, y, height(x, y), color="#eeeeee", edgecolor="#cccccc", linewidth=0.4, shade=False, zorder=1)
    ax.view_init(elev=62, azim=-75)
    ax.set_box_aspect(np.ptp([x, y, height(x, y)], axis=(1, 2)), zoom=1.4)
    ax.set_axis_off()


def arrows_on(ax: Any, loop: np.ndarray, arrows: np.ndarray, shown: int = 12) -> None:
    """Draws a loop from `carry` and its arrows: the first black and dashed, the last solid, some between grey."""
    from mpl_toolkits.mplot3d.proj3d import proj_transform

    ax.plot(*loop.T, color="#888888", linewidth=0.8, zorder=2)
    ax.plot(*loop[:1].T, "o", color="black", zorder=4)
    every = len(loop) // shown
    looks = dict.fromkeys(range(every, len(loop) - every, every), ("#888888", 1, "-"))
    for k, (color, width, line) in (looks | {0: ("black", 1.2, "--"), len(loop) - 1: ("black", 2, "-")}).items():
        ends = (proj_transform(*place, ax.get_proj())[:2] for place in (loop[k], loop[k] + 0.6 * arrows[k]))
        arrow(ax, *reversed([*ends]), color=color, linewidth=width, linestyle=line)


def needed_move(weights: np.ndarray, change: float) -> float:
    """The smallest change of a ReLU layer that moves an output, as a share of the length of its weights.

    The output is v . relu(W x) / sqrt(n) at x = (1, 0, ...), and to first order it moves by `change`.

    Args:
        weights: (n, d + 1): W, and v in the last column.
    """
    W, v = weights[:, :-1], weights[:, -1]
    gradient = np.linalg.norm(v * (W[:, 0] > 0)) / np.sqrt(len(W))
    return float(change / gradient / np.linalg.norm(W))
