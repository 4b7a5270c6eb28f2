"""The claims of the chapter, and the rules that only it needs."""

from dataclasses import dataclass

import numpy as np

from support.chapters.why_outputs_die import NOTEBOOK
from support.chapters.why_outputs_die.study import REMEDIES
from support.chapters.why_outputs_die.study import STUDIES as OWN
from support.evidence import statistics
from support.evidence.classifiers.claims import SEEN, Claim, entry
from support.evidence.classifiers.results import Arm
from support.evidence.classifiers.rules import CATASTROPHE, Every, Exceeds, Rule
from support.evidence.classifiers.study import STUDIES
from support.evidence.ledger import LEAST_SEEDS, Outcome, state_of
from support.evidence.records import Record
from support.training.classifiers.specs import RARE


@dataclass(frozen=True)
class WithoutInactive(Rule):
    """Runs without an inactive output (active on under 1% of the test images) do about as well as the control.

    "About": the mean of what they lose against the run of `second` with the same seed is under CATASTROPHE points.
    Undecided with fewer than `least` such runs.
    """

    first: str
    second: str
    least: int = LEAST_SEEDS

    @property
    def asks(self):
        return f"{self.first} loses < {CATASTROPHE:g} points"

    def __call__(self, arm: Arm) -> Outcome:
        alive = (arm.active(self.first) >= RARE[0]).all(1)
        loss = (arm.accuracy(self.second) - arm.accuracy(self.first))[alive]
        who = f"{self.first} without an inactive output"
        if len(loss) < self.least:
            return Outcome("undecided", np.nan, np.nan, np.nan, f"{who}: {len(loss)} of the {self.least} runs needed")
        found = statistics.mean_interval(loss)
        text = f"{len(loss)} runs of {who} lose {found.value:.1f} points against {self.second}"
        return Outcome.of(state_of(found.low, found.high, lambda x: x < CATASTROPHE), found, text)


CLAIMS = (
    *(Claim(f"LDM-5.3-a-{number}", "section 5.3", f"ReLU2-Neg recovers from ReLU2's failure, {also}.",
            Exceeds("ReLU2-Neg", "ReLU2", CATASTROPHE),
            studies=(OWN["mnist-remedies"],), recipe=REMEDIES[name], from_seed=SEEN if number == 0 else 0)
      for number, (name, also) in enumerate((
          ("as published", "within 1,000 steps"),
          ("warm-up", "even if the first steps are gentle"),
          ("centred heads", "with centred heads, which cannot be born dead"),
          ("both", "with a warm-up and centred heads"),
          ("Adam", "with Adam instead of gradient descent")))),
    Claim("OWN-1-a", "our own", "Without an inactive output, ReLU2 and ReLU2-Neg do about as well as ReLU.",
          Every((WithoutInactive("ReLU2", "ReLU"), WithoutInactive("ReLU2-Neg", "ReLU"))),
          studies=(STUDIES["mnist-10k"],), source="own", from_seed=SEEN),
)  # fmt: skip


def ledger(records: list[Record]) -> list[dict]:
    """Every claim of the chapter, judged on these records."""
    return [entry(claim, records, NOTEBOOK) for claim in CLAIMS]
