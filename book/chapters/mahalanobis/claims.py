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
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
from scipy import stats

from book.chapters.mahalanobis import alignment, reach
from book.claims.judge import Amendment, Arm, Part, amended, claim, own
from book.measures.distances.numbers import by_trial
from book.measures.distances.results import ARMS
from book.measures.tables import Tables
from support.networks.gaussians import parse

ERROR = 1.0  # percent of the mean distance: the root mean squared error on fresh points is below
OFFSET = 0.05  # standard deviations: half of a network's hyperplanes pass the mean at less
WHITE = 0.05  # relative Frobenius error against the precision is below
CHANCE = 0.05  # at most this share of random rotations of the network's own rows does as well
PAIRED = 0.5  # this share of the units stands in mirrored pairs that act as Abs, at least
MOST = 0.5  # of the trials
EXPLAINED = 0.95  # of the variance of the distances over points of the Gaussian
ALIKE = 0.05  # of a cosine: a smaller difference counts as none, as the other shares above


# -- arms and parts -----------------------------------------------------------------------------------------------


def arms(tables: Tables) -> list[Arm]:
    """The dimensions, each with one Gaussian and with a new one in every trial."""
    return [_arm(tables, name, study) for name, study in ARMS.items()]


def _arm(tables: Tables, name: str, study: str) -> Arm:
    plan, table = tables.studies[study], tables.once(by_trial, study)
    _, dimension, redrawn = parse(plan.data)
    factors = {"dimension": str(dimension), "Gaussian": "redrawn" if redrawn else "fixed"}
    return Arm(name, table, factors, f"study {study}", plan.protocol, f"python -m book sweep {study}", runs_of(table))


def aligned(tables: Tables) -> list[Arm]:
    """The same with what `alignment` measures, a column for each number and network."""
    command = f"python -m book records derive {alignment.TABLE}"
    return [
        replace(arm, table=alignment.table(ARMS[arm.name]) if len(arm.table) else arm.table, command=command)
        for arm in arms(tables)
    ]


def runs_of(table: pd.DataFrame) -> pd.DataFrame:
    """The records behind a table by trial: "seed", "run", "minutes"."""
    if not len(table):
        return pd.DataFrame(columns=["seed", "run", "minutes"])
    return table[["run", "minutes"]].stack(level=1, future_stack=True).droplevel(1).reset_index()


Answer = Callable[[pd.DataFrame], pd.Series]  # of each trial, whether it is so


def learns(network: str) -> Answer:
    """The output is the distance: its error on fresh points is below ERROR."""
    return lambda t: t["error", network] < ERROR


def variance(d: pd.Series) -> pd.Series:
    """The variance of the Mahalanobis distance of a point of a Gaussian in d dimensions, which is that of a chi.

    >>> [round(float(variance(d)), 3) for d in (2, 10, 100)]
    [0.429, 0.488, 0.499]
    """
    return stats.chi.var(np.asarray(d, float))


def explains(network: str) -> Answer:
    """The mean squared error on fresh points is below 1 - EXPLAINED of the variance of the distances."""
    return lambda t: t["test_mse", network] < (1 - EXPLAINED) * variance(t["dimension", network])


def finds_eigenvalues(network: str) -> Answer:
    """One over the squared row lengths is nearer to the eigenvalues than for all but a CHANCE of rotations."""
    return lambda t: t["eigenvalue p", network] <= CHANCE


def centred_and_white(network: str) -> Answer:
    """The median distance of the mean to the hyperplanes is below OFFSET standard deviations, and the metric that the
    network pulls back is the precision."""
    return lambda t: (t["centring_mahalanobis", network] < OFFSET) & (t["precision_error", network] < WHITE)


def finds_eigenvectors(network: str) -> Answer:
    """The rows are nearer to the eigenvectors than all but a CHANCE of random rotations of the same rows."""
    return lambda t: t["eigenvector_cosine_own_p", network] <= CHANCE


def pairs_up(network: str) -> Answer:
    """At least PAIRED of the units stand in pairs that act as Abs, of d possible ones."""
    return lambda t: t["abs_pairs", network] >= PAIRED * t["dimension", network]


def misses(network: str, other: str = "MD_Abs") -> Answer:
    """The error is not below ERROR, and it is larger than that of the other, which started from the same weights."""
    return lambda t: ~(t["error", network] < ERROR) & ~(t["error", network] <= t["error", other])


def most(network: str, answer: Callable[[str], Answer], so: str) -> Part:
    """For most trials the answer is yes. so: the words that follow "12 of 20 Abs networks"."""
    networks, says_yes = f"{network.removeprefix('MD_')} networks", answer(network)
    says, asks = f"{{count}} of {{n}} {networks} {so}", f"most {networks} {so}"
    return Part(says, lambda t: says_yes(t).astype(float), (MOST, math.inf), "of the trials", asks, "share")


def most_that_learn(network: str, answer: Callable[[str], Answer], so: str) -> Part:
    """For most trials in which the network learns the distance the answer is yes; void where none does."""
    who = f"{network.removeprefix('MD_')} networks that learn the distance"
    learned, says_yes = learns(network), answer(network)
    return Part(
        f"{{count}} of {{n}} {who} {so}",
        lambda t: says_yes(t).astype(float).where(learned(t)),
        (MOST, math.inf),
        "of the trials",
        f"most {who} {so}",
        "share",
        absent=f"no {network.removeprefix('MD_')} network learns the distance",
        least=1,
        fixed=True,  # how many further trials would learn it is not known
    )


_ALL = "results, Overview"
_CENTRED_AND_WHITE = "results, Mean Centering Verification and Latent Space Sphericity Test"
_OWN_ROTATIONS = amended(
    "A network that is no exact solution cannot be compared with such. We compare it with its own rotated rows.",
    "nearer to the eigenvectors than 95% of rotated exact solutions", "mixed", "2026-11-24",
)  # fmt: skip


def _merged(first_verdict: str) -> Amendment:
    reason = "Each network that gives the distance is centred and whitens. So we had counted one fact three times."
    first = "most of all networks are centred (MDX-2), most of all whiten (MDX-3)"
    return amended(reason, first, first_verdict, "2026-11-24")


_claim = partial(claim, arms=arms, source="oursland2024")
CLAIMS = (
    _claim("MDX-1-a", _ALL, "Networks of absolute values learn to give the Mahalanobis distance.",
           most("MD_Abs", learns, "learn the distance"), late=True),
    _claim("MDX-1-b", _ALL, "Networks of ReLUs learn to give the Mahalanobis distance.",
           most("MD_ReLU", learns, "learn the distance"), late=True),
    # another reading of "closely match", beside that of MDX-1-a and -b
    _claim("MDX-1-c", _ALL, "Networks of absolute values learn 95% of the variance of the Mahalanobis distance.",
           most("MD_Abs", explains, "explain 95% of the variance"), kind="variant", late=True),
    _claim("MDX-1-d", _ALL, "Networks of ReLUs learn 95% of the variance of the Mahalanobis distance.",
           most("MD_ReLU", explains, "explain 95% of the variance"), kind="variant", late=True),
    _claim("MDX-2-a", _CENTRED_AND_WHITE,
           "Networks of absolute values that learn the distance are centred and whiten.",
           most_that_learn("MD_Abs", centred_and_white, "are centred and whiten"), replaces=("MDX-3-a",),
           amended=_merged("mixed")),
    _claim("MDX-2-b", _CENTRED_AND_WHITE, "Networks of ReLUs that learn the distance are centred and whiten.",
           most_that_learn("MD_ReLU", centred_and_white, "are centred and whiten"), replaces=("MDX-3-b",),
           amended=_merged("fails")),
    _claim("MDX-4-a", "results, Eigenstructure Recovery",
           "The rows of networks of absolute values are eigenvectors of the covariance.",
           most("MD_Abs", finds_eigenvectors, "beat their own rotations"), amended=_OWN_ROTATIONS),
    _claim("MDX-4-b", "results, Eigenstructure Recovery",
           "The rows of networks of ReLUs, mirrored ones counted once, are eigenvectors of the covariance.",
           most("MD_ReLU", finds_eigenvectors, "beat their own rotations"), amended=_OWN_ROTATIONS),
    _claim("MDX-4-c", "results, Eigenstructure Recovery",
           "One over the squared lengths of the rows of networks of absolute values gives the eigenvalues.",
           most("MD_Abs", finds_eigenvalues, "beat their own rotations"), arms=aligned, late=True),
    _claim("MDX-5-a", "results, ReLU Mirrored Weight Detection",
           "ReLUs form mirrored pairs that act as absolute values.",
           most("MD_ReLU", pairs_up, "have half of their units in such pairs"), late=True),
    _claim("MDX-5-b", "results, ReLU Mirrored Weight Detection",
           "ReLUs that learn the distance form mirrored pairs that act as absolute values.",
           most_that_learn("MD_ReLU", pairs_up, "have half of their units in such pairs"), late=True),
    _claim("MDX-6-a", "results, Model Architectures", "Sigmoids do not learn the distance well.",
           most("MD_Sigmoid", misses, "miss it by more than Abs networks do"), late=True),
    _claim("MDX-6-b", "results, Model Architectures", "Sigmoids do worse than ReLUs, too.",
           most("MD_Sigmoid", partial(misses, other="MD_ReLU"), "miss it by more than ReLU networks do"), late=True),
    # of the paper a summary says that Abs and ReLU are equivalent here, and proposes to compare their alignment
    _claim("MDX-7-a", "a summary of the paper by others, First Experiments",
           "The rows of networks of absolute values and of ReLUs are aligned equally well with the eigenvectors.",
           Part("mean cosine over that of their own rotations, Abs {excess, MD_Abs:+.3f} - ReLU "
                "{excess, MD_ReLU:+.3f} = {:+.3f}",
                lambda t: t["excess", "MD_Abs"] - t["excess", "MD_ReLU"], (-ALIKE, ALIKE),
                asks=f"cosine over that of own rotations, Abs - ReLU within ±{ALIKE:g} (90% interval)", error=0.10),
           arms=aligned, late=True),
    own("OWN-4-a",
        "Networks of absolute values learn the distance if the exact biases are within Adam's reach, and only then.",
        reach.as_predicted(ERROR), arms=reach.split("mahalanobis-2-fresh", "mahalanobis-10-fresh"),
        asks="most learn it within reach, and most do not out of reach"),
    own("OWN-4-b", "With centred inputs most networks of absolute values learn the distance.",
        reach.as_predicted(ERROR, anywhere=True), asks="most networks learn it",
        arms=reach.whole("mahalanobis-2-centred", "mahalanobis-10-centred")),
    own("OWN-4-c", "With ten times the rate most networks of absolute values learn the distance.",
        reach.as_predicted(ERROR, anywhere=True), asks="most networks learn it",
        arms=reach.whole("mahalanobis-2-fast", "mahalanobis-10-fast")),
)  # fmt: skip
