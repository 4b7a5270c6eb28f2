"""What a reader gives to be measured, in any usual form: inputs with labels as tensors, and a copy of a model."""

import itertools
import random
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from types import BuiltinMethodType, FunctionType, MethodType
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.parameter import is_lazy
from torch.utils.data import DataLoader, Dataset, IterableDataset

from support.defaults import elsewhere
from support.geometry.checks import copied
from support.networks import outputs
from support.words import counted

FIRST = 500  # examples that are read from a DataLoader or a Dataset
OWN_HOOKS = (FunctionType, MethodType, BuiltinMethodType, partial)  # torch's own, such as weight norm, are objects


@contextmanager
def undisturbed() -> Iterator[None]:
    """Nothing of a reader's session changes, or acts on what is computed within: random states, modes, compilers."""
    states = random.getstate(), np.random.get_state()
    with ExitStack() as stack:
        stack.enter_context(torch.random.fork_rng(devices=[]))
        stack.enter_context(torch.inference_mode(False))
        stack.enter_context(torch.autocast("cpu", enabled=False))
        if elsewhere():
            stack.enter_context(torch.device("cpu"))
        if "torch._dynamo" in sys.modules and hasattr(torch.compiler, "set_stance"):
            stack.enter_context(torch.compiler.set_stance("force_eager"))  # compiled functions run as they are
        try:
            yield
        finally:
            random.setstate(states[0])
            np.random.set_state(states[1])


# -- inputs and labels --------------------------------------------------------------------------------------------


def examples(inputs: Any, labels: Any = None) -> tuple[Tensor, Tensor, list[str]]:
    """Inputs (N, ...), labels (N,) in int64, and the classes' names if the labels are words, else no names.

    Args:
        inputs: a tensor, an array, a list, a DataFrame; or with labels of None a DataLoader, or a Dataset of pairs
            (input, label), of which at most FIRST examples are read, from a Dataset at even distances.
        labels: whole numbers, or words, which are numbered in sorted order; (N,) or (N, 1).
    Raises:
        ValueError: for what cannot be read so, and for inputs that are not finite; the message says what to do.
    """
    if isinstance(inputs, DataLoader | Dataset):
        if labels is not None:
            raise ValueError(f"a {type(inputs).__name__} holds its own labels; pass it alone, without labels")
        inputs, labels = _pairs(inputs)
    if inputs is None or labels is None:
        raise ValueError("a model needs inputs and labels")
    x = _tensor("inputs", inputs)
    if x.is_complex():
        raise ValueError(f"inputs are complex, {x.dtype}; pass real and imaginary parts as numbers of their own")
    if x.is_floating_point() and x.dtype != torch.float64:
        x = x.float()
    numbers, names = _labels(labels)
    if numbers.ndim != 1 or len(numbers) != len(x) or x.ndim < 2:
        shapes = f"inputs {tuple(x.shape)} and labels {tuple(numbers.shape)}"
        raise ValueError(f"wanted inputs (N, ...) and labels (N,), got {shapes}")
    if 0 in x.shape:
        raise ValueError(f"there are no inputs, or they are empty: shape {tuple(x.shape)}")
    if x.is_floating_point() and not x.isfinite().all():
        at = int((~x.isfinite()).flatten(1).any(1).nonzero()[0, 0])
        value = float(x[at][~x[at].isfinite()][0])
        raise ValueError(f"inputs of shape {tuple(x.shape)} are not finite: input {at} holds {value}")
    if len(numbers.unique()) < 2:
        one = names[int(numbers[0])] if names else int(numbers[0])
        raise ValueError(f"all {len(numbers)} labels are {one}; wanted two or more classes")
    return x, numbers, names


def _pairs(source: Any) -> tuple[Any, Any]:
    """Inputs and labels of the first examples of a DataLoader, or of examples at even distances in a Dataset."""
    state = source.generator.get_state() if getattr(source, "generator", None) is not None else None
    found: list[tuple[Any, Any]] = []
    try:
        if isinstance(source, DataLoader):
            for batch in source:
                inputs, labels = batch
                found += zip(inputs, labels, strict=True)
                if len(found) >= FIRST:
                    break
        elif isinstance(source, IterableDataset):
            found = [(x, y) for x, y in itertools.islice(source, FIRST)]
        else:
            size = len(source)  # type: ignore[arg-type]
            found = [(x, y) for x, y in (source[i * size // min(size, FIRST)] for i in range(min(size, FIRST)))]
        inputs = torch.stack([torch.as_tensor(x) for x, _ in found[:FIRST]])
    except (TypeError, ValueError, RuntimeError) as error:
        wanted = "wanted pairs (input, label) with inputs as tensors of one shape"
        raise ValueError(f"the {type(source).__name__} cannot be read, {wanted}: {error}") from error
    finally:
        if state is not None:
            source.generator.set_state(state)
    return inputs, [y.item() if isinstance(y, Tensor) and y.numel() == 1 else y for _, y in found[:FIRST]]


def _tensor(name: str, value: Any) -> Tensor:
    """The value as a tensor on the CPU, in the precision that it has."""
    if isinstance(value, Tensor):
        if value.is_nested:
            how = "pad them to one shape, as by torch.nested.to_padded_tensor"
            raise ValueError(f"{name} are a nested tensor; {how}")
        value = value if value.layout == torch.strided else value.to_dense()
        return value.detach().cpu().clone() if value.is_inference() else value.detach().cpu()
    if isinstance(value, list | tuple) and value and isinstance(value[0], Tensor):
        return torch.stack(list(value)).detach().cpu()
    if hasattr(value, "toarray"):  # a sparse matrix of scipy
        value = value.toarray()
    array = value.to_numpy() if hasattr(value, "to_numpy") else np.asanyarray(value)
    if np.ma.is_masked(array):
        raise ValueError(f"{name} are a masked array; fill what is masked, or leave it out")
    if array.dtype == object and not any(isinstance(v, str) for v in array.flat):  # a table of several number types
        try:
            array = array.astype(float)
        except (TypeError, ValueError) as error:
            raise ValueError(f"{name} must be numbers, got {type(value).__name__}: {error}") from error
    if array.dtype.kind not in "biuf":
        such = f"{array.dtype} of shape {array.shape}, such as {array.flat[0]!r}"
        raise ValueError(f"{name} must be numbers, got {such}")
    kind = np.float64 if array.dtype.kind == "f" and array.itemsize > 8 else array.dtype.newbyteorder("=")
    return torch.from_numpy(np.array(array, dtype=kind))


def _labels(labels: Any) -> tuple[Tensor, list[str]]:
    if not isinstance(labels, Tensor):
        array = labels.to_numpy() if hasattr(labels, "to_numpy") else np.asanyarray(labels)
        if any(isinstance(v, str) for v in array.flat):
            names, numbers = np.unique(array.astype(str), return_inverse=True)
            return torch.from_numpy(numbers).view(array.shape).flatten(), names.tolist()
        labels = array
    found = torch.atleast_1d(_tensor("labels", labels))
    if found.ndim == 2 and found.shape[1] == 1:
        found = found[:, 0]
    if found.ndim == 2 and found.shape[1] > 1:
        raise ValueError(f"wanted one label an input, got {tuple(found.shape)}; for one-hot labels pass .argmax(1)")
    if found.is_complex() or found.is_floating_point():
        odd = (found != found.round() if found.is_floating_point() else found == found).nonzero()  # nan is odd, too
        if len(odd):
            such = f"{found[tuple(odd[0])]} at {int(odd[0, 0])}"
            raise ValueError(f"wanted whole numbers or words as labels, got {found.dtype} such as {such}")
    return found.long(), []


# -- the model ----------------------------------------------------------------------------------------------------


def copy_of(model: Any, dtype: torch.dtype) -> tuple[nn.Module, str]:
    """A copy of the model for measuring, and a sentence on what was left out, or "".

    On the CPU, in evaluation mode, in one precision, without in-place layers, compiled parts and hooks of its owner.
    Raises ValueError for what is no torch module, and for one with scripted parts, which hide their layers, or
    quantised ones, which round.
    """
    if not isinstance(model, nn.Module):
        kind, more = type(model).__name__, "`support.geometry` takes functions"
        if isinstance(model, type) and issubclass(model, nn.Module):
            kind = f"the class {model.__name__}"
            more = f"pass a network of it, {model.__name__}(...), with its weights"
        if hasattr(model, "predict"):
            more = "the page 'Measure your own network' shows two lines that turn a fitted MLPClassifier into one"
        raise ValueError(f"model must be a torch.nn.Module, got {kind}; {more}")
    for part in model.modules():
        if isinstance(part, torch.jit.ScriptModule):
            raise ValueError("a ScriptModule hides its layers; pass the module from which it was scripted or traced")
        if ".quantized." in type(part).__module__:
            raise ValueError(f"{part._get_name()} is quantised: it rounds; pass the model as it was before")
    for name, value in itertools.chain(model.named_parameters(), model.named_buffers()):
        if is_lazy(value):
            raise ValueError(f"{name} of the model has no shape yet; run the model once on inputs")
        if value.is_meta:
            raise ValueError(f"{name} of the model is on the device meta, without values; load its weights first")
    made = copied(getattr(model, "_orig_mod", model), dtype, "cpu").eval().requires_grad_(False)
    dropped = 0
    for part in made.modules():
        if hasattr(part, "inplace"):
            part.inplace = False  # type: ignore[assignment]  # derivatives need the values before
        for name, child in part.named_children():
            if hasattr(child, "_orig_mod"):
                setattr(part, name, child._orig_mod)
        for hooks in (part._forward_hooks, part._forward_pre_hooks, part._backward_hooks, part._backward_pre_hooks):
            for key in [key for key, hook in hooks.items() if isinstance(hook, OWN_HOOKS)]:
                del hooks[key]
                dropped += 1
    return made, f"{counted(dropped, 'hook')} of your own on its layers did not run." if dropped else ""


def from_embedding(model: nn.Module, name: str, tokens: Tensor, x: Tensor) -> Any:
    """What the model gives where its Embedding of this name gives x, (N, T, E), for all tokens the same, (1, T)."""
    embedding = model.get_submodule(name)
    embedding.forward = lambda *_, **__: x  # type: ignore[method-assign]
    try:
        return model(tokens.expand(len(x), *tokens.shape[1:]))
    finally:
        del embedding.forward


def embedding_of(model: nn.Module, tokens: Tensor) -> tuple[str, Tensor]:
    """The name of the model's Embedding of the tokens, (N, T) of whole numbers, and what it gives for them.

    The Embedding is the one that is called with the tokens, else the first that gives one row an input. Raises
    ValueError for a model without one, and if it uses the tokens elsewhere, too, as for a mask.
    """
    how = "pass model.embedding(tokens) as inputs, and a module of what follows as the model"
    seen: list[tuple[nn.Module, Tensor, bool]] = []
    outside = []

    def check(part, arguments, named):
        taken = [*arguments, *named.values()][0]
        if (wrong := taken[(taken < 0) | (taken >= part.num_embeddings)]).numel():
            most = part.num_embeddings - 1
            outside.append(f"{parts[part]} has rows 0 to {most}, and the model asks for {wrong.max()}")

    def note(part, arguments, named, made):
        taken = [*arguments, *named.values()][0]
        seen.append((part, made, taken.shape == tokens.shape and torch.equal(taken.to(tokens.dtype), tokens)))

    parts: dict[nn.Module, str] = {
        part: name for name, part in model.named_modules() if isinstance(part, nn.Embedding)
    }
    if not parts:
        wanted = f"float64 or float32, got {tokens.dtype}; scale them as in training, for images x / 255"
        raise ValueError(f"inputs must be {wanted}; or if they are tokens, the model needs an nn.Embedding")
    with ExitStack() as hooks, torch.no_grad():
        for part in parts:
            hooks.enter_context(part.register_forward_pre_hook(check, with_kwargs=True))
            hooks.enter_context(part.register_forward_hook(note, with_kwargs=True))
        try:
            right = model(tokens.clone())
        except Exception as error:
            why = "; ".join([str(error), *outside])
            raise ValueError(f"the model cannot take inputs of shape {tuple(tokens.shape)}: {why}") from error
    outputs.only_tensors(right)
    if not (rows := [(part, made, same) for part, made, same in seen if len(made) == len(tokens)]):
        raise ValueError(f"no Embedding of the model gives one row an input, so there is nothing to measure; {how}")
    embedding, embedded, _ = next((one for one in rows if one[2]), rows[0])
    if sum(part is embedding for part, _, _ in seen) > 1:
        raise ValueError(f"the model calls its Embedding of the tokens more than once; {how}")
    with torch.no_grad():
        made = from_embedding(model, parts[embedding], tokens[:1], embedded.clone())
    if not torch.allclose(made, right, 1e-4, 1e-6):
        raise ValueError(f"the model uses its tokens not only in one Embedding (a mask?); {how}")
    return parts[embedding], embedded


def untrained(model: nn.Module) -> nn.Module:
    """A copy with fresh parameters, drawn by each layer's own `reset_parameters`.

    Parameters of layers without one, and those that it leaves, keep their values in another order.
    """
    made = copied(model, next((p.dtype for p in model.parameters() if p.is_floating_point()), torch.float64))
    generator = torch.Generator().manual_seed(0)
    torch.default_generator.manual_seed(0)  # the caller restores its state
    for part in made.modules():
        before = [p.clone() for p in part.parameters(recurse=False)]
        for name in ("reset_parameters", "_reset_parameters"):
            if callable(reset := getattr(part, name, None)) and (before or [*part.buffers(recurse=False)]):
                try:
                    reset()
                except (TypeError, RuntimeError, NotImplementedError):
                    continue
        for parameter, old in zip(part.parameters(recurse=False), before, strict=True):
            if torch.equal(parameter, old):
                order = torch.randperm(old.numel(), generator=generator)
                parameter.data = old.flatten()[order].view_as(old)
    return made
