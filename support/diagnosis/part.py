"""The form of a part of the report: text, and a picture in a notebook."""

import base64
import html
import io
from abc import ABC, abstractmethod
from typing import Any

import numpy as np


class Part(ABC):
    """One part of the report: text in a terminal, text and picture in a notebook."""

    title = ""

    @abstractmethod
    def __str__(self) -> str: ...

    @abstractmethod
    def draw(self, ax: Any) -> None:
        """Draws the part into these axes."""

    def plot(self, height: float = 2.8) -> Any:
        """The picture of this part as a matplotlib figure, which a notebook shows as a cell's last line."""
        from matplotlib import pyplot

        fig, ax = pyplot.subplots(figsize=(6.4, height), layout="constrained")
        self.draw(ax)
        pyplot.close(fig)  # or a notebook would show it twice
        return fig

    def _repr_html_(self) -> str:
        png = io.BytesIO()
        self.plot().savefig(png, format="png")
        text, data = html.escape(str(self)), base64.b64encode(png.getvalue()).decode()
        alt = html.escape(" ".join(str(self).split())[:280], quote=True)
        return f'<h4>{self.title}</h4><pre>{text}</pre><img alt="{alt}" src="data:image/png;base64,{data}">'


def span(values: np.ndarray) -> str:
    """Median and range: "1.2 (0.3 to 4)"."""
    v = np.asarray(values, float)
    return f"{np.median(v):.3g} ({v.min():.3g} to {v.max():.3g})"
