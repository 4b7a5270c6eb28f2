"""One residual network in training: its steps, its state for a checkpoint, and its accuracy."""

import copy
import math

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from support.activations import ACTIVATIONS
from support.defaults import pinned
from support.networks.data import Dataset
from support.networks.draws import named
from support.networks.residual import ResNet
from support.training.residual import augmentation, objectives
from support.training.residual.specs import ResidualSpec

MEAN, SD = (0.4914, 0.4822, 0.4465), (0.2023, 0.1994, 0.2010)  # of CIFAR-10's channels, as the paper prints them
EVALUATED = 5000  # training images on which loss and accuracy are measured, the first ones
ROWS = 500  # images at a time where nothing is learned
# Width from which a CPU convolves by oneDNN, and images lie channels last, which is faster. Without AVX-512 oneDNN's
# routines write past the end of a tensor of 2 to 6 channels (torch 2.13: such a run crashes, or is wrong).
LEAST_FOR_ONEDNN = 8
# of torch's OneCycleLR: the share of the rise, start = peak / START_DIVISOR, end = start / END_DIVISOR
RISE, START_DIVISOR, END_DIVISOR = 0.3, 25.0, 1e4


class Normalise(nn.Module):
    """Channels of images in the unit range, less a mean and divided by an SD.

    For images in colour these are CIFAR-10's, else those of the data's own training pixels.
    """

    def __init__(self, data: Dataset):
        super().__init__()
        colour = len(data.image_shape) == 3
        mean = MEAN if colour else (data.pixel_mean / data.maximum,)
        sd = SD if colour else (data.pixel_sd / data.maximum,)
        self.mean = nn.Buffer(torch.tensor(mean, dtype=torch.float32)[:, None, None])
        self.sd = nn.Buffer(torch.tensor(sd, dtype=torch.float32)[:, None, None])

    def forward(self, x: Tensor) -> Tensor:
        """The normalised images, (N, channels, H, W)."""
        return (x - self.mean) / self.sd


def pictures(images, shape: tuple[int, ...]) -> Tensor:
    """Stored images (N, D) as bytes (N, channels, H, W)."""
    x = torch.from_numpy(images).unflatten(1, shape)
    return x.permute(0, 3, 1, 2) if len(shape) == 3 else x[:, None]


def rate_at(number: int, steps: int, spec: ResidualSpec) -> float:
    """The learning rate of a step; the first is 1. That of torch's OneCycleLR, or constant."""
    if spec.schedule == "constant":
        return spec.rate
    done, start, top = number - 1, spec.rate / START_DIVISOR, RISE * steps - 1
    if done <= top:
        first, last, share = start, spec.rate, done / top
    else:
        first, last, share = spec.rate, start / END_DIVISOR, (done - top) / (steps - 1 - top)
    return last + (first - last) / 2 * (1 + math.cos(math.pi * share))


def evaluated(forward, x: Tensor) -> Tensor:
    """A function of batches at all of x, `ROWS` at a time, without gradients."""
    with torch.no_grad():
        return torch.cat([forward(part) for part in x.split(ROWS)])


class Learner:
    """A network with its head, if it has one, and its optimiser.

    data: the whole set, of which the first `spec.images` are learned; raises DataError if there are fewer. roll:
    rotates the images of a batch, which changes only the order of sums.
    """

    def __init__(self, spec: ResidualSpec, data: Dataset, device: torch.device, roll: int = 0):
        self.spec, self.device, self.roll, self.scale = spec, device, roll, data.maximum
        data = data.first(spec.images)
        self.classes = len(data.classes)
        self.train_images, self.test_images = (
            pictures(images, data.image_shape).to(device) for images in (data.train_images, data.test_images)
        )
        self.train_labels, self.test_labels = (
            torch.from_numpy(labels).to(device) for labels in (data.train_labels, data.test_labels)
        )
        self.learned = self.train_labels
        if spec.labels == "shuffled":
            order = torch.randperm(spec.images, generator=named(spec.seed, 0, "labels"))
            self.learned = self.train_labels[order.to(device)]
        activation = ACTIVATIONS[spec.activation].module
        with torch.random.fork_rng(devices=[]), pinned():  # layers take their type from torch
            torch.manual_seed(spec.seed)
            self.network = ResNet(spec.depth, spec.width, activation, self.classes, self.train_images.shape[1])
            self.head = objectives.projector(self.network.fc.in_features, activation)
        self.normalise = (Normalise(data) if spec.normalised else nn.Identity()).to(device)
        self.layout = torch.channels_last if spec.width >= LEAST_FOR_ONEDNN else torch.contiguous_format
        self.network = self.network.to(device).to(memory_format=self.layout)  # type: ignore[call-overload]
        self.head = self.head.to(device)
        unused = "network.fc." if spec.self_supervised else "head."
        both = [(f"{name}.{n}", p) for name in ("network", "head") for n, p in getattr(self, name).named_parameters()]
        self.parameters = {name: p for name, p in both if not name.startswith(unused)}
        self.optimiser = self._optimiser()
        self.total = torch.zeros(2, dtype=torch.float64)  # of an epoch's losses, and the number of batches
        self.fitted = torch.zeros((), dtype=torch.int64)  # the epoch after which training stopped, or 0
        self.order = (0, torch.empty(0, dtype=torch.int64))

    def _optimiser(self) -> torch.optim.Optimizer:
        spec, several = self.spec, list(self.parameters.values())
        zeros = lambda p: torch.zeros_like(p, memory_format=torch.preserve_format)  # noqa: E731
        if spec.optimiser == "sgd":
            nesterov = spec.momentum > 0
            made = torch.optim.SGD(several, spec.rate, spec.momentum, weight_decay=spec.decay, nesterov=nesterov)
            made.state.update({p: {"momentum_buffer": zeros(p)} for p in several})
            return made
        made = torch.optim.Adam(several, spec.rate, weight_decay=spec.decay)
        made.state.update(
            {p: {"step": torch.tensor(0.0), "exp_avg": zeros(p), "exp_avg_sq": zeros(p)} for p in several}
        )
        return made

    # -- images ------------------------------------------------------------------------------------------------------

    def unit(self, images: Tensor) -> Tensor:
        """Stored images in the unit range."""
        return self.laid_out(images.float() / self.scale)

    def laid_out(self, x: Tensor) -> Tensor:
        """Images (N, C, H, W) in the network's order in memory."""
        return x.contiguous(memory_format=self.layout)

    def batch(self, epoch: int, index: int) -> tuple[list[Tensor], Tensor]:
        """The views of a batch, one or two, normalised, and its labels; they follow from seed, epoch and index."""
        spec = self.spec
        if self.order[0] != epoch:
            random = named(spec.seed, epoch, "order")
            self.order = epoch, torch.randperm(spec.images, generator=random)
        some = self.order[1][index * spec.batch : (index + 1) * spec.batch].to(self.device)
        x, random = self.unit(self.train_images[some]), named(spec.seed, epoch, f"images {index}")
        if spec.augmentation == "views":
            views = [augmentation.view(x, random) for _ in range(2)]
        elif spec.augmentation == "crop and flip":
            views = [augmentation.crop_and_flip(x, random)]
        elif spec.augmentation == "shift":
            views = [augmentation.shifted(x, random)]
        else:
            views = [x]
        views = [self.laid_out(self.normalise(x).roll(self.roll, 0)) for x in views]
        return views, self.learned[some].roll(self.roll, 0)

    # -- steps -------------------------------------------------------------------------------------------------------

    def loss(self, views: list[Tensor], labels: Tensor) -> Tensor:
        """The objective of a batch."""
        spec = self.spec
        torch.clear_autocast_cache()  # within an autocast of somebody else it would keep the weights of the last step
        with torch.autocast(self.device.type, torch.bfloat16, enabled=spec.precision == "bf16"):
            if not spec.self_supervised:
                logits = self.network(views[0])
            else:
                codes = [self.head(self.network.features(x)) for x in views]
        if not spec.self_supervised:
            return cross_entropy(logits.float(), labels)
        first, second = (z.float() for z in codes)
        if spec.objective == "barlow":
            return objectives.barlow(first, second, spec.redundancy)
        return objectives.simclr(first, second, spec.temperature)

    def step(self, number: int) -> None:
        """Step `number` of training; the first is 1."""
        spec = self.spec
        epoch, index = (number - 1) // spec.batches + 1, (number - 1) % spec.batches
        if self.fitted:
            return
        if index == 0:
            self.total.zero_()
        self.mode(training=True)
        self.optimiser.param_groups[0]["lr"] = rate_at(number, spec.epochs * spec.batches, spec)
        with torch.enable_grad():
            loss = self.loss(*self.batch(epoch, index))
            self.optimiser.zero_grad()
            loss.backward()
        self.optimiser.step()
        self.total += torch.tensor([float(loss.detach()), 1.0], dtype=torch.float64)
        if spec.until and index == spec.batches - 1:
            accuracy = self.accuracy(self.train_images, self.learned)[1]
            self.fitted.fill_(epoch if accuracy >= spec.until else 0)

    def mode(self, training: bool) -> None:
        """Sets training or evaluation."""
        self.network.train(training)
        self.head.train(training)

    # -- measurements ------------------------------------------------------------------------------------------------

    def accuracy(self, images: Tensor, labels: Tensor) -> tuple[float, float]:
        """Mean cross-entropy in nats and accuracy in percent, in float32."""
        self.mode(training=False)
        logits = evaluated(lambda x: self.network(self.normalise(self.unit(x))), images).double()
        right = (logits.argmax(1) == labels).double().mean()
        return float(cross_entropy(logits, labels)), 100 * float(right)

    def curves(self) -> Tensor:
        """`spec.curves` now, (4,), or of a self-supervised network the mean objective of the last epoch, (1,), and
        before training that of the first batch."""
        if self.spec.self_supervised:
            if self.total[1] == 0:
                other = copy.copy(self)  # the batch must leave no trace in the statistics
                other.network, other.head = copy.deepcopy(self.network), copy.deepcopy(self.head)
                other.mode(training=True)
                with torch.no_grad():
                    return other.loss(*self.batch(1, 0)).double().cpu()[None]
            return self.total[:1] / self.total[1]
        train = self.accuracy(self.train_images[:EVALUATED], self.learned[:EVALUATED])
        return torch.tensor([*train, *self.accuracy(self.test_images, self.test_labels)], dtype=torch.float64)

    # -- checkpoints -------------------------------------------------------------------------------------------------

    def state(self) -> dict[str, Tensor]:
        """All tensors that a step changes."""
        found = {"total": self.total, "fitted": self.fitted}
        for part in ("network", "head"):
            found |= {f"{part}.{name}": value for name, value in getattr(self, part).state_dict().items()}
        for name, p in self.parameters.items():
            found |= {f"optimiser.{kind}.{name}": value for kind, value in self.optimiser.state[p].items()}
        return found

    def weights(self) -> dict[str, Tensor]:
        """A copy of the network's weights on the CPU, by torchvision's names."""
        found = self.network.state_dict().items()
        return {name: value.cpu().contiguous().clone() for name, value in found if value.is_floating_point()}
