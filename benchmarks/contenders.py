"""Three ways to train the same networks: a loop as the sources wrote it, `torch.func`, and this book's trainer.

Each is made from run specifications and a data set, has `networks`, how many it trains, and `step()`.
"""

import torch
from torch import nn
from torch.func import functional_call, grad, stack_module_state, vmap
from torch.nn.functional import cross_entropy

from support.networks.architectures import architecture
from support.networks.data import Dataset
from support.training.classifiers.ensemble import initial_weights
from support.training.classifiers.specs import RunSpec
from support.training.classifiers.stack import Stack, divide

NAMES = {"weight": "0.weight", "bias": "0.bias", "head": "2.weight"}  # the trainer's names -> the module's


class Images:
    """The raw bytes of a data set as float32 on a device, as the sources had them."""

    def __init__(self, dataset: Dataset, device: torch.device):
        arrays = dataset.train_images, dataset.train_labels, dataset.test_images, dataset.test_labels
        self.x, self.y, self.test_x, self.test_y = (torch.from_numpy(a).to(device) for a in arrays)
        self.x, self.test_x = self.x.float(), self.test_x.float()


def module(spec: RunSpec, dataset: Dataset, device: torch.device) -> nn.Sequential:
    """One of the six networks as an ordinary module, with the initial weights that the trainer gives it."""
    network = architecture(spec.architecture).module(dataset.train_images.shape[1], spec.hidden, len(dataset.classes))
    drawn = initial_weights(spec.seed, dataset.train_images.shape[1], spec.hidden, len(dataset.classes))
    network.load_state_dict({theirs: drawn[ours] for ours, theirs in NAMES.items()})
    return network.to(device)


class Loop:
    """Eager autograd, one network after another, with loss and accuracy of every step; all settings torch's own.

    As in the first source: full batch, training accuracy before the step, accuracy on the test set after it.
    """

    def __init__(self, specs: list[RunSpec], dataset: Dataset, images: Images, device: torch.device):
        self.networks, self.images = len(specs), images
        self.modules = [module(s, dataset, device) for s in specs]
        self.optimisers = [torch.optim.SGD(m.parameters(), s.rate) for m, s in zip(self.modules, specs, strict=True)]

    def step(self) -> list[tuple[float, float, float]]:
        """Returns (loss, training accuracy, test accuracy) of each network."""
        i, seen = self.images, []
        for network, optimiser in zip(self.modules, self.optimisers, strict=True):
            optimiser.zero_grad()
            outputs = network(i.x)
            loss = cross_entropy(outputs, i.y)
            accuracy = (outputs.argmax(1) == i.y).float().mean().item()
            loss.backward()
            optimiser.step()
            with torch.no_grad():
                test_accuracy = (network(i.test_x).argmax(1) == i.test_y).float().mean().item()
            seen.append((loss.item(), accuracy, test_accuracy))
        return seen


class Vmap:
    """The networks of one architecture as torch's own ensemble: stacked modules and a vmapped gradient.

    It is let off looking at accuracies altogether.
    """

    def __init__(self, specs: list[RunSpec], dataset: Dataset, images: Images, device: torch.device):
        self.networks, self.images, self.rate = len(specs), images, specs[0].rate
        modules = [module(s, dataset, device) for s in specs]
        self.parameters, buffers = stack_module_state(modules)

        def loss(parameters, x, y):
            return cross_entropy(functional_call(modules[0], (parameters, buffers), (x,)), y)

        self.gradients = vmap(grad(loss), in_dims=(0, None, None))

    @torch.no_grad()
    def step(self) -> None:
        for name, gradient in self.gradients(self.parameters, self.images.x, self.images.y).items():
            self.parameters[name].sub_(gradient, alpha=self.rate)


class Trainer:
    """This book's: every network in one stack. What it measures at the recorded steps is not part of a step."""

    def __init__(self, specs: list[RunSpec], dataset: Dataset, device: torch.device):
        self.networks = len(specs)
        products, division, self.probe = divide(specs, dataset, device)
        self.stack = Stack(specs, dataset, products, division)

    @torch.no_grad()
    def step(self) -> None:
        with self.stack.products.active():
            self.stack.step(1)

    @torch.no_grad()
    def measure(self) -> None:
        with self.stack.products.active():
            self.stack.measure(moments=False)
