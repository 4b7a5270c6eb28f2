"""A linear probe: logistic regression on frozen features."""

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

PENALTY = 1.0  # of 1/2 |W|^2, against the sum of the losses; features are standardised
ITERATIONS = 300


def fit(features: Tensor, labels: Tensor, classes: int) -> nn.Linear:
    """The probe for features (N, k), in their precision: (M, k) -> (M, classes).

    The minimum is unique up to a constant in all biases. It is sought from 0 with all features in each step, so no
    random number enters.
    """
    x = features.double()
    mean, sd = x.mean(0), x.std(0, correction=0).clamp(min=1e-8)
    x = (x - mean) / sd
    W, b = (torch.zeros(*shape, dtype=x.dtype, device=x.device) for shape in ((classes, x.shape[1]), (classes,)))
    W.requires_grad_(), b.requires_grad_()
    optimiser = torch.optim.LBFGS(
        [W, b], max_iter=ITERATIONS, tolerance_grad=1e-7, tolerance_change=1e-10, line_search_fn="strong_wolfe"
    )

    def closure():
        optimiser.zero_grad()
        loss = cross_entropy(x @ W.T + b, labels) + PENALTY / (2 * len(x)) * (W**2).sum()
        loss.backward()
        return loss

    with torch.enable_grad():
        optimiser.step(closure)
    made = nn.Linear(x.shape[1], classes, device=features.device, dtype=features.dtype)
    with torch.no_grad():
        made.weight.copy_(W / sd)
        made.bias.copy_(b - (W / sd) @ mean)
    return made.eval().requires_grad_(False)
