"""Feature machines (`measures.feature_machines`) against the first layer of a trained network."""

import math

import numpy as np
import torch
from torch import nn

from book.measures.classifiers.class_metrics import discriminant_share
from book.measures.feature_machines import ROUNDS, USUAL, Variant, fit, learn, learning, power
from support.geometry.class_metrics import Frame

WIDTH, STEPS, RATE = 256, 1000, 0.003  # of the network: hidden units, full-batch steps of Adam, learning rate
LONG, DECAY = 10_000, 1e-3  # steps to convergence, and the weight decay
SMALL = 0.1  # times the first layer's usual initial weights
STARTS = {"usual start": 1.0, "small start": SMALL}
COMPONENTS = 20  # principal directions in which metrics are compared with class centres
KEPT = 0.9  # share of M's trace in the directions that are not cut away
VARIANTS = {
    "as above": USUAL,
    "L ten times longer": Variant(length=10),
    "L a third as long": Variant(length=0.3),
    "L follows M": Variant(follow=True),
    "ridge 0.1": Variant(ridge=0.1),
    "ridge 0.000001": Variant(ridge=1e-6),
    "square root of M": Variant(root=True),
}


def by_round(x, targets, test, wanted, rounds: int = ROUNDS, variant: Variant = USUAL) -> list[float]:
    """Test errors (%) before the first update of M and after each one, (rounds + 1,)."""
    return [_error(machine(test), wanted) for machine in learning(x, targets, rounds, variant)]


def cropped(x, targets, test, wanted) -> dict:
    """Test errors (%) of the machine before ("first") and after ("last") all updates of M, and of one without M in
    the leading directions of the last M alone ("cropped"). kept: how many of these hold KEPT of its trace.
    """
    first, *_, last = learning(x, targets, ROUNDS)
    values, vectors = np.linalg.eigh(last.M)
    held = np.cumsum(values[::-1]) / np.trace(last.M)
    kept = int(np.searchsorted(held, KEPT)) + 1
    leading = vectors[:, : -kept - 1 : -1]
    (machine,) = learning(x @ leading, targets, 0)
    errors = {"first": first(test), "last": last(test), "cropped": machine(test @ leading)}
    return {name: _error(outputs, wanted) for name, outputs in errors.items()} | {"kept": kept}


def network(
    x: np.ndarray, targets: np.ndarray, scale: float, seed: int, decay: float = 0.0, steps: int | None = None
) -> tuple[nn.Sequential, np.ndarray]:
    """A ReLU network with one hidden layer, trained on the squared error, and the first layer's initial weights.

    scale: times the usual initial weights and biases of the first layer. decay: factor of half of the squared
    parameters in the loss. steps: STEPS by default; with more of them the rate falls to 0 along a half cosine.
    """
    steps = STEPS if steps is None else steps
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        net = nn.Sequential(nn.Linear(x.shape[1], WIDTH), nn.ReLU(), nn.Linear(WIDTH, targets.shape[1])).double()
    with torch.no_grad():
        for name in ("0.weight", "0.bias"):
            net.get_parameter(name).mul_(scale)
    start = weights(net).copy()
    inputs, wanted = torch.from_numpy(x), torch.from_numpy(targets)
    optimiser = torch.optim.Adam(net.parameters(), RATE, weight_decay=decay)
    for step in range(steps):
        if steps > STEPS:
            optimiser.param_groups[0]["lr"] = RATE * (1 + math.cos(math.pi * step / steps)) / 2
        optimiser.zero_grad()
        ((net(inputs) - wanted) ** 2).mean().backward()
        optimiser.step()
    return net.requires_grad_(False), start


def weights(net: nn.Sequential, name: str = "0.weight") -> np.ndarray:
    """A parameter of a network, by default the weights of its first layer."""
    return net.get_parameter(name).detach().numpy()


def own_products(net: nn.Sequential, x: np.ndarray) -> np.ndarray:
    """The mean of J' J over inputs x, (N, d), for such a network; J: derivative of its outputs."""
    W = weights(net)
    active = x @ W.T + weights(net, "0.bias") > 0
    gradients = [(active * head) @ W for head in weights(net, "2.weight")]
    return np.sum([g.T @ g for g in gradients], axis=0) / len(x)


def at_convergence(net: nn.Sequential, x: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """Minus the mean of (gradient of the loss by x) x', (d, d), over inputs x, (N, d), with their targets, (N, C).

    Where training has converged with weight decay, this is W'W times the decay: the theorem of Boix-Adsera et al.
    """
    W = weights(net)
    before = x @ W.T + weights(net, "0.bias")
    outputs = np.maximum(before, 0) @ weights(net, "2.weight").T + weights(net, "2.bias")
    slopes = 2 / targets.shape[1] * (outputs - targets)
    return -(((slopes @ weights(net, "2.weight")) * (before > 0)) @ W).T @ x / len(x)


def ansatz(x, targets, seed: int) -> list[dict]:
    """For each start of a network: cosine and likeness of the trained first layer's W'W and of its own products."""
    rows = []
    for start, scale in STARTS.items():
        net, _ = network(x, targets, scale, seed)
        W = weights(net)
        A, B = W.T @ W, own_products(net, x)
        rows.append({"start": start, "cosine": cosine(A, B), "likeness": likeness(A, B)})
    return rows


def converged(x, targets, seed: int) -> list[dict]:
    """For each start of a network trained with decay: how near W'W is to three matrices, as cosines.

    "cosine" with `at_convergence`; "products" and "root", with its own products and their root; "without decay", of
    the usual start, the first of these in a network trained without. "far": the size of the first layer's gradient
    over that of its decay alone, 0 at convergence.
    """
    rows = []
    for start, scale in STARTS.items():
        net, _ = network(x, targets, scale, seed, DECAY, LONG)
        W = weights(net)
        A, B, products = W.T @ W, at_convergence(net, x, targets), own_products(net, x)
        row = {"start": start, "cosine": cosine(A, B), "products": cosine(A, products)}
        row |= {"root": cosine(A, power(products, 0.5)), "without decay": math.nan, "far": far(net, x, targets)}
        if scale == 1:
            free, _ = network(x, targets, scale, seed, steps=LONG)
            V = weights(free)
            row["without decay"] = cosine(V.T @ V, at_convergence(free, x, targets))
        rows.append(row)
    return rows


def far(net: nn.Sequential, x: np.ndarray, targets: np.ndarray) -> float:
    """The size of the gradient of loss and decay by the first layer's weights, over that of the decay alone."""
    W = net.get_parameter("0.weight").detach().clone().requires_grad_()
    outputs = torch.func.functional_call(net, {"0.weight": W}, torch.from_numpy(x))
    (gradient,) = torch.autograd.grad(((outputs - torch.from_numpy(targets)) ** 2).mean(), W)
    W = W.detach()
    return float((gradient + DECAY * W).norm() / (DECAY * W).norm())


def cosine(A: np.ndarray, B: np.ndarray) -> float:
    """The cosine of two matrices as vectors: 1 if and only if one is a positive multiple of the other.

    >>> cosine(np.eye(2), 3 * np.eye(2))
    1.0
    """
    return float((A * B).sum() / np.sqrt((A**2).sum() * (B**2).sum()))


def likeness(A: np.ndarray, B: np.ndarray) -> float:
    """The cosine of what is left of two matrices, (d, d), without their multiples of the identity.

    The identity prefers no direction, and two matrices near it have a large cosine whatever they prefer. NaN for a
    multiple of the identity.
    """
    rest = [S - np.trace(S) / len(S) * np.eye(len(S)) for S in (A, B)]
    with np.errstate(invalid="ignore"):
        return cosine(*rest)


def turned(A: np.ndarray, seed: int) -> np.ndarray:
    """A in random directions, with the same eigenvalues."""
    from scipy.stats import ortho_group

    Q = ortho_group.rvs(len(A), random_state=seed)
    return Q @ A @ Q.T


def compared(x, targets, test, wanted, seed: int, plane: np.ndarray | None = None) -> list[dict]:
    """A feature machine and networks on the same data: a row for each start of the network.

    x, targets: (N, d) and (N, C), training; test, wanted: (P, d) inputs and (P,) classes. plane: (d, 2), of the toy,
    the relevant directions. Errors in percent, shares in percent of the trace.
    """
    machine = learn(x, targets)
    labels = _classes(targets)
    shares = _shares(x, labels, plane)
    common = {
        "machine": _error(machine(test), wanted),
        "first round": _error(fit(x, targets, np.eye(x.shape[1]), machine.length)(test), wanted),
        "share M": shares(machine.M),
        "share Euclid": shares(np.eye(x.shape[1])),
    }
    rows = []
    for start, scale in STARTS.items():
        net, before = network(x, targets, scale, seed)
        W = weights(net)
        after, before = W.T @ W, before.T @ before
        with torch.no_grad():
            outputs, trained = (net(torch.from_numpy(z)).numpy() for z in (test, x))
        likenesses = {
            name: likeness(A, B)
            for name, A, B in (("trained", machine.M, after), ("untrained", machine.M, before),
                               ("turned", turned(machine.M, seed), after))
        }  # fmt: skip
        rows.append(
            {"start": start}
            | common
            | {"network": _error(outputs, wanted), "network, training": _error(trained, labels)}
            | likenesses
            | {"cosine": cosine(machine.M, after), "share W": shares(after), "share W before": shares(before)}
        )
    return rows


def _classes(outputs: np.ndarray) -> np.ndarray:
    """The class of each row: the largest output, or the sign of a single one."""
    return (outputs[:, 0] > 0).astype(int) if outputs.shape[1] == 1 else outputs.argmax(1)


def _error(outputs: np.ndarray, labels: np.ndarray) -> float:
    return 100 * float((_classes(outputs) != labels).mean())


def _shares(x: np.ndarray, labels: np.ndarray, plane: np.ndarray | None):
    """A function of a metric: percent of its trace in the known plane, or else between the class centres."""
    if plane is not None:
        return lambda A: 100 * float(np.trace(plane.T @ A @ plane) / np.trace(A))
    frame = Frame.of(torch.from_numpy(x), torch.from_numpy(labels), COMPONENTS)
    return lambda A: 100 * float(discriminant_share(frame.basis.T @ torch.from_numpy(A) @ frame.basis, frame))


def toy(
    seed: int, n: int = 500, d: int = 10, directions: int = 2, tests: int | None = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Gaussian inputs (N, d), classes by the sign of a sum of products of two coordinates, (N,), the orthogonal
    directions of these coordinates, (d, directions), and which inputs are for training.

    n: inputs for training, the first ones. tests: further inputs, n by default. Each direction is in one product.
    None tells anything by itself, and the other d - directions tell nothing.
    """
    rng = np.random.default_rng(seed)
    plane, _ = np.linalg.qr(rng.standard_normal((d, directions)))
    x = rng.standard_normal((n + (n if tests is None else tests), d))
    pairs = (x @ plane).reshape(len(x), -1, 2)
    return x, (pairs.prod(2).sum(1) > 0).astype(int), plane, np.arange(len(x)) < n


def one_hot(labels: np.ndarray) -> np.ndarray:
    """Targets, (N, C): 1 for the class, else 0; of two classes one column, 1 and -1."""
    if labels.max() == 1:
        return 2.0 * labels[:, None] - 1
    return np.eye(labels.max() + 1)[labels]
