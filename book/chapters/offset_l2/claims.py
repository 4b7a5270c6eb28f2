"""The claims of the chapter."""

import math

from book.chapters.offset_l2 import exact
from book.chapters.offset_l2.study import LEAST_TABLE5
from book.claims.judge import LEAST_SEEDS, Claim, Part, amended, claim, formula, own
from book.measures.classifiers.parts import (
    AGREES,
    CATASTROPHE,
    IMPACT,
    PRINTED_ERROR,
    STEADY,
    accuracy,
    as_printed,
    each_network,
    equal,
    in_studies,
    lead,
    no_more_variable,
    recovers,
    steady,
)
from book.measures.classifiers.study import BOTH
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


def centres_stay(name: str) -> Part:
    """The centres of `name` move by less than half of their mutual distance, so that each is nearest to its start."""
    return Part(
        f"the centres of {name} move by {{:.2f}}% of their mutual distance",
        lambda t: t["centres moved", name],
        (-math.inf, 50.0),
        "%",
        f"{name}: moved < 50% of the distance between two centres",
    )


def centres_idle(name: str) -> Part:
    """To put the centres of `name` back to their start costs less than IMPACT points of test accuracy."""
    return Part(
        f"putting the centres of {name} back costs {{:+.2f}} points",
        lambda t: accuracy(t, name) - t["centres back", name],
        (-math.inf, IMPACT),
        "points",
        f"{name}: putting the centres back costs < {IMPACT:g} point",
    )


def _baseline(name: str) -> str:
    return f"{name.split('-')[0]}-Bias"


# the letter of a claim of section 6.4 -> its sentence and its parts, which look at these networks
_SECTION = {
    "a": ("With OffsetL2 the gap between normal and negated variants disappears",
          (equal("ReLU-L2", "ReLU-L2-Neg"), equal("Abs-L2", "Abs-L2-Neg")), L2),
    "b": ("ReLU-L2 avoids the catastrophic failure of ReLU2-Bias",
          (recovers("ReLU-L2", "ReLU2-Bias", baseline="ReLU-Bias"),), ("ReLU-L2", "ReLU2-Bias", "ReLU-Bias")),
    "c": ("Every OffsetL2 network outperforms the baseline of its activation",
          tuple(lead(name, _baseline(name), 0.0) for name in L2), (*L2, *map(_baseline, L2))),
    "d": (f"The SD of every OffsetL2 network is at most {STEADY} points", tuple(map(steady, L2)), L2),
}  # fmt: skip
# 6.4-a to 6.4-d and T5-a ask for raw pixels, as in the code that printed the table, and judge from four seeds on. At
# first 6.4-d asked for an SD of at most 0.14, the largest that is printed: networks that have it pass in no case.
CLAIMS = (
    *(claim(f"LDM-6.4-{letter}{also}", "section 6.4", f"{says}{within}.", *parts,
            arms=in_studies(*dict.fromkeys(networks), studies=(study,), scalings=scalings),
            source="oursland2025", kind=kind, amended=_AMENDED.get(letter + also), least=least)
      for letter, (says, parts, networks) in _SECTION.items()
      for also, within, study, kind, scalings, least in (
          ("", "", "mnist-l2", "paper", ("raw",), LEAST_TABLE5),
          ("-0", _SHORT, "mnist-10k-heads", "variant", BOTH, LEAST_SEEDS))
      if letter + also != "d-0"),
    claim("LDM-6.4-d-0", "section 6.4", f"The SD of every OffsetL2 network is at most that of its baseline{_SHORT}.",
          *(no_more_variable(name, _baseline(name)) for name in L2),
          arms=in_studies(*L2, *dict.fromkeys(map(_baseline, L2)), studies=("mnist-10k-heads",)),
          source="oursland2025", kind="variant", amended=amended(
              "The printed SD is of 50,000 steps and all images. After a tenth of them the baseline is the control.",
              "SD at most 0.14 points", "fails")),
    Claim("LDM-T5-a", "Table 5", "With raw inputs these networks reach the accuracies of Table 5.",
          lambda arm: [as_printed(arm.name, "table5")], each_network(*SIX_BIAS, *L2, study="mnist-l2"),
          source="oursland2025", asks=AGREES, least=LEAST_TABLE5,
          amended=amended(*PRINTED_ERROR, "untested", "2026-11-28")),
    formula("LDM-6.4-e", "section 6.4", "Behind a linear layer OffsetL2 can give the Mahalanobis distances of "
            "several Gaussians.", exact.gives_mahalanobis, "largest error: at most {value:.0e} of the distance",
            "20 random Gaussians in 2 to 20 dimensions, 100 points each", "oursland2025", "04"),
    # written when seeds 0 and 1 of the same runs were known, before the records of mnist-centres, seeds 5 to 9
    *(own(f"OWN-3-{letter}", says, *map(part, L2), arms=in_studies(*L2, studies=("mnist-centres",)))
      for letter, says, part in (
          ("a", "Training leaves the centres of OffsetL2 near the places where they started.", centres_stay),
          ("b", "OffsetL2 networks are as accurate with their centres put back to the start.", centres_idle))),
)  # fmt: skip
