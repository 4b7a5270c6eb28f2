"""The figures of the chapter on infinite width."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd
import torch
from matplotlib.colors import LightSource, SymLogNorm
from mpl_toolkits.mplot3d import Axes3D
from torch import Tensor

from book.chapters.infinite_width.one_example import OVERLAPS
from book.chapters.infinite_width.random_layers import MIDDLE, Drawn, scatter
from book.chapters.infinite_width.tangent_kernel import Tangent
from book.figures import figures
from support import geometry
from support.geometry import shallow_log_volume_element, shallow_ricci_scalar, wide_layers
from support.geometry.wide_layers import Wide

GREY, ACCENT = "#777777", "#D55E00"
NEGATIVE, POSITIVE = "#2166ac", "#b2182b"  # curvature, as the ends of the maps' RdBu


def curvatures_figure(radii: Tensor, layers: dict[str, Wide], names_at: dict[str, tuple[float, float, str]]):
    """The Ricci scalar of wide layers over the distance from the origin, in red where it is positive.

    names_at: where a name stands, with its colour. A sphere and a saddle are sketched.
    """
    fig, ax = figures.subplots(height=3.8)
    for name, layer in layers.items():
        R = layer.ricci(radii).numpy()
        flat = np.abs(R).max() < 1e-9
        thick = R.max() > 0.01
        ax.plot(radii, R, color="black" if flat else NEGATIVE, linewidth=2.0 if not thick else 3.2)
        ax.plot(radii, np.where(R > 1e-9, R, np.nan), color=POSITIVE, linewidth=3.2)
        x, y, colour = names_at[name]
        ax.text(
            x, y, name, color=colour, weight="bold" if thick else None, va="center", ha="right" if x > 2 else "left"
        )
    ax.set_yscale("asinh", linear_width=0.02)
    ax.set(xlabel="distance from the origin", ylabel="curvature", xlim=(0, float(radii[-1])), ylim=(-15, 1.5))
    ax.set_yticks([-10, -1, -0.1, 0, 0.1, 1], ["−10", "−1", "−0.1", "0", "+0.1", "+1"])
    ax.minorticks_off()
    for low, y, said, colour, height in (
        (0.7, 0.93, "like a sphere", POSITIVE, lambda x, y: -(x**2 + y**2)),
        (0.2, 0.3, "like a saddle", NEGATIVE, lambda x, y: x**2 - y**2),
    ):
        ax.text(0.73, y, said, color=colour, ha="right", va="center", weight="bold", transform=ax.transAxes)
        sketch(ax.inset_axes((0.72, low, 0.28, 0.3), projection="3d"), height, colour)
    return fig


def ratios_figure(radii: Tensor, layers: dict[str, Wide]):
    """The stretch along a ray over that across it in wide layers: red where it comes back to 1."""
    fig, ax = figures.subplots(height=3.0)
    ax.axhline(1, color="black", linewidth=0.8)
    for name, layer in layers.items():
        q = layer.stretch_ratio(radii).numpy()
        back = np.append(np.diff(np.abs(np.log(q))) < -1e-6, False)
        ax.plot(radii, np.where(back, np.nan, q), color=NEGATIVE if np.ptp(q) > 1e-6 else "black", linewidth=2.2)
        ax.plot(radii, np.where(back, q, np.nan), color=POSITIVE, linewidth=3.2)
        end = int(back.argmax()) + 12 if back.any() and q.max() < 1.3 else len(radii) - 1  # where its name stands
        ax.text(float(radii[end]) + 0.05, q[end], name, va="bottom" if end < len(radii) - 1 else "center")
    ax.set(xlabel="distance from the origin", ylabel="stretch outward over sideways, $s$", yscale="log")
    ax.set(xlim=(0, float(radii[-1])), yticks=(0.5, 0.7, 1, 1.4, 2))
    ax.yaxis.set_major_formatter("{x:g}")
    ax.minorticks_off()
    return fig


def sketch(ax: Axes3D, height: Callable[[np.ndarray, np.ndarray], np.ndarray], colour: str) -> None:
    """A surface over the unit disc with circles around its middle and lines from there."""
    radius, angle = np.meshgrid(np.linspace(0, 1, 25), np.linspace(0, 2 * np.pi, 49))
    x, y = radius * np.cos(angle), radius * np.sin(angle)
    z = 0.6 * height(x, y)
    light = LightSource(azdeg=200, altdeg=55)
    ax.plot_surface(x, y, z, color=colour, alpha=0.25, linewidth=0, rcount=25, ccount=9, lightsource=light)
    for k in (8, 16, 24):
        ax.plot(x[:, k], y[:, k], z[:, k], color=colour, linewidth=1.1)
    for k in range(0, 48, 6):
        ax.plot(x[k], y[k], z[k], color=colour, linewidth=0.5)
    ax.set_axis_off()
    ax.patch.set_visible(False)
    ax.set_box_aspect((1, 1, 0.6), zoom=1.5)
    ax.view_init(26, -68)


def constant_figure(radii, loops, formula, flipped):
    """R of the paraboloid over the distance from its axis: small loops (dots), the formula, and with flipped sign."""
    fig, ax = figures.subplots(height=3.0)
    ax.axhline(0, color="black", linewidth=0.8)
    ax.plot(radii, formula, color="black")
    ax.plot(radii, flipped, "--", color=ACCENT)
    ax.plot(radii, loops, "o", color="black", markersize=5)
    where = len(radii) // 4
    ax.annotate("textbook, and small loops", (radii[where], formula[where]), (8, 4), textcoords="offset points")
    look = {"color": ACCENT, "ha": "right", "va": "bottom", "textcoords": "offset points"}
    ax.annotate("with the sign of the public code", (radii[-1], flipped[-1]), (0, 6), **look)
    ax.set(xlabel="distance from the axis", ylabel="curvature $R$")
    return fig


def three_units_figure(biases: Sequence[float], points: int = 61):
    """Log-volume (top) and Ricci scalar (bottom) of three erf units, a column for each common bias.

    Crosses: where a pair of units has its bump. Circle: |x| = 2b.
    """
    side = torch.linspace(-2.25, 2.25, points, dtype=torch.float64)
    layers = [(*wide_layers.three_units(b), "erf", torch.cartesian_prod(side, side)) for b in biases]
    volumes = [shallow_log_volume_element(*layer) for layer in layers]
    signed = [R.sign() * R.abs().log1p() for R in (shallow_ricci_scalar(*layer) for layer in layers)]
    top = float(torch.stack(signed).abs().max())
    every = torch.stack(volumes)
    rows: tuple[tuple[list[Tensor], str, dict[str, Any]], ...] = (
        (volumes, "log-volume (nats)", {"vmin": every.min(), "vmax": every.max()}),
        (signed, "sign $R$ log(1 + $|R|$)", {"cmap": "RdBu_r", "vmin": -top, "vmax": top}),
    )
    fig, axes = figures.subplots(2, len(biases), height=4.4, squeeze=False, sharex=True, sharey=True)
    for line, (values, label, look) in zip(axes, rows, strict=True):
        for ax, v in zip(line, values, strict=True):
            v = v.view(points, points).T.numpy()
            image = ax.pcolormesh(side.numpy(), side.numpy(), v, shading="nearest", rasterized=True, **look)
            ax.grid(visible=False)
            ax.set_aspect("equal")
        fig.colorbar(image, ax=line, label=label)
    turn = torch.linspace(0, 2 * torch.pi, 200)
    for (above, below), b in zip(axes.T, biases, strict=True):
        above.set_title(f"bias {b:g}")
        if b:
            above.plot(*(2 * b * wide_layers.three_units(b)[0]).T, "x", color="white")
            below.plot(2 * b * turn.cos(), 2 * b * turn.sin(), color="black", linewidth=0.8)
    return fig


def three_units_turn(bias: float = 0.5) -> dict:
    """The curvature of the three units, whose common bias readers slide; the page computes it by the closed form."""
    return {
        "kind": "units",
        "look": "Slide the bias. The curvature is positive where the map is red. How far does the red disc reach, "
        "and is there a bias without one?",
        "legend": [
            ["upright", "circle |x| = 2b, where the sign changes"],
            ["dashed", "line along which the right panel shows the curvature"],
        ],
        "half": 2.25,
        "most": 1.0,
        "bias": bias,
    }


def monomials_figure(radii: Tensor, layers: dict[str, wide_layers.Wide], turning: Sequence[float]):
    """Left, the log-volume, right, the Ricci scalar over the distance from the origin, with names on the lines.

    turning: for each layer the distance at which its curvature is claimed to be strongest (dots).
    """
    fig, (left, right) = figures.subplots(1, 2, height=3.4)
    shades = [str(grey) for grey in np.linspace(0.6, 0, len(layers))]
    ends = np.array([float(layer.log_volume(radii)[-1]) for layer in layers.values()])
    span = ends.max() - float(min(layer.log_volume(radii)[0] for layer in layers.values()))
    heights = figures.labels_apart(ends, least=0.07 * span)
    for (name, layer), point, shade, height in zip(layers.items(), turning, shades, heights, strict=True):
        left.plot(radii, layer.log_volume(radii), color=shade)
        left.text(1.1 * float(radii[-1]), height, name, color=shade, va="center")
        right.plot(radii, layer.ricci(radii), color=shade)
        lowest = float(layer.ricci(point))
        right.plot(point, lowest, "o", color=shade)
        right.plot([point, 1.3], [lowest, lowest], ":", color=shade, linewidth=0.8)
        right.text(1.4, lowest, name, color=shade, va="center")
    left.set(xscale="log", xlabel="$|x|$ (log scale)", ylabel="log-volume (nats)")
    right.set(xscale="log", xlabel="$|x|$ (log scale)", ylabel="curvature $R$", ylim=(None, 0))
    return fig


def gelu_figure(radii: Tensor, spreads: Tensor, R: Tensor):
    """The sign and size of GELU's Ricci scalar over the distance from the origin and the SD of the biases.

    R: (spreads, radii).
    """
    fig, ax = figures.subplots(height=3.2)
    grid = radii.numpy(), spreads.numpy(), R.numpy()
    norm = SymLogNorm(1e-4, vmin=-1, vmax=1)
    image = ax.pcolormesh(*grid, cmap="RdBu_r", norm=norm, shading="nearest", rasterized=True)
    ax.contour(*grid, [0], colors="black", linewidths=1)
    ax.grid(visible=False)
    for x, y, words in ((0.35, 1.2, "like a\nsaddle"), (1.8, 0.5, "like a sphere"), (3.45, 0.15, "nearly\nflat")):
        ax.text(x, y, words, ha="center", va="center", weight="bold")
    ax.set(xlabel="distance from the origin $|x|$", ylabel="SD of the biases")
    bar = fig.colorbar(image, ax=ax, label="curvature $R$", extend="min")
    bar.set_ticks([-1, -1e-2, -1e-4, 0, 1e-4, 1e-2, 1])
    return fig


def tangent_figure(radii: Tensor, layers: Sequence[Tangent], sampled: Sequence[Drawn]):
    """Log-volume (left) and Ricci scalar (right) over the distance from the origin, of NNGP and tangent kernels.

    layers: the second, if there is one, is dashed. sampled: random networks, each with the middle 68% as a bar.
    Curves leave the axis of R at -6.
    """
    fig, axes = figures.subplots(1, 2, height=3.4)
    for layer, line in zip(layers, ("-", "--"), strict=False):
        nngp = Wide(layer.activation, layer.d, layer.weight_variance, layer.bias_variance)
        words = "with biases" if layer.biased else "no biases"
        for of, kernel, color in ((nngp, "NNGP", GREY), (layer, "tangent", ACCENT)):
            for ax, values in zip(axes, (of.log_volume(radii), of.ricci(radii)), strict=True):
                ax.plot(radii, values, line, color=color, label=f"{kernel}, {words}")
    for of in sampled:
        for ax, (values,) in zip(axes, (of.log_volume.values(), of.ricci.values()), strict=True):
            low, middle, high = np.quantile(values.numpy(), (MIDDLE[0], 0.5, MIDDLE[1]), axis=0)
            face = "white" if of.layer.bias_variance else ACCENT
            ax.vlines(of.radii, low, high, color=ACCENT, linewidth=1)
            ax.plot(of.radii, middle, "o", color=ACCENT, mfc=face, markersize=5)
    axes[1].axhline(0, color="black", linewidth=0.8)
    for ax, label in zip(axes, ("log-volume (nats)", "curvature $R$"), strict=True):
        ax.set(xlabel="distance from the origin $|x|$", ylabel=label, xlim=(0, float(radii[-1])))
    axes[1].set_ylim(-6, 0.6)
    figures.legend_below(fig, axes[0], 2)
    return fig


def one_example_figure(sampled: pd.DataFrame, degrees: Sequence[int] = (1, 2, 3, 4)):
    """The profile chi over the overlap with the example, a panel for each dimension; its axis is logarithmic.

    Lines: the formula. Dots: networks of `one_example.sample`, with two standard errors; filled where the example
    expands.
    """
    panels = sampled.groupby("d")
    fig, axes = figures.subplots(1, panels.ngroups, height=3.4, sharey=True, squeeze=False)
    shades = dict(zip(degrees, map(str, np.linspace(0.6, 0, len(degrees))), strict=True))
    for ax, (d, here) in zip(axes[0], panels, strict=True):
        for q, shade in shades.items():
            line = geometry.bayes_chi(q, OVERLAPS, int(d))
            ax.plot(OVERLAPS, line, color=shade)
            end = (1, float(line[-1]))
            ax.annotate(f"$z^{q}$", end, (9, 0), textcoords="offset points", color=shade, va="center")
        for (q, target), some in here.groupby(["degree", "target"]):
            size = 4 / abs(target - 1)  # of the profile in units of the change
            aside, face = (-0.012, "white") if target < 1 else (0.012, shades[q])
            look = {"fmt": "o", "color": shades[q], "mfc": face, "markersize": 4.5, "linewidth": 1}
            ax.errorbar(some["overlap"] + aside, size * some["change"].abs(), 2 * size * some["error"], **look)
        ax.set_title(f"{d} inputs")
        ax.set(yscale="log", xlabel="overlap with the example", xlim=(-0.05, 1.1))
    axes[0, 0].set_ylabel("profile of the change, $\\chi$")
    return fig


def finite_figure(drawn: Sequence[Drawn]):
    """Columns layers, rows log-volume and Ricci scalar, over the distance from the origin: the infinitely wide layer
    (line), and bands that hold the middle 68% of the random ones of each width."""
    fig, axes = figures.subplots(2, len(drawn), height=5.4, squeeze=False, sharex=True)
    shades = [str(grey) for grey in np.linspace(0.86, 0.45, len(drawn[0].widths))]
    for column, of in zip(axes.T, drawn, strict=True):
        exact = of.layer.log_volume(of.radii), of.layer.ricci(of.radii)
        for ax, values, limit in zip(column, (of.log_volume, of.ricci), exact, strict=True):
            for (n, measured), shade in zip(values.items(), shades, strict=True):
                band = np.quantile(measured.numpy(), MIDDLE, axis=0)
                ax.fill_between(of.radii, *band, color=shade, label=f"{n} units", linewidth=0)
            ax.plot(of.radii, limit, color=ACCENT, label="infinite width")
        name = of.layer.activation
        column[0].set_title(f"$z^{name}$" if isinstance(name, int) else "GELU" if name == "gelu" else str(name))
        column[1].set_xlabel("$|x|$")
    axes[0, 0].set_ylabel("log-volume (nats)")
    axes[1, 0].set_ylabel("curvature $R$")
    figures.legend_below(fig, axes[0, 0], len(shades) + 1)
    return fig


def rates_figure(drawn: Drawn, shortfall: np.ndarray, kappa: float):
    """How far the log-volume at |x| = 1 is from infinite width, over the width: one layer, and the mean of many.

    shortfall: (widths, 2) of the mean, with its standard error. kappa: gives the line that the mean follows.
    """
    fig, ax = figures.subplots(height=3.2)
    n = np.array(drawn.widths)
    one, mean = scatter(drawn.log_volume, drawn.at(1.0)), shortfall[:, 0]
    middle = np.exp(np.mean(np.log(one * np.sqrt(n))))
    lines = (
        (one, middle / np.sqrt(n), "o", "black", "one layer,\nfalls as $n^{-1/2}$"),
        (mean, (kappa - 2) / (4 * n), "s", "white", "mean of many,\nfalls as $1/n$"),
    )
    for values, line, mark, face, text in lines:
        ax.plot(n, line, color="black", linewidth=0.8)
        ax.plot(n, values, mark, color="black", mfc=face, markersize=6)
        ax.annotate(text, (n[-1], values[-1]), (10, 0), textcoords="offset points", va="center", fontsize=9)
    ax.errorbar(n, mean, 2 * shortfall[:, 1], fmt="none", color="black")
    ax.set(xscale="log", yscale="log", xlabel="units $n$", ylabel="off by (nats of log-volume)")
    ax.set_xlim(n[0] / 1.4, n[-1] * 3)
    ax.set_xticks(n, n)
    ax.minorticks_off()
    return fig
