"""The figures that the chapter shows, each with its title, caption and data; they read the records themselves."""

from functools import cache

import numpy as np
import pandas as pd

from book import chapters
from book.chapters.settings import SOURCE_RATE
from book.chapters.why_outputs_die import law, pictures, tables, turning
from book.chapters.why_outputs_die.study import REMEDIES
from book.figures.figures import jitter, show
from book.measures.classifiers import frames, shared
from book.measures.classifiers.study import Plan
from support.training.classifiers.specs import RARE


@cache
def leads() -> pd.DataFrame:
    """The lead of ReLU2-Neg over ReLU2 at three step sizes (`law.leads`)."""
    return law.leads(chapters.tables())


@cache
def warming_up() -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Warm-up and centred outputs, raw pixels: step size at each recorded step, and network -> share of its outputs
    that are inactive, (runs, steps)."""
    runs = frames.by_network(tables.recorded(chapters.tables())["both"].query("scaling == 'raw'"))
    taken = frames.recorded_steps(runs["ReLU2"])
    full, _ = chapters.studies()["mnist-rates"].place("raw", SOURCE_RATE)
    shares = {name: (frames.curve(of, "test_active") < RARE[0]).mean(2) for name, of in runs.items()}
    return full * np.minimum(1, taken / REMEDIES["both"].warmup), shares


def sign_turns() -> None:
    """A large step as a sketch, and the lead of ReLU2-Neg over ReLU2 at three step sizes, in both input scalings."""
    pairs = leads().groupby(["size", "scaling"]).size().iloc[0]
    place = chapters.studies()["mnist-rates"].place
    papers = {scaling: place(scaling, SOURCE_RATE)[0] for scaling in ("standardised", "raw")}
    show(
        pictures.sign_turns_figure(leads(), papers),
        name="fig-sign-turns",
        title="Distances lead when the steps are large. Most outputs of amounts are then inactive.",
        caption="Above, a sketch: an output that is large on all images (dots), before and after a step, from the "
        "toy below. Left, each dot is a pair of networks: by how many test images in a hundred ReLU2-Neg (distances) "
        "gets right more than ReLU2 (amounts). Right, inactive outputs: above 0 on under 1% of the test images, mean "
        "of both scalings. Large marks and bars: mean and 95% interval. "
        f"(MNIST, first 10,000 images, 1,000 steps, {pairs} pairs of each kind)",
        alt="Above, three rows of dots along an axis: at the start right of zero, as a distance moved a little to "
        "the left, as an amount moved far, to the left of zero. Below left, leads at three step sizes. At 10 both "
        "means lie below zero, and the interval of the raw inputs includes zero. At 100 both intervals include zero. "
        "At 1,000 both means lie near 60 points, far above it. Below right, two lines of inactive outputs. That of "
        "distances stays under 5 percent. That of amounts does so at 10 and 100, and rises to 80 percent at 1,000.",
    )


def killed(sizes: np.ndarray, formula: np.ndarray, dead: list[float], half_angle: float) -> None:
    """Outputs that one step kills; readers can turn it. half_angle: radians; formula, dead: shares at these sizes."""
    gap = np.abs(formula - np.array(dead)).max()
    outputs = 2 * np.pi * jitter(100) - np.pi  # angles, evenly spread
    show(
        pictures.killed_figure(sizes, formula, dead, outputs, half_angle, step=0.6),
        name="fig-killed",
        title="The larger the step, the more outputs die.",
        caption="Left: the weights of 100 outputs after a step of 0.6 of their length. Dotted: before. Outputs in "
        "the grey sector are dead. Right: share of dead outputs by the size of the step: a line by the formula, dots "
        "by counting. Rings: a step of 0.1, and one nine times as large.",
        alt="Left, a circle of dots, moved to the left into a grey sector. Right, the share of dead outputs rises "
        f"from 0.28 without a step to 1 at a step of 1.3 lengths. Dots and formula differ by at most {gap:.3f}.",
        turn=turning.wedge_turn(outputs, half_angle=round(np.degrees(half_angle)), step=0.6),
    )


def losses() -> None:
    """The share of inactive outputs during training, at three step sizes, of ReLU2 and of ReLU2-Neg."""
    steps, active = law.activities(chapters.tables())
    show(
        pictures.losses_figure(steps, active),
        name="fig-losses",
        title="With large steps amounts become inactive one after another. Distances mostly recover.",
        caption="Share of inactive outputs during training: above 0 on under 1% of the test images. Lines: mean of "
        "both scalings. Band: the middle 80% of runs. "
        f"(MNIST, first 10,000 images, 1,000 steps, {len(active[10, 'ReLU2'])} runs for each line)",
        alt="Two panels, inactive outputs against the step of the training. Left, ReLU2: at step size 1,000 the "
        "share rises to 86 percent within ten steps and stays near 80. At 100 it is 13 percent after one step and "
        "falls to 4. At 10 it stays below 6. Right, ReLU2-Neg: at 1,000 it rises to 20 percent in two steps and "
        "falls to 2. At 100 and 10 it stays below 10.",
    )


def warmup() -> None:
    """The share of inactive outputs while a warm-up makes the steps larger."""
    sizes, shares = warming_up()
    seeds = len(shares["ReLU2"])
    show(
        pictures.warmup_figure(sizes, shares, {}),
        name="fig-warmup",
        title="A warm-up keeps outputs active until the step size is in the hundreds.",
        caption="Share of inactive outputs (active on under 1% of the test images) as the warm-up makes steps "
        "larger. Lines: mean. Bands: the middle 80% of networks. "
        f"(MNIST, first 10,000 images, raw pixels, centred outputs, {seeds} seeds)",
        alt="Two lines over step size. ReLU2 stays near 0 percent up to a step size of 250, rises to 70 percent at "
        "700 and falls slowly afterwards. ReLU2-Neg stays near 0 throughout.",
    )


def atlas() -> None:
    """The lead of ReLU2-Neg over step size and start, with the published setting; readers can turn it."""
    rates = chapters.studies()["mnist-rates"]
    runs = chapters.tables().once(law.runs, rates.name)
    published = {scaling: rates.place(scaling, SOURCE_RATE) for scaling in rates.scalings}
    show(
        pictures.lead_map_figure(runs, rates, published),
        name="fig-map",
        title="The published setting of raw pixels sits where everything changes.",
        caption="Lead of ReLU2-Neg over ReLU2, mean in points, by the sizes of the steps and of the first "
        "preactivations. Red: distances lead. Cross: the published learning rate. "
        f"(MNIST, {rates.images:,} images, {rates.steps:,} steps, {runs['seed'].nunique()} seeds per point)",
        alt="Two maps of the lead, raw and standardised pixels. In both the row of step size 1,000 is red, with 33 "
        "to 76 points but at the largest start. From small starts the rows below are pale blue. The raw cross lies "
        "between squares of 76 and of minus 45 points, the standardised one in the pale blue corner.",
        turn=turning.phase_turn(rates, runs, published, lead=True),
    )


def remedies_here(plan: Plan, starts: dict[str, pd.DataFrame], scale: str) -> None:
    """Test accuracy of networks that the reader has trained under five recipes."""
    show(
        pictures.remedies_figure(starts),
        name="fig-remedies",
        title="The five recipes, trained here.",
        caption=f"Test accuracy of every run (markers) and means (bars). ({plan.protocol}, {scale} scale)",
        alt="Dots of accuracy of ReLU2 and ReLU2-Neg under five recipes, one panel for each input scaling.",
    )


def smooth_here(plan: Plan, runs: pd.DataFrame) -> None:
    """Test accuracy of networks with smooth activations that the reader has trained."""
    show(
        shared.accuracy_figure(runs),
        name="fig-smooth",
        title="Smooth activations under the same constraints, trained here.",
        caption=f"{shared.EVERY_RUN} ({plan.protocol})",
        alt="Dots of accuracy of six networks with GELU and SiLU, one panel for each input scaling.",
    )
