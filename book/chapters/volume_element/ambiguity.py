"""The rules on ambiguous images, and their arms, which are read from the derived table "ambiguous-digits"."""

import math
from dataclasses import replace

import numpy as np

from book.chapters.volume_element.derived import DECAYS, EPOCHS, LINES, SEEDS, TABLE
from book.claims import rules, statistics
from book.claims.judge import TableArm
from book.records import derived

LEAST = 0.2  # SD: a smaller difference counts as none
SHARE = 0.5  # of the difference


class AmbiguityArm(TableArm):
    """The networks of one recipe. rows: of the table, with the log-volumes "before" and "after" training, in nats."""

    def nats(self, than: str, when: str = "after") -> np.ndarray:
        """The mean log-volume of a network at ambiguous images minus that at images of another kind, (networks,)."""
        means = self.rows.groupby(["seed", "kind"])[when].mean().unstack()
        return (means["ambiguous"] - means[than]).to_numpy(float)

    def sds(self, than: str, when: str = "after") -> np.ndarray:
        """The same over the SD of the log-volume among images of one kind: the root mean square of both kinds'."""
        spreads = self.rows.groupby(["seed", "kind"])[when].std().unstack()
        return self.nats(than, when) / np.sqrt((spreads["ambiguous"] ** 2 + spreads[than] ** 2) / 2).to_numpy(float)


def arms() -> list[AmbiguityArm]:
    """With weight decay and without, each at its own images; without networks if the table was not made yet."""
    rows, evidence = derived.rows(TABLE), f"table {TABLE}"
    how = f"MNIST, {EPOCHS} of the paper's 200 epochs, {LINES} lines between test images per network"
    n = SEEDS if len(rows) else 0
    return [
        AmbiguityArm(name, TABLE, rows.rename(columns={name: "after"}), n, evidence, how, {"weight decay": name})
        for name in DECAYS
    ]


class StudentMeans(rules.Means):
    """By Student's interval; the table has no further networks."""

    def part(self, sentence, values, parts=1):
        return replace(super().part(sentence, values, parts), times=math.inf)

    def estimate(self, values, level):
        return statistics.mean_interval(values, level, method="t")


def larger(than: str) -> StudentMeans:
    """After training the log-volume is larger at ambiguous images than at those of another kind, by LEAST SD."""

    def numbers(arm: AmbiguityArm) -> dict[str, np.ndarray]:
        return {f"ambiguous - {than} = {{:+.2f}} SD ({arm.nats(than).mean():+.1f} nats)": arm.sds(than)}

    wording = f"ambiguous - {than} > {LEAST:g} SD of the log-volume"
    absent = f"ambiguous - {than} is not shown to exceed {LEAST:g} SD"
    return StudentMeans(numbers, wording, "SD", (LEAST, math.inf), absent=absent)


def came_with_training(than: str) -> StudentMeans:
    """Half of that difference exceeds the difference before training; void where the difference is absent."""

    def numbers(arm: AmbiguityArm) -> dict[str, np.ndarray]:
        left = SHARE * arm.nats(than) - arm.nats(than, "before")
        return {f"half of ambiguous - {than}, minus that before = {{:+.1f}} nats": left}

    wording = f"half of ambiguous - {than}, minus the same before training > 0, asked where the difference is"
    return StudentMeans(numbers, wording, "nats", premises=(larger(than),))
