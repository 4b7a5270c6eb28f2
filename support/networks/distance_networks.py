"""The networks as ordinary torch modules: points (N, d) -> distances (N,), sqrt(sum_i act(w_i.x + b_i)^2)."""

import torch
from torch import Tensor, nn

from support.activations import ACTIVATIONS
from support.defaults import pinned
from support.networks.draws import initial
from support.networks.gaussians import Gaussian
from support.words import suggest

UNITS = {"MD_Abs": 1, "MD_ReLU": 2, "MD_Sigmoid": 2}  # hidden units per input dimension
HIDDEN = {"MD_Abs": "abs", "MD_ReLU": "relu", "MD_Sigmoid": "sigmoid"}  # their activations


class Norm(nn.Module):
    """Euclidean norm of the last axis, (..., k) -> (...); its gradient where all are 0 is 0, not NaN."""

    def forward(self, x: Tensor) -> Tensor:
        """The norms, (...), of vectors x, (..., k)."""
        return torch.linalg.vector_norm(x, dim=-1)


def module(network: str, weight: Tensor, bias: Tensor) -> nn.Sequential:
    """The network with this weight (k, d) and bias (k,), in their precision.

    >>> x = torch.tensor([[2.0, 3.0]])
    >>> [module(name, torch.eye(2), -torch.tensor([5.0, -1.0]))(x).item() for name in ("MD_Abs", "MD_ReLU")]
    [5.0, 4.0]
    """
    known(network)
    linear = nn.Linear(weight.shape[1], weight.shape[0], dtype=weight.dtype)
    linear.load_state_dict({"weight": weight, "bias": bias})
    return nn.Sequential(linear, ACTIVATIONS[HIDDEN[network]].module(), Norm())


def exact(gaussian: Gaussian) -> tuple[Tensor, Tensor]:
    """Weight W = Lambda^{-1/2} V^T, (d, d), and bias -W mean, (d,), of the MD_Abs that equals the distance."""
    return gaussian.whitening, -gaussian.whitening @ gaussian.mean


@pinned()
def initial_weights(network: str, seed: int, x: Tensor) -> tuple[Tensor, Tensor]:
    """Weight (k, d) and bias (k,) of a trial before training, float64.

    Draws 2d rows w ~ N(0, 2/d), and for each row a training point x_r, with replacement. The hyperplane of the row
    goes through its point: b = -w.x_r. MD_ReLU and MD_Sigmoid use all rows, MD_Abs the first d, so that the networks
    of a trial share their start.

    Args:
        seed: the trial.
        x: training points, (N, d).
    Source: Oursland, interpreting_nn_through_md, "Initialization".
    """
    known(network)
    N, d = x.shape
    shape = (2 * d, d)
    generator = initial(seed, "mahalanobis weight", shape)
    weight = torch.randn(shape, generator=generator, dtype=torch.float64) * (2 / d) ** 0.5
    rows = torch.randint(N, shape[:1], generator=initial(seed, "mahalanobis point", shape[:1]))
    bias = -(weight * x[rows]).sum(1)
    return weight[: UNITS[network] * d], bias[: UNITS[network] * d]


def known(network: str) -> None:
    """Raises ValueError, with a suggestion, for a name that is not in `UNITS`."""
    if network not in UNITS:
        raise ValueError(f"unknown network {network!r}{suggest(network, UNITS)}")
