"""The figures that the chapter shows, each with its title, caption and data; all are computed from formulas."""

import torch
from torch import Tensor

from book.chapters.infinite_width import claims, pictures
from book.chapters.infinite_width.numbers import GELU
from book.chapters.infinite_width.random_layers import Drawn
from book.figures.figures import show
from support.geometry.wide_layers import Wide


def signs() -> None:
    """The curvature of wide layers by the distance from the origin, on both sides of 0."""
    radii = torch.linspace(0, 3, 301, dtype=torch.float64)[1:]
    layers = {
        "GELU": GELU,
        "ReLU (flat)": Wide("relu", 2),
        "z²": Wide(2, 2, 1.0, 1.0),
        "z³": Wide(3, 2, 1.0, 1.0),
        "erf": Wide("erf", 2),
    }
    names_at = {
        "GELU": (0.62, 0.17, pictures.POSITIVE),
        "ReLU (flat)": (2.97, -0.012, "black"),
        "z²": (1.2, -0.1, pictures.NEGATIVE),
        "z³": (0.75, -0.028, pictures.NEGATIVE),
        "erf": (1.5, -2.8, pictures.NEGATIVE),
    }
    show(
        pictures.curvatures_figure(radii, layers, names_at),
        name="fig-signs",
        title="In a ring around the origin a layer of GELU is curved like a sphere. The paper's examples are not.",
        caption="The curvature (Ricci scalar) of infinitely wide layers, each with one activation. A sphere of "
        "radius 1 has 2. Far from 0 the scale is logarithmic, because GELU's hump is small. (Formulas; two "
        "dimensions, weight variance 1; bias variance 1 for the powers, else 0)",
        alt="Five lines over the distance from the origin. Those of erf, the square and the cube lie below 0 "
        "throughout, beside a sketched saddle; that of ReLU lies on 0. The line of GELU starts below 0, crosses it "
        "at 0.55 and stays above it, in red, beside a sketched cap of a sphere.",
    )


def ratios() -> None:
    """How much more wide layers stretch outward than sideways: GELU's ratio turns back."""
    radii = torch.linspace(0, 3, 121, dtype=torch.float64)[1:]
    layers = {"z²": Wide(2, 2, 1.0, 1.0), "GELU": GELU, "ReLU": Wide("relu", 2), "erf": Wide("erf", 2)}
    show(
        pictures.ratios_figure(radii, layers),
        name="fig-ratios",
        title="Erf and z² leave the ratio 1 for good. GELU leaves it, and must come back, because ReLU never left.",
        caption="How much more an infinitely wide layer stretches a step outward than a step sideways. Blue: away "
        "from 1, as on a saddle. Red: back to 1, as on a sphere. (Formulas; two dimensions, weight variance 1; bias "
        "variance 1 for z², else 0)",
        alt="Four lines that begin at 1. That of z² rises and that of erf falls, in blue. ReLU stays at 1. GELU "
        "rises to 1.18 at a distance of 0.55, in blue, and falls back to 1, in red.",
    )


def paraboloid(distances: Tensor, textbook: Tensor, loops: list[float]) -> None:
    """The curvature of a paraboloid in three ways; distances, (N,), from its axis."""
    points = torch.stack([distances, torch.zeros_like(distances)], 1)
    flipped = [float(claims.intrinsic_ricci_scalar(claims.paraboloid, x, -1)) for x in points]
    show(
        pictures.constant_figure(distances.numpy(), loops, textbook.numpy(), flipped),
        name="fig-constant",
        title="With one sign flipped the curvature of a paraboloid is right at its vertex alone.",
        caption="Ricci scalar of the graph of |x|², by the distance from its axis. Line: textbook. Dots: "
        "twice the angle by which a vector comes back turned from a small loop, over the loop's area. Dashed: with "
        "the sign of the public code, as we read it.",
        alt="The textbook curve falls from 8 towards zero, and the dots lie on it. The dashed curve starts at the "
        "same point, falls faster, and becomes negative half a unit from the axis.",
    )


def gelu() -> None:
    """The curvature of wide GELU layers over distance and spread of the biases."""
    spreads = torch.linspace(0, 1.5, 31, dtype=torch.float64)
    radii = torch.linspace(0, 4, 81, dtype=torch.float64)[1:]
    R = torch.stack([Wide("gelu", 2, 1.0, float(s) ** 2).ricci(radii) for s in spreads])
    show(
        pictures.gelu_figure(radii, spreads, R),
        name="fig-gelu",
        title="Biases move the region where GELU's curvature is positive, and do not remove it.",
        caption="Curvature R of infinitely wide GELU layers in two dimensions. Red: positive. Black: R = 0. A sphere "
        "of radius 1 has R = 2. The colours are logarithmic beyond 0.0001. (Numerical integration; weight variance "
        "1)",
        alt="A map over distance and spread of the biases. A blue region near the origin is followed by a broad red "
        "one, which starts farther out for larger biases. A nearly white region follows.",
    )


def three_units() -> None:
    """Log-volume and curvature of three erf units; readers can slide their bias."""
    show(
        pictures.three_units_figure((0.0, 0.5, 1.0)),
        name="fig-three-units",
        title="Three erf units with biases have positive curvature around the origin.",
        caption="Curvature by the common bias b; red: positive, blue: negative (logarithmic). Circle: |x| = 2b, "
        "where the sign changes. (Closed form; in print the log-volume is above)",
        alt="Six maps. Without bias they have six-fold symmetry, and the curvature is negative. With bias they have "
        "three-fold symmetry, and the curvature is positive inside a circle whose radius is twice the bias.",
        turn=pictures.three_units_turn(),
    )


def finite_here(drawn: Drawn, scale: str) -> None:
    """Random layers that the reader has drawn."""
    layer = drawn.layer
    show(
        pictures.finite_figure([drawn]),
        name="fig-finite-live",
        title="Random layers, drawn here.",
        caption="Log-volume and Ricci scalar by the distance from the origin. Bands hold the middle 68% of random "
        f"layers. ({layer.activation}, weight variance {layer.weight_variance:g}, bias variance "
        f"{layer.bias_variance:g}; {drawn.networks} random layers of each width, {scale} scale)",
        alt="Two panels with nested grey bands around the line of infinite width, one for log-volume and one for "
        "curvature.",
    )
