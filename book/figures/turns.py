"""Figures that readers turn: the HTML that holds a still picture and its data, which `turn.js` replaces.

The kinds and their data are those of the scripts in `book/pages/_assets`. In JupyterLab, where no such script runs,
the still picture stays.
"""

import base64
import html
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from book.claims.statistics import Estimate

LARGEST = 62_000  # bytes of data a figure may carry
MEAN = "mean with 95% interval; the number at the right is the mean"  # what the bars of runs show
ACCURACY: dict[str, Any] = {  # entries of a figure of runs, whose axis is the test accuracy
    "unit": "% right",
    "x": {"ends": [0, 100], "ticks": [0, 25, 50, 75, 100], "label": "test accuracy (%)"},
}


def page(turn: Mapping[str, Any], picture: str, alt: str) -> str:
    """The figure as HTML.

    Args:
        turn: "kind", the kind of figure; "look", one sentence that says what to turn and what to look for; all
            other entries are its data, as JSON or numpy has them. "legend", where there is one: pairs of a mark, see
            .turn-mark in `book/pages/_assets/book.css`, and what it stands for.
        picture: the still picture, as a data URI.
    Raises:
        ValueError: without kind or look, for numbers that are not finite, and for more data than LARGEST bytes.

    >>> page({"kind": "wedge", "look": "Slide.", "step": 1}, "data:,", "A wedge.")  # doctest: +ELLIPSIS
    '<figure class="turn" data-kind="wedge"><img alt="A wedge." src="data:,"><figcaption>...'
    """
    missing = {"kind", "look"} - {key for key, value in turn.items() if value}
    if missing:
        raise ValueError(f"a figure that turns needs {' and '.join(sorted(missing))}")
    data = {key: value for key, value in turn.items() if key not in ("kind", "look")}
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=False, allow_nan=False, default=_plain)
    text = text.replace("<", "\\u003c")  # nothing in the data can end the script
    if (size := len(text.encode())) > LARGEST:
        raise ValueError(f"a figure that turns may carry {LARGEST:,} bytes of data, this one has {size:,}")
    still = '<span class="turn-still">On the page of the book this picture is interactive. </span>'
    return (
        f'<figure class="turn" data-kind="{html.escape(turn["kind"])}"><img alt="{html.escape(alt)}" src="{picture}">'
        f"<figcaption>{still}{html.escape(turn['look'], quote=False)}</figcaption>"
        f'<script type="application/json">{text}</script></figure>'
    )


def data_uri(mime: str, content: bytes) -> str:
    """The content as an address that a page can hold.

    >>> data_uri("text/plain", b"a")
    'data:text/plain;base64,YQ=='
    """
    return f"data:{mime};base64,{base64.b64encode(content).decode()}"


def packed(values: Any, kind: str) -> str:
    """Numbers in base64, little-endian, as `turn.unpack` reads them; kind: a numpy type, such as "<f4" or "u1".

    >>> packed([1, 2], "<u2")
    'AQACAA=='
    """
    return base64.b64encode(np.ascontiguousarray(values).astype(kind).tobytes()).decode()


def rounded(values: Any, digits: int = 4) -> list:
    """Numbers as lists of floats with few digits after the point."""
    return np.round(np.asarray(values, dtype=float), digits).tolist()


def runs_figure(look: str, panels: list[str], rows: list[str], groups: list[dict], bar: str = MEAN, **more) -> dict:
    """A figure of `runs`; its legend has the marks of networks that no row names, and what the bars show.

    >>> groups = [{"name": "ReLU"}, {"name": "ReLU2"}, {"name": "ReLU"}]
    >>> runs_figure("Point at a dot.", ["raw"], ["ReLU"], groups, "mean")["legend"]
    [['ReLU2', 'ReLU2'], ['solid', 'mean']]
    """
    marks = {group["name"]: group.get("label", group["name"]) for group in groups}
    legend = [[name, words] for name, words in marks.items() if name not in rows] + [["solid", bar]]
    figure = {"kind": "runs", "look": look, "panels": panels, "rows": rows, "groups": groups, "legend": legend}
    return figure | more


def jitter(count: int) -> np.ndarray:
    """(count,) numbers in [0, 1), spread evenly by multiples of the golden ratio, without random numbers."""
    return np.arange(count) * 0.618034 % 1


def runs(
    name: str,
    values: Sequence[float] | np.ndarray,
    records: Iterable[Sequence[Any]],
    mean: Estimate,
    *,
    panel: int,
    row: int,
    shift: float = 0.0,
    drop: float = 0.16,
) -> dict:
    """One group of dots of a figure of the kind "runs".

    Args:
        name: the architecture, whose mark is drawn.
        values: one for each dot.
        records: for each dot the records that it shows, one or two of the same seed.
        mean: with its interval, drawn as a bar.
        panel, row: where the group lies; shift: of the dots from the middle of the row, drop: of the bar from there.
    """
    values, records = np.asarray(values, dtype=float), list(records)
    order = values.argsort(kind="stable")
    places = np.empty(len(values))
    places[order] = jitter(len(values))
    return {
        "panel": panel,
        "row": row,
        "shift": shift,
        "drop": drop,
        "name": name,
        "values": rounded(values, 2),
        "places": rounded(places, 2),
        "seeds": [several[0].spec.seed for several in records],
        "keys": [" ".join(record.key for record in several) for several in records],
        "bar": rounded([mean.value, mean.low, mean.high], 4),
    }


def _plain(value: Any) -> Any:
    """A numpy number or array as JSON has it."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} is not data of a figure")
