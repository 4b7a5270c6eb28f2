"""The report: every part that can be measured, and why the others cannot."""

import contextlib
import html
from dataclasses import dataclass
from typing import Any

from torch import nn

from support.diagnosis.distances import hyperplanes, metrics
from support.diagnosis.part import Part
from support.diagnosis.training import steps, units
from support.diagnosis.volume import volume
from support.networks.inside import Network


@dataclass(frozen=True)
class Report:
    """parts: by name. missing: name -> why it could not be measured."""

    accuracy: float
    parts: dict[str, Part]
    missing: dict[str, str]

    @property
    def summary(self) -> str:
        """The first line."""
        return f"{self.accuracy:.1f}% of these inputs are classified correctly."

    def __str__(self) -> str:
        texts = [f"{part.title}\n{part}" for part in self.parts.values()]
        return "\n\n".join(
            [self.summary, *texts, *(f"{name}: not measured; {why}" for name, why in self.missing.items())]
        )

    def _repr_html_(self) -> str:
        lost = "".join(f"<p>{name}: not measured; {html.escape(why)}</p>" for name, why in self.missing.items())
        return f"<p>{self.summary}</p>" + "".join(part._repr_html_() for part in self.parts.values()) + lost


def diagnose(model: nn.Module, inputs: Any, labels: Any, *, rate: float | None = None) -> Report:
    """A report on a classifier: text in a terminal, text with pictures in a notebook. The model is not changed.

    Args:
        model: any torch module with one output a class.
        inputs: what the model takes, (N, ...), a tensor or an array of floats; a few hundred are enough.
        labels: (N,), from 0.
        rate: the learning rate, to place the training on the book's map.
    Raises:
        ValueError: for inputs or labels that are not finite, do not fit, or have one class only.
    """
    net = Network(model, inputs, labels)
    found, missing = {}, {}
    for name, part in {
        "units": lambda: units(net),
        "steps": lambda: steps(net, rate=rate),
        "hyperplanes": lambda: hyperplanes(net),
        "metrics": lambda: metrics(net),
        "volume": lambda: _volume(net),
    }.items():
        try:
            found[name] = part()
        except ValueError as error:
            missing[name] = str(error)
    accuracy = 100 * float((net.logits.argmax(1) == net.labels).double().mean())
    return Report(accuracy, found, missing)


def _volume(net: Network) -> Part:
    """The log-volume; where the metric is singular, that of fewer and fewer means of outputs."""
    for pooled in (None, 16, 8, 4, 2):  # None is 32 means for a wider layer, else all outputs
        with contextlib.suppress(ValueError):
            return volume(net, pooled=pooled)
    return volume(net, pooled=1)
