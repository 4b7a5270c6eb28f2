"""The form of a part of the report: a finding in words, what is normal, what to do, numbers, and a picture."""

import base64
import html
import io
import json
import textwrap
from abc import ABC, abstractmethod
from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

WIDTH = 84  # characters of a line of text


class Words(NamedTuple):
    """What a part says.

    finding: the answer in one to three sentences. noise: what chance gives with so many inputs. advice: what to do.
    brief: the finding as a clause, to be set beside another network's. details: the numbers. book: the same of
    networks of the book; "" where it measured none.
    """

    finding: str
    noise: str
    advice: str
    brief: str
    details: str
    book: str = ""


class Part(ABC):
    """One part of the report: text in a terminal, text and picture in a notebook."""

    title = ""  # the question that it answers

    @property
    @abstractmethod
    def words(self) -> Words:
        """What it says."""

    @abstractmethod
    def draw(self, ax: Any, twin: Any = None) -> None:
        """Draws the part into these axes, with the same part of an untrained twin in grey."""

    def __str__(self) -> str:
        return wrapped([f"{self.words.finding} {self.words.noise}", self.words.details])

    def plot(self, height: float = 2.8, twin: "Part | None" = None) -> Any:
        """The picture of this part as a matplotlib figure, which a notebook shows as a cell's last line."""
        from matplotlib import pyplot

        fig, ax = pyplot.subplots(figsize=(6.4, height), layout="constrained")
        self.draw(ax, twin)
        pyplot.close(fig)  # or a notebook would show it twice
        return fig

    def page(self, twin: "Part | None" = None, lost: str = "") -> str:
        """The part in HTML: its numbers unfold."""
        from matplotlib import pyplot

        png = io.BytesIO()
        with pyplot.style.context("default"):  # whatever a matplotlibrc of the reader sets
            self.plot(twin=twin).savefig(png, format="png", dpi=110)
        data, words = base64.b64encode(png.getvalue()).decode(), Words(*map(html.escape, self.words))
        beside = f"<p><i>What is normal:</i> {html.escape(known)}</p>" if (known := normal(self, twin, lost)) else ""
        return (
            f"<section><h4>{self.title}</h4><p><b>{words.finding}</b> {words.noise}</p>{beside}"
            f'<img alt="{self.title} {words.finding}" style="max-width:100%" src="data:image/png;base64,{data}">'
            f"<p><i>What to do:</i> {words.advice}</p>"
            f"<details><summary>The numbers</summary><pre>{words.details}</pre></details></section>"
        )

    def _repr_html_(self) -> str:
        return self.page()


def wrapped(texts: Iterable[str], indent: str = "") -> str:
    """The texts, each on lines of its own of at most WIDTH characters."""
    lines = [line for text in texts for line in text.rstrip().split("\n")]
    return "\n".join(textwrap.fill(line, WIDTH, initial_indent=indent, subsequent_indent=indent) for line in lines)


def normal(part: Part, twin: Part | None, lost: str = "") -> str:
    """One sentence on the same part of an untrained network, or why it is lost, and of the book's networks."""
    untrained = [f"in the same architecture, untrained, {twin.words.brief}"] if twin else []
    untrained = [f"an untrained network could not be measured beside: {lost}"] if lost else untrained
    text = "; ".join([*untrained, *([part.words.book] if part.words.book else [])])
    return f"{text}." if text else ""


def book_networks(runs: int, like: str = "") -> str:
    """Which networks of the book a part names beside one of a reader, so that it is seen how unlike they are."""
    return f"in {runs} {like} networks of the book on MNIST (fully connected, one hidden layer)".replace("  ", " ")


@cache
def reference(network: str) -> dict[str, Any]:
    """What the book's own networks of this kind have on standardised MNIST: means over runs, of ten outputs.

    It is made from the records of the studies mnist-10k and mnist-metric, and a test compares it with them.
    """
    text = files("support.diagnosis").joinpath("reference.json").read_text(encoding="utf-8")
    return next(row for row in json.loads(text) if row["network"] == network)
