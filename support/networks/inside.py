"""What happens inside a model of a reader: a copy that can be measured, its layers, and its active units."""

import copy
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm
from torch.nn.modules.conv import _ConvNd
from torch.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook
from torch.utils._python_dispatch import TorchDispatchMode

from support.geometry.checks import in_precision
from support.geometry.jacobians import plain_attention
from support.geometry.slices import principal
from support.networks import given
from support.networks.layers import OffsetL2
from support.progress import Progress
from support.words import counted

ACTIVATIONS = ("relu", "clamp_min", "threshold", "hardtanh", "leaky_relu", "elu", "gelu", "silu", "mish", "sigmoid")
ACTIVATIONS += ("tanh", "softplus", "abs", "erf", "celu", "hardswish", "hardsigmoid", "hardshrink", "softshrink")
ACTIVATIONS += ("prelu", "rrelu")
CALLED = {"_prelu_kernel": "prelu", "rrelu_with_noise": "rrelu"}  # torch's own names of these two
BATCH = 256  # inputs in a forward pass at most
BATCH_NUMBERS = 2**20  # values of the inputs in a forward pass, but for one input
WIDE = 4096  # values of an input above which the copy is in float32 and derivatives are taken in a few directions
CHECKED = 16  # inputs that are run twice


class Network:
    """A copy of a model in evaluation mode on the CPU, with inputs (N, ...) and labels (N,).

    It is in float64, for inputs of more than WIDE values in float32. Inputs and labels are those of `given.examples`.
    Tokens are measured from the embeddings on. One output is the logit, or behind a sigmoid the probability, of the
    second of two classes. names: of all classes. notes: what a reader of its report must know.

    Raises ValueError for inputs and labels that do not fit each other or the model, and for a model whose outputs are
    random, not finite, or depend on the other inputs of a batch.
    """

    @given.undisturbed()
    def __init__(self, model: nn.Module, inputs: Any, labels: Any = None):
        x, self.labels, names = given.examples(inputs, labels)
        tokens, self.notes = not x.is_floating_point(), []
        self.dtype = torch.float64 if tokens or x[0].numel() <= WIDE else torch.float32
        self.model, note = given.copy_of(model, self.dtype)
        self.notes += [note] if note else []
        norms = [part for part in _norms(self.model) if not part.running_mean.any() and (part.running_var == 1).all()]
        if norms:
            some = f"{counted(len(norms), 'batch norm')} still {'has' if len(norms) == 1 else 'have'}"
            self.notes.append(
                f"{some} the statistics of the start, mean 0 and variance 1, so they standardise nothing."
            )
        self.tokens = x if tokens else None
        if tokens:
            with self._default():
                self.embedding, x = given.embedding_of(self.model, x)
            self.dtype = torch.float64 if x[0].numel() <= WIDE else torch.float32
            self.model._apply(lambda t: in_precision(t, self.dtype))
            self.notes.append("Tokens are measured from their embeddings on.")
        self.x = x.to(self.dtype)
        self.batch = max(1, min(BATCH, BATCH_NUMBERS // self.x[0].numel()))
        self.classes = self.labels.unique()
        self.single = self.probability = False
        self.names = names
        self.logits = self._checked()
        self.names = names or [str(c) for c in range(self.logits.shape[1])]
        self.notes += [f"Outputs in sorted order of the labels: {names[0]!r} is the first."] if names else []
        self.missed: dict[bool, float] = {}  # what its derivatives miss, as of an untrained copy (`derivatives`)
        self.kept: dict[Any, Any] = {}  # what belongs to the inputs and labels alone, shared with a twin

    def _checked(self) -> Tensor:
        """The logits, (N, C). Raises ValueError for outputs that cannot be measured."""
        some, made = self.x[:CHECKED], []
        for x in (some, some, some[:1]):
            try:
                with torch.no_grad():
                    made.append(self.run(x))
            except Exception as error:  # the model's own
                what = f"inputs of shape {tuple(self.x.shape)}" if len(made) < 2 else "one input alone"
                cast = (
                    f" (a copy in {self.dtype} is measured)" if "dtype" in str(error) or "type" in str(error) else ""
                )
                kind = "" if str(error) else type(error).__name__
                if self.tokens is None and any(isinstance(part, nn.Embedding) for part in self.model.modules()):
                    cast = "; it has an Embedding: if these inputs are tokens, pass integers"
                cast += _channels(self.model, self.x.shape)
                raise ValueError(f"the model cannot take {what}: {error}{kind}{cast}") from error
        given.only_tensors(made[0])
        first, again, alone = (outputs.detach() for outputs in made)  # the model may have taken gradients
        self.single = len(first) == len(some) and first[0].numel() == 1
        self.last, self.repeated = self._last_activation(some[:1])
        self.probability = self.single and self.last == "sigmoid"
        most, low = int(self.classes[-1]), int(self.classes[0])
        outputs = 2 if self.single else first.shape[-1]
        if self.names and len(self.names) != outputs:
            raise ValueError(f"the labels are {len(self.names)} words, and the model has {outputs} outputs")
        if not self.single and first.ndim != 2 or len(first) != len(some) or not 0 <= low <= most < outputs:
            about = f"outputs of shape {(len(self.x), *first.shape[1:])} for labels from {low} to {most}"
            raise ValueError(f"wanted one output a class, (N, C), and labels from 0 to C - 1, got {about}")
        size = float(first.abs().max())
        for made, of, cause in (
            (again, first, "are not the same for the same inputs: it is random, or changes itself"),
            (alone, first[:1], "depend on the other inputs of the batch (no running statistics, or another order?)"),
        ):
            apart = float((made - of).abs().max()) if made.shape == of.shape else float("inf")
            if apart > (1e-9 if self.dtype == torch.float64 else 1e-3) * max(size, 1e-30):
                raise ValueError(f"the outputs of the model {cause}; they differ by {apart:.2g}")
        logits = torch.cat([self.scores(x).detach().double() for x in self.batches("outputs")])
        if not logits.isfinite().all():
            bad = [name for name, p in self.model.named_parameters() if not p.isfinite().all()]
            bad += [
                name for name, b in self.model.named_buffers() if b.is_floating_point() and not b.isfinite().all()
            ]
            cause = f"its {bad[0]} is not finite" if bad else "its weights and these inputs are"
            at = int((~logits.isfinite()).any(1).nonzero()[0, 0])
            raise ValueError(f"the model gives outputs that are not finite, first for input {at}; {cause}")
        return logits

    def like(self) -> str:
        """The network of `architectures.SIX` that ends most like this one, by its last activation and its signs."""
        family = "Abs" if self.last == "abs" else "ReLU"
        if self.last not in ("relu", "abs") or self.single:
            return family
        return f"{family}2" if self.logits.min() >= 0 else f"{family}2-Neg" if self.logits.max() <= 0 else family

    def _last_activation(self, x: Tensor) -> tuple[str, str]:
        """The last activation; its layer if the outputs are its values, or their negatives, and "" otherwise."""
        watch = _Watch(self.model)
        with torch.no_grad(), watch.watching():
            made = self.run(x)
        layer, values = watch.ended
        same = values.shape == made.shape and torch.equal(values.abs(), made.abs())
        return watch.last, layer if same else ""

    @classmethod
    def of(cls, model: Any, inputs: Any, labels: Any) -> "Network":
        """The network of these arguments; a Network is returned as it is, and has its own inputs and labels.

        Raises ValueError for a Network with other inputs, and for a model without inputs or labels.
        """
        if isinstance(model, Network):
            if inputs is not None or labels is not None:
                raise ValueError("a Network has its own inputs and labels; pass the model to use others")
            return model
        return cls(model, inputs, labels)

    def twin(self, model: Any = None) -> "Network":
        """A network of the same inputs and labels with `model`, or else with this one untrained.

        Of tokens the inputs of both are the embeddings of this one. The statistics of the batch norms of one that is
        untrained here are those of the inputs. Raises ValueError as a Network does.
        """
        made = copy.copy(self)
        if model is not None:
            made.model = given.copy_of(model, self.dtype)[0]
            made.missed = {}  # its forward pass may be of another kind
            if self.tokens is not None:
                with made._default():
                    made.embedding = given.embedding_of(made.model, self.tokens)[0]
        else:
            made.model = given.untrained(self.model)
            for part in (norms := _norms(made.model)):
                part.momentum = None  # the mean over the batches
                part.train()
            if norms and len(self.x) > 1:
                for x in made.batches("statistics of an untrained twin"):
                    made.run(x)
            made.model.eval()
        made.logits = made._checked()
        return made

    @contextmanager
    def _default(self) -> Iterator[None]:
        """Tensors that the model makes have its precision, and attention is made of single operations."""
        before = torch.get_default_dtype()
        torch.set_default_dtype(self.dtype)
        try:
            with plain_attention():
                yield
        finally:
            torch.set_default_dtype(before)

    def run(self, x: Tensor) -> Any:
        """What the model gives for inputs x, (N, ...), which it may change."""
        with self._default():
            if self.tokens is not None:
                return given.from_embedding(self.model, self.embedding, self.tokens[:1], x.clone())
            return self.model(x.clone())

    def scores(self, x: Tensor) -> Tensor:
        """One output a class, (N, C)."""
        made = self.run(x)
        if not self.single:
            return made
        logit = made.view(-1, 1) - (0.5 if self.probability else 0.0)
        return torch.cat([-logit, logit], 1)

    def batches(self, what: str = "forward pass") -> Iterator[Tensor]:
        """The inputs in groups, in order, without gradients."""
        groups, progress = self.x.split(self.batch), Progress(what, unit="batch")
        with torch.no_grad():
            for number, x in enumerate(groups, 1):
                yield x
                progress(number, len(groups))

    def directions(self, k: int) -> Tensor:
        """The k leading principal directions of the inputs, (D, k) in float64, fewer if there are few inputs."""
        k = min(k, len(self.x) - 1, self.x[0].numel())
        if ("directions", k) not in self.kept:
            self.kept["directions", k] = principal(self.x.flatten(1).double(), k)[0]
        return self.kept["directions", k]

    def large(self, least: int) -> tuple[Tensor, Tensor, Tensor]:
        """Which inputs are of classes with at least so many, (N,) bool; these classes; the inputs' places among them.

        Raises ValueError for fewer than two such classes.
        """
        counts = torch.bincount(self.labels)
        classes = (counts >= least).nonzero()[:, 0]
        if len(classes) < 2:
            some = " and ".join(str(int(c)) for c in counts.sort(descending=True)[0][:2])
            wanted = f"wanted at least {least} inputs of each of two classes"
            raise ValueError(f"{wanted}, but the largest two have {some}; pass more inputs")
        kept = torch.isin(self.labels, classes)
        return kept, classes, torch.searchsorted(classes, self.labels[kept])

    def apart(self) -> tuple[int, int]:
        """The first two inputs of different class that are predicted right, or that are of different class."""
        right = (self.logits.argmax(1) == self.labels).nonzero()[:, 0].tolist() or range(len(self.labels))
        other = [i for i in right if self.labels[i] != self.labels[right[0]]]
        if not other:
            other = (self.labels != self.labels[right[0]]).nonzero()[:, 0].tolist()
        return right[0], other[0]

    def ran(self, wanted: Callable[[nn.Module], bool], last: bool = False) -> dict[str, nn.Module]:
        """The parts that are wanted by name, in the order in which they are called first, or last."""
        found: dict[str, nn.Module] = {}

        def note(name):
            def called(part, _):
                found[name] = found.pop(name, part) if last else found.get(name, part)

            return called

        with ExitStack() as hooks, torch.no_grad():
            for name, part in self.model.named_modules():
                if wanted(part):
                    hooks.enter_context(part.register_forward_pre_hook(note(name)))
            self.run(self.x[:1])
        return found

    def head(self) -> tuple[str, nn.Module]:
        """The last Linear or OffsetL2 and its name. Raises ValueError for a model without one for its outputs."""
        if not (found := self.ran(lambda part: isinstance(part, nn.Linear | OffsetL2), last=True)):
            raise ValueError("the model has no Linear and no OffsetL2 layer, so it has no hyperplanes")
        name, part = list(found.items())[-1]
        made = self.at(part, self.x[:1], output=True)
        if made.shape[-1] != (1 if self.single else self.logits.shape[1]):
            about = f"{name}, has {made.shape[-1]} outputs, and the model {self.logits.shape[1]}"
            raise ValueError(f"the last Linear or OffsetL2, {about}: another kind of layer makes its outputs")
        return name, part

    def at(self, part: nn.Module, x: Tensor, output: bool = False, stop: bool = False) -> Tensor:
        """The input, or the output, of a part of the model for inputs x, (N, ...), at its last call.

        stop: at its first call, and nothing runs after it.
        """
        seen = []

        def note(_, arguments, named, made):
            seen.append(made if output else [*arguments, *named.values()][0])
            if stop:
                raise _Seen

        with part.register_forward_hook(note, with_kwargs=True), suppress(_Seen):
            self.run(x)
        return seen[-1]

    def features(self) -> tuple[str, Callable[[Tensor], Tensor]]:
        """A name for what enters the head, and the map from inputs (N, ...) to it, (N, m).

        Of a model whose last layer is of another kind, such as a convolution, it is the map to the outputs. Raises
        ValueError where what enters the head does not have one row an input.
        """
        try:
            name, part = self.head()
        except ValueError:
            return "outputs", lambda x: self.run(x).flatten(1)
        for number in (1, 2)[: len(self.x)]:
            if len(self.at(part, self.x[:number])) != number:
                raise ValueError(f"what enters the last layer, {name}, does not have one row an input")
        return f"features before {name or 'the head'}", lambda x: self.at(part, x).flatten(1)

    def kind(self, name: str) -> str:
        """The layer's name with its kind: "0 (Linear)"."""
        kind = self.model.get_submodule(name)._get_name()
        return f"{name} ({kind})" if name else f"the model ({kind})"


def _channels(model: nn.Module, shape: torch.Size) -> str:
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


def _norms(model: nn.Module) -> list[Any]:
    """The batch norms of a model that keep statistics."""
    return [part for part in model.modules() if isinstance(part, _BatchNorm) and part.running_mean is not None]


class _Seen(BaseException):
    """Ends a forward pass in which enough was seen; no model catches it."""


class _Watch(TorchDispatchMode):
    """Sums up the output of every elementwise activation, whether a module or a function computes it.

    Those inside a recurrent layer are its gates, at every time; its outputs stand for it (`active_shares`).
    """

    def __init__(self, model: nn.Module):
        super().__init__()
        # whether units of outputs with three axes are channels, (N, channels, length), or features of tokens
        self.channels = any(isinstance(m, nn.Conv1d | nn.ConvTranspose1d) for m in model.modules())
        self.recurrent = {name for name, m in model.named_modules() if isinstance(m, nn.RNNBase | nn.RNNCellBase)}
        self.calls, self.last = Counter(), ""
        self.names, self.within = {m: name for name, m in model.named_modules()}, [""]  # of the parts that run now
        self.seen: dict[str, tuple[Tensor, Tensor, Tensor]] = {}
        self.ended = "", torch.empty(0)  # the last layer of `seen`, and its values

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Watches what is run within."""

        def enter(part, _):
            self.within.append(self.names.get(part, self.within[-1]))

        def leave(*_):
            self.within.pop()

        with register_module_forward_pre_hook(enter), register_module_forward_hook(leave, always_call=True), self:
            yield

    def note(self, name: str, units: Tensor) -> None:
        """Sums up values (N, units, ...): the number of inputs on which each unit is active, and its range."""
        values = units.detach().flatten(2) if units.ndim > 2 else units.detach()[..., None]
        if not len(values):  # as of an expert that is sent none of the inputs
            nothing = values.new_full(values.shape[1:2], torch.inf).double()
            self.seen[name] = torch.zeros_like(nothing, dtype=torch.int64), nothing, -nothing
            return
        self.seen[name] = ((values != 0).any(-1).sum(0), values.amin((0, 2)).double(), values.amax((0, 2)).double())

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        made = func(*args, **(kwargs or {}))
        name = func.overloadpacket.__name__.rstrip("_")
        name = CALLED.get(name, name)
        if name in ACTIVATIONS:
            inside, self.last = self.within[-1], name
            if inside in self.recurrent or made.ndim < 2:
                return made
            self.calls[inside, name] += 1
            again = f" ({self.calls[inside, name]})" if self.calls[inside, name] > 1 else ""
            where = "" if inside.split(".")[-1] == name else f" {name}"
            layer = f"{inside}{where}{again}".strip()
            self.note(layer, made.mT if made.ndim == 3 and not self.channels else made)
            self.ended = layer, made.detach()
        return made


def active_shares(network: Network) -> dict[str, np.ndarray]:
    """Layer -> (units,) share of the inputs on which each unit is active.

    A unit is active where it is not 0. One that has the same value everywhere is never active. A channel of a
    convolution is one unit, active where it is active anywhere in its map, and so is a feature of tokens, (N, tokens,
    features). In a model with a convolution in one dimension three axes are (N, channels, length). Layers are the
    elementwise activations, modules or functions, recurrent layers, and the outputs.
    """
    active, low, high = {}, {}, {}
    for x in network.batches("active units"):
        watch = _Watch(network.model)
        with ExitStack() as hooks:
            for name in watch.recurrent:
                note = partial(_states, watch, name, len(x))
                hooks.enter_context(network.model.get_submodule(name).register_forward_hook(note))
            with watch.watching():
                made = network.run(x)
        watch.note("outputs", made.reshape(len(x), -1))
        for name, (number, least, most) in watch.seen.items():
            if name in active and len(active[name]) != len(number):  # another shape of inputs at another time
                continue
            active[name] = active.get(name, 0) + number
            low[name] = torch.minimum(low.get(name, torch.tensor(torch.inf)), least)
            high[name] = torch.maximum(high.get(name, torch.tensor(-torch.inf)), most)
    return {
        name: torch.where(low[name] == high[name], 0, n.double() / len(network.x)).numpy()
        for name, n in active.items()
    }


def _states(watch: _Watch, name: str, size: int, part: Any, _: Any, made: Any) -> None:
    """Notes the outputs of a recurrent layer at all times; a hook."""
    states = made[0] if isinstance(made, tuple) else made
    if states.ndim == 3:
        states = (states if part.batch_first else states.transpose(0, 1)).mT
    if len(states) == size:
        watch.note(name, states)


def _weighs(part: nn.Module) -> bool:
    """Whether the part multiplies what enters it by a matrix of its own."""
    known = nn.Linear | _ConvNd | nn.RNNBase | nn.MultiheadAttention
    leaf = not any(True for _ in part.children())
    return isinstance(part, known) or leaf and any(p.ndim > 1 for p in part.parameters(recurse=False))


def first_layer(network: Network) -> tuple[str, float, float, int]:
    """The first Linear or Conv2d by name; the curvature of its inputs; the RMS of its preactivations; its positions.

    The curvature is the largest eigenvalue of the second moment of what enters the layer, summed over the positions
    of a convolution. Biases are left out of the preactivations. Raises ValueError for a model without such a layer,
    or whose first layer is of another kind.
    """
    if not (found := network.ran(_weighs)):
        raise ValueError("the model has no Linear and no Conv2d layer")
    name, layer = next(iter(found.items()))
    weight: Any = layer.weight if isinstance(layer, nn.Linear | nn.Conv2d) else torch.empty(1, 0)
    parts = (_rows(layer, network.at(layer, x, stop=True).detach().double()) for x in network.batches("first layer"))
    W, total, squares, kept, number = weight.flatten(1).double(), 0.0, 0.0, [], 0
    few = None
    for rows in parts:
        few = len(network.x) * rows.shape[1] < rows.shape[2] if few is None else few
        flat = rows.flatten(0, 1)
        if few:  # the moment of the rows has the same largest eigenvalue as that of the columns
            kept.append(flat)
        else:
            total = total + flat.mT @ flat
        squares, number = squares + float((flat @ W.mT).square().sum()), number + len(flat)
    joined: Any = torch.cat(kept) if few else None
    moment: Any = joined @ joined.mT if few else total
    before, curvature = network.kept.get("first", (torch.empty(0), 0.0))
    if not torch.equal(before, moment):
        if not moment.isfinite().all():
            raise ValueError(f"the inputs of {network.kind(name)} are so large that their squares are infinite")
        curvature = float(torch.linalg.eigvalsh(moment / len(network.x))[-1])
        network.kept["first"] = moment, curvature
    return network.kind(name), curvature, (squares / (number * len(W))) ** 0.5, number // len(network.x)


def _rows(layer: nn.Module, x: Tensor) -> Tensor:
    """What the layer's weights are multiplied by: (N, positions, inputs)."""
    if isinstance(layer, nn.Linear):
        return x.reshape(len(x), -1, x.shape[-1])
    c: Any = layer
    if not isinstance(layer, nn.Conv2d) or c.groups != 1:
        kind = f"{c._get_name()} with groups={c.groups}" if isinstance(layer, nn.Conv2d) else c._get_name()
        raise ValueError(f"the first layer is {kind}; only a Linear or a Conv2d with groups=1 is supported")
    mode = "constant" if c.padding_mode == "zeros" else c.padding_mode
    x = nn.functional.pad(x, c._reversed_padding_repeated_twice, mode)
    return nn.functional.unfold(x, c.kernel_size, c.dilation, 0, c.stride).mT
