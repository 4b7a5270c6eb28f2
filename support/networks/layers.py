"""The layers of Oursland 2025 as ordinary torch modules, for a reader's own network."""

import torch
from torch import nn

from support.activations import Abs

__all__ = ["Abs", "Neg", "OffsetL2"]


class Neg(nn.Module):
    """Elementwise sign change: turns a distance (small = close) into a logit (large = likely)."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """-x, of the shape of x."""
        return -x


class OffsetL2(nn.Module):
    """Weighted Euclidean distance to one learned reference point per output; (..., inputs) -> (..., outputs).

    y_i = sqrt(max(sum_k s_ik (x_k - mu_ik)^2, 1e-12)), where the weight s_ik is alpha_ik in the form "code" (signed
    and unconstrained, as in Oursland's code) and alpha_ik^2 in the form "paper" (as the paper's equation says).
    Below the floor of 1e-12 the gradient is 0, so it is finite at zero distance. The experiments start from
    mu ~ N(0, 0.1^2) and alpha = 1. With a negative alpha the form "code" is not a distance.

    The square is expanded, so near mu its terms cancel: the absolute error of y is about sqrt(eps sum_k s_ik x_k^2),
    where eps is the precision of a number, 1e-7 in float32.

    In your own network it replaces the last Linear. `Neg` turns small distances into large logits:

    >>> network = nn.Sequential(nn.Linear(30, 16), nn.ReLU(), OffsetL2(16, 3, "paper"), Neg())
    >>> network(torch.zeros(5, 30)).shape
    torch.Size([5, 3])

    Source: Oursland 2025, section 6.4, first equation.
    """

    FLOOR = 1e-12

    def __init__(self, inputs: int, outputs: int, form: str = "code"):
        super().__init__()
        if form not in ("code", "paper"):
            raise ValueError(f"form must be 'code' or 'paper', not {form!r}")
        self.form = form
        self.mu = nn.Parameter(0.1 * torch.randn(outputs, inputs))
        self.alpha = nn.Parameter(torch.ones(outputs, inputs))

    @property
    def weight(self) -> torch.Tensor:
        """The factors s of the squares, (outputs, inputs)."""
        return self.alpha if self.form == "code" else self.alpha**2

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The distances, (..., outputs), of points x, (..., inputs)."""
        weight = self.weight
        # sum_k s (x - mu)^2, expanded so that no (N, outputs, inputs) array is made
        squared = x**2 @ weight.T - 2 * x @ (weight * self.mu).T + (weight * self.mu**2).sum(1)
        return squared.clamp_min(self.FLOOR).sqrt()

    def extra_repr(self) -> str:
        """The sizes and the form, for `print(network)`."""
        outputs, inputs = self.mu.shape
        return f"{inputs}, {outputs}, form={self.form!r}"
