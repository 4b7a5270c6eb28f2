"""A line that readers turn against ten classes: the hidden vectors of one network, seen in a plane."""

from dataclasses import dataclass

import numpy as np

from book.figures import turns
from book.figures.figures import HUES, PLATE, subplots

SHOWN = 25  # points of a class


@dataclass(frozen=True)
class ClassesInPlane:
    """Hidden vectors in the plane of the weight vectors of two outputs; the first lies along the first axis."""

    outputs: tuple[int, int]
    points: np.ndarray  # (N, 2)
    labels: np.ndarray  # (N,)
    degrees: np.ndarray  # (2,) directions of the weight vectors

    @property
    def means(self) -> np.ndarray:
        """(classes, 2)."""
        return np.array([self.points[self.labels == c].mean(0) for c in np.unique(self.labels)])

    @property
    def covariances(self) -> np.ndarray:
        """(classes, 2, 2)."""
        return np.array([np.cov(self.points[self.labels == c].T, bias=True) for c in np.unique(self.labels)])

    @property
    def shown(self) -> np.ndarray:
        """The numbers of the points that are drawn, the first of each class."""
        return np.concatenate([np.flatnonzero(self.labels == c)[:SHOWN] for c in np.unique(self.labels)])

    @property
    def ends(self) -> np.ndarray:
        """The lower and the upper corner of the picture, (2, 2): around the drawn points and the origin."""
        low, high = np.minimum(self.points[self.shown].min(0), 0), np.maximum(self.points[self.shown].max(0), 0)
        return np.array([low - 0.12 * (high - low), high + 0.12 * (high - low)])

    def distances(self, degrees: float) -> np.ndarray:
        """z of each class, (classes,), to the line whose weights point in this direction."""
        w = np.array([np.cos(np.radians(degrees)), np.sin(np.radians(degrees))])
        return self.means @ w / np.sqrt(np.einsum("i,cij,j->c", w, self.covariances, w))


def classes_in_plane(hidden: np.ndarray, labels: np.ndarray, weight: np.ndarray, outputs: tuple[int, int]):
    """The hidden vectors (N, n) in the plane of two rows of the outputs' weight (C, n); a line there is a hyperplane.

    The distances z to the lines of these two outputs are those of the network, because both weights lie in the plane.
    """
    first, second = (np.asarray(weight[i], float) for i in outputs)
    u = first / np.linalg.norm(first)
    v = second - (second @ u) * u
    frame = np.stack([u, v / np.linalg.norm(v)])
    # The first lies along the first axis: a computed angle could be 0 - 1e-16, which is 180 where lines are turned.
    degrees = np.array([0, np.degrees(np.arctan2(np.linalg.norm(v), second @ u))])
    return ClassesInPlane(outputs, np.asarray(hidden, float) @ frame.T, np.asarray(labels), degrees)


def line_figure(plane: ClassesInPlane, degrees: float | None = None):
    """Left, the classes and a line; right, the distance of each class to it, in SDs.

    degrees: of the line's weights, by default those of the first output.
    """
    fig, (left, right) = subplots(1, 2, height=3.4, width_ratios=(1.2, 1))
    degrees = float(plane.degrees[0]) if degrees is None else degrees
    size = np.abs(plane.distances(degrees))
    nearest = size.argmin()
    for c, mean in enumerate(plane.means):
        colour = HUES["abs"] if c == nearest else "#8a8a8a"
        left.plot(*plane.points[plane.labels == c][:SHOWN].T, ".", color=colour, markersize=3, alpha=0.5)
        left.text(*mean, str(c), ha="center", va="center", color=colour if c == nearest else "black", weight="bold")
    normal = np.radians(degrees)
    left.axline((0, 0), (-np.sin(normal), np.cos(normal)), color="black")
    (left_end, low), (right_end, high) = plane.ends
    left.set(
        title="hidden vectors, seen in a plane", xticks=[], yticks=[], xlim=(left_end, right_end), ylim=(low, high)
    )
    left.plot(0, 0, "+", color="black", markersize=9)
    left.annotate(
        "origin", (0, 0), (-6, -4), textcoords="offset points", ha="right", va="top", fontsize=9, bbox=PLATE
    )
    left.grid(visible=False)
    right.barh(range(len(size)), size, color=[HUES["abs"] if c == nearest else "#8a8a8a" for c in range(len(size))])
    right.axvline(1, color="black", linewidth=0.8, linestyle="--")
    right.set(yticks=range(len(size)), ylabel="class", xlabel="distance to the line (SDs)", xlim=(0, 6))
    right.invert_yaxis()
    return fig


def line_turn(plane: ClassesInPlane) -> dict:
    """The same classes with a line that turns."""
    shown, (low, high), covariances = plane.shown, plane.ends, plane.covariances
    return {
        "kind": "line",
        "look": "Turn the line through the origin and watch the bars. Each output has placed its own line: use the "
        "buttons to go to each, and compare with other directions. How many classes lie within one SD, and how far "
        "away are the others? The arrow is the direction of the weights.",
        "legend": [
            ["abs", "nearest class"],
            ["grey", "other classes"],
            ["plate", "number at the centre of its class"],
            ["upright-dashed", "one SD"],
        ],
        "means": turns.rounded(plane.means),
        "covariances": turns.rounded(np.stack([covariances[:, 0, 0], covariances[:, 0, 1], covariances[:, 1, 1]], 1)),
        "points": turns.rounded(np.column_stack([plane.points[shown], plane.labels[shown]]), 2),
        "own": [
            {"label": f"the line of output {output}", "degrees": round(float(degrees), 2), "class": output}
            for output, degrees in zip(plane.outputs, plane.degrees, strict=True)
        ],
        "ends": turns.rounded([low[0], high[0], low[1], high[1]], 2),
    }
