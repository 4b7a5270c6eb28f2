"""The claims of the chapter, and the rules that only it needs."""

import math

import numpy as np

from book.chapters.offset_l2.study import LEAST_TABLE5
from book.chapters.offset_l2.study import STUDIES as OWN
from book.claims.judge import Claim, amended, own
from book.claims.rules import Means
from book.measures.classifiers.claims import EachNetwork, Studies
from book.measures.classifiers.results import Arm
from book.measures.classifiers.rules import (
    CATASTROPHE,
    IMPACT,
    STEADY,
    AsPrinted,
    Equal,
    Every,
    Exceeds,
    NoMoreVariable,
    Recovers,
    Steady,
)
from book.measures.classifiers.study import BOTH, STUDIES
from support.networks.architectures import L2, SIX_BIAS

_SHORT = ", within a tenth of the steps and a sixth of the images"  # of the paper's
_AMENDED = {
    "a-0": amended(
        "Every chapter now judges equality by the 90% interval (two one-sided tests at 5%). Of several parts, one "
        "fails only after Holm's correction. On 2026-11-25 the margin became 0.5 points, as in the other chapters.",
        "within 0.2 points, by the 95% interval, without a correction for two parts",
        "unclear",
        "2026-11-24",
    ),
    "b-0": amended(
        "Where ReLU2-Bias does not fail, there is no failure to avoid. Where its own interval leaves open whether it "
        "fails, the finding is unclear, as with LDM-5.3-a.",
        f"ReLU-L2 - ReLU2-Bias > {CATASTROPHE:g} points, first without the premise that ReLU2-Bias fails, then void "
        "only where its interval excludes a failure",
        "mixed",
        "2026-11-26",
    ),
}


def centres_stay(name: str) -> Means:
    """The centres of `name` move by less than half of their mutual distance, so that each is nearest to its start."""

    def numbers(arm: Arm):
        moved = [record.arrays["mu_moved"].mean() for record in arm.records[name]]
        return {f"the centres of {name} move by {{:.2f}}% of their mutual distance": moved}

    wording = f"{name}: moved < 50% of the distance between two centres"
    return Means(numbers, wording, "%", (-math.inf, 50.0), (name,))


def centres_idle(name: str) -> Means:
    """To put the centres of `name` back to their start costs less than IMPACT points of test accuracy."""

    def numbers(arm: Arm):
        back = np.array([record.arrays["mu_back"][0] for record in arm.records[name]], float)
        return {f"putting the centres of {name} back costs {{:+.2f}} points": arm.accuracy(name) - back}

    wording = f"{name}: putting the centres back costs < {IMPACT:g} point"
    return Means(numbers, wording, "points", (-math.inf, IMPACT), (name,))


def _baseline(name: str) -> str:
    return f"{name.split('-')[0]}-Bias"


# 6.4-a to 6.4-d and T5-a ask for raw pixels, as in the code that printed the table, and judge from four seeds on. At
# first 6.4-d asked for an SD of at most 0.14, the largest that is printed: networks that have it pass in no case.
CLAIMS = (
    *(Claim(f"LDM-6.4-{letter}{also}", "section 6.4", f"{says}{within}.", rule, Studies((study,), scalings),
            source="oursland2025", kind=kind, amended=_AMENDED.get(letter + also), least=least)
      for letter, says, rule in (
          ("a", "With OffsetL2 the gap between normal and negated variants disappears",
           Every((Equal("ReLU-L2", "ReLU-L2-Neg"), Equal("Abs-L2", "Abs-L2-Neg")))),
          ("b", "ReLU-L2 avoids the catastrophic failure of ReLU2-Bias",
           Recovers("ReLU-L2", "ReLU2-Bias", CATASTROPHE, baseline="ReLU-Bias")),
          ("c", "Every OffsetL2 network outperforms the baseline of its activation",
           Every(tuple(Exceeds(name, _baseline(name), 0.0) for name in L2))),
          ("d", f"The SD of every OffsetL2 network is at most {STEADY} points",
           Every(tuple(Steady(name) for name in L2))))
      for also, within, study, kind, scalings, least in (
          ("", "", OWN["mnist-l2"], "paper", ("raw",), LEAST_TABLE5),
          ("-0", _SHORT, STUDIES["mnist-10k-heads"], "variant", BOTH, None))
      if letter + also != "d-0"),
    Claim("LDM-6.4-d-0", "section 6.4", f"The SD of every OffsetL2 network is at most that of its baseline{_SHORT}.",
          Every(tuple(NoMoreVariable(name, _baseline(name)) for name in L2)), Studies((STUDIES["mnist-10k-heads"],)),
          source="oursland2025", kind="variant", amended=amended(
              "The printed SD is of 50,000 steps and all images. After a tenth of them the baseline is the control.",
              "SD at most 0.14 points", "fails")),
    Claim("LDM-T5-a", "Table 5", "With raw inputs these networks reach the accuracies of Table 5.",
          AsPrinted("table5"), EachNetwork(OWN["mnist-l2"], SIX_BIAS + L2, "raw"), source="oursland2025",
          least=LEAST_TABLE5),
    # written when seeds 0 and 1 of the same runs were known, before the records of mnist-centres, seeds 5 to 9
    *(own(f"OWN-3-{letter}", says, Every(tuple(map(rule, L2))), Studies((OWN["mnist-centres"],)))
      for letter, says, rule in (
          ("a", "Training leaves the centres of OffsetL2 near the places where they started.", centres_stay),
          ("b", "OffsetL2 networks are as accurate with their centres put back to the start.", centres_idle))),
)  # fmt: skip
