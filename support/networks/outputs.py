"""What the outputs of a model must be to be measured, and what a reader can do where they are not so."""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.conv import _ConvNd


def channels(model: nn.Module, shape: torch.Size) -> str:
    """What to do where the inputs of a model of convolutions lack the axis of channels, or have it last."""
    conv: Any = next((part for part in model.modules() if isinstance(part, _ConvNd)), None)
    if conv is None:
        return ""
    channels, axes = conv.in_channels, len(conv.kernel_size)
    missing = len(shape) == axes + 1 and channels == 1
    last = len(shape) == axes + 2 and shape[1] != channels == shape[-1]
    wanted = (shape[0], channels, *(shape[1:] if missing else shape[1:-1]))
    wants = f"; its {conv._get_name()} wants inputs of shape {wanted}"
    return f"{wants}: pass inputs[:, None]" if missing else f"{wants}: move the last axis to place 1" if last else ""


def only_tensors(made: Any) -> None:
    """Raises ValueError for outputs that are no tensor of real numbers with a row an input."""
    if not isinstance(made, Tensor):
        raise ValueError(f"the model gives {type(made).__name__} in place of a tensor; wrap it to return one")
    if not made.is_floating_point():
        raise ValueError(f"the model gives {made.dtype}; wrap it to return one real number a class, such as .abs()")
    if not made.ndim:
        raise ValueError("the model gives one number for all inputs; wanted one output a class, (N, C)")


def check_fit(outputs: Tensor, tried: int, inputs: int, labels: Tensor, names: list[str]) -> bool:
    """Whether there is a single output, of two classes. Raises ValueError for outputs that do not fit the labels.

    outputs: of the first `tried` of so many inputs. names: of the classes, if the labels are words.
    """
    single = len(outputs) == tried and outputs[0].numel() == 1
    number, low, most = 2 if single else outputs.shape[-1], int(labels.min()), int(labels.max())
    if names and len(names) != number:
        raise ValueError(f"the labels are {len(names)} words, and the model has {number} outputs")
    if not single and outputs.ndim != 2 or len(outputs) != tried or not 0 <= low <= most < number:
        about = f"outputs of shape {(inputs, *outputs.shape[1:])} for labels from {low} to {most}"
        raise ValueError(f"wanted one output a class, (N, C), and labels from 0 to C - 1, got {about}")
    return single


def check_same(outputs: Tensor, again: Tensor, alone: Tensor, dtype: torch.dtype) -> None:
    """Raises ValueError where the model, in this precision, gives others again, or for the first input alone."""
    within = (1e-9 if dtype == torch.float64 else 1e-3) * max(float(outputs.abs().max()), 1e-30)
    for made, of, cause in (
        (again, outputs, "are not the same for the same inputs: it is random, or changes itself"),
        (alone, outputs[:1], "depend on the other inputs of the batch (no running statistics, or another order?)"),
    ):
        apart = float((made - of).abs().max()) if made.shape == of.shape else float("inf")
        if apart > within:
            raise ValueError(f"the outputs of the model {cause}; they differ by {apart:.2g}")


def check_finite(outputs: Tensor, model: nn.Module) -> None:
    """Raises ValueError for outputs, (N, C), that are not finite, and names a parameter or buffer that is not."""
    if not outputs.isfinite().all():
        own = [*model.named_parameters(), *((name, b) for name, b in model.named_buffers() if b.is_floating_point())]
        bad = next((f"its {name} is not finite" for name, value in own if not value.isfinite().all()), "")
        at = int((~outputs.isfinite()).any(1).nonzero()[0, 0])
        cause = bad or "its weights and these inputs are"
        raise ValueError(f"the model gives outputs that are not finite, first for input {at}; {cause}")
