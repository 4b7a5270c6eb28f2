"""The claims of the chapter."""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pandas as pd

from book.chapters.hyperplanes import points
from book.claims.rules import Arm, Claim, Part, amended, claim, formula, own
from book.measures.classifiers.parts import CATASTROPHE, SEEN, arm, in_studies, lead
from book.measures.classifiers.story import NEAR
from book.measures.tables import Tables

LEARNING, BASELINE = "ReLU2-Neg", "ReLU"  # of the first only the networks that learn are asked in LDM-6.2-c


def most_and_more(network: str, number: str, so: str) -> tuple[Part, Part]:
    """The mean share exceeds one half, and training raised it. number: a share of `story`; so: its property in words.

    Where both hold, the share is reported.
    """
    share = f"{{{number}, {network}:.0f}}% {so} ({{{number} before, {network}:.0f}}% untrained)"
    most = Part(
        share, lambda t: t[number, network], (50.0, math.inf), "%", f"> 50% {so}", how={"within": (0.0, 100.0)}
    )
    more = Part(
        f"trained - untrained = {{:+.0f}} points; {share}",
        lambda t: t[number, network] - t[f"{number} before", network],
        unit="points",
        asks="more than untrained",
        aside=True,
    )
    return most, more


def most_outputs(network: str, number: str, so: str) -> tuple[Part, Part]:
    """Most outputs of the network have a property, and training gave it to them."""
    return most_and_more(network, number, f"of {network}'s outputs {so}")


def learners(*parts: Part) -> list[Part]:
    """These parts about LEARNING, of the networks that learn (`of_learners`) alone."""
    says = f"{{n}} networks {LEARNING} learn, {{learn, {LEARNING}:.0f}}% of all: "
    where = f", where the network ends within {CATASTROPHE:g} points of {BASELINE}"
    # how many further networks would learn is not known
    return [replace(part, says=says + part.says, asks=part.asks + where, fixed=True) for part in parts]


def where_it_fails(*parts: Part) -> list[Part]:
    """These parts about ReLU2, asked where it fails."""
    behind = {"says": f"{BASELINE} - ReLU2 = {{:+.2f}} points", "absent": "ReLU2 does not clearly fail here"}
    fails = lead(BASELINE, "ReLU2", CATASTROPHE, **behind)
    where = f", asked where {fails.asks}"
    return [replace(part, only_if=(fails,), asks=part.asks + where) for part in parts]


def learn(accuracy: pd.DataFrame) -> pd.Series:
    """Whether each LEARNING network ends within CATASTROPHE points of the mean of BASELINE; accuracy: of both."""
    return accuracy[LEARNING] > accuracy[BASELINE].mean() - CATASTROPHE


def of_learners(arms: Callable[[Tables], list[Arm]]) -> Callable[[Tables], list[Arm]]:
    """The arms with the shares of those LEARNING networks alone that `learn`, which is their percentage."""

    def chosen(tables: Tables) -> list[Arm]:
        made = []
        for one in arms(tables):
            table = one.table.copy()
            if len(table):
                learns = learn(table["accuracy"])
                shares = [column for column in table if column[1] == LEARNING and column[0] != "accuracy"]
                table[shares] = table[shares].where(learns)
                table["learn", LEARNING] = 100.0 * learns
            made.append(replace(one, table=table))
        return made

    return chosen


def _claim(id: str, says: str, *parts: Part, network: str = "", **fields: Any) -> Claim:
    """A claim on seeds that were recorded after its first rule was written, in both input scalings."""
    arms = fields.pop("arms", None) or in_studies(network, from_seed=SEEN)
    return claim(id, f"section {id[4:7]}", says, *parts, arms=arms, source="oursland2025", from_seed=SEEN, **fields)


STARTS = {"small": 1.0, "large": 10.0}  # root mean square of a hidden unit's first preactivation


def by_start(tables: Tables) -> list[Arm]:
    """Abs2-Neg from both STARTS: in each input scaling a row for each seed, with columns (number, start)."""
    plan, made = tables.studies["mnist-starts"], []
    for scaling in plan.scalings:
        recipes = dict(zip((size for _, size in plan.points(scaling)), plan.recipes_for(scaling), strict=True))
        arms = [arm(tables, plan.name, scaling, ("Abs2-Neg",), recipes[size]) for size in STARTS.values()]
        table = pd.DataFrame()
        if all(len(one.table) for one in arms):
            both = [one.table.xs("Abs2-Neg", axis=1, level=1) for one in arms]
            table = pd.concat(both, axis=1, keys=STARTS).dropna().swaplevel(axis=1)
        runs = pd.concat([one.runs for one in arms])
        made.append(replace(arms[0], table=table, runs=runs, protocol=f"{plan.protocol}, steps of 100"))
    return made


def near_from(start: str, accepts: tuple[float, float], asks: str) -> Part:
    """Whether most outputs of Abs2-Neg from this start have their own class near."""
    says = f"{start} start: own class within {NEAR:g} SD of {{:.0f}}%, {{accuracy, {start}:.0f}}% of the images right"
    return Part(says, lambda t: t["own near", start], accepts, "%", asks, how={"within": (0.0, 100.0)})


_COUNTED = "the rank of the equations, at random points, with 2, 3, 10 and 128 inputs"
_FARTHEST_AND_NEAR = "own class farthest and at least half of the others within 1 SD"
CLAIMS = (
    _claim("LDM-6.1-a", "A distance network, Abs2-Neg, places each hyperplane near its own class.",
           *most_outputs("Abs2-Neg", "own near", f"have their own class within {NEAR:g} SD"), network="Abs2-Neg",
           amended=amended(
               "Nearest is one question and near is another. LDM-6.1-c asks the first, this claim the second.",
               "own class nearest and within 1 SD", "mixed", date="2026-11-24")),
    _claim("LDM-6.1-c", "A distance network, Abs2-Neg, places each hyperplane nearest to its own class.",
           *most_outputs("Abs2-Neg", "own nearest", "have their own class nearest"), network="Abs2-Neg",
           amended=amended(
               "Nearest is one question and near is another. This claim asks the first, LDM-6.1-a the second.",
               "own class nearest and within 1 SD", "mixed", date="2026-11-24")),
    _claim("LDM-6.1-d", "An intensity network, Abs2, places each hyperplane farthest from its own class.",
           *most_outputs("Abs2", "own farthest", "have their own class farthest"), network="Abs2",
           amended=amended(
               "Farthest is one question and near is another, as for Abs2-Neg. This claim asks the first, LDM-6.1-b "
               "the second.", _FARTHEST_AND_NEAR, "fails", date="2026-11-27")),
    # the paper says near the centres of other classes: how many, and how near, is our choice
    _claim("LDM-6.1-b", "An intensity network, Abs2, places each hyperplane near the other classes.",
           *most_outputs("Abs2", "others near", f"have half of the other classes within {NEAR:g} SD"), network="Abs2",
           amended=amended(
               "Farthest is one question and near is another, as for Abs2-Neg. LDM-6.1-d asks the first, this claim "
               "the second.", _FARTHEST_AND_NEAR, "fails", date="2026-11-27")),
    _claim("LDM-6.2-c", "ReLU2-Neg has each output's own class in its zero set, and not the others.",
           *learners(*most_outputs(LEARNING, "as the story", "lie as the paper says")),
           arms=of_learners(in_studies(LEARNING, BASELINE, from_seed=SEEN)),
           amended=amended(
               "The paper says this of networks with nearly the accuracy of ReLU. On standardised pixels some "
               "networks are far from it, and a mean over both kinds describes neither.",
               "of all networks, also of those that fail", "holds", date="2026-11-27")),
    # random hyperplanes have half of the centres inside
    _claim("LDM-6.2-d", "ReLU2 drives the own class of an output into its zero set, with the others.",
           *where_it_fails(
               *most_and_more("ReLU2", "own inside", "of the own classes lie in a zero set of ReLU2"),
               *most_and_more("ReLU2", "others inside", "of the other classes lie in a zero set of ReLU2")),
           arms=in_studies("ReLU2", "ReLU", from_seed=SEEN), amended=amended(
               "The paper says that own and other classes are driven inside. Our first rule had the own class "
               "outside. The second did not compare with the untrained network, where half of the classes are "
               "inside, too. The third was also asked where ReLU2 does not fail, and there is nothing to explain.",
               "each output's own class outside its zero set, half of the others inside; then more than half of both "
               "inside, whatever it was before training; and it was asked where ReLU2 does not fail, too", "fails",
               "2026-11-28")),
    # The map of chapter 2 has three networks at each of its points. There 25% end near from a small start and all
    # from a large one, in both scalings; this rule was written when that was known, for other seeds and more images.
    own("OWN-11-a", "Abs2-Neg places most hyperplanes near their class from a large start, and not from a small one, "
        "with either scaling of the pixels, at equal steps.",
        near_from("large", (50.0, math.inf), "> 50% from a start of 10, < 50% from a start of 1"),
        near_from("small", (-math.inf, 50.0), "> 50% from a start of 10, < 50% from a start of 1"), arms=by_start),
    formula("LDM-3.4-a", "section 3.4",
            "N points fix the hyperplane of a unit with N inputs: N - 1 on its boundary, and that at x = 0, y = b.",
            points.as_many_as_inputs, "{value:.0f} direction stays open ({where})", _COUNTED, "oursland2025", "03"),
    formula("LDM-6.1-e", "section 6.1",
            "Without a bias 127 points of the boundary, the origin and one point beside it fix a unit of 128 inputs.",
            points.through_the_origin, "{value:.0f} directions stay open, with {cases} numbers of inputs", _COUNTED,
            "oursland2025", "03"),
)  # fmt: skip
