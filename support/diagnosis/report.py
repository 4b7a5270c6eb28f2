"""The report: five findings, each with what is normal and what to do; why others could not be measured."""

import contextlib
import html
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import nn

from support.diagnosis.distances import Metrics, hyperplanes, metrics
from support.diagnosis.part import Part, normal, wrapped
from support.diagnosis.training import check_rate, steps, units
from support.diagnosis.volume import Volume, choices, volume
from support.geometry import SingularMetric
from support.geometry.jacobians import lacks_memory
from support.networks.derivatives import Misled
from support.networks.given import undisturbed
from support.networks.network import Network
from support.progress import Progress
from support.words import counted

FEW = 5  # inputs of each class at which the metric of an untrained network is taken
BEYOND = 1.645  # SDs of a share that one guess in twenty exceeds
MOST = 240  # characters of a reason
STYLE = (
    "body{font:16px/1.5 sans-serif;max-width:44rem;margin:2rem auto;padding:0 1rem}h1{font-size:1.5rem}"
    "section{margin:2rem 0}h4{font-size:1.15rem;margin:0 0 .3rem}pre{overflow-x:auto;background:#f4f4f4}"
    "summary{cursor:pointer}"
)


@dataclass(frozen=True)
class Report:
    """accuracy: percent of the inputs. parts: by name. missing: name -> why it could not be measured.

    twins, lost: parts and missing of an untrained network.
    """

    accuracy: float
    parts: dict[str, Part]
    missing: dict[str, str]
    twins: dict[str, Part] = field(default_factory=dict)
    lost: dict[str, str] = field(default_factory=dict)
    about: str = ""
    notes: tuple[str, ...] = ()

    @property
    def summary(self) -> str:
        """The first lines."""
        return " ".join([f"{self.about}{self.accuracy:.1f}% of these inputs are classified correctly.", *self.notes])

    def __str__(self) -> str:
        texts = [wrapped([self.summary])]
        for number, (name, part) in enumerate(self.parts.items(), 1):
            words, known = part.words, normal(part, self.twins.get(name), self.lost.get(name, ""))
            said = [f"{words.finding} {words.noise}", *([f"What is normal: {known}"] if known else [])]
            said.append(f"What to do: {words.advice}")
            texts.append(f"{number}. {part.title}\n" + wrapped([*said, words.details], "   "))
        return "\n\n".join([*texts, *(wrapped([f"{n}: not measured; {why}"]) for n, why in self.missing.items())])

    def _repr_html_(self) -> str:
        missing = "".join(f"<p>{name}: not measured; {html.escape(why)}</p>" for name, why in self.missing.items())
        parts = "".join(part.page(self.twins.get(n), self.lost.get(n, "")) for n, part in self.parts.items())
        return f"<p>{html.escape(self.summary)}</p>{parts}{missing}"

    def save(self, path: str | Path) -> Path:
        """Writes the report as one HTML file that needs nothing else, and returns its path."""
        title = "A report on a network"
        head = f'<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{title}</title>'
        page = f'<!doctype html><html lang="en"><head>{head}<style>{STYLE}</style></head>'
        path = Path(path).expanduser()
        path.write_text(f"{page}<body><h1>{title}</h1>{self._repr_html_()}</body></html>", "utf-8")
        return path


@undisturbed()
def diagnose(
    model: nn.Module, inputs: Any, labels: Any = None, rate: float | None = None, untrained: nn.Module | None = None
) -> Report:
    """Everything that can be measured on a model: text by `print`, text and pictures as the last line of a cell.

    Args:
        model: any torch module with one output a class, or one output for two classes.
        inputs: what the model takes, (N, ...): a tensor, array or DataFrame of floats, or tokens; a few hundred are
            enough. Or a DataLoader or Dataset of pairs, without labels.
        labels: (N,), whole numbers from 0, or words.
        rate: the learning rate, to place the training on the book's map.
        untrained: the network before training, which is measured beside; by default one with fresh weights is drawn.
            It is measured at the same inputs: for tokens, at the embeddings of `model`.
    Raises:
        ValueError: for inputs or labels that are not finite, do not fit, or have one class only, for a rate that is
            not positive, and for models that are random, scripted, quantised, or give outputs that are not finite. A
            part that cannot be measured is in `missing`.
    """
    check_rate(rate)
    net = Network(model, inputs, labels)
    measures: dict[str, Callable[[Network], Part]] = {
        "units": units,
        "steps": lambda net: steps(net, rate=rate),
        "hyperplanes": hyperplanes,
        "metrics": metrics,
        "volume": lambda net: _volumes([net])[0],
    }
    progress, found, missing, twins, lost = Progress("diagnose", unit="part"), {}, {}, {}, {}
    for number, (name, measure) in enumerate(measures.items()):
        progress(number, 2 * len(measures))
        try:
            found[name] = measure(net)
        except Exception as error:  # the model's own code runs in there
            missing[name] = reason(error)
    ends = None
    if isinstance(own := found.get("volume"), Volume):  # the same quantity, or the two could not be compared
        ends, measures["volume"] = own.ends, partial(volume, ends=own.ends, **own.choice)
    if isinstance(own := found.get("metrics"), Metrics):
        measures["metrics"] = partial(metrics, directions=own.directions, members=FEW)
    notes = list(net.notes)
    try:
        twin = net.twin(untrained)
        for number, name in enumerate(found, len(measures)):
            progress(number, 2 * len(measures))
            try:
                twins[name] = measures[name](twin)
            except Exception as error:
                lost[name] = reason(error).partition("; pass")[0]  # no argument of the twin's own can be passed
        if "volume" in lost:
            with contextlib.suppress(Exception):  # that there is no choice which serves both is said already
                twins["volume"], found["volume"] = _volumes([twin, net], ends)
                del lost["volume"]
    except Exception as error:
        notes.append(f"An untrained network could not be measured beside: {reason(error)}.")
    progress(1, 1)
    right, largest = ((net.logits.argmax(1) == net.labels).double().mean(), net.labels.bincount().max() / len(net.x))
    accuracy = 100 * float(right)
    if right <= largest + BEYOND * (largest * (1 - largest) / len(net.x)) ** 0.5:
        notes.insert(
            0, "That is no better than always guessing the largest class: is it trained, are labels shuffled?"
        )
    return Report(accuracy, found, missing, twins, lost, _about(net), tuple(notes))


def reason(error: Exception) -> str:
    """Why something could not be measured, in one line."""
    text = " ".join(str(error).split())
    text = text if len(text) <= MOST else text[:MOST].rsplit(" ", 1)[0] + " ..."
    if lacks_memory(error):
        return f"it needs more memory than there is; pass fewer or smaller inputs ({text})"
    if isinstance(error, torch.linalg.LinAlgError):
        return f"its numbers are too large, or too far apart, for the decomposition of a matrix ({text})"
    return text if isinstance(error, ValueError) else f"the model raised {type(error).__name__}: {text}"


def _about(net: Network) -> str:
    weights, shape = sum(p.numel() for p in net.model.parameters()), " x ".join(map(str, net.x.shape[1:]))
    exact = "" if net.dtype == torch.float64 else ", measured in float32"
    data = f"{counted(len(net.x), 'input')} of {shape}; {len(net.names)} classes, the largest with "
    largest = f"{100 * float(net.labels.bincount().max()) / len(net.x):.1f}%. "
    return f"{net.model._get_name()}, {counted(weights, 'weight')}{exact}; {data}{largest}"


def _volumes(nets: list[Network], ends: tuple[int, ...] | None = None) -> list[Volume]:
    """The log-volumes of all the networks by one choice, the first that serves."""
    misled = None

    def alike(**choice: int) -> list[Volume]:
        first = volume(nets[0], ends=ends, **choice)
        return [first, *(volume(net, ends=first.ends, **first.choice) for net in nets[1:])]

    for choice in choices(nets[0]):
        try:
            return alike(**choice)
        except Misled as error:
            misled = misled or error
        except ValueError as error:  # also where an untrained network is not so wide
            if not choice and not isinstance(error, SingularMetric):
                raise
    raise misled or SingularMetric(
        "what enters the last layer does not vary along the line, as far as torch differentiates it"
    )
