"""The claims of the chapter."""

import math
from collections.abc import Sequence

from book.chapters.from_mahalanobis_to_riemann.study import ROTATED
from book.claims.rules import BELOW_0, Arm, Part, amended, own
from book.measures.classifiers.parts import in_studies
from book.measures.tables import Tables
from support.networks.architectures import LINEAR_AND_L2

_MISMATCHES = {  # with the precision of a class, in words -> column
    "trained": "mismatch",
    "untrained": "mismatch before",
    "against other classes": "mismatch others",
    "of the head": "head mismatch",
    "Euclid's": "mismatch Euclid",
}


def nearer(name: str, first: str, second: str) -> Part:
    """The metric at a class is nearer to the precision of that class (its mismatch is smaller) than another mismatch.

    Both are keys of `_MISMATCHES`, means over the classes.
    """
    this, that = _MISMATCHES[first], _MISMATCHES[second]
    return Part(
        f"{name}: mismatch {first} - {second} = {{:+.3f}} nats",
        lambda t: (t[this, name] - t[that, name]).fillna(math.inf),  # of two infinite ones neither is smaller
        BELOW_0,
        "nats",
        f"{name}: mismatch {first} < {second}",
    )


def discriminates(name: str) -> Part:
    """Training raises the share of a hidden layer's metric that lies where class centres differ."""
    return Part(
        f"{name}: share where centres differ, trained - untrained = {{:+.1f}} points",
        lambda t: t["discriminant", name] - t["discriminant before", name],
        unit="points",
        asks=f"{name}: the share rises",
    )


def magnifies_less(first: str, second: str) -> Part:
    """The logits' volume rises less at the boundary (contrast of `geometry.boundary`) in `first` than in `second`."""
    return Part(
        f"contrast {first} - {second} = {{:+.2f}} nats",
        lambda t: t["contrast", first] - t["contrast", second],
        BELOW_0,
        "nats",
        f"contrast {first} < {second}",
    )


def farther_than_at_random(name: str) -> Part:
    """A trained layer's mismatch exceeds that of its own metric at random angles, which is as uneven."""
    return Part(
        f"{name}: mismatch trained - the same metric at random angles = {{:+.3f}} nats",
        lambda t: t["mismatch", name] - t["rotated", name],
        unit="nats",
        asks=f"{name}: mismatch trained > at random angles",
    )


def longer(name: str, first: str, than: str = "") -> Part:
    """A trained layer calls a step longer than another one of the same length in the inputs.

    first, than: of `class_metrics.step_lengths`; without the second, longer than the root mean square over all steps.
    """
    words = {"towards": "towards another class", "across": "across the class", "along": "along it", "": "average"}
    return Part(
        f"{name}: step {words[first]} / {words[than]} = {{:.2f}}",
        lambda t: t[first, name] / (t[than, name] if than else 1),
        (1.0, math.inf),
        "times",
        f"{name}: step {words[first]} > {words[than]}",
    )


def rotated(tables: Tables) -> list[Arm]:
    """The trained networks of the derived table of metrics at random angles."""
    data = "MNIST, first 10,000 training images"
    rows = tables.derived(ROTATED, when="after")
    wide = rows.drop(columns="when").pivot(index="seed", columns="network")
    command = f"python -m book records derive {ROTATED}"
    return [Arm("standardised", wide, {"scaling": "standardised"}, data, data, command)]


def _own(id: str, says: str, networks: Sequence[str], *parts: Part, **more):
    arms = in_studies(*networks, studies=("mnist-metric",), scalings=("standardised",))
    return own(id, says, *parts, arms=arms, **more)


_ALL, _LINEAR, _HEADS = LINEAR_AND_L2, LINEAR_AND_L2[:2], LINEAR_AND_L2[2:]
_SEEN = 4  # seeds that suggested a claim
_RELU = [name for name in LINEAR_AND_L2 if "ReLU" in name]
CLAIMS = (  # written after a pilot of two networks a kind on scikit-learn's digits, before any record on MNIST
    _own("OWN-2-a", "Training brings a hidden layer's metric nearer to the precisions of the classes.",
         _ALL, *(nearer(name, "trained", "untrained") for name in _ALL)),
    _own("OWN-2-b", "A hidden layer's metric at a class is nearer to that class's precision than to the others'.",
         _RELU, *(nearer(name, "trained", "against other classes") for name in _RELU),
         amended=amended(
             "Abs has the same metric at every class, so only rounding told its own class from the others.",
             "of Abs networks too", "fails", "2026-11-21")),
    _own("OWN-2-c", "An OffsetL2 head measures by a metric nearer to its class's precision than Euclid's.",
         _HEADS, *(nearer(name, "of the head", "Euclid's") for name in _HEADS)),
    _own("OWN-2-d", "OffsetL2 networks have less contrast at their boundaries than networks with a linear head.",
         _ALL, *map(magnifies_less, _HEADS, _LINEAR)),
    _own("OWN-2-e", "Training turns a hidden layer's metric towards the directions in which class centres differ.",
         _ALL, *map(discriminates, _ALL)),
    # Written on 30 November, when the mismatches were known and before the table was made. A reader had asked whether
    # the mismatch of a layer that only becomes uneven would not rise as well.
    own("OWN-2-f", "A trained layer's metric is farther from the precisions of the classes than the same metric at "
        "random angles.", *map(farther_than_at_random, _ALL), arms=rotated, late=True),
    # Written on 30 November after a look at seeds 0 to 3, which are therefore left out.
    own("OWN-2-g", "A trained layer calls a step towards another class longer than an average one.",
        *(longer(name, "towards") for name in _ALL), arms=rotated, from_seed=_SEEN),
    own("OWN-2-h", "As the metric of the class does, a trained layer calls a step across a class longer than one "
        "along it.", *(longer(name, "across", "along") for name in _ALL), arms=rotated, from_seed=_SEEN),
)  # fmt: skip
