"""Images that could be either of two digits: decoded by an autoencoder, and chosen by an ensemble of classifiers.

The autoencoder and the ensemble see the training images of a task (`networks.tasks`), and all images here come
from its test images. The ensemble is not among the networks whose volume element is measured. Its members are ReLU
networks of two hidden layers with PyTorch's usual start.

A line runs from the latent point of a test image to that of another of a different class. Four images belong to it:

    clean      the test image at its start
    decoded    the same image, encoded and decoded
    ambiguous  decoded from the place on the line where the ensemble hesitates most between the two classes
    matched    another test image of one of the two classes, encoded and decoded, whose ink and norm are those of the
               ambiguous image within WITHIN

An image is ambiguous if every member gives each of the two classes at least UNSURE. It is clear if every member
gives at least CLEAR to its label, and so are "clean", "decoded" and "matched". Ink is the sum of the pixels, the norm
the root of the sum of their squares. Decoded images are smoother than real ones, and between two digits they are
fainter.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from support.networks.autoencoder import Autoencoder
from support.networks.tasks import Task

KINDS = ("clean", "decoded", "ambiguous", "matched")
UNSURE, CLEAR, WITHIN = 0.2, 0.9, 0.05
MEMBERS = 5
EPOCHS = {"autoencoder": 12, "member": 4}
BATCH, RATE = 128, 1e-3
PLACES = torch.linspace(0.2, 0.8, 13)  # on a line


@dataclass(frozen=True)
class Judge:
    """The autoencoder and the ensemble of one task."""

    autoencoder: Autoencoder
    members: list[nn.Sequential]

    def latent(self, x: Tensor) -> Tensor:
        """The latent points, (N, latent), of images (N, d)."""
        return self.autoencoder.encode(x.float())[0]

    def decoded(self, z: Tensor) -> Tensor:
        """The images, (N, d) float64, of latent points."""
        return self.autoencoder.decode(z).double()

    def probabilities(self, x: Tensor) -> Tensor:
        """What each member gives to each class, (members, N, classes), for images (N, d)."""
        return torch.stack([member(x.float()).softmax(1) for member in self.members])

    def least(self, x: Tensor, labels: Tensor) -> Tensor:
        """The least probability, (N,), that a member gives to the label of an image."""
        return self.probabilities(x)[:, torch.arange(len(x)), labels].amin(0)


def train(data: Task, seed: int = 0, epochs: dict[str, int] = EPOCHS) -> Judge:
    """An autoencoder and MEMBERS classifiers of the training images; all randomness is that of the seed."""
    x, labels = data.train[0].float(), data.train[1]
    generator = torch.Generator().manual_seed(seed)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        autoencoder = Autoencoder(data.inputs)
        members = [
            nn.Sequential(nn.Linear(data.inputs, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(),
                          nn.Linear(256, data.classes))
            for _ in range(MEMBERS)
        ]  # fmt: skip
    latent = autoencoder.decoder[0].in_features

    def bound(network, batch):
        return network.loss(x[batch], torch.randn(len(batch), latent, generator=generator))

    def cross_entropy(network, batch):
        return nn.functional.cross_entropy(network(x[batch]), labels[batch])

    _descend(autoencoder, bound, len(x), epochs["autoencoder"], generator)
    for member in members:
        _descend(member, cross_entropy, len(x), epochs["member"], generator)
    return Judge(autoencoder, members)


def _descend(network: nn.Module, loss: Callable, count: int, epochs: int, generator: torch.Generator) -> None:
    """Adam on loss(network, indices of a batch); afterwards the network is fixed."""
    adam = torch.optim.Adam(network.parameters(), RATE)
    for _ in range(epochs):
        for batch in torch.randperm(count, generator=generator).split(BATCH):
            adam.zero_grad()
            loss(network, batch).backward()
            adam.step()
    network.requires_grad_(False)


@dataclass(frozen=True)
class Lines:
    """The images of L lines, of each of KINDS (L, d) float64, and the labels of both ends, (L, 2).

    The first label is that of "clean" and "decoded".
    """

    images: dict[str, Tensor]
    labels: Tensor


def choose(judge: Judge, data: Task, count: int, seed: int) -> Lines:
    """The first `count` random lines between test images that have an ambiguous image and a match.

    Lines run between clear images of one half of the test images, and matches come from the other half. Every image
    is used once. Raises ValueError if there are too few lines.
    """
    x, labels = data.test
    generator = torch.Generator().manual_seed(seed)
    order = torch.randperm(len(x), generator=generator)
    x, labels = x[order], labels[order]
    z = judge.latent(x)
    decoded = judge.decoded(z)
    clear = ((judge.least(x, labels) >= CLEAR) & (judge.least(decoded, labels) >= CLEAR)).nonzero()[:, 0]
    ends, others = clear.chunk(2)
    free, found = torch.ones(len(others), dtype=torch.bool), []
    for a, b in ends[: len(ends) // 2 * 2].view(-1, 2).tolist():
        if len(found) == count:
            break
        middle = None if labels[a] == labels[b] else _hesitation(judge, z[a], z[b], labels[[a, b]])
        if middle is None:
            continue
        fits = free & ((labels[others] == labels[a]) | (labels[others] == labels[b]))
        match = _match(decoded[others], middle, fits)
        if match is not None:
            free[match] = False
            found.append((a, middle, int(others[match]), labels[[a, b]]))
    if len(found) < count:
        raise ValueError(f"only {len(found)} of {count} lines between test images of {data.name!r} are ambiguous")
    starts, middles, matches, both = zip(*found, strict=True)
    of_kind = (x[list(starts)], decoded[list(starts)], torch.stack(middles), decoded[list(matches)])
    return Lines(dict(zip(KINDS, of_kind, strict=True)), torch.stack(both))


def _hesitation(judge: Judge, a: Tensor, b: Tensor, labels: Tensor) -> Tensor | None:
    """The image between two latent points whose less likely class gets most; None if it is not ambiguous."""
    images = judge.decoded(torch.lerp(a, b, PLACES[:, None]))
    least = judge.probabilities(images)[:, :, labels].amin((0, 2))
    return images[least.argmax()] if least.max() >= UNSURE else None


def _match(images: Tensor, wanted: Tensor, free: Tensor) -> int | None:
    """The free image nearest in ink and norm; None if none is near enough in both."""
    apart = torch.stack([images.sum(1) / wanted.sum(), images.norm(dim=1) / wanted.norm()]).sub(1).abs().amax(0)
    apart = apart.masked_fill(~free, torch.inf)
    return int(apart.argmin()) if apart.min() <= WITHIN else None
