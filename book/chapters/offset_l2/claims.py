"""The claims of the chapter."""

import math

import pandas as pd

from book.chapters.offset_l2 import exact
from book.chapters.offset_l2.study import LEAST_TABLE5
from book.chapters.offset_l2.volume_control import ACTIVATIONS, LOGDET, STEPS, VOLUME
from book.claims.rules import ABOVE_0, BELOW_0, Arm, Claim, Part, amended, claim, formula, own
from book.claims.verdicts import LEAST_SEEDS
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
from book.measures.tables import Tables
from support.networks.architectures import L2, SIX_BIAS

HEADS, FOLDS = "offset-l2-heads", 15  # a derived table, and the splits behind each of its rows
HALF = 50.0  # percent of the way to the next class mean, beyond which a centre is nearer to that one
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


def forms(tables: Tables) -> list[Arm]:
    """Heads with a weight for each unit, by activation and by what they make of the distance."""
    return [
        _volume_arm(tables, f"{activation}, {form}", activation, {"activation": activation, "distance": form}, heads)
        for activation in ACTIVATIONS
        for form, heads in (
            ("plain", ("OffsetL2", f"OffsetL2{LOGDET}")),
            ("squared", ("squared", f"squared{LOGDET}")),
        )
    ]


def activations(tables: Tables) -> list[Arm]:
    """OffsetL2, the same with equal weights, and the harmonic head, by activation."""
    heads = ("OffsetL2", "OffsetL2, equal weights", "harmonic")
    return [_volume_arm(tables, name, name, {"activation": name}, heads) for name in ACTIVATIONS]


def _volume_arm(tables: Tables, name: str, activation: str, factors: dict[str, str], heads: tuple[str, ...]) -> Arm:
    """A row for each seed; columns are (measure, head), where the pair of `forms` is "without" and "with"."""
    rows = tables.derived(VOLUME, activation=activation)
    table = pd.DataFrame()
    if len(rows):
        table = rows[rows["head"].isin(heads)].pivot(
            index="seed", columns="head", values=["mismatch", "equal", "offset"]
        )
        if len(heads) == 2:
            table = table.rename(columns=dict(zip(heads, ("without", "with"), strict=True)), level=1)
    how = f"digits, {STEPS:,} full-batch steps of Adam"
    return Arm(name, table, factors, "digits", how, f"python -m book records derive {VOLUME}")


def other_tasks(tables: Tables) -> list[Arm]:
    """Small tasks; a row with OffsetL2 minus a linear head behind the same encoder, and half of its interval."""
    made = []
    for task in ("breast cancer", "wine", "digits read row by row"):
        rows = tables.derived(HEADS, task=task)
        table = pd.DataFrame()
        if len(rows):
            of = rows.set_index("head")
            gap = {"points": of["points"], "half": (of["95% high"] - of["95% low"]) / 2}
            table = pd.DataFrame({(name, head): [x] for name, by in gap.items() for head, x in by.items()})
        how, command = f"{task}: 3 repetitions of 5 folds", f"python -m book records derive {HEADS}"
        made.append(Arm(task, table, {"task": task}, task, how, command, n=FOLDS if len(rows) else 0, shared=0.25))
    return made


def ahead_of_linear(head: str) -> Part:
    """OffsetL2 is more accurate than a linear head, by the kept interval of the difference."""
    return Part(
        f"{head} - linear = {{:+.2f}} points",
        lambda t: t[[("points", head), ("half", head)]],
        unit="points",
        asks=f"{head} - linear > 0 points",
        estimate="recorded",
        how={"df": FOLDS - 1},
        least=1,
        fixed=True,  # splits of the same data
    )


def _misfit(t: pd.DataFrame, head: str) -> pd.Series:
    return t["mismatch", head] - t["equal", head]


def fits(head: str, accepts: tuple[float, float]) -> Part:
    """The weights of a head are nearer to the precisions of their class than equal weights are, or farther."""
    return Part(
        f"{head} the log-determinant: mismatch of the weights - of equal ones = {{:+.3f}} nats",
        lambda t: _misfit(t, head),
        accepts,
        "nats",
        f"{head} the log-determinant: mismatch {'<' if accepts == BELOW_0 else '>'} that of equal weights",
    )


def near(head: str, accepts: tuple[float, float]) -> Part:
    """The centres of a head lie within half of the way from their class mean to the next one, or beyond it."""
    return Part(
        f"{head}: centres at {{:.0f}}% of the way from their class mean to the next",
        lambda t: t["offset", head],
        accepts,
        "%",
        f"{head}: {'<' if accepts[1] == HALF else '>'} {HALF:g}% of the way to the next class mean",
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
    claim("LDM-S-b", "a summary of the paper by others, Next Checks", "OffsetL2 outperforms a linear head on tables "
          "and sequences, too.", ahead_of_linear("OffsetL2"), ahead_of_linear("OffsetL2, paper"), arms=other_tasks,
          source="oursland2025", kind="variant", late=True),
    formula("LDM-6.4-g", "Table 4", "An RBF unit depends on its input through OffsetL2's distance alone, and falls "
            "with it, so both put points and classes in one order.", exact.same_distance_as_rbf,
            "OffsetL2 and the root of -2 log RBF differ by at most {value:.0e}; the orders agree in all cases",
            "20 random layers of 5 classes in 2 to 20 dimensions, 100 points each", "oursland2025", "04"),
    formula("LDM-6.4-e", "section 6.4", "Behind a linear layer OffsetL2 can give the Mahalanobis distances of "
            "several Gaussians.", exact.gives_mahalanobis, "largest error: at most {value:.0e} of the distance",
            "20 random Gaussians in 2 to 20 dimensions, 100 points each", "oursland2025", "04"),
    # written when seeds 0 and 1 of the same runs were known, before the records of mnist-centres, seeds 5 to 9
    *(own(f"OWN-3-{letter}", says, *map(part, L2), arms=in_studies(*L2, studies=("mnist-centres",)))
      for letter, says, part in (
          ("a", "Training leaves the centres of OffsetL2 near the places where they started.", centres_stay),
          ("b", "OffsetL2 networks are as accurate with their centres put back to the start.", centres_idle))),
    # Oursland (2512.24780) derives that with a softmax over distances gradient descent is an implicit EM, and
    # (2601.06478, without labels) that it collapses without a term like the log-determinant of a Gaussian mixture. So
    # with the term a head is a density, and its weights should be the precisions of its class. Written after a trial
    # of the code on seeds 900 and 901, with 2,000 steps. In it the term lowered the mismatch by 0.14 nats at most.
    # OffsetL2's centres were at 127 to 174% of the way, and harmonic ones at 10 to 11%. The head with equal weights
    # had not been run.
    own("OWN-3-c", "With a log-determinant the weights of a distance head fit the precisions of the hidden units in "
        "their class better than without it, and better than equal weights.",
        fits("with", BELOW_0),
        Part("with the log-determinant - without: mismatch over that of equal weights {:+.3f} nats",
             lambda t: _misfit(t, "with") - _misfit(t, "without"), BELOW_0, "nats",
             "with the log-determinant < without: mismatch over that of equal weights"),
        arms=forms),
    own("OWN-3-d", "Without a log-determinant they fit worse than equal weights.", fits("without", ABOVE_0),
        arms=forms),
    own("OWN-3-e", "The centres of a harmonic head lie nearer to the mean of their class than half of the way to the "
        "next one, and those of OffsetL2 do not.",
        near("harmonic", (-math.inf, HALF)), near("OffsetL2", (HALF, math.inf)), arms=activations),
    own("OWN-3-f", "Equal weights, as a harmonic head has them, do not bring the centres of OffsetL2 so near.",
        near("OffsetL2, equal weights", (HALF, math.inf)), arms=activations),
)  # fmt: skip
