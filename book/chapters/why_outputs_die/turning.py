"""Data of the chapter's figures that readers turn, see `figures.turns`."""

import numpy as np
import pandas as pd

from book.chapters.why_outputs_die.study import PhaseGrid
from book.chapters.why_outputs_die.tables import gap
from book.claims.statistics import Estimate
from book.figures import turns
from book.measures.classifiers.frames import by_network, by_scaling
from book.measures.classifiers.shared import accuracy_dots

PAIR = ("ReLU2-Neg", "ReLU2")


def _runs(question: str, rows: list[str], scalings: list[str], groups: list[dict], **more) -> dict:
    look = (
        "Point at a mark, or walk through the runs with the slider. The sentence tells its seed. What to look for: "
    )
    panels = [f"{scaling} inputs" for scaling in scalings]
    return turns.runs_figure(look + question, panels, rows, groups, parts=PAIR, **more)


def gaps_turn(starts: dict[str, pd.DataFrame], table: pd.DataFrame) -> dict:
    """The lead of ReLU2-Neg over ReLU2 from each start number, a dot each; see `tables.remedies` for both."""
    scalings, rows, groups = list(table.index.unique(0)), list(starts), []
    for row, runs in enumerate(starts.values()):
        for scaling, of_scaling in by_scaling(runs):
            leads, told = gap(of_scaling), table.loc[(scaling, rows[row])]
            mean = Estimate(told["gap"], told["95% low"], told["95% high"], len(leads), 0.95, "wider")
            of_network = by_network(of_scaling)
            both = zip(*(of_network[name]["record"] for name in PAIR), strict=True)
            dots = turns.runs(PAIR[0], leads.to_numpy(), both, mean, panel=scalings.index(scaling), row=row)
            groups.append(dots | {"label": " minus ".join(PAIR)})
    x = {"ends": [-100, 100], "ticks": [-80, -40, 0, 40, 80], "label": "lead of ReLU2-Neg (points)", "zero": 0}
    question = "under which recipe do the marks lie right of 0 in both panels?"
    return _runs(question, rows, scalings, groups, x=x, unit="points", digits=0)


def remedies_turn(starts: dict[str, pd.DataFrame]) -> dict:
    """Test accuracy of every run of ReLU2 and ReLU2-Neg under each start, a dot each."""
    scalings = list(dict.fromkeys(scaling for runs in starts.values() for scaling in runs["scaling"]))
    groups = [
        accuracy_dots(of_scaling, name, panel=scalings.index(scaling), row=row, shift=shift, drop=0)
        for row, runs in enumerate(starts.values())
        for scaling, of_scaling in by_scaling(runs)
        for shift, name in ((-0.22, "ReLU2"), (0.22, "ReLU2-Neg"))
    ]
    x = {"ends": [0, 100], "ticks": [0, 25, 50, 75, 100], "label": "test accuracy (%)"}
    question = "which recipe trains both networks well?"
    return _runs(question, list(starts), scalings, groups, x=x, unit="% right", digits=0)


def wedge_turn(angles: np.ndarray, half_angle: float, step: float) -> dict:
    """A wedge, a step, and outputs whose weights begin with length 1 at these angles from its middle, in radians.

    half_angle: degrees, at first; step: in lengths of a weight vector, at first.
    """
    return {
        "kind": "wedge",
        "look": "Slide the size of the step: all weight vectors move left, and those that enter the grey sector are "
        "dead. Then make the wedge narrower. What to look for: at which step does the last output die?",
        "legend": [
            ["ring", "alive"],
            ["disc", "killed by the step"],
            ["ink", "dead before the step"],
            ["wedge", "hidden vectors"],
            ["shade", "dead here"],
            ["solid", "formula"],
            ["disc", "large dot at the right: share of dead ones among the outputs at the left"],
        ],
        "angles": turns.rounded(angles),
        "half_angle": half_angle,
        "step": step,
    }


def phase_turn(
    plan: PhaseGrid, runs: pd.DataFrame, marks: dict[str, tuple[float, float]], lead: bool = False
) -> dict:
    """The map of every network and input scaling, with the runs of each of its points.

    runs: `law.runs` of the plan. marks: input scaling -> (curvature, preactivation) of the published setting.
    lead: begin with the map of the lead, the accuracy of ReLU2-Neg minus that of ReLU2.
    """
    seeds = [seed for seed, rows in runs.groupby("seed") if set(rows["scaling"]) == set(plan.scalings)]
    places = {
        "network": plan.architectures,
        "scaling": plan.scalings,
        "curvature": plan.curvatures,
        "preactivation": plan.preactivations,
        "seed": seeds,
    }
    runs = runs.set_index(list(places)).loc[pd.MultiIndex.from_product(places.values())]
    accuracy = (100 * runs["accuracy"]).round().astype(int) + 2**15 * runs["diverged"]  # the highest bit
    return {
        "kind": "phase",
        "look": "Multiply the inputs by more or less: the cross moves along the dashed line. Step size: learning "
        "rate times curvature of the inputs, which grows with the square of the input scale. What to look for: where "
        f"{'do distances lead, and where amounts' if lead else 'is ReLU2 right, and where ReLU2-Neg'}? Point at a "
        "square of the first map, or walk from square to square with the arrow keys, for its runs.",
        "legend": [
            ["cross", "setting with these inputs"],
            ["hollow", "published setting"],
            ["dashed", "settings that a change of input scale can reach"],
            ["cell", "square of the sentence below"],
            ["dot", "at a number: a run diverged"],
        ],
        "networks": plan.architectures,
        "network": f"lead of {PAIR[0]}" if lead else "ReLU2",
        "pair": PAIR,
        "scalings": plan.scalings,
        "curvatures": plan.curvatures,
        "preactivations": plan.preactivations,
        "seeds": seeds,
        "accuracy": turns.packed(accuracy, "<u2"),
        "keys": "".join(run.split("-")[0] for run in runs["run"]),
        "marks": {scaling: turns.rounded(place, 6) for scaling, place in marks.items()},
    }
