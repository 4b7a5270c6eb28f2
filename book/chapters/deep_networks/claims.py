"""The claims about residual networks, and their rules.

What is measured is said in `measures.residual.results`: of each network first the mean over its pairs, or triangles,
then the mean over networks with its 95% interval. A log-volume is that of a stage's outputs, pooled to the same
number in every stage, as the paper does; all numbers are in nats per output. Networks share their lines and planes,
and a mean is judged by the wider of the intervals over networks and over these. No two networks share a triangle. Of
the plane of RG-I-f and of most arms of RG-I-j there is one alone, for which no interval speaks. A claim of several
parts holds if all do, and fails if one fails, also after Holm's correction. Segments across a boundary are matched
with segments of one class in pixel distance. Places are those of the trained network's boundary, before training as
after.

As the paper says it:

    RG-5.1-a  effect of the last stage: the log-volume at the boundary over the mean of the ends of the segment
    RG-5.1-b  half of the rise in triangles of three classes minus the rise in triangles of one class, which the
              network classifies correctly and alike all over. The paper says that there is no expansion, which no
              number of networks could show; so the rise must be less than half of the other. Asked where the first
              rise is positive. A rise is the mean over the triangle minus the mean of its corners
    RG-5.1-c  effects of all four stages: each block's volume element is larger at the boundary than at the ends
    RG-5.1-g  in all four stages, by how much nearer the volume element peaks to the boundary than to the middle of
              the segment; written when all its records were known. It counts as a claim of our own. The paper says
              that each block's volume element is "largest near the decision boundary", which a peak in the middle
              could also be. A peak is found among 7 points, with a parabola
    RG-5.1-d  largest minus smallest log-volume along a segment across a boundary: that of the second, third and
              fourth stage minus that of the first, and that of the fourth minus that of the second and third
    RG-5.1-e  test accuracy with GELU minus that with ReLU, paired by seed, within 1 point (`IMPACT` of the other
              chapters)
    RG-5.1-h  the effect of the last stage in networks with shuffled labels, whose boundaries are all incorrect; and
              RG-I-h accuracies as the paper prints them: above 99% of the training images, and above 91% of the test
              images, one point less than printed. Both were written when the records of ResNet-10 were known
    RG-5.1-f  share of images, at the ends and at the boundary, at which the last stage's Jacobian has full rank,
              which must be above 99%; and RG-I-g the same with ReLU in every place: the paper's spectra show no
              numerical problem, but of the activations of its ReLU network all but one were GELU
    RG-5.2-a  the effect of a network whose every activation is ReLU, by the larger half of the singular values, where
              that of the GELU networks by the same measure is positive. A ReLU network has outputs that do not move,
              so that its volume element by all singular values is 0 at many images
    RG-5.1-i  as RG-5.1-b, in planes instead of triangles: half of the rise between three images of three classes
              minus the rise between three images of one class. The network classifies the images correctly, and may
              see other classes between them. Two planes of each kind, in networks that had not been measured
    RG-I-f    in one plane, of the same three test images for all networks, the rank correlation of the entropy
              after training and the log-volume: positive, and larger than with the log-volume before training
    RG-I-j    as RG-I-f, but only between the three images, and in the mean over the measured planes of three classes.
              Written when it was known for the networks of 20 epochs, which have one such plane

Of our own, because segments between any two images leave the data:

    OWN-8-a   contrast, across a boundary minus in one class, trained minus untrained, of the last stage. What
              training raises is the volume over that at the images. In the networks trained on all images the volume
              itself falls at all of these places
    OWN-8-b   the same of each stage; the arms say from which stage on
    OWN-8-c   half of that contrast of networks with true labels minus that of networks with shuffled labels, both on
              the same 5,000 images until 90% of the labels are learned, paired by seed; asked where the controls
              learned 90%
    OWN-8-d   that of OWN-8-a in networks that have learned 90% of their 5,000 labels. It was written when the five
              networks with true labels of OWN-8-c were known (+0.08, +0.11, +0.05, +0.08 and +0.11 nats per output),
              so it is asked of five new ones
    OWN-8-e   the rank correlation of RG-I-j minus that between three images of one class, where entropy and volume
              could rise together without a boundary
    OWN-8-f   contrast of the trained network at its boundary minus that of the same network, untrained, at boundaries
              of random linear classifiers of its features (`own_boundaries`), paired by seed. A boundary lies where
              outputs change, and this alone could give a contrast. Both boundaries lie in the middle half of their
              lines, and the effects are over the straight line between the ends. Written when the contrasts of all
              trained networks were known. The first rule asked it of boundaries at any place, over the mean of the
              ends. Its numbers were known (-0.26, -0.28 and -0.03) when this one was written, and that most of the
              contrast of two untrained networks was a difference between the two images
    OWN-8-h   the same with linear probes in place of random weights. A boundary that is fitted to the labels may lie
              elsewhere
    OWN-8-i   whether it is the labels of a probe that put its boundary where space swells, or fitting alone: contrast
              of the untrained network at boundaries of probes that learned shuffled labels minus that at random
              ones, minus half of what probes of true labels have more than random ones. OWN-8-j the same with
              random classifiers in coordinates in which the features are white, as least squares makes of noise.
              If one holds, a boundary may stand out without labels, and a study of boundaries needs this control.
              The contrasts at random and fitted boundaries of these networks were known (-0.20 and +0.20 for the
              seeds of 20 epochs, -0.10 and +0.20 for those of 40), so that a mean of about +0.03 decides. Shuffled
              labels and whitened features had been tried in no network. If shuffled probes are as random ones, or as
              fitted ones, the ten networks decide with power 0.8 or more for an SD of 0.15, and five with 0.4 to
              0.6. In between they will hardly decide
    OWN-8-g   contrast of ResNet-34 of 20 epochs minus that of ResNet-10 of 40 epochs, after training, in the order of
              their seeds, which have nothing in common. Asked where the ResNet-10 fit their training images less than
              2 points worse: those of 20 epochs are 3.6 points worse, so that not only their depth differs. Written
              when the ResNet-34 were known (+0.22), and before any of these ResNet-10 was begun

    OWN-8-k   why there is a dip before training: effect of the middle between two photographs times MOST, minus that
              of each photograph dimmed to the contrast of the middle (`measures.residual.dimmed`). Both are negative
    OWN-8-l   why there is a bump within one class after training: effect of the dimmed photographs minus half of that
              of the middle. Asked where the middle has one
    OWN-8-m   the same from the other side: half of the effect of the middle minus that of the middle brightened to
              the contrast of the photographs. If both hold, what swells is what is pale, and not what is strange
    OWN-8-n   what is left for the boundary: effect of the middle minus that of the dimmed photographs, between two
              classes minus within one.
              These four were written after a look at two untrained networks of each depth, of seeds 0 and 1 (middle
              and dimmed: -1.38 and -1.34, -1.64 and -1.55; ResNet-10 -0.33 and -0.34, -0.29 and -0.30), and at one
              trained one, of seed 900 (within one class +0.044 and +0.045, between two +0.133 and +0.062). Brightened
              middles had been seen in a rehearsal alone, of a network of width 4 after four epochs of 2,000 images,
              with two pairs of each kind. Each network has its own lines, so its interval is about lines, too

All claims on GELU networks trained on all images are also asked of five new ResNet-34, trained for 40 epochs. We
added these arms when the five of 20 epochs were known (test accuracy 86.8%, effect +0.48, change of the contrast
+0.34). RG-5.1-a, RG-I-h and OWN-8-a were added before any of the new networks was begun. The others, and RG-5.1-i and
OWN-8-e, were added when the first had done less than a third of its training, and none had been measured.

RG-5.1-a, RG-I-h and OWN-8-a are also asked of ResNet-34 of the paper's width and number of epochs. Those need a GPU,
and none has been trained.

So the claim that training magnifies areas near boundaries is refuted by networks whose volume element is no larger
there than at the ends (RG-5.1-a). If that holds and OWN-8-a fails, what training magnifies is the space between the
data, whether or not a boundary crosses it.

When these rules were written no network of the studies had been trained. Known was a first look at one network of
another training (ResNet-10, 6 epochs, 20 pairs): by stage, trained, across +0.2, +4.9, +14.4, +62.8 nats, in one
class +0.1, +3.5, +10.2, +42.9; untrained, across -3.2, -11.9, -25.6, -42.6, in one class -3.3, -10.6, -20.5, -31.6.
The number of singular values had been seen at five test images of two networks of 8 epochs on 5,000 images: with
GELU all 128 in every stage, with ReLU 119, 120, 126, 128 and 110 in the last one. Later, before the records, one
network of width 8 was trained for 8 epochs on 4,000 images and measured at 8 pairs, to rehearse; no rule changed.
"""

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from book.chapters.deep_networks.derived import DIMMED, SHUFFLED, TABLE, TRAINED
from book.chapters.deep_networks.study import STUDIES
from book.claims.rules import Amendment, Arm, Part, amended, claim, own
from book.measures.residual import dimmed, numbers, own_boundaries, results
from book.measures.residual.results import ResidualArm
from book.measures.tables import Tables

SHARE = 0.5  # of the contrast, or of the rise
MOST = 0.7  # of a dip
IMPACT = 1.0  # points of accuracy
PRINTED = 92.0  # percent of test images, the paper's accuracy
LEARNED = 99.0  # percent of training images, which the paper's networks exceed
FULL = 99.0  # percent of images with full rank, above which rank is no problem
AS_FITTED = 2.0  # points of training accuracy: networks with a smaller lag count as fitted about as well
FITTED = 90.0  # percent of the shuffled training labels that a control must have learned
_MIDDLE = "middle interpolated"
STAGES = ("first", "second", "third", "fourth")
STEPS = ((2, 1), (3, 1), (4, 1), (4, 2), (4, 3))  # from a stage to one below
ARMS = {  # name -> study and activation
    "ResNet-34": ("deep-resnet34", "gelu"),
    "ResNet-34, 40 epochs": ("deep-resnet34-long", "gelu"),
    "ResNet-34, full size": ("deep-resnet34-full", "gelu"),
    "ResNet-10": ("deep-resnet10", "gelu"),
    "ResNet-10, 40 epochs": ("deep-resnet10-long", "gelu"),
    "ResNet-10, ReLU": ("deep-resnet10", "relu"),
    "5,000 images": ("deep-resnet10-shuffled", "gelu"),
    "5,000 images, new seeds": ("deep-resnet10-fitted", "gelu"),
}
ALL_IMAGES = ("ResNet-34", "ResNet-34, 40 epochs", "ResNet-10")  # trained on all of them
DEEP, SHALLOW = "ResNet-34", "ResNet-10, 40 epochs"  # that fit their images about equally well


def arms(records) -> dict[str, ResidualArm]:
    """The records of all arms by name, for figures."""
    return {name: results.arm(name, STUDIES[study], act, records) for name, (study, act) in ARMS.items()}


# -- arms ---------------------------------------------------------------------------------------------------------


def _arm(tables: Tables, name: str, kind: str = "", **how: Any) -> Arm:
    study, activation = ARMS[name]
    return numbers.arm(tables, name, study, kind or ("relu" if activation == "relu" else ""), **how)


def networks(*names: str, **how: Any) -> Callable[[Tables], list[Arm]]:
    """Arms by their names; how: arguments of `numbers.networks`."""
    return lambda tables: [_arm(tables, name, **how) for name in names]


def untrained_only(tables: Tables) -> list[Arm]:
    """Untrained ResNet-34 of both lengths of training: by seed the contrast at boundaries of each classifier."""
    found = [
        pd.DataFrame(
            {
                kind: own_boundaries.before_training(table, study, kind, tables.derived)["interpolated"]
                for table, kinds in (
                    (TABLE, own_boundaries.CLASSIFIERS),
                    (without_labels, own_boundaries.WITHOUT_LABELS),
                )
                for kind in kinds
            }
        ).dropna()
        for study, without_labels in SHUFFLED.items()
    ]
    name, command = "ResNet-34, untrained", f"python -m book records derive {' '.join(SHUFFLED.values())}"
    return [
        Arm(
            name,
            pd.concat(found),
            {"network": name},
            "CIFAR-10 (JPEG copy)",
            "CIFAR-10 (JPEG copy), untrained",
            command,
        )
    ]


def of_dimmed(name: str, *networks: str) -> Callable[[Tables], list[Arm]]:
    """Networks of a derived table of dimmed photographs."""

    def made(tables: Tables) -> list[Arm]:
        data, command = "CIFAR-10 (JPEG copy)", f"python -m book records derive {name}"
        return [
            Arm(n, dimmed.table(name, n, tables.derived), {"network": n}, data, f"{data}, {n}", command)
            for n in networks
        ]

    return made


def by_stage(tables: Tables) -> list[Arm]:
    """Each stage of the networks that are trained on all images."""
    whole = (_arm(tables, name) for name in ALL_IMAGES)
    return [
        replace(arm, name=f"{arm.name}, stage {s}", factors={"network": arm.name, "stage": str(s)})
        for arm in whole
        for s in (1, 2, 3, 4)
    ]


def depths(tables: Tables) -> list[Arm]:
    """`SHALLOW` networks, each with a `DEEP` one."""
    deep, shallow = _arm(tables, DEEP), _arm(tables, SHALLOW)
    together = numbers.together(deep, shallow, "as well fitted", ("contrast 4 after", "train accuracy"))
    if deep.pairs is None or shallow.pairs is None:
        return [together]
    seeds = dict(zip(_counted(deep), _counted(shallow), strict=False))  # in their order, as `numbers.together`
    of_deep = deep.pairs[deep.pairs.index.get_level_values("seed").isin(seeds)].rename(index=seeds, level="seed")
    return [replace(together, pairs=_of_both(shallow.pairs, of_deep, "deep"))]


def _counted(arm: Arm) -> list[int]:
    return arm.table.index[arm.table["effect 4 across after"].notna()].tolist()


def _of_both(first: pd.DataFrame, second: pd.DataFrame, name: str) -> pd.DataFrame:
    """The numbers of the lines of two sides, by seed and "each line"; of the second with a name before them."""
    sides = [side.rename_axis(["seed", "each line"]).groupby(level=[0, 1]).mean() for side in (first, second)]
    return sides[0].join(sides[1].add_prefix(f"{name} "), how="outer")


def true_and_shuffled(tables: Tables) -> list[Arm]:
    """The networks of 5,000 images, with the lines of those with true and those with shuffled labels."""
    arm, (study, _) = _arm(tables, "5,000 images"), ARMS["5,000 images"]
    shuffled = tables.once(numbers.pairs_of, study, "shuffled")
    known = arm.pairs is not None and shuffled is not None
    return [replace(arm, pairs=_of_both(arm.pairs, shuffled, "shuffled") if known else None)]


def of_untrained(tables: Tables) -> list[Arm]:
    """Trained networks beside untrained ones, with the lines of the trained networks that cross in their middle.

    Of the untrained networks only means over lines are kept, which here are the same whatever line is left out.
    """
    made = []
    for arm in networks(*ALL_IMAGES, SHALLOW, untrained=TABLE)(tables):
        study, several = tables.studies[ARMS[arm.name][0]], {}
        for run in tables.runs(study):
            if run.spec.activation == ARMS[arm.name][1] and run.spec.seed in arm.table.index:
                lines = pd.Index(run.arrays["length"][results.ACROSS].astype(float).round(3), name="each line")
                several[run.spec.seed] = pd.DataFrame({_MIDDLE: own_boundaries.in_the_middle(run)}, lines).dropna()
        pairs = pd.concat(several, names=["seed"]) if several else None
        if pairs is not None:
            kept = [c for c in arm.table if c.endswith(" interpolated before")]
            pairs = pairs.groupby(level=[0, 1]).mean().join(arm.table[kept], on="seed")
        made.append(replace(arm, pairs=pairs))
    return made


def in_planes(tables: Tables) -> list[Arm]:
    """The networks that are measured in several planes of images, with the numbers of each plane."""
    arm, (study, _) = _arm(tables, "ResNet-34, 40 epochs"), ARMS["ResNet-34, 40 epochs"]
    several = {run.spec.seed: _of_planes(run) for run in tables.runs(tables.studies[study]) if run.spec.planes}
    pairs = pd.concat(several, names=["seed", "each plane"]) if several else None
    return [replace(arm, pairs=pairs)]


def _of_planes(run: Any) -> pd.DataFrame:
    """A row for each plane, and the numbers of `numbers.measured` that are means over planes, after training."""
    inside = results.in_triangle(run.spec.planes)
    ranks = results.ranks_in_planes(run, inside)[results.AFTER]
    found = pd.DataFrame({"rise": results.rises_in_planes(run)[results.AFTER], "rank": ranks})
    found.loc[len(found)] = [math.nan, results.entropy_rank(run, results.in_triangle(run.spec.plane))[results.AFTER]]
    across = [*(len(set(classes)) == 3 for classes in results.PLANES), True]
    names = {"rise": "plane rise {} after", "rank": "entropy rank inside {} after"}
    return pd.DataFrame({name.format(kind): found[number].where(np.equal(across, kind == "across"))
                         for number, name in names.items() for kind in ("across", "alike")})  # fmt: skip


# -- parts --------------------------------------------------------------------------------------------------------

Values = Callable[[pd.DataFrame], pd.Series]
mean = partial(numbers.mean, absent="too few networks can be asked")


def half_minus(whole: str, part: str) -> Values:
    """SHARE of a number minus another."""
    return lambda t: SHARE * t[whole] - t[part]


def minus(first: str, second: str) -> Values:
    """The difference of two numbers."""
    return lambda t: t[first] - t[second]


_EFFECT = "log-volume at the boundary minus the mean of the ends: {:+.3f} nats per output"
_RISES = mean(
    "rise in triangles of three classes: {:+.3f} nats per output",
    "rise across after",
    "rise in triangles of three classes",
    absent="no rise in triangles of three classes",
)
_PLANE_RISES = mean(
    "rise between images of three classes: {:+.3f} nats per output",
    "plane rise across after",
    "rise between three classes",
    absent="no rise between three classes",
)
_HALF = "effect by half of the singular values: {:+.3f} nats for each"
_GELU_RISES = mean(_HALF, "gelu half effect 4 across after", "effect with GELU", absent="no effect with GELU")


def _learned(column: str, labels: str, absent: str) -> Part:
    """Training stops at FITTED or more, so what counts is whether each network got there."""
    return mean(
        f"networks that learned their {labels} minus the others: {{:+.1f}}",
        lambda t: t[column].ge(FITTED).map({True: 1.0, False: -1.0}).where(t[column].notna()),
        f"networks that learned their {labels} minus the others",
        absent=absent,
    )


_NOT_LEARNED = "the controls did not learn their shuffled labels"
_TRUE_FITTED = _learned("train accuracy", "labels", "the networks did not learn their labels")
_AS_FITTED = mean(
    "training accuracy of the shallower network minus that of the deeper: {:+.1f} points",
    minus("train accuracy", "deep train accuracy"),
    "training accuracy of ResNet-10 - ResNet-34",
    "points",
    (-AS_FITTED, math.inf),
    absent="ResNet-10 do not fit their training images as well",
)


def _ranks(before: str, after: str, where: str) -> tuple[Part, ...]:
    """The rank correlation of entropy and log-volume, and its change with training."""
    asks = f"rank correlation {where}, and its change with training,"
    return (
        mean(
            "rank correlation of entropy and log-volume minus that with the volume before training: {:+.2f}",
            minus(after, before),
            asks,
            "",
        ),
        mean("rank correlation of entropy and log-volume: {:+.2f}", after, asks, ""),
    )


def _gain(stage: int = 4, **fields) -> Part:
    return mean(
        "contrast minus that before training: {:+.3f} nats per output",
        f"gain {stage}",
        fields.pop("asks", "contrast minus that before training"),
        **fields,
    )


def _of_fitting(kind: str) -> Part:
    return mean(
        "contrast over that of random classifiers, minus half of a fitted probe's: {:+.3f} nats per output",
        lambda t: t[kind] - t["random"] - SHARE * (t["probe"] - t["random"]),
        f"contrast {kind} - random, minus half of probe - random",
    )


def _of_pictures(asks: str, values: Values, **fields: Any) -> Part:
    return mean(f"{asks}: {{:+.3f}} nats per output", values, asks, **fields)


_SWELLS = _of_pictures("effect of the middle within one class", lambda t: t["middle one class after"])


def _over_untrained(classifier: str) -> Part:
    return mean(
        "contrast minus that of the untrained network at its own boundary: {:+.3f} nats per output",
        minus(_MIDDLE, f"{classifier} interpolated before"),
        "contrast minus that of the untrained network at its own boundary",
        absent="too few networks have enough pairs before and after training",
    )


_FULL_RANK = mean("images with full rank: {:.1f}%", "full rank", "images with full rank", "%", (FULL, math.inf))
_ALL_IMAGES = networks(*ALL_IMAGES)
_ALL_SIZES = networks(*ALL_IMAGES, "ResNet-10, 40 epochs", "ResNet-34, full size")
_SAME_PLACES = partial(
    amended,
    "Many boundaries of the untrained networks lay close to one image of the line, mostly the one with the larger "
    "volume. So a difference between the two images counted as contrast. Now the boundaries of both networks lie in "
    "the middle half of the line, and the volume is compared with the straight line between both ends. The "
    "classifiers have two classes, because ten-class ones have few boundaries there. An earlier amendment, on the "
    "same day, left out classifiers with fewer than 8 pairs.",
    "contrast over the mean of the ends, at ten-class boundaries at any place of the line",
    date="2026-11-27",
)
_LINES = partial(
    amended,
    "The networks of a study choose their lines among the same candidates and share many. So an interval over "
    "networks says nothing of other lines. Now the wider of the intervals over networks and over lines judges.",
    "by the interval over networks alone",
    date="2026-11-28",
)
_LINES_TOO = (
    "The networks share most of their lines, so now the wider of the intervals over networks and over lines judges. "
    "Of the untrained networks only means over lines are kept, so here the lines of the trained ones count alone.",
    "by the interval over networks alone",
)
_PLANES_SHARED = partial(
    amended,
    "All networks are measured in the same two planes of three classes and two of one. So an interval over networks "
    "says nothing of other planes. Now the wider of the intervals over networks and over planes judges.",
    "by the interval over networks alone",
    date="2026-11-28",
)


def _and_lines(first: Amendment) -> Amendment:
    """An amendment that came before, and that of the shared lines, as one."""
    reason, rule = _LINES_TOO
    return replace(first, date="2026-11-28", reason=f"{first.reason} {reason}",
                   first_rule=f"{first.first_rule}; {rule}")  # fmt: skip


_claim = partial(claim, source="zavatoneveth2025")
_SAME_ENTROPY = partial(
    amended,
    "The entropy of an untrained network is chance, so a comparison with it measures that. RG-I-e was corrected in "
    "the same way.",
    "before training, the volume was compared with the entropy of the untrained network",
    date="2026-11-27",
)
CLAIMS = (
    _claim("RG-5.1-a", "section 5.1", "In residual networks the volume element is large near decision boundaries.",
           mean(_EFFECT, "effect 4 across after", "effect of the last stage"), arms=_ALL_SIZES),
    _claim("RG-5.1-b", "section 5.1 and appendix I.3",
           "Residual networks do not expand areas between three correctly classified images of one class.",
           mean("half the rise in triangles of three classes minus that in one class: {:+.3f} nats per output",
                half_minus("rise across after", "rise alike after"),
                "half the rise across classes minus the rise in one", only_if=(_RISES,)),
           arms=_ALL_IMAGES, amended=amended(
               "The largest of many volumes exceeds their mean wherever volumes differ, even without a hill. So the "
               "rise is now the mean over the triangle without its corners, minus the mean of the corners.",
               "the rise was the largest log-volume in the triangle minus the mean of its corners", "fails",
               "2026-11-25")),
    _claim("RG-5.1-i", "section 5.1 and appendix I.3",
           "In planes through three correctly classified images of one class residual networks do not expand areas.",
           mean("half the rise between images of three classes minus that of one class: {:+.3f} nats per output",
                half_minus("plane rise across after", "plane rise alike after"),
                "half the rise across classes minus the rise in one", only_if=(_PLANE_RISES,)),
           arms=in_planes, amended=_PLANES_SHARED("fails")),
    _claim("RG-5.1-c", "section 5.1",
           "After each stage the volume element is larger at the decision boundary than at the images.",
           *(mean(f"effect of the {word} stage: {{:+.3f}} nats per output", f"effect {s} across after",
                  "effect of each stage") for s, word in enumerate(STAGES, 1)), arms=_ALL_IMAGES),
    _claim("RG-5.1-g", "a stricter form of section 5.1",
           "After each stage the boundary is a better guess for the peak of the volume than the middle of the line.",
           *(mean(f"{word} stage: the peak is nearer to the boundary than to the middle by {{:+.3f}} of the segment",
                  f"nearer {s}", "distance of the peak to the middle minus to the boundary, in each stage,",
                  "of the segment") for s, word in enumerate(STAGES, 1)), arms=_ALL_IMAGES, late=True,
           kind="own", source="own", amended=_LINES("fails")),
    _claim("RG-5.1-h", "section 5.1 and appendix I.3",
           "Residual networks expand areas near incorrect decision boundaries, too, here between shuffled labels.",
           mean(_EFFECT, "effect 4 across after", "effect with shuffled labels",
                only_if=(_learned("train accuracy", "shuffled labels", _NOT_LEARNED),)),
           arms=networks("5,000 images", kind="shuffled"), kind="variant", late=True),
    _claim("RG-5.1-d", "section 5.1",
           "The range of the volume along a path is least in the first stage and largest in the last.",
           *(mean(f"range along a segment, {STAGES[high - 1]} stage minus {STAGES[low - 1]}: "
                  "{:+.3f} nats per output",
                  minus(f"range {high}", f"range {low}"), "range of a stage minus that of a lower one")
             for high, low in STEPS), arms=_ALL_IMAGES),
    _claim("RG-5.1-e", "section 5.1", "GELU and ReLU reach comparable test accuracy.",
           Part("test accuracy with GELU minus that with ReLU: {:+.2f} points",
                minus("test accuracy", "relu test accuracy"), (-IMPACT, IMPACT), "points",
                "GELU - ReLU within ±1 points (90% interval)", error=0.10),
           arms=networks("ResNet-10")),
    _claim("RG-5.1-f", "section 5.1", "The Jacobian of a residual network's features has full rank.",
           _FULL_RANK, arms=_ALL_IMAGES),
    _claim("RG-I-g", "appendix I.3", "With ReLU the spectrum shows no numerical problem either.",
           _FULL_RANK, arms=networks("ResNet-10, ReLU")),
    _claim("RG-I-h", "section 5.1 and appendix I.3",
           "Residual networks get more than 99% of the training images right, and about 92% of the test images.",
           *(mean(f"{name} accuracy minus {least:g}%: {{:+.1f}} points",
                  partial(lambda column, least, t: t[column] - least, column, least),
                  f"training accuracy - {LEARNED:g}%, and test accuracy - {PRINTED - IMPACT:g}%,", "points")
             for name, column, least in (("training", "train accuracy", LEARNED),
                                         ("test", "test accuracy", PRINTED - IMPACT))),
           arms=_ALL_SIZES, late=True),
    _claim("RG-5.2-a", "section 5.2 and appendix I.3", "With ReLU the volume element behaves as with GELU.",
           mean(_HALF, "half effect 4 across after", "effect with ReLU", "nats for each singular value",
                only_if=(_GELU_RISES,)),
           arms=networks("ResNet-10, ReLU")),
    _claim("RG-I-f", "appendix I.3", "Where the entropy of the output is high, the volume element is large.",
           *_ranks("entropy rank before", "entropy rank after", "in one plane of test images"),
           arms=_ALL_IMAGES, amended=_SAME_ENTROPY("fails")),
    _claim("RG-I-j", "appendix I.3",
           "Between three images of different classes the volume element is large where the entropy is high.",
           *_ranks("entropy rank inside across before", "entropy rank inside across after",
                   "between the three images"),
           arms=_ALL_IMAGES, kind="variant", late=True, amended=_SAME_ENTROPY("holds")),
    own("OWN-8-a", "At the places of the trained boundary training raises the volume element, relative to the "
        "images, by more than between images of one class.",
        _gain(), arms=_ALL_SIZES, amended=_LINES("holds")),
    own("OWN-8-b", "Stage by stage, at the places of the trained boundary training raises the volume element, "
        "relative to the images, by more than within a class.",
        lambda arm: [_gain(int(arm.factors["stage"]))], arms=by_stage,
        asks="contrast of a stage minus that before training > 0"),
    own("OWN-8-c", "Networks on shuffled labels gain less than half of the contrast.",
        mean("half the contrast minus that with shuffled labels: {:+.3f} nats per output",
             half_minus("gain 4", "shuffled gain 4"), "half the gain minus that with shuffled labels",
             only_if=(_learned("shuffled train accuracy", "shuffled labels", _NOT_LEARNED),)),
        arms=true_and_shuffled, amended=_LINES("unclear")),
    own("OWN-8-d", "In networks that have learned their training images, at the places of the trained boundary "
        "training raises the volume element, relative to the images, by more than between images of one class.",
        _gain(only_if=(_TRUE_FITTED,)), arms=networks("5,000 images, new seeds")),
    own("OWN-8-e", "Entropy and volume go together more between images of three classes than between images of one.",
        mean("rank correlation of entropy and log-volume minus that within one class: {:+.2f}",
             minus("entropy rank inside across after", "entropy rank inside alike after"),
             "rank correlation between three classes minus that within one class", ""),
        arms=in_planes, amended=_PLANES_SHARED("holds")),
    own("OWN-8-f", "Trained networks have more contrast at their boundaries than the same networks, untrained, at "
        "boundaries of random linear classifiers of their features.",
        _over_untrained("random"), arms=of_untrained, late=True, amended=_and_lines(_SAME_PLACES("unclear"))),
    own("OWN-8-h", "Trained networks have more contrast at their boundaries than the same networks, untrained, at "
        "boundaries of linear probes of their features.",
        _over_untrained("probe"), arms=of_untrained, late=True, amended=_and_lines(_SAME_PLACES("fails"))),
    own("OWN-8-i", "Behind an untrained network probes of shuffled labels have, over random classifiers, more than "
        "half of the contrast that probes of true labels have over them.", _of_fitting("shuffled"),
        arms=untrained_only),
    own("OWN-8-j", "Random classifiers of whitened features have more than half of it, too.", _of_fitting("whitened"),
        arms=untrained_only),
    own("OWN-8-k", "In an untrained network a photograph dimmed to the contrast of the middle between two "
        "photographs loses more than 70% of the volume that this middle loses.",
        _of_pictures("70% of the effect of the middle minus that of dimmed photographs",
                     lambda t: MOST * t["middle one class before"] - t["dimmed one class before"]),
        arms=of_dimmed(DIMMED, "ResNet-34", "ResNet-10")),
    own("OWN-8-l", "After training, photographs dimmed to the contrast of the middle between two of one class swell "
        "by more than half as much as this middle.",
        _of_pictures("effect of dimmed photographs minus half of that of the middle",
                     lambda t: t["dimmed one class after"] - SHARE * t["middle one class after"], only_if=(_SWELLS,)),
        arms=of_dimmed(TRAINED, "ResNet-10, 5,000 images")),
    own("OWN-8-m", "Brightened to the contrast of the photographs, this middle swells by less than half as much.",
        _of_pictures("half of the effect of the middle minus that of the middle brightened",
                     lambda t: SHARE * t["middle one class after"] - t["brightened one class after"],
                     only_if=(_SWELLS,)),
        arms=of_dimmed(TRAINED, "ResNet-10, 5,000 images")),
    own("OWN-8-n", "After training, the middle between photographs of two classes exceeds dimmed photographs by more "
        "than the middle between two of one class does.",
        _of_pictures("effect of the middle over dimmed photographs, two classes minus one",
                     lambda t: t["middle two classes after"] - t["dimmed two classes after"]
                     - t["middle one class after"] + t["dimmed one class after"]),
        arms=of_dimmed(TRAINED, "ResNet-10, 5,000 images")),
    own("OWN-8-g", "ResNet-34 of 20 epochs have more contrast than ResNet-10 of 40 epochs, which fit their training "
        "images about as well.",
        mean("contrast of the deeper network minus that of the shallower: {:+.3f} nats per output",
             minus("deep contrast 4 after", "contrast 4 after"),
             "contrast of ResNet-34 of 20 epochs minus that of ResNet-10 of 40", only_if=(_AS_FITTED,)), arms=depths,
        amended=_LINES("holds")),
)  # fmt: skip
