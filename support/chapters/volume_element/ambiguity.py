"""The rules on ambiguous images, and their arms, which are read from the derived table "ambiguous-digits"."""

import math
from dataclasses import dataclass, replace

import numpy as np

from support.chapters.volume_element.derived import DECAYS, EPOCHS, LINES, SEEDS, TABLE
from support.evidence import claims, derived, statistics
from support.evidence.claims import Finding, TableArm

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


class Rule(claims.Rule):
    """A rule on the mean over networks of one number each."""

    accepts = (0.0, math.inf)

    def mean(self, values: np.ndarray, text: str) -> Finding:
        """The finding on this mean, by Student's interval; the table has no further networks."""
        return replace(self.finding(statistics.mean_interval(values, self.level, method="t"), text), times=math.inf)


@dataclass(frozen=True)
class Larger(Rule):
    """After training the log-volume is larger at ambiguous images than at those of another kind, by LEAST SD."""

    than: str
    unit = "SD"
    accepts = (LEAST, math.inf)

    @property
    def asks(self):
        return f"ambiguous - {self.than} > {LEAST:g} SD of the log-volume"

    def __call__(self, arm: AmbiguityArm) -> Finding:
        found, nats = arm.sds(self.than), arm.nats(self.than).mean()
        return self.mean(found, f"ambiguous - {self.than} = {found.mean():+.2f} SD ({nats:+.1f} nats)")


@dataclass(frozen=True)
class CameWithTraining(Rule):
    """Half of that difference exceeds the difference before training; void where the difference is absent."""

    than: str
    unit = "nats"
    wording = "half of ambiguous - {self.than}, minus the same before training > 0, asked where the difference is"

    def __call__(self, arm: AmbiguityArm) -> Finding:
        if Larger(self.than)(arm).state != "holds":
            absent = f"ambiguous - {self.than} is not shown to exceed {LEAST:g} SD"
            return self.void(absent)
        left = SHARE * arm.nats(self.than) - arm.nats(self.than, "before")
        return self.mean(left, f"half of ambiguous - {self.than}, minus that before = {left.mean():+.1f} nats")
