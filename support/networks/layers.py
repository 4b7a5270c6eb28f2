"""The layers of Oursland 2025 as ordinary torch modules, for a reader's own network."""

import contextlib
from typing import Final

import torch
from torch import Tensor, nn

from support.activations import Abs

__all__ = ["Abs", "Neg", "OffsetL2"]


class Neg(nn.Module):
    """Elementwise sign change: turns a distance (small = close) into a logit (large = likely).

    >>> Neg()(torch.tensor([1.0, -2.0])).tolist()
    [-1.0, 2.0]
    """

    def forward(self, x: Tensor) -> Tensor:
        """-x, of the shape of x."""
        return -x


class OffsetL2(nn.Module):
    """Weighted Euclidean distance to one learned reference point per output; (..., in) -> (..., out), as `nn.Linear`.

    The default form, "code", is a distance only as long as no alpha is negative: pass "paper" for one that stays so.

    y_i = sqrt(max(sum_k s_ik (x_k - mu_ik)^2, 1e-12)), where the weight s_ik is alpha_ik in the form "code" (signed
    and unconstrained, as in Oursland's code) and alpha_ik^2 in the form "paper" (as the paper's equation says).
    Below the floor of 1e-12 the gradient is 0, so it is finite at zero distance. It starts from mu ~ N(0, 0.1^2) and
    alpha = 1, as in the experiments.

    The square is expanded around the middle c of the reference points. So near mu_i its terms cancel: the absolute
    error of y is about sqrt(eps sum_k s_ik (x_k - c_k)^2), where eps is the precision of a number, 1e-7 in float32.
    An offset that inputs and reference points share costs no digits. Layers in half precision, and those under
    autocast, calculate in float32.

    In your own network it replaces the last Linear. `Neg` turns small distances into large logits:

    >>> network = nn.Sequential(nn.Linear(30, 16), nn.ReLU(), OffsetL2(16, 3, "paper"), Neg())
    >>> network(torch.zeros(5, 30)).shape
    torch.Size([5, 3])

    Args:
        in_features, out_features: sizes of the last axis of input and output.
        form: "code" or "paper".
        device, dtype: of the parameters, mu and alpha, (out_features, in_features) each.
    Raises:
        ValueError: for another form.
    Source: Oursland 2025, section 6.4, first equation.
    """

    FLOOR: Final[float] = 1e-12

    def __init__(
        self,
        in_features: int,
        out_features: int,
        form: str = "code",
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ):
        super().__init__()
        if form not in ("code", "paper"):
            raise ValueError(f"form must be 'code' or 'paper', not {form!r}")
        self.in_features, self.out_features, self.form = in_features, out_features, form
        self.mu = nn.Parameter(torch.empty(out_features, in_features, device=device, dtype=dtype))
        self.alpha = nn.Parameter(torch.empty_like(self.mu))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws mu anew, and sets alpha to 1."""
        with torch.no_grad():
            self.mu.copy_(0.1 * torch.randn_like(self.mu))
            self.alpha.fill_(1)

    @property
    def weight(self) -> Tensor:
        """The factors s of the squares, (out_features, in_features)."""
        return self.alpha if self.form == "code" else self.alpha**2

    def forward(self, x: Tensor) -> Tensor:
        """The distances, (..., out_features), of points x, (..., in_features)."""
        if torch.jit.is_scripting():
            return self._distances(x)
        cast = x.device.type in ("cpu", "cuda") and torch.is_autocast_enabled(x.device.type)
        with torch.autocast(x.device.type, enabled=False) if cast else contextlib.nullcontext():
            return self._distances(x)

    def _distances(self, x: Tensor) -> Tensor:
        mu, weight = self.mu, self.alpha
        half = mu.dtype in (torch.float16, torch.bfloat16)
        if half:
            mu, weight = mu.float(), weight.float()
        if x.dtype in (torch.float16, torch.bfloat16):
            x = x.float()
        if self.form == "paper":
            weight = weight**2
        middle = mu.detach().mean(0)
        x, mu = x - middle, mu - middle
        # sum_k s (x - mu)^2, expanded so that no (N, out, in) array is made
        squared = x**2 @ weight.T - 2 * x @ (weight * mu).T + (weight * mu**2).sum(1)
        y = squared.clamp_min(self.FLOOR).sqrt()
        return y.to(self.mu.dtype) if half else y

    def extra_repr(self) -> str:
        """The sizes and the form, for `print(network)`."""
        return f"in_features={self.in_features}, out_features={self.out_features}, form={self.form!r}"
