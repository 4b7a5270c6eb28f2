"""The claims about self-supervised encoders, and their rules.

The boundary is that of a linear probe on the features, logistic regression. What is measured is said in
`evidence.residual.results`; numbers are in nats per output, that is, per singular value that a measure uses. The unit
is the encoder, or a pair of encoders with one seed. An encoder counts if its probe classifies test images better than
the probe of the same encoder before training, by 15 points at least; a claim is void if fewer than five count. Both
objectives have the same encoder, data, views, batch, head, optimiser and length, and normalised inputs.

The paper measured Barlow Twins with all singular values and SimCLR with the 10 largest alone, both on inputs that
were not normalised. Barlow Twins was trained on normalised ones. Batches differed too. Its claims as it measured
them, on inputs that are normalised:

    RG-5.3-a  Barlow Twins: the effect by all singular values is positive
    RG-5.3-b  SimCLR: the effect by the 10 largest is negative. Appendix I.4 says that the volume element dips there,
              section 5.3 that there is no clear pattern of expansion. One arm is trained without normalisation, as
              in the paper
    RG-5.3-c  its explanation: measured on the unit sphere on which SimCLR compares codes, the effect is positive;
              asked where RG-5.3-b holds

Of our own, one arm for each measure: the features by all singular values and by the 10 largest, behind the head by
both, and on the unit sphere before and behind the head. The arms show whether removing any of these differences, or
adding it to both objectives, changes the sign. An arm is decided after Holm's correction over the six measures:

    OWN-9-a   effect of Barlow Twins minus that of SimCLR: as the paper asks, boundary against ends
    OWN-9-b   contrast, across a boundary minus in one class, trained minus untrained, of Barlow Twins minus that of
              SimCLR
    OWN-9-c   Barlow Twins: that contrast is positive, by all singular values; and OWN-9-d of SimCLR. What training
              raises is the volume over that at the images; the volume itself falls at all of these places
    OWN-9-e   the probe's accuracy falls on test images that are not normalised, which is how the paper measured 70%
              on test and 84% on training images: normalised minus not, positive; one arm for both objectives
    OWN-9-f   on the digits, the effect by all singular values is positive; an arm for each objective
    OWN-9-g   on the digits, the contrast minus that before training is positive; an arm for each objective
    OWN-9-h   on the digits, that number of a network trained with labels is larger; paired by seed, an arm for each
              objective
    OWN-9-i   on CIFAR-10, measured on images that are not normalised, the effect is negative at the boundary that
              the probe has on such images, if 8 pairs or more are found there; asked where the effect on normalised
              images is positive; an arm for each objective. So leaving out normalisation changes the sign
    OWN-9-j   at the same places, the effect without normalisation minus that with it is negative; an arm for each
              objective
    OWN-9-k   the effect of SimCLR is positive where one thing is as in the paper: an arm trained and measured without
              normalisation, and one with half the batch, which is the paper's ratio of its two batches
    OWN-9-l   contrast after training minus that of the encoder before training, each at boundaries of its own, paired
              by seed; an arm for each objective, on CIFAR-10 and on the digits. Untrained encoders have boundaries of
              random classifiers and of probes (`own_boundaries`), and the contrast is larger than with either. A
              boundary lies where features change, and this alone could give a contrast. OWN-9-c, -d and -g compare
              both at the boundary of the trained encoder. Written when the contrasts of all trained encoders were
              known. The first rule asked it of probes alone, at any place of the line and over the mean of the ends;
              its numbers were known (+0.06, +0.06, +0.06 and +0.02) when this one was written
    OWN-9-m   the same of networks that learn the digits with labels. It was an arm of OWN-9-l (+0.63)

When the rules up to OWN-9-e were written no encoder had been trained. Later, before the records, one was trained with
Barlow Twins for 4 epochs on 10,000 images, for its probe's accuracy alone: 44% of 1,000 test images, untrained 31%.
OWN-9-f to OWN-9-h were written before their records, after two trials. In the first, seed 0 of each objective was
trained for 4 and for 12 epochs; the number of epochs was then chosen by the accuracy of the probe. The second was
this study with 12 pairs a network, of which seeds 0 to 2 and 5 to 7 were trained. Most encoders had fewer than 8
pairs, so none of them could be judged. In the mean of the others the effect was +0.63 with labels, and +0.08 (Barlow
Twins, one encoder) and +0.14 (SimCLR, three) without. The study now has 64 pairs and fresh seeds; no rule changed.

OWN-9-i and OWN-9-j were written when nine encoders of the first study were recorded, and one of each objective had
been measured without normalisation, too. There the effect was -0.04 and -0.03 at the boundary of the probe on such
images, and at the same places it fell from +0.15 to -0.08 and from +0.19 to -0.09. The two claims have a study of
their own with fresh seeds. Its encoders are narrower and trained for half as long, to save time. When one of them was
recorded, OWN-9-i got its least number of pairs; that encoder has 12.

OWN-9-k and the arm of RG-5.3-b without normalisation were written when all of these were known, and before any of
their encoders was trained. The effects of SimCLR at width 8 were +0.09 by all singular values and by the 10 largest.
"""

from dataclasses import replace
from functools import partial

import numpy as np

from book.chapters.self_supervised.derived import TABLE
from book.chapters.self_supervised.study import STUDIES
from book.claims import judge as claims
from book.claims.judge import Arms, Records, own
from book.claims.rules import BELOW_0
from book.measures.residual import results
from book.measures.residual.own_boundaries import gains
from book.measures.residual.results import (
    ACROSS,
    AFTER,
    FEATURES,
    LEAST_PAIRS,
    RAW_BOUNDARY,
    SAME_PLACES,
    ResidualArm,
)
from book.measures.residual.rules import ByMeasure, Numbers, Signed, each
from book.records.store import Record
from support.training.residual.volumes import MEASURES

BEATS = 15.0  # points by which the probe of a trained encoder must beat that of the untrained one
STUDY = "self-supervised"
OBJECTIVES = {"Barlow Twins": "barlow", "SimCLR": "simclr"}
AS_IN_THE_PAPER = {"without normalisation": f"{STUDY}-unnormalised", "half the batch": f"{STUDY}-half-batch"}
IN_WORDS = {  # measures, in words
    "features": "features",
    "top": "features, 10 values",
    "sphere": "features on the sphere",
    "head": "behind the head",
    "head_top": "behind the head, 10 values",
    "head_sphere": "behind the head, on the sphere",
}


def probe_gain(run: Record) -> float:
    """By how many points the probe of the trained encoder beats that of the untrained one, on test images."""
    before, after = run.arrays["probe_test_accuracy"]
    return float(after - before)


def counted(arm: ResidualArm, objective: str) -> dict:
    """The encoders whose probe beats that of the untrained encoder by BEATS points, by seed."""
    return {seed: run for seed, run in arm.of(objective).items() if probe_gain(run) >= BEATS}


def effect_of(run, measure: str) -> float:
    """Boundary minus ends, after training."""
    return results.measured_effects(run)[AFTER, MEASURES.index(measure), ACROSS]


def contrast_of(run, measure: str) -> float:
    """Across a boundary minus in one class, trained minus untrained."""
    return results.learned_contrast(results.measured_effects(run))[MEASURES.index(measure)]


def of_arm(arm: ResidualArm) -> dict:
    """The encoders of the arm's objective that count, by seed."""
    return counted(arm, arm.objective)


def effect(measure: str = "features"):
    """The effect of every encoder: RG-5.3-a to RG-5.3-c, OWN-9-f, and the premise of OWN-9-i."""
    sentence = f"effect, {IN_WORDS[measure]}: {{:+.3f}} nats per singular value"
    return each(lambda run: effect_of(run, measure), sentence, among=of_arm)


# of every encoder, in OWN-9-c, OWN-9-d and OWN-9-g
CONTRAST = each(
    lambda run: contrast_of(run, "features"),
    "contrast minus that before training: {:+.3f} nats per output",
    among=of_arm,
)


def difference(arm: ResidualArm, of, what: str) -> Numbers:
    """Barlow Twins minus SimCLR, in OWN-9-a and OWN-9-b; paired by seed, both encoders must count."""
    barlow, simclr = counted(arm, "barlow"), counted(arm, "simclr")
    found = [of(barlow[s], arm.measure) - of(simclr[s], arm.measure) for s in barlow if s in simclr]
    return {f"{what} of Barlow Twins minus that of SimCLR: {{:+.3f}} nats per singular value": found}


def falls_if_not_normalised(arm: ResidualArm) -> Numbers:
    """What a probe loses without normalisation, OWN-9-e; the mean of both objectives for each seed."""
    both = [counted(arm, objective) for objective in ("barlow", "simclr")]

    def fall(run) -> float:
        return float(run.arrays["probe_test_accuracy"][1] - run.arrays["probe_raw_accuracy"][1])

    found = [sum(fall(runs[s]) for runs in both) / len(both) for s in both[0] if s in both[1]]
    return {"test accuracy of the probe minus that without normalisation: {:+.1f} points": found}


def number_of_raw_pairs(run: Record) -> int:
    """The number of pairs across the boundary that was found without normalisation, with log-volumes there."""
    volume = run.arrays["raw_measure"][AFTER, FEATURES, RAW_BOUNDARY, ACROSS]
    return int(np.isfinite(volume).all(-1).sum())


def with_raw_pairs(arm: ResidualArm) -> dict:
    """The encoders that count and have enough pairs across the boundary that was found without normalisation."""
    return {s: run for s, run in of_arm(arm).items() if number_of_raw_pairs(run) >= LEAST_PAIRS}


RAW_EFFECT = each(
    lambda run: results.raw_effects(run)[AFTER, FEATURES, RAW_BOUNDARY, ACROSS],
    "effect without normalisation: {:+.3f} nats per output",
    among=with_raw_pairs,
)
RAW_DIFFERENCE = each(
    lambda run: results.raw_effects(run)[AFTER, FEATURES, SAME_PLACES, ACROSS] - effect_of(run, "features"),
    "effect without normalisation minus that with it: {:+.3f} nats per output",
    among=of_arm,
)


def more_with_labels(arm: ResidualArm) -> Numbers:
    """What labels add to the gain in contrast, OWN-9-h; paired by seed."""
    without, labelled = of_arm(arm), arm.of("supervised")
    found = [
        contrast_of(labelled[s], "features") - contrast_of(without[s], "features") for s in without if s in labelled
    ]
    return {f"gain in contrast with labels minus that of {arm.name}: {{:+.3f}} nats per output": found}


def over_untrained(arm: ResidualArm) -> Numbers:
    """OWN-9-l and OWN-9-m; paired by seed. Networks with labels have no probe, and their own boundary."""
    trained = arm.of() if arm.objective == "supervised" else of_arm(arm)
    return {
        f"contrast minus that of the untrained encoder at {words}: {{:+.3f}} nats per output": gains(
            trained, TABLE, arm.study.name, classifier
        )["interpolated"].to_numpy()
        for classifier, words in (("random", "random boundaries"), ("probe", "boundaries of probes"))
    }


def encoders(
    records: Records, objective: str = "barlow", name: str = "ResNet-10", study: str = STUDY
) -> list[ResidualArm]:
    """A study, of which claims on one objective ask that one."""
    return [replace(records.once(results.arm, name, STUDIES[study], "gelu"), objective=objective)]


def by_measure(records: Records) -> list[ResidualArm]:
    """An arm for each of the measures."""
    (whole,) = encoders(records)
    return [replace(whole, name=IN_WORDS[name], factor="measure", measure=name) for name in MEASURES]


def by_objective(records: Records, name: str, study: str) -> list[ResidualArm]:
    """A study, an arm for each objective."""
    whole = records.once(results.arm, name, STUDIES[study], "gelu")
    return [replace(whole, name=name, factor="objective", objective=kind) for name, kind in OBJECTIVES.items()]


def as_in_the_paper(records: Records, *names: str) -> list[ResidualArm]:
    """SimCLR with one thing as in the paper, an arm for each."""
    return [arm for name in names for arm in encoders(records, "simclr", name, AS_IN_THE_PAPER[name])]


def of_any_size(records: Records, objective: str) -> list[ResidualArm]:
    """The study, and that of the paper's size."""
    return [*encoders(records, objective), *encoders(records, objective, "ResNet-34, full size", f"{STUDY}-full")]


def at_own_boundaries(records: Records) -> list[ResidualArm]:
    """The encoders of OWN-9-l."""
    on_digits = [replace(arm, name=f"{arm.name}, digits") for arm in digits(records)]
    return [*by_objective(records, "ResNet-10", STUDY), *on_digits]


def digits_with_labels(records: Records) -> list[ResidualArm]:
    """The networks of OWN-9-m."""
    return [replace(digits(records)[0], name="labels, digits", objective="supervised")]


digits = partial(by_objective, name="digits", study=f"{STUDY}-digits")
raw = partial(by_objective, name="ResNet-10", study=f"{STUDY}-raw")
ABSENT = (
    f"too few encoders count: {LEAST_PAIRS} pairs, and a probe {BEATS:g} points over that of the untrained encoder"
)
_rule = partial(Signed, unit="nats per singular value", absent=ABSENT)
_DIPS = _rule(effect("top"), "effect of SimCLR, 10 values", accepts=BELOW_0)
_PREMISE = replace(_DIPS, absent="SimCLR does not dip")
_RISES = _rule(
    effect(),
    "effect with normalisation",
    absent="the effect with normalisation is not clearly positive",
)
_by_measure = partial(ByMeasure, unit="nats per singular value", absent=ABSENT)
_without = partial(_rule, accepts=BELOW_0, unit="nats per output")
_BARLOW, _SIMCLR = (Arms(partial(encoders, objective=objective)) for objective in OBJECTIVES.values())
_OVER_UNTRAINED = Signed(
    over_untrained,
    "contrast minus that of the untrained encoder at its own boundary, of random classifiers and of probes,",
    absent="too few encoders count before and after training",
)
_SAME_PLACES = partial(
    claims.amended,
    "Many boundaries of the untrained encoders lay close to one image of the line, mostly the one with the larger "
    "volume. So a difference between the two images counted as contrast. Now the boundaries before training and "
    "after it lie in the middle half of the line, and the volume is compared with the straight line between both "
    "ends. Random classifiers are asked, too. Networks with labels, which have no probe, were an arm of OWN-9-l.",
    "contrast over the mean of the ends, at boundaries of ten-class probes at any place of the line",
    date="2026-11-27",
)
_claim = partial(claims.Claim, source="zavatoneveth2025")
_HOLM = partial(
    claims.amended,
    "The six measures are six looks at the same encoders, and each of them alone could decide the claim. Where the "
    "two methods do not differ, one of six 95% intervals excludes zero by chance in more than 5% of such studies. So "
    "a measure now decides after Holm's correction over all six.",
    "each measure decided by its own 95% interval",
    date="2026-11-27",
)
CLAIMS = (
    _claim("RG-5.3-a", "section 5.3 and appendix I.4",
           "Barlow Twins expands areas near the decision boundaries of a linear probe.",
           _rule(effect(), "effect of Barlow Twins"), Arms(partial(of_any_size, objective="barlow"))),
    _claim("RG-5.3-b", "appendix I.4", "With SimCLR the volume element dips at the boundaries of a linear probe.",
           _DIPS, Arms(lambda records: [
               *of_any_size(records, "simclr"), *as_in_the_paper(records, "without normalisation")]),
           contradiction=lambda: "section 5.3 says that no clear pattern is visible, appendix I.4 that it dips"),
    _claim("RG-5.3-c", "section 5.3 and appendix I.4",
           "SimCLR differs because its codes lie on a sphere, whose metric should be pulled back.",
           _rule(effect("head_sphere"), "effect of SimCLR on the sphere", premises=(_PREMISE,)), _SIMCLR),
    own("OWN-9-a", "Barlow Twins magnifies a probe's boundaries more than SimCLR does.",
        _by_measure(partial(difference, of=effect_of, what="effect"), "effect of Barlow Twins minus SimCLR"),
        Arms(by_measure), amended=_HOLM("mixed")),
    own("OWN-9-b",
        "Barlow Twins magnifies a boundary more than SimCLR, beyond what both do in a class and before training.",
        _by_measure(partial(difference, of=contrast_of, what="contrast"), "contrast of Barlow Twins minus SimCLR"),
        Arms(by_measure), amended=_HOLM("unclear")),
    own("OWN-9-c", "At the places of its probe's boundary Barlow Twins raises the volume element, relative to the "
        "images, by more than within a class.",
        _rule(CONTRAST, "contrast minus that before training", unit="nats per output"), _BARLOW),
    own("OWN-9-d", "At the places of its probe's boundary SimCLR raises the volume element, relative to the images, "
        "by more than within a class.",
        _rule(CONTRAST, "contrast minus that before training", unit="nats per output"), _SIMCLR),
    own("OWN-9-e", "A probe loses accuracy on test images that are not normalised.",
        _rule(falls_if_not_normalised, "normalised minus not", unit="points"), _BARLOW),
    own("OWN-9-f", "On the digits the volume element is larger at a probe's boundary than at the images.",
        _rule(effect(), "effect"), Arms(digits)),
    own("OWN-9-g",
        "On the digits, at the places of a probe's boundary, training raises the volume element, relative to the "
        "images, by more than within a class.",
        _rule(CONTRAST, "contrast minus that before training", unit="nats per output"),
        Arms(digits)),
    own("OWN-9-h", "On the digits the contrast grows more with labels than without.",
        _rule(more_with_labels, "gain in contrast with labels minus without", unit="nats per output"), Arms(digits)),
    own("OWN-9-i",
        "On CIFAR-10, without normalisation, the volume element is smaller at a probe's boundary than at the images.",
        _without(RAW_EFFECT, "effect without normalisation", premises=(_RISES,)), Arms(raw)),
    own("OWN-9-j", "On CIFAR-10 leaving out normalisation lowers the effect at the same places.",
        _without(RAW_DIFFERENCE, "effect without normalisation minus that with it"), Arms(raw)),
    own("OWN-9-k", "After SimCLR the volume element is larger at a probe's boundary than at the images, also without "
        "normalisation in training or with half the batch.",
        _rule(effect(), "effect of SimCLR"), Arms(lambda records: as_in_the_paper(records, *AS_IN_THE_PAPER))),
    own("OWN-9-l", "Encoders have more contrast at the boundary of their probe than they had before training at "
        "boundaries of their own.", _OVER_UNTRAINED, Arms(at_own_boundaries), late=True,
        amended=_SAME_PLACES("holds")),
    own("OWN-9-m", "Networks that learn the digits with labels have more contrast at their boundary than they had "
        "before training at boundaries of their own.", _OVER_UNTRAINED, Arms(digits_with_labels), late=True,
        amended=_SAME_PLACES("holds")),
)  # fmt: skip
