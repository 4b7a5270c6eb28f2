"""The figures that the chapter shows, each with its title, caption and data; they read the records themselves."""

import numpy as np
import pandas as pd

from book.chapters.kernels import claims, derived, magnified, one_task, pictures
from book.claims import claim
from book.figures.figures import show
from book.records.derived import table

MNIST = "MNIST, 1,000 images"
TAU = "τ = {:g} σ/√d"  # in titles


def ideas() -> None:
    """Both ideas as sketches, and what they do to the test error, on a toy, on pairs of digits, and on MNIST."""
    images = pd.concat([table("kernel-one-task"), table("kernel-images")])
    tasks = {
        "Toy: two of ten\ndirections decide": "10 inputs",
        "Pairs of small\ndigits": derived.PAIRED,
        "MNIST: ten\ndigits": MNIST,
    }
    columns = {"plain": "plain", "magnified": "support", "forced": "support, forced", "learned": "learned"}
    panels = {
        title: {machine: images.loc[images["data"] == data, column] for machine, column in columns.items()}
        for title, data in tasks.items()
    }
    toy, pairs, mnist = (len(errors["plain"]) for errors in panels.values())
    show(
        pictures.ideas_figure(panels),
        name="fig-ideas",
        title="Magnifying brings no clear gain. Learning directions helps on two tasks and hurts on one.",
        caption="Left, sketch: the same points, drawn wide apart where the kernel tells them well apart. Right: test "
        "errors. Strength chosen: by cross-validation. Strongly: only narrow, strong hills were allowed. Dots: draws "
        "of the toy, or training sets. Bars: means. Dashed: the plain kernel's. All are support vector machines with "
        f"a Gaussian kernel. ({toy} draws of the toy; {pairs} splits of five pairs of scikit-learn's digits; {mnist} "
        "disjoint sets of 1,000 images)",
        alt="Left, three sketches of a grid of points with a curved boundary: even; wide near the boundary and "
        "crowded far from it; wide across the boundary and flat along it. Right, three panels of errors. On the toy "
        "learned directions err in 5 percent, all others in 13 or more. On pairs of digits they err least, too, and "
        "magnifying strongly errs most. On MNIST the plain kernel errs least, and magnifying strongly in 84 percent.",
    )


def ring() -> None:
    """The volume around one support vector for three widths of h; readers can change the width."""
    show(
        pictures.ring_figure(),
        name="fig-ring",
        title="Magnify space at one point by a narrow hill, and it swells most on a ring around the point.",
        caption="Space around the point where the hill h stands, over that of the plain kernel. Circle: largest "
        "volume, by the formula below. τ: width of the hill; σ: of the plain kernel. One nat is a factor of 2.7.",
        alt="Three maps. Left and middle, a bright ring around a darker centre, with a dashed circle on it. Right, a "
        "hill that is brightest at the centre, without a ring.",
        turn=pictures.ring_turn(),
    )


def petals() -> None:
    """A narrow and a wide factor h on the petals of iris."""
    _petals(
        {0.5: f"strong glass ({TAU})", 2.0: f"weak glass ({TAU})"},  # the narrower hill is the stronger one
        name="fig-magnified-plane",
        title="A strong glass magnifies a cloud of data, and a weak one hardly anything more than the rest.",
        caption="Log-volume of the magnified kernel over two inputs. Lines: boundaries of the second machine. "
        "Circles: support vectors of the first. τ: width of the hill on each. "
        "(iris, petal length and width, standardised; 150 flowers, σ = √2, C = 10)",
        alt="Two maps of the petal plane. Left, bright only around a crowd of circled support vectors between two "
        "kinds of flowers, and dark elsewhere. Right, the colours change slowly from the middle to the corners.",
    )


def petals_here(tau: float, scale: str) -> None:
    """The same for a width that the reader has chosen, and for twice that."""
    _petals(
        {tau: TAU, 2 * tau: TAU},
        name="fig-magnified-here",
        title="The width that you chose, and twice that.",
        caption="Log-volume of the magnified kernel over two inputs. "
        f"(iris, petal length and width, 150 flowers, {scale} scale)",
        alt="Two maps of the petal plane with support vectors, boundaries and log-volume, for the chosen width and "
        "for twice that width.",
    )


def _petals(taus: dict[float, str], name: str, title: str, caption: str, alt: str) -> None:
    flowers, kinds = derived.data("iris")
    x = magnified.standardised(flowers[:, 2:], np.arange(len(flowers)), together=False)
    choices = {title.format(tau): magnified.Choice("support", 1.0, 10.0, tau) for tau, title in taus.items()}
    machines = {width: magnified.machine(x, kinds, choice) for width, choice in choices.items()}
    show(pictures.plane_figure(x, kinds, machines), name=name, title=title, caption=caption, alt=alt)


def errors() -> None:
    """Test errors of plain and magnified machines, and how magnifying changes them."""
    machines = table("kernel-machines")
    show(
        pictures.errors_figure(machines, claim("KER-1-a").row["arms"], claims.HELP),
        name="fig-magnified-errors",
        title="No data set shows a clear gain, and only one test is precise enough to exclude one.",
        caption="Left: mean test errors. Right: how magnifying changes them (below 0: fewer errors), with 95% "
        "intervals that account for shared training data. Dashed: the gain that our rule asks for. "
        f"({pictures.described(machines)})",
        alt="Left, the three kinds of machine have nearly the same error in each data set. Right, four intervals of "
        "the change contain zero. Only that for pairs of digits ends right of the dashed line.",
    )


def directions() -> None:
    """Where many directions matter, learning them does harm: the toy with more of them, and images cropped to few."""
    rows = table("kernel-directions")
    kept = rows.groupby("data")["kept"].mean()
    show(
        pictures.directions_figure(rows),
        name="fig-directions",
        title="The more directions decide, the less learning helps. On ten digits those that it drops matter.",
        caption="Left: of the toy's ten directions two to ten decide, each as much as the others. Thin: draws. "
        "Thick: means. Right: mean errors of three kernel machines: with all directions alike, with M, and with only "
        "the leading directions of M that hold nine tenths of its trace (on average "
        f"{kept['digits']:.1f} of the small digits, {kept[derived.PAIRED]:.1f} of their pairs, "
        f"{kept['MNIST, 300 images']:.1f} and {kept[MNIST]:.1f} of MNIST). "
        "MNIST is tested on the second half of its test images, which is easier than the first (the first picture). "
        f"({derived.DRAWS} draws; {derived.BLOCKS['digits']} sets of small digits, "
        f"{derived.BLOCKS[derived.PAIRED]} of pairs, {derived.MNIST_BLOCKS} of MNIST)",
        alt="Left, errors of the plain kernel fall slowly from two to ten directions, while those after learning "
        "climb steeply, cross them at six and end far above. Right, on ten digits the error rises from all "
        "directions to the learned weights, and again to the few favoured directions; on pairs of digits it hardly "
        "changes.",
    )


def on_one_task() -> None:
    """Both ideas on one task: maps of their kernels, and their test errors with 2 and with 10 inputs."""
    titles = {
        "Plain": "plain",
        "Magnify: more room\nin the middle": "magnified",
        "Learn directions: one\ncounts, one does not": "learned",
    }
    kernels = one_task.slices(derived.TASK_FIRST)
    rows = table("kernel-one-task")
    show(
        pictures.one_task_figure(rows, {title: kernels[name] for title, name in titles.items()}),
        name="fig-one-task",
        title="On one task, learned directions cut the errors of ten inputs by more than half. Magnifying does not.",
        caption="Left: a square in the space of ten inputs, along a direction that decides and one that tells "
        "nothing. Dashed: the true boundary. Bright: more room than elsewhere. White: equally long steps from nine "
        "points, by the kernel. Right: test errors of support vector machines with these kernels. Dots: draws of the "
        "toy. Bars: means. Strongly: narrow hills. "
        f"(two directions decide; {derived.TASK_DRAWS} draws of 500 points, {derived.TASK_TESTS:,} test points each)",
        alt="Left, three maps. The plain one is even, with small circles. The magnified one is bright in the middle, "
        "and its ellipses point around it. The learned one is even, and its ellipses are upright stripes. "
        "Right, with 2 inputs all machines err alike. With 10 the chosen magnification errs like the plain kernel, "
        "both strong ones err more, and learned directions far less.",
    )


def pixels() -> None:
    """The pixels that M and the first layers of networks stress."""
    shown = table("kernel-pixels")[["M", "small start", "usual start", "usual start, untrained"]]
    with_m = shown[shown["M"] > 0].corr()["M"]
    show(
        pictures.pixels_figure(shown),
        name="fig-pixels",
        title="M stresses some pixels, and a trained layer stresses similar ones.",
        caption="Diagonals of M and of W'W on the digits, from dark (0) to the largest value. Correlation with M: "
        f"small start {with_m['small start']:.2f}, usual {with_m['usual start']:.2f}, untrained "
        f"{with_m['usual start, untrained']:.2f}. (first block, 299 images; pixels that vary)",
        alt="Four small images. M is bright at a few pixels in the middle and dark at the sides. The layer from a "
        "small start resembles it. The usual start is paler, and the untrained layer nearly uniform.",
    )
