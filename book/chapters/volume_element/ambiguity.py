"""The claims on ambiguous images: their arms, read from the derived table "ambiguous-digits", and their parts."""

import math

import numpy as np
import pandas as pd

from book.chapters.volume_element.derived import DECAYS, EPOCHS, LINES, TABLE
from book.claims.rules import ABOVE_0, Arm, Part
from book.measures.tables import Tables
from book.records import derived

LEAST = 0.2  # SD: a smaller difference counts as none
SHARE = 0.5  # of the difference


def differences(rows: pd.DataFrame, when: str = "after") -> pd.DataFrame:
    """The mean log-volume of a network at ambiguous images minus that at images of another kind, by seed.

    rows: of the derived table, with the log-volumes "before" and "after" training, in nats. Columns are "KIND nats"
    and "KIND SD"; the latter is over the SD among images of one kind, the root mean square of both kinds'.
    """
    groups = rows.groupby(["seed", "kind"])[when]
    means, spreads = groups.mean().unstack(), groups.std().unstack()
    table = {}
    for kind in means.columns.drop("ambiguous"):
        nats = means["ambiguous"] - means[kind]
        table[f"{kind} nats"] = nats
        table[f"{kind} SD"] = nats / np.sqrt((spreads["ambiguous"] ** 2 + spreads[kind] ** 2) / 2)
    return pd.DataFrame(table)


def arms(tables: Tables | None = None) -> list[Arm]:
    """With weight decay and without, each at its own images. tables: by default the committed ones."""
    rows = (derived.rows if tables is None else tables.derived)(TABLE)
    how = f"MNIST, {EPOCHS} of the paper's 200 epochs, {LINES} lines between test images per network"
    command = f"python -m book records derive {TABLE}"
    made = []
    for name in DECAYS:
        own = rows.rename(columns={name: "after"})
        table = differences(own).join(differences(own, "before").add_suffix(" before"))
        made.append(Arm(name, table, {"weight decay": name}, f"table {TABLE}", how, command))
    return made


def larger(than: str) -> Part:
    """After training the log-volume is larger at ambiguous images than at those of another kind, by LEAST SD."""
    return Part(
        f"ambiguous - {than} = {{:+.2f}} SD ({{{than} nats:+.1f}} nats)",
        lambda t: t[f"{than} SD"],
        (LEAST, math.inf),
        "SD",
        f"ambiguous - {than} > {LEAST:g} SD of the log-volume",
        how={"method": "t"},
        absent=f"ambiguous - {than} is not shown to exceed {LEAST:g} SD",
        fixed=True,  # the table has no further networks
    )


def came_with_training(than: str) -> Part:
    """Half of that difference exceeds the difference before training; asked where the difference is there."""
    return Part(
        f"half of ambiguous - {than}, minus that before = {{:+.1f}} nats",
        lambda t: SHARE * t[f"{than} nats"] - t[f"{than} nats before"],
        ABOVE_0,
        "nats",
        f"half of ambiguous - {than}, minus the same before training > 0, asked where the difference is",
        how={"method": "t"},
        only_if=(larger(than),),
        fixed=True,
    )
