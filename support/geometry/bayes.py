"""How a Bayesian network of finite width expands or contracts its input space around one training point."""

from typing import Any

import torch
from torch import Tensor

from support.arguments import whole


def bayes_chi(q: int, rho: Any, d: int) -> Tensor:
    """chi, the profile of the first correction in 1/n to the volume element, of the shape of rho.

    A network with one hidden layer of n monomial units z^q / sqrt((2q - 1)!!), no biases, m outputs and standard
    normal priors has learned one example (x_a, y) exactly. Then its mean metric <g> has at x

        sqrt det <g> = sqrt det g [1 + (|y|^2 / |x_a|^(2q) - m) chi / (4 n) + O(1/n^2)],

    where g is the metric at infinite width, and

        chi = (d + 4q - 2) F(-q, 1 - q; 1/2; rho^2) - 2 (q - 1) F(-q, -q; 1/2; rho^2) - d

    with the hypergeometric function F = 2F1. It is positive, and for q > 1 it rises with |rho|: the change is
    greatest along x_a, and least at right angles. This is the volume of the mean metric. The mean volume has another
    term of order 1/n, which the prior has too.

    Args:
        q: degree of the units, a whole number from 1 on.
        rho: cosine of the angle between x and x_a, a number or a tensor of any shape, from -1 to 1.
        d: number of inputs.
    Raises:
        ValueError: for other q, rho or d.
    Source: Zavatone-Veth et al. 2025, equations G.28-G.38 and figure G.1.

    >>> bayes_chi(1, 0.5, 3), bayes_chi(2, 0.0, 3)
    (tensor(2., dtype=torch.float64), tensor(4., dtype=torch.float64))
    """
    whole("q", q, 1)
    whole("d", d, 1)
    from scipy.special import hyp2f1  # here: a sweep imports this module, and may have torch and numpy alone

    rho = torch.as_tensor(rho, dtype=torch.float64)
    if not (rho.abs() <= 1 + 1e-12).all():
        raise ValueError(f"rho is a cosine, from -1 to 1, got values from {float(rho.min())} to {float(rho.max())}")
    z = rho.detach().cpu().numpy() ** 2
    chi = (d + 4 * q - 2) * hyp2f1(-q, 1 - q, 0.5, z) - 2 * (q - 1) * hyp2f1(-q, -q, 0.5, z) - d
    return torch.as_tensor(chi).to(rho.device)
