"""The claims of Zavatone-Veth et al. about wide layers, untrained or after one example, and their rules.

Nothing here is recorded: a check evaluates its sentence on the grid that its arguments state and returns the worst
case and where it is. The sentences come from a text without its formulas, so a symbol may have been read
wrongly; `says` is our reading. The formulas themselves are tested elsewhere; a rule asks whether the sentence is so.

    every case as the sentence says -> holds        one case that is not -> fails

Lengths are in the unit of the inputs. Curvature is positive on spheres.
"""

import math
from collections.abc import Callable, Sequence
from functools import partial
from itertools import product

import torch
from scipy import optimize
from torch import Tensor

from book.chapters.infinite_width import expansions, one_example, tangent_kernel
from book.chapters.infinite_width.tangent_kernel import Tangent
from book.chapters.infinite_width.worst import largest, smallest
from book.claims.rules import Worst, formula
from support import geometry
from support.geometry import infinite_width, oracle
from support.geometry.wide_layers import Wide, as_a_map, erf, finite, three_units

RADII = torch.linspace(0, 8, 161, dtype=torch.float64)[1:]  # distances from the origin
ROUNDING = 1e-10  # relative, of a Ricci scalar absolute: a change below is none
ANGLES = torch.arange(0, 360, 15, dtype=torch.float64).deg2rad()


def wide(activations, dimensions=(2, 3, 5, 10), bias_variances=(0.0, 0.25, 1.0)) -> list[Wide]:
    """One layer for each combination."""
    return [
        Wide(activation, d, 1.0, bias) for activation, d, bias in product(activations, dimensions, bias_variances)
    ]


def tangent(layers: list[Wide]) -> list[Tangent]:
    """The neural tangent kernels of these layers."""
    return [Tangent(of.activation, of.d, of.weight_variance, of.bias_variance) for of in layers]


# -- checks -------------------------------------------------------------------------------------------------------


def _place(layers: Sequence[Wide], radii: Tensor) -> Callable[[int, int], str]:
    return lambda i, j: f"{layers[i]}, |x| = {radii[j]:.3g}"


def negative(layers: Sequence[Wide], radii=RADII) -> Worst:
    """R < 0 at every radius; the largest R."""
    return largest(torch.stack([layer.ricci(radii) for layer in layers]), _place(layers, radii))


def flat(layers: list[Wide], radii=RADII) -> Worst:
    """R = 0 at every radius but for rounding; the largest |R|, or ROUNDING."""
    values = torch.stack([layer.ricci(radii).abs() for layer in layers])
    return largest(values, _place(layers, radii), ROUNDING, ROUNDING)


def rising(layers: list[Wide], quantity: Callable, radii=RADII) -> Worst:
    """quantity(layer, radii) rises from each radius to the next; the smallest step, in units of the larger of the two
    values that it joins."""
    values = torch.stack([quantity(layer, radii) for layer in layers])
    steps = values.diff() / torch.maximum(values[:, 1:].abs(), values[:, :-1].abs())
    return smallest(steps, lambda i, j: f"{_place(layers, radii)(i, j)} to {radii[j + 1]:.3g}")


def one_minimum(layers: list[Wide], radii=RADII, share=0.1) -> Worst:
    """R falls to one minimum and from there climbs towards 0, all below 0, and not more than a `share` is left.

    The value is the largest rest at the end, in units of the depth, or 1 where R turns more or less than once.
    """
    rests = []
    for layer in layers:
        R = layer.ricci(radii)
        down, low = R.diff() < 0, int(R.argmin())
        shape = bool(down[:low].all() and not down[low:].any() and 0 < low < len(R) - 1 and R.max() < 0)
        rests.append(float(R[-1] / R[low]) if shape else 1.0)
    return largest(rests, lambda i: str(layers[i]), share)._replace(cases=len(layers) * len(radii))


def turning_point(q: int, weight_variance=1.0, bias_variance=1.0) -> float:
    """|x| at which R of the monomial z^q, q > 1, is least in two dimensions: the root of a quadratic in |x|^2.

    (2q - 1)(q + 1) y^2 + (3q - 2) y - 1 = 0 for y = weight_variance |x|^2 / bias_variance.

    >>> round(turning_point(2), 4)
    0.4224
    """
    y = (2 - 3 * q + math.sqrt(q * (17 * q - 8))) / (2 * (2 * q - 1) * (q + 1))
    return math.sqrt(y * bias_variance / weight_variance)


def turns_at(degrees, variances, point: Callable = turning_point, tolerance=1e-6) -> Worst:
    """R of z^q in two dimensions is least at |x| = point(q, weight_variance, bias_variance).

    The value is the largest relative distance from there to where a numerical minimiser ends, or `tolerance`.
    """
    layers = [Wide(q, 2, *variance) for q, variance in product(degrees, variances)]
    gaps = []
    for layer in layers:
        length = math.sqrt(layer.bias_variance / layer.weight_variance)
        bracket = (0.01 * length, 0.3 * length, 3 * length)
        found = optimize.minimize_scalar(lambda r, layer=layer: float(layer.ricci(r)), bracket=bracket, tol=1e-12)
        gaps.append(abs(found.x / point(layer.activation, layer.weight_variance, layer.bias_variance) - 1))
    return largest(
        gaps, lambda i: f"{layers[i]}, weight variance {layers[i].weight_variance:g}", tolerance, tolerance
    )


def turned(bias: float, degrees: float, radius=0.9) -> Tensor:
    """(2,) largest change of volume element and of R of the three units when the points of a circle are rotated.

    Relative to the largest value on the circle.
    """

    def around(angles):
        at = (*three_units(bias), "erf", radius * torch.stack([angles.cos(), angles.sin()], 1))
        return torch.stack([geometry.shallow_log_volume_element(*at).exp(), geometry.shallow_ricci_scalar(*at)])

    here = around(ANGLES)
    return (around(ANGLES + math.radians(degrees)) - here).abs().amax(1) / here.abs().amax(1)


def folds(biases=(0.25, 0.5, 1.0), apart=0.01) -> Worst:
    """Volume and R of the three erf units are the same after 120 degrees; after 60 only if the bias is 0.

    Refuted by a change above rounding after 120 degrees, or after 60 at bias 0, or by one below `apart`, in volume or
    R, after 60 at any of these biases. The value is the least change of the last kind, or a change that refutes.
    """
    cases = 2 + 2 * len(biases)
    same = float(torch.stack([turned(b, 120) for b in (0.0, *biases)] + [turned(0.0, 60)]).max())
    if same > ROUNDING:
        return Worst(False, same, "a rotation that should change nothing", cases)
    broken = [turned(b, 60).min() for b in biases]
    return smallest(broken, lambda i: f"bias {biases[i]:g}, 60 degrees", apart)._replace(cases=cases)


def loop_ricci_scalar(f, x, radius=0.005, steps=200) -> float:
    """R of the surface f, (2,) -> (m,), at x, by carrying a tangent vector round a small circle: 2 angle / area.

    Each tangent plane's orthonormal frame is projected onto the next; the rotations add up to what the vector has
    turned. No formula for curvature and no convention enters. Error: of order radius^2, and steps^-2.

    >>> sphere = lambda x: torch.cat([x, (1 - x @ x).sqrt()[None]])
    >>> round(loop_ricci_scalar(sphere, torch.tensor([0.5, 0.2], dtype=torch.float64)), 2)
    2.0
    """
    jacobians = torch.func.vmap(torch.func.jacrev(f))
    angles = torch.arange(steps, dtype=torch.float64) * (2 * math.pi / steps)
    circle = torch.stack([angles.cos(), angles.sin()], 1)
    Q, upper = torch.linalg.qr(jacobians(x + radius * circle))
    Q = Q * upper.diagonal(dim1=1, dim2=2).sign()[:, None]  # frames that follow the coordinates, without flips
    turn = Q.roll(-1, 0).mT @ Q
    angle = torch.atan2(turn[:, 1, 0] - turn[:, 0, 1], turn[:, 0, 0] + turn[:, 1, 1]).sum()
    rings = ((torch.arange(8, dtype=torch.float64) + 0.5) / 8).sqrt() * radius  # of equal area
    inside = x + (rings[:, None, None] * circle[:: steps // 20]).flatten(0, 1)
    return float(2 * angle / (math.pi * radius**2 * geometry.log_volume_element(f, inside).exp().mean()))


def intrinsic_ricci_scalar(f, x, quadratic=1) -> Tensor:
    """R that f pulls back, from Christoffel symbols; quadratic = -1 gives their products the public code's sign."""
    return oracle.christoffel_ricci_scalar(lambda x: oracle.metric(f, x), x, quadratic)


def public_code(weight, bias, activation, x) -> Tensor:
    """R with the public code's constant: -3 / n^3 before the sum that `oracle.triple_ricci_scalar` has with -1."""
    return 3 * oracle.triple_ricci_scalar(weight, bias, activation, x)


def agrees_with_loops(formula: Callable, layers=5, tolerance=0.01) -> Worst:
    """formula(weight, bias, activation, x) is what small loops give for random erf layers of 6 units at (0.4, 0.3).

    Refuted by one layer where the two differ by more than `tolerance`; the value is the ratio furthest from 1.
    """
    x = torch.tensor([0.4, 0.3], dtype=torch.float64)
    maps = infinite_width.random_shallow_map(6, 2, torch.Generator().manual_seed(0), 1, 0.25, maps=layers)
    ratios = [float(formula(*one, erf, x)) / loop_ricci_scalar(as_a_map(*one), x) for one in zip(*maps, strict=True)]
    off = largest([abs(ratio - 1) for ratio in ratios], str, tolerance)
    return off._replace(value=ratios[int(off.where)], where=f"random layer {off.where}")


def paraboloid(x) -> Tensor:
    """The graph of |x|^2, (2,) -> (3,)."""
    return torch.cat([x, (x @ x)[None]])


def negative_three_units(biases=(0.25, 0.5, 1.0)) -> Worst:
    """R < 0 everywhere for the three erf units; the largest R on a grid."""
    side = torch.linspace(-3, 3, 32, dtype=torch.float64)  # not the origin, where R = 0 without biases
    x = torch.cartesian_prod(side, side)
    values = torch.stack([geometry.shallow_ricci_scalar(*three_units(b), "erf", x) for b in biases])
    return largest(values, lambda i, j: f"bias {biases[i]:g}, |x| = {x[j].norm():.2f}")


def converges(layers: list[Wide], widths=(16, 64, 256), networks=100, radii=(0.5, 1.0, 2.0), seed=0) -> Worst:
    """From each width to the next, most networks come closer to infinite width, in log-volume and in R.

    "Most": the median distance over networks. Refuted by one radius where it grows from one width to the next; the
    value is the largest ratio of two successive distances, 1/2 for a fourfold width if they fall as n^-1/2.
    """
    generator, ratios = torch.Generator().manual_seed(seed), []
    for layer in layers:
        limits = torch.stack([layer.log_volume(radii), layer.ricci(radii)])
        found = (torch.stack(finite(layer, n, networks, radii, generator)) for n in widths)
        distances = torch.stack([(values - limits[:, None]).abs().median(1).values for values in found])
        ratios.append(distances[1:] / distances[:-1])  # (widths - 1, 2, radii)

    def where(layer, step, quantity, at):
        name = ("log-volume", "R")[quantity]
        return f"{name} of {layers[layer]}, |x| = {radii[at]:g}, {widths[step + 1]} units"

    return largest(torch.stack(ratios), where, below=1.0)._replace(cases=len(layers) * networks * len(widths))


# -- claims -------------------------------------------------------------------------------------------------------


_law = partial(formula, source="zavatoneveth2025", run="06")
_DEGREES = (2, 3, 4, 5)
_CURVED = wide(["erf"]) + wide(_DEGREES, bias_variances=(0.25, 1.0)) + wide(_DEGREES, (3, 5, 10), (0.0,))
_TANGENT = tangent(wide(["erf", 2, 3], (2, 3), (0.0, 0.25)))
_ALL_DEGREES, _DIMENSIONS = range(1, 9), (2, 3, 5, 10, 100)
_PROFILE = "our formula at degrees 1 to 8, in 2, 3, 5, 10 and 100 dimensions, at 101 overlaps"
_SAMPLED = "20,000 random networks of 1,024 units, in 2 and 5 dimensions, at five overlaps"
_UNITS = "mean over units on a square grid, in 2 and 3 dimensions, at distances 0.5 and 1 in four directions"
_GRID = f"closed forms at {len(RADII)} distances up to {RADII[-1]:g}"
CLAIMS = (
    _law("RG-3-a", "section 3",
        "In all of the examples, erf and monomials, the curvature is negative, unless it is 0.",
        partial(negative, _CURVED),
        "largest R: {value:.1e} ({where}); where the paper itself says R = 0 is left out", _GRID),
    _law("OWN-6-a", "our own", "For other smooth activations too, sigmoid, tanh and GELU, the curvature is negative.",
        partial(negative, wide(["sigmoid", "tanh", "gelu"], (2, 3), (0.0, 0.25)), RADII[4::5]),
        "largest R: {value:+.3f} ({where})", "quadrature at 32 distances up to 8", source="own"),
    _law("OWN-6-b", "our own", "With three erf units at 120 degrees, of equal biases, the curvature is negative too.",
        negative_three_units, "largest R: {value:+.2f} ({where})", "32 x 32 points of a square of side 6",
        source="own"),
    _law("RG-D-a", "appendix D", "Volume and curvature of three erf units have 3-fold symmetry, 6-fold without bias.",
        folds, "smallest change that breaks the six-fold symmetry: {value:.0%} ({where})",
        f"{len(ANGLES)} points of a circle of radius 0.9"),
    _law("RG-D-b", "public code",
         "The triple sum of the public code, with its constant -3, is the Ricci scalar of a layer.",
        partial(agrees_with_loops, public_code), "{value:.3f} times what small loops give ({where})",
        "parallel transport round loops of radius 0.005"),
    _law("RG-C-a", "appendix C", "The simplified formula for metrics with symmetric derivatives gives the Ricci "
         "scalar of a layer.", expansions.simplifies,
         "largest difference from Christoffel symbols: at most {value:.0e} of R",
         "30 random erf layers of 8 units, in 2, 3 and 4 dimensions"),
    _law("RG-D-c", "appendix D.2", "The squared volume element is a sum over minors of the weight matrix.",
         expansions.minors, "largest difference from a determinant: at most {value:.0e} of it",
         "30 random erf layers of 7 units, in 2, 3 and 4 dimensions"),
    _law("RG-D-f", "appendix D.3", "In any number of dimensions the Ricci scalar is a sum over minors, too.",
         expansions.minors_of_curvature, "largest difference from appendix C: at most {value:.0e} of R",
         "30 random erf layers of 7 units, in 2, 3 and 4 dimensions"),
    _law("RG-D-d", "appendix D.1", "With two units and two inputs the Ricci scalar is 0.",
         expansions.two_units_are_flat, "largest |R|: at most {value:.0e}", "10 random erf layers"),
    _law("RG-D-e", "appendix D.4", "In two dimensions the squared volume of an erf layer is a sum of Gaussian "
         "bumps, one for each pair of units.", expansions.bumps,
         "largest difference from a determinant: at most {value:.0e} of it", "10 random layers of 6 units"),
    _law("RG-I-k", "appendix I.1", "Automatic differentiation overestimates the Ricci scalar.",
         expansions.differentiation_overestimates,
         "largest difference from the explicit formula: at most {value:.0e} of R", "10 random sigmoid layers of 10 "
         "units, float64 as in the paper"),
    _law("RG-E-h", "appendix E", "The metric at infinite width is a factor times the identity, plus twice the "
         "derivative of this factor by |x|^2 times the outer product of x with itself.",
         expansions.metric_is_a_projection,
         "largest rest: at most {value:.0e} of the metric",
         "two derivatives of the kernel of erf and z^1 to z^4, in 2, 3 and 5 dimensions, with three bias variances"),
    _law("RG-E-a", "appendix E.2", "For erf, R falls with the distance from the origin.",
        partial(rising, wide(["erf"]), lambda layer, r: -layer.ricci(r)),
        "smallest fall from one distance to the next: {value:.1%} of R ({where})", _GRID),
    _law("RG-E-b", "appendix E.2", "For monomials, the volume element grows with the distance from the origin.",
        partial(rising, wide(_DEGREES), lambda layer, r: layer.log_volume(r).exp()),
        "smallest rise from one distance to the next: {value:.1%} ({where})", _GRID),
    _law("RG-E-c", "appendix E.2", "For monomials without biases, R = 0 in two dimensions.",
        partial(flat, wide(_DEGREES, (2,), (0.0,))), "largest |R|: at most {value:.0e}", _GRID),
    _law("RG-E-d", "appendix E.2", "For monomials without biases in more dimensions, |R| falls with the distance.",
        partial(rising, wide(_DEGREES, (3, 5, 10), (0.0,)), lambda layer, r: layer.ricci(r)),
        "smallest fall of |R| from one distance to the next: {value:.1%} ({where})", _GRID),
    _law("RG-E-e", "appendix E.2", "For monomials with biases, R falls to a minimum and then climbs back towards 0.",
        partial(one_minimum, wide(_DEGREES, bias_variances=(0.25, 1.0))),
        "one minimum each; left of it at the end: at most {value:.1%} ({where})", _GRID),
    _law("RG-E-f", "appendix E.2", "In two dimensions that minimum is where a quadratic equation puts it.",
        partial(turns_at, _DEGREES, ((1.0, 0.25), (1.0, 1.0), (2.0, 0.5))),
        "minimiser and root differ by at most {value:.0e}", "Brent's minimiser"),
    _law("RG-E-g", "Figure E.1", "Volume and curvature of finite erf networks converge to those of infinite width.",
        partial(converges, [Wide("erf", 2, 1.0, 0.25)]),
        "a fourfold width leaves at most {value:.2f} of the median distance ({where})",
        "100 random networks of 16, 64 and 256 units"),
    _law("RG-F-a", "section 3 and appendix F",
         "The volume element of the shallow neural tangent kernel depends on the input only through its norm.",
        partial(tangent_kernel.depends_on_the_norm, _TANGENT),
        "largest change from one direction to another: at most {value:.0e}", _UNITS),
    _law("RG-F-b", "appendix F",
         "The metric of the neural tangent kernel still has the form of a projection: one factor times the identity, "
         "plus another times the outer product of the input with itself.",
        partial(tangent_kernel.is_a_projection, _TANGENT), "largest rest: at most {value:.0e} of the metric", _UNITS),
    _law("RG-F-c", "appendix F",
         "It is not quite of the special form of the NNGP metric, in which the second factor is twice the derivative "
         "of the first.",
        partial(tangent_kernel.not_of_the_special_form, tangent(wide(["erf"], (2,)) + wide(_DEGREES, (2,))), RADII),
        "the two differ by at least {value:.0%} somewhere ({where})", _GRID),
    _law("OWN-6-c", "our own",
         "Where the curvature of the NNGP kernel is negative, for erf and monomials, that of the neural tangent "
         "kernel is negative too.",
        partial(negative, tangent(_CURVED)), "largest R: {value:+.1e} ({where})", _GRID, source="own"),
    _law("RG-G-a", "appendix G.2", "One example changes the volume element by a factor, its profile, which depends "
         "on the overlap, the cosine with the example. It is positive for all degrees, dimensions and overlaps.",
        partial(one_example.positive, _ALL_DEGREES, _DIMENSIONS), "smallest value: {value:.3g} ({where})", _PROFILE),
    _law("RG-G-b", "appendix G.2", "The profile rises with the overlap; for linear units it is constant.",
        partial(one_example.rises_with_the_overlap, _ALL_DEGREES, _DIMENSIONS),
        "smallest rise from one overlap to the next: {value:.1e} of the profile ({where})", _PROFILE),
    _law("RG-G-c", "Figure G.1",
         "The profile along the example and that at right angles to it are farther apart, relatively, for higher "
         "degrees and more dimensions.",
        partial(one_example.separates, _ALL_DEGREES, _DIMENSIONS), "smallest growth: {value:.1%} ({where})",
        _PROFILE),
    _law("RG-G-d", "appendix G.2",
         "The leading change of the volume element is the relative excess of the squared target over the prior "
         "variance, times the profile, divided by four times the width.",
        one_example.follows_the_formula, "largest difference: {value:.1f} times what is allowed ({where})", _SAMPLED),
    _law("RG-G-e", "appendix G.2",
         "An example contracts areas everywhere if its target is smaller than the prior expects, as for a point of "
         "XOR, and expands them if it is larger.",
        one_example.compresses_or_expands, "smallest change of that sign: {value:.0f} standard errors ({where})",
        _SAMPLED),
    _law("RG-G-f", "appendix G.2",
         "For degrees above 1 the change is smallest at right angles to the example and largest along it.",
        one_example.most_along_the_example, "smallest ratio of a change to one that should be smaller: {value:.2f}",
        _SAMPLED),
)  # fmt: skip
