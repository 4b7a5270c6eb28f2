"""A model of a reader as it is measured: a copy of it, with inputs and labels."""

import copy
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

from support.geometry.checks import in_precision
from support.geometry.jacobians import plain_attention
from support.geometry.slices import principal
from support.networks import given, outputs
from support.networks.layers import OffsetL2
from support.networks.watch import Watch
from support.progress import Progress
from support.words import counted

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
            self.notes += [f"{some} the statistics of the start, mean 0 and variance 1, so they standardise nothing."]
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
        self.names = names
        self.logits = self._checked()
        self.names = names or [str(c) for c in range(self.logits.shape[1])]
        self.notes += [f"Outputs in sorted order of the labels: {names[0]!r} is the first."] if names else []
        self.missed: dict[bool, float] = {}  # what its derivatives miss, as of an untrained copy (`derivatives`)
        self.kept: dict[Any, Any] = {}  # what belongs to the inputs and labels alone, shared with a twin

    def _checked(self) -> Tensor:
        """The logits, (N, C). Raises ValueError for outputs that cannot be measured."""
        some, shape = self.x[:CHECKED], f"inputs of shape {tuple(self.x.shape)}"
        made = [self._tried(*asked) for asked in ((some, shape), (some, shape), (some[:1], "one input alone"))]
        outputs.only_tensors(made[0])
        first, again, alone = (one.detach() for one in made)  # the model may have taken gradients
        self.last, self.repeated = self._last_activation(some[:1])
        self.single = outputs.check_fit(first, len(some), len(self.x), self.classes, self.names)
        self.probability = self.single and self.last == "sigmoid"
        outputs.check_same(first, again, alone, self.dtype)
        logits = torch.cat([self.scores(x).detach().double() for x in self.batches("outputs")])
        outputs.check_finite(logits, self.model)
        return logits

    def _tried(self, x: Tensor, what: str) -> Any:
        """What the model gives for inputs x. Raises a ValueError that says why it cannot take them."""
        try:
            with torch.no_grad():
                return self.run(x)
        except Exception as error:  # the model's own
            why = str(error) or type(error).__name__
            if self.tokens is None and any(isinstance(part, nn.Embedding) for part in self.model.modules()):
                why += "; it has an Embedding: if these inputs are tokens, pass integers"
            elif "type" in str(error):
                why += f" (a copy in {self.dtype} is measured)"
            why += outputs.channels(self.model, self.x.shape)
            raise ValueError(f"the model cannot take {what}: {why}") from error

    def like(self) -> str:
        """The network of `architectures.SIX` that ends most like this one, by its last activation and its signs."""
        family = "Abs" if self.last == "abs" else "ReLU"
        if self.last not in ("relu", "abs") or self.single:
            return family
        return f"{family}2" if self.logits.min() >= 0 else f"{family}2-Neg" if self.logits.max() <= 0 else family

    def _last_activation(self, x: Tensor) -> tuple[str, str]:
        """The last activation; its layer if the outputs are its values, or their negatives, and "" otherwise."""
        watch = Watch(self.model)
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

    @given.undisturbed()
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

    def calls(self, wanted: Callable[[nn.Module], bool]) -> list[str]:
        """The names of the parts that are wanted, in the order in which they are called, once for each call."""
        found: list[str] = []
        with ExitStack() as hooks, torch.no_grad():
            for name, part in self.model.named_modules():
                if wanted(part):
                    hooks.enter_context(part.register_forward_pre_hook(lambda *_, name=name: found.append(name)))
            self.run(self.x[:1])
        return found

    def head(self) -> tuple[str, nn.Module]:
        """The last Linear or OffsetL2 and its name. Raises ValueError for a model without one for its outputs."""
        if not (found := self.calls(lambda part: isinstance(part, nn.Linear | OffsetL2))):
            raise ValueError("the model has no Linear and no OffsetL2 layer, so it has no hyperplanes")
        part = self.model.get_submodule(name := found[-1])
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


def _norms(model: nn.Module) -> list[Any]:
    """The batch norms of a model that keep statistics."""
    return [part for part in model.modules() if isinstance(part, _BatchNorm) and part.running_mean is not None]


class _Seen(BaseException):
    """Ends a forward pass in which enough was seen; no model catches it."""
