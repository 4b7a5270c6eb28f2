"""The claims about networks that learn the Mahalanobis distance, and the rules that judge them.

The paper gives its expectations in words ("closely match", "whitens"), without numbers. Each rule asks one question
of every trial, yes or no, with a threshold fixed here; a claim holds in an arm if the answer is yes for most trials:

    95% Clopper-Pearson interval of the share of trials above one half -> holds, below -> fails, else unclear

All trials count, also those that failed to learn the distance, since the paper analyses all; the text of a finding
adds how many of those that did learn it say yes. MDX-2-a and MDX-2-b ask only the networks that learned the distance.
A network that diverged says no to everything but failing.

How close a match must be is our choice. MDX-1-a and MDX-1-b ask for an error below 1%, which no source names. In ten
dimensions distances vary little, and a network may explain most of their variance and still err by some percent. So
MDX-1-c and MDX-1-d ask for a share of the variance above 95%. This line was written when it was known that networks
of d = 10 miss 1% by 6 to 7% of the mean distance, with a share of about 0.9, and before any trial was counted by it.

Arms are dimensions, each once as the paper ran it, one Gaussian and one sample for all 20 trials ("d = 2"; the
Gaussian is our own draw by the paper's rule), and once with a new Gaussian and a new sample in every trial ("d = 2,
redrawn"; its trial 0 draws what the first arm draws).

When these rules were written, before the committed records, their authors had seen a pilot of d = 2 and d = 10 on the
very Gaussian and trials that the records have, and the redrawn arms in part; nobody had seen d = 100. The thresholds
are round numbers that were not moved to suit the pilot, but a rule written after a look is no prediction.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from book.chapters.mahalanobis import alignment, landscape
from book.claims.rules import Amendment, Arm, Claim, Part, amended, claim, of_study, own
from book.claims.verdicts import LEAST_SEEDS
from book.measures.distances.numbers import by_trial
from book.measures.distances.results import ARMS, weights
from book.measures.tables import Tables, behind
from support.networks.gaussians import gaussian_of, parse

ERROR = 1.0  # percent of the mean distance: the root mean squared error on fresh points is below
OFFSET = 0.05  # standard deviations: half of a network's hyperplanes pass the mean at less
WHITE = 0.05  # relative Frobenius error against the precision is below
CHANCE = 0.05  # at most this share of random rotations of the network's own rows does as well
PAIRED = 0.5  # this share of the units stands in mirrored pairs that act as Abs, at least
MOST = 0.5  # of the trials
EXPLAINED = 0.95  # of the variance of the distances over points of the Gaussian
ALIKE = 0.05  # of a cosine: a smaller difference counts as none, as the other shares above


NETWORKS = ("MD_Abs", "MD_ReLU")
LEARN, CENTRED_AND_WHITE, ON_THE_AXES = "learn the distance", "are centred and whiten", "beat their own rotations"
PAIRED_UP, EXPLAIN = "have half of their units in such pairs", f"explain {EXPLAINED:.0%} of the variance"
MISS, MISS_RELU = "miss it by more than Abs networks do", "miss it by more than ReLU networks do"
Answer = Callable[[pd.DataFrame, str], pd.Series]  # of a table and a network: of each trial, whether it is so
ANSWERS: dict[str, Answer] = {
    LEARN: lambda t, network: t["error", network] < ERROR,
    # the median distance of the mean to the hyperplanes, and the metric that the network pulls back
    CENTRED_AND_WHITE: lambda t, network: (
        (t["centring_mahalanobis", network] < OFFSET) & (t["precision_error", network] < WHITE)
    ),
    # all but a CHANCE of random rotations of the rows are farther from the eigenvectors
    ON_THE_AXES: lambda t, network: t["eigenvector_cosine_own_p", network] <= CHANCE,
    # units in pairs that act as Abs, of d possible pairs
    PAIRED_UP: lambda t, network: t["abs_pairs", network] >= PAIRED * t["dimension", network],
    # the mean squared error on fresh points, against the variance of the distances
    EXPLAIN: lambda t, network: t["test_mse", network] < (1 - EXPLAINED) * variance(t["dimension", network]),
    # larger than that of the other network that started from the same weights, and no match
    MISS: lambda t, network: ~(t["error", network] < ERROR) & ~(t["error", network] <= t["error", "MD_Abs"]),
    MISS_RELU: lambda t, network: ~(t["error", network] < ERROR) & ~(t["error", network] <= t["error", "MD_ReLU"]),
}


def arms(tables: Tables) -> list[Arm]:
    """The dimensions, each with one Gaussian and with a new one in every trial."""
    return [_arm(tables, name, study) for name, study in ARMS.items()]


def _arm(tables: Tables, name: str, study: str) -> Arm:
    plan, table = tables.studies[study], tables.once(by_trial, study)
    _, dimension, redrawn = parse(plan.data)
    factors = {"dimension": str(dimension), "Gaussian": "redrawn" if redrawn else "fixed"}
    return of_study(plan, name, table, factors, runs=behind(table))


def aligned(tables: Tables) -> list[Arm]:
    """The same with what `alignment` measures, a column for each number and network."""
    command = f"python -m book records derive {alignment.TABLE}"
    return [
        replace(arm, table=alignment.table(ARMS[arm.name], tables) if len(arm.table) else arm.table, command=command)
        for arm in arms(tables)
    ]


def variance(d: pd.Series) -> pd.Series:
    """The variance of the Mahalanobis distance of a point of a Gaussian in d dimensions, which is that of a chi.

    >>> [round(float(variance(d)), 3) for d in (2, 10, 100)]
    [0.429, 0.487, 0.499]
    """
    return stats.chi.var(np.asarray(d, float))


def most(network: str, so: str) -> Part:
    """For most trials the answer is yes. so: a key of ANSWERS, the words that follow "12 of 20 Abs networks"."""
    return _most(f"{network.removeprefix('MD_')} networks", so, lambda t: ANSWERS[so](t, network).astype(float))


def most_that_learn(network: str, so: str) -> Part:
    """For most trials in which the network learns the distance the answer is yes; void where none does."""
    name = network.removeprefix("MD_")
    return _most(
        f"{name} networks that learn the distance",
        so,
        lambda t: ANSWERS[so](t, network).astype(float).where(ANSWERS[LEARN](t, network)),
        absent=f"no {name} network learns the distance",
        least=1,
        fixed=True,  # how many further trials would learn it is not known
    )


def _most(who: str, so: str, values: Callable[[pd.DataFrame], pd.Series], **more: Any) -> Part:
    says, asks = f"{{count}} of {{n}} {who} {so}", f"most {who} {so}"
    return Part(says, values, (MOST, math.inf), "of the trials", asks, "share", **more)


# -- is it enough that Adam can reach the exact biases? ------------------------------------------------------------

# Adam moves a weight by about its rate in each step. Every exact network of absolute values has a bias that lies at
# least `landscape.required_move` from where the biases start. A trial is within reach if that is no more than rate x
# steps. With centred inputs exact networks have biases of 0. The rules OWN-4 were written when trials 0 to 19 of the
# redrawn Gaussians were known: out of reach none of 15 learned it, and within reach 7 of 25 did. Trials from 100 on
# judge, once all of a study are recorded.
PARTS = ("within reach", "out of reach")


def trials(tables: Tables, name: str) -> pd.DataFrame:
    """The trials of a study of MD_Abs: "error" in percent of the mean distance, and whether "within reach"."""
    table, study = tables[name], tables.studies[name]
    if not len(table):
        return pd.DataFrame(columns=["error", "within reach", "run", "minutes"])
    within = {}
    for run in tables.runs(study):
        _, bias = weights(run, 0)
        way = landscape.required_move(gaussian_of(run.spec.data, run.spec.seed), bias)
        within[run.spec.seed] = way <= landscape.reach(study.steps, run.spec.rate)
    return table.set_index("seed").assign(**{"within reach": within}).sort_index()


def reach_arms(*studies: str, parts: Sequence[str] = ("",)) -> Callable[[Tables], list[Arm]]:
    """Studies of fresh trials, one for each dimension: all trials, or an arm for each part of PARTS."""
    return lambda tables: [_reach_arm(tables, study, part) for study in studies for part in parts]


def _reach_arm(tables: Tables, study: str, part: str) -> Arm:
    """The trials of a study, judged once all are recorded."""
    plan, table = tables.studies[study], tables.once(trials, study)
    complete = len(table) == plan.seeds
    if part:
        table = table[table["within reach"].astype(bool) == (part == "within reach")]
    name = f"d = {plan.dimension}" + (f", {part}" if part else "")
    factors = {"dimension": str(plan.dimension)} | ({"reach": part} if part else {})
    needed = LEAST_SEEDS if complete else plan.seeds
    return of_study(plan, name, table, factors, runs=behind(table.rename_axis("seed")), needed=needed)


def as_predicted(anywhere: bool = False) -> Callable[[Arm], Sequence[Part]]:
    """In most trials MD_Abs learns the distance if it is within reach, and does not if it is out of reach.

    anywhere: it learns it in either.
    """

    def values(table: pd.DataFrame) -> pd.Series:
        wanted = True if anywhere else table["within reach"].astype(bool)
        return ((table["error"] < ERROR) == wanted).astype(float)

    def parts(arm: Arm) -> Sequence[Part]:
        part = arm.factors.get("reach", "")
        learns = "do not learn" if part == "out of reach" else "learn"
        says = f"{{count}} of {{n}} Abs networks {part and part + ' '}{learns} the distance"
        return [Part(says, values, (0.5, math.inf), "of the trials", estimate="share")]

    return parts


# -- claims -------------------------------------------------------------------------------------------------------

_OWN_ROTATIONS = amended(
    "A network that is no exact solution cannot be compared with such. We compare it with its own rotated rows.",
    "nearer to the eigenvectors than 95% of rotated exact solutions", "mixed", "2026-11-24",
)  # fmt: skip


def _merged(first_verdict: str) -> Amendment:
    reason = "Each network that gives the distance is centred and whitens. So we had counted one fact three times."
    first = "most of all networks are centred (MDX-2), most of all whiten (MDX-3)"
    return amended(reason, first, first_verdict, "2026-11-24")


def _claim(id: str, where: str, says: str, part: Part, **more: Any) -> Claim:
    return claim(id, f"results, {where}", says, part, **{"arms": arms, "source": "oursland2024"} | more)


_CENTRED_AND_WHITE = "Mean Centering Verification and Latent Space Sphericity Test"
CLAIMS = (
    _claim("MDX-1-a", "Overview", "Networks of absolute values learn to give the Mahalanobis distance.",
           most("MD_Abs", LEARN), late=True),
    _claim("MDX-1-b", "Overview", "Networks of ReLUs learn to give the Mahalanobis distance.",
           most("MD_ReLU", LEARN), late=True),
    # another reading of "closely match", beside that of MDX-1-a and -b
    _claim("MDX-1-c", "Overview",
           "Networks of absolute values learn 95% of the variance of the Mahalanobis distance.",
           most("MD_Abs", EXPLAIN), kind="variant", late=True),
    _claim("MDX-1-d", "Overview", "Networks of ReLUs learn 95% of the variance of the Mahalanobis distance.",
           most("MD_ReLU", EXPLAIN), kind="variant", late=True),
    _claim("MDX-2-a", _CENTRED_AND_WHITE,
           "Networks of absolute values that learn the distance are centred and whiten.",
           most_that_learn("MD_Abs", CENTRED_AND_WHITE), replaces=("MDX-3-a",), amended=_merged("mixed")),
    _claim("MDX-2-b", _CENTRED_AND_WHITE, "Networks of ReLUs that learn the distance are centred and whiten.",
           most_that_learn("MD_ReLU", CENTRED_AND_WHITE), replaces=("MDX-3-b",), amended=_merged("fails")),
    _claim("MDX-4-a", "Eigenstructure Recovery",
           "The rows of networks of absolute values are eigenvectors of the covariance.",
           most("MD_Abs", ON_THE_AXES), amended=_OWN_ROTATIONS),
    _claim("MDX-4-b", "Eigenstructure Recovery",
           "The rows of networks of ReLUs, mirrored ones counted once, are eigenvectors of the covariance.",
           most("MD_ReLU", ON_THE_AXES), amended=_OWN_ROTATIONS),
    _claim("MDX-4-c", "Eigenstructure Recovery",
           "One over the squared lengths of the rows of networks of absolute values gives the eigenvalues.",
           _most("Abs networks", ON_THE_AXES, lambda t: (t["eigenvalue p", "MD_Abs"] <= CHANCE).astype(float)),
           arms=aligned, late=True),
    _claim("MDX-5-a", "ReLU Mirrored Weight Detection", "ReLUs form mirrored pairs that act as absolute values.",
           most("MD_ReLU", PAIRED_UP), late=True),
    _claim("MDX-5-b", "ReLU Mirrored Weight Detection",
           "ReLUs that learn the distance form mirrored pairs that act as absolute values.",
           most_that_learn("MD_ReLU", PAIRED_UP), late=True),
    _claim("MDX-6-a", "Model Architectures", "Sigmoids do not learn the distance well.",
           most("MD_Sigmoid", MISS), late=True),
    _claim("MDX-6-b", "Model Architectures", "Sigmoids do worse than ReLUs, too.",
           most("MD_Sigmoid", MISS_RELU), late=True),
    # a variant: of the paper a summary says that Abs and ReLU are equivalent here, and proposes to compare their
    # alignment
    claim("MDX-7-a", "a summary of the paper by others, First Experiments",
          "The rows of networks of absolute values and of ReLUs are aligned equally well with the eigenvectors.",
          Part("mean cosine over that of their own rotations, Abs {excess, MD_Abs:+.3f} - ReLU "
               "{excess, MD_ReLU:+.3f} = {:+.3f}",
               lambda t: t["excess", "MD_Abs"] - t["excess", "MD_ReLU"], (-ALIKE, ALIKE),
               asks=f"cosine over that of own rotations, Abs - ReLU within ±{ALIKE:g} (90% interval)", error=0.10),
          arms=aligned, source="oursland2024", kind="variant", late=True),
    own("OWN-4-a",
        "Networks of absolute values learn the distance if the exact biases are within Adam's reach, and only then.",
        as_predicted(),
        arms=reach_arms("mahalanobis-2-fresh", "mahalanobis-10-fresh", parts=PARTS),
        asks="most learn it within reach, and most do not out of reach"),
    *(own(id, f"With {change} most networks of absolute values learn the distance.",
          as_predicted(anywhere=True), asks="most networks learn it",
          arms=reach_arms(f"mahalanobis-2-{study}", f"mahalanobis-10-{study}"))
      for id, change, study in (("OWN-4-b", "centred inputs", "centred"), ("OWN-4-c", "ten times the rate", "fast"))),
)  # fmt: skip
