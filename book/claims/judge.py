"""Claims as data, and the function that judges them on tables.

A claim is a sentence of a paper or of this book, with the parts that must all hold. A part turns the table of an
arm, which has a row for each unit (a network, a trial, a fold) and a column for each number, into a value for each
unit. It says where the estimate of these values must lie. `judge` turns claim and arms into a row of the ledger.

    Claim("LDM-5.2-a", "section 5.2", "Constrained to intensities, ReLU2 fails catastrophically against ReLU.",
          lead("ReLU", "ReLU2", 10.0), arms=both_scalings("ReLU", "ReLU2"), source="oursland2025")
"""

import json
import math
import re
import string
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cache, lru_cache, partial
from importlib.resources import files
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import stats

from book.claims import statistics, verdicts
from book.claims.ledger import interval
from book.claims.statistics import Estimate
from book.claims.verdicts import LEAST_SEEDS
from support.words import counted

ABOVE_0, BELOW_0 = (0.0, math.inf), (-math.inf, 0.0)  # open intervals, as a part's `accepts`
MOST_UNITS = 1000  # a claim that needs more is not called decidable
REDUCED = re.compile(r"[\d,]+ of (the paper's )?[\d,]+")  # in a protocol: "10,000 of 60,000 images", "width 16 of 64"


# -- claims -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Part:
    """One number that a claim is about.

    says: a sentence with {} for the estimate. {name} is the mean of a column of the table, {count} and {n} are those
        of a share.
    values: table -> a value for each unit; two columns for a ratio of SDs, two or three (the last is held fixed) for
        a rank correlation, a mean and half of its interval for what is recorded so. A unit with NaN is left out.
    accepts: ends of the open interval of values that agree with the claim.
    asks: the condition in a few words.
    estimate: a key of ESTIMATES; how: its further arguments.
    error: the chance that the interval misses, on both sides together; 0.10 for equality, two one-sided tests.
    only_if: premises. One that fails makes the arm void, one that is unclear leaves it unclear.
    absent: what to say where this is a premise and does not hold, or where too few units can be asked.
    least: units that must have a value, instead of the claim's number.
    over: a level of the table's index; the part is asked at each of its values at which the premises hold.
    printed: the value that the paper prints, for error rates.
    fixed: whether more units would not help, so that no number of seeds is named that would decide.
    aside: whether another part is reported where all parts hold; of a premise, whether the numbers of the part that
        has it are told where it fails.
    """

    says: str
    values: Callable[[pd.DataFrame], Any]
    accepts: tuple[float, float] = ABOVE_0
    unit: str = ""
    asks: str = ""
    estimate: str = "mean"
    how: Mapping[str, Any] = field(default_factory=dict)
    error: float = 0.05
    only_if: tuple["Part", ...] = ()
    absent: str = ""
    least: int | None = None
    over: str = ""
    printed: float = math.nan
    fixed: bool = False
    aside: bool = False

    @property
    def threshold(self) -> float | list[float] | None:
        """The line that decides, or both ends of a band."""
        ends = [end for end in self.accepts if math.isfinite(end)]
        return ends[0] if len(ends) == 1 else ends or None


@dataclass(frozen=True, eq=False)  # one arm equals no other, so that what was judged of it can be looked up
class Arm:
    """Units that are judged together.

    table: a row for each unit and a column for each number. The index is the seed, trial or block, or has it as its
        last level.
    runs: the records behind it, a row for each: "seed", "run" (KEY-STEPS) and "minutes".
    factors: the levels in which the arms of a claim differ, by the name of the factor.
    evidence, protocol, command: the data, what the runs have in common, and how to train them, in words.
    shared: test points for each training point, where units are splits of the same data and so not independent.
    pairs: where networks share the pairs of images at which they are measured, the numbers of each pair: the columns
        of the table that are means over pairs, the index with a further level, "line", "each line" and so
        on (`over_pairs`). A mean is judged by the wider of the intervals over networks and over pairs.
    """

    name: str
    table: pd.DataFrame
    factors: dict[str, str]
    evidence: str = ""
    protocol: str = ""
    command: str = ""
    runs: pd.DataFrame = field(default_factory=lambda: pd.DataFrame(columns=["seed", "run", "minutes"]))
    n: int | None = None
    needed: int | None = None
    judges: bool = True
    shared: float = 0.0
    pairs: pd.DataFrame | None = None

    @property
    def reduced(self) -> bool:
        """Whether its runs are smaller or shorter than the paper's, or have fewer images."""
        return bool(REDUCED.search(self.protocol))

    def since(self, seed: int) -> "Arm":
        """The same without the seeds below this one."""
        if not seed:
            return self
        seeds = self.table.index.get_level_values(-1)
        return replace(self, table=self.table[seeds >= seed], runs=self.runs[self.runs["seed"] >= seed], n=None)


def of_study(study: Any, name: str, table: pd.DataFrame, factors: dict[str, str], **fields: Any) -> Arm:
    """An arm of a study, with its protocol and the command that trains it; fields: further fields of `Arm`."""
    command = f"python -m book sweep {study.name}"
    return Arm(name, table, factors, f"study {study.name}", study.protocol, command, **fields)


@dataclass(frozen=True)
class Amendment:
    """A rule that was corrected after records had been seen: date, reason, first rule and first verdict."""

    date: str
    reason: str
    first_rule: str
    first_verdict: str


class Worst(NamedTuple):
    """The result of a check of formulas: whether the sentence holds in every case, and the worst of the cases."""

    holds: bool
    value: float
    where: str
    cases: int


@dataclass(frozen=True, eq=False)
class Claim:
    """A sentence, its place in the paper, its parts, and the arms on which it is asked.

    parts: that must all hold, or a function that gives those of an arm.
    arms: tables -> arms; tables[study] is the frame of a study. A check of formulas has none.
    check: for a claim about formulas, a function that evaluates every case; measured: its sentence, with {value},
        {where} and {cases}; on: what it looks at.
    kind: "paper", "variant" or "own" of `verdicts.KINDS`; a row of "paper" is "reduced" if most of its arms are.
    contradiction: returns how the paper contradicts itself, or "".
    asks: the condition in words, by default that of the parts.
    from_seed: seeds below this were recorded before the rule was written, and do not judge it.
    least: units from which on it is judged. late: the rule was written when the records that judge it were known.
    looks: the arms are several looks at the same units, and one decides after Holm's correction over them alone.
    replaces: ids of claims that were merged into this one.
    """

    id: str
    where: str
    says: str
    parts: "tuple[Part, ...] | Callable[[Arm], Sequence[Part]]"
    arms: Callable[[Any], Iterable[Arm]] = lambda tables: ()
    source: str = ""
    kind: str = "paper"
    check: Callable[[], Worst] | None = None
    measured: str = ""
    on: str = "formulas"
    asks: str = ""
    protocol: str = ""
    command: str = ""
    contradiction: Callable[[], str] | None = None
    from_seed: int = 0
    least: int = LEAST_SEEDS
    amended: Amendment | None = None
    late: bool = False
    looks: bool = False
    replaces: tuple[str, ...] = ()

    @property
    def condition(self) -> str:
        """What the claim asks, in words."""
        if self.asks:
            return self.asks
        first, *others = dict.fromkeys(part.asks for part in ([] if callable(self.parts) else self.parts)) or [""]
        return f"{first}, and {len(others)} more like it" if len(others) > 1 else "; ".join((first, *others))


@cache
def printed() -> dict:
    """What the sources print: tables and test statistics, with their places."""
    return json.loads(files("book.claims").joinpath("printed.json").read_text(encoding="utf-8"))


def claim(id: str, where: str, says: str, *parts: Any, **fields: Any) -> Claim:
    """A claim of these parts, or of one function that gives them; fields: further fields of `Claim`."""
    return Claim(id, where, says, parts[0] if callable(parts[0]) else parts, **fields)


def own(id: str, says: str, *parts: Any, **fields: Any) -> Claim:
    """A claim of this book, which is in no paper."""
    return claim(id, "our own", says, *parts, source="own", kind="own", **fields)


def formula(
    id: str, where: str, says: str, check: Callable[[], Worst], measured: str, protocol: str, source: str, run: str
) -> Claim:
    """A claim about formulas: every case of a check is as the claim says. run: the number of the chapter."""
    return Claim(
        id,
        where,
        says,
        (),
        source=source,
        kind="own" if source == "own" else "paper",
        check=check,
        measured=measured,
        asks="every case of the check is as the claim says",
        protocol=protocol,
        command=f"python -m book run {run}",
    )


def least(values: Any) -> int:
    """The index of the first of the flattened values that is the least but for rounding.

    Cases that theory makes equal differ in their last digits, and these depend on the processor. NaN counts as least.
    """
    values = np.ravel(values)
    low = values.min()
    return int(np.argmax(values <= low + 1e-9 * abs(low)) if np.isfinite(low) else values.argmin())


def amended(reason: str, first_rule: str, first_verdict: str, date: str = "2026-11-23") -> Amendment:
    """An amendment, by default of the day when every rule was read against the papers once more."""
    return Amendment(date, reason, first_rule, first_verdict)


# -- estimates ----------------------------------------------------------------------------------------------------


def mean(x: np.ndarray, level: float, method: str = "wider", within=(-np.inf, np.inf), shared: float = 0) -> Estimate:
    """The mean; shared: test points for each training point where the units are splits of the same data."""
    if shared:
        estimate = statistics.resampled_interval(x, shared, level)
        return replace(estimate, low=max(estimate.low, within[0]), high=min(estimate.high, within[1]))
    return statistics.mean_interval(x, level, method, within)


def share(x: np.ndarray, level: float, whole: float = 1.0) -> Estimate:
    """The share of the units that say yes; whole: 100 for percent."""
    return statistics.clopper_pearson(int(x.sum()), len(x), level, whole)


def sd(x: np.ndarray, level: float) -> Estimate:
    """The SD, or of two columns their ratio, not paired.

    An SD has no interval if all values are equal, which says more of the test set than of the SD.
    """
    if x.ndim == 2:
        return statistics.sd_ratio_interval(x[:, 0], x[:, 1], level)
    found = statistics.sd_interval(x, level)
    return found if found.value else replace(found, low=np.nan, high=np.nan)


def rank(x: np.ndarray, level: float) -> Estimate:
    """The rank correlation of the first two columns, a third held fixed."""
    return statistics.rank_correlation(x[:, 0], x[:, 1], x[:, 2] if x.shape[1] > 2 else None, level)


def recorded(x: np.ndarray, level: float, df: int) -> Estimate:
    """A mean that is recorded with half the width of its 95% interval, by Student with df: x (1, 2)."""
    value, half = x[0] * [1, stats.t.ppf((1 + level) / 2, df) / stats.t.ppf(0.975, df)]
    return Estimate(float(value), float(value - half), float(value + half), df + 1, level, "t, as recorded")


ESTIMATES: dict[str, Callable[..., Estimate]] = {
    "mean": mean,
    "share": share,
    "never": partial(share, whole=100.0),  # a single unit that says yes refutes the claim (`finding`)
    "sd": sd,
    "rank": rank,
    "printed": statistics.difference_from_printed,
    "recorded": recorded,
}


# -- findings -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Finding:
    """The result of a part, or of all parts of a claim, in one arm.

    value, low, high: an estimate with its interval, in `unit`; NaN where there is none. threshold: the line of the
    rule, or both ends of a band. n: units. leans: the state of the value alone. times: the multiple of n at which the
    interval would clear the threshold, if mean and SD stayed; infinite if none does.
    """

    state: str
    text: str
    value: float = np.nan
    low: float = np.nan
    high: float = np.nan
    unit: str = ""
    threshold: float | list[float] | None = None
    n: int = 0
    leans: str = ""
    times: float = np.inf

    def row(self) -> dict:
        """The entries for the ledger; a number that is not finite is None."""
        entries = ("state", "value", "low", "high", "n", "unit", "threshold", "text")
        numbers = {name: number(getattr(self, name)) for name in ("value", "low", "high")}
        return {name: getattr(self, name) for name in entries} | numbers


def number(x: float) -> float | None:
    """Six digits of a finite number, else None."""
    return float(f"{x:.6g}") if np.isfinite(x) else None


def over_pairs(part: Part, table: pd.DataFrame, pairs: pd.DataFrame, level: float) -> Estimate | None:
    """The mean with Student's interval over the pairs of images; None for what is no mean over pairs.

    The index says which "line" a pair is, and then the units are the lines, each averaged over its networks. Where
    networks are compared that have different lines, or choose among so many that few have all, it says "each line",
    or "each plane", and these are left out in turn (`_without_each`). Or it only has the number of the "pair" in its
    network. Then all networks are taken to have the same pairs, and cannot average away how these differ: the
    variance is that within a network.
    """
    counts = pd.Series(np.asarray(part.values(table), float), table.index).dropna().index
    own = pairs[pairs.index.droplevel(-1).isin(counts)]
    try:
        if str(own.index.names[-1]).startswith("each"):
            return _without_each(part, own, level)
        values = pd.Series(np.asarray(part.values(own), float), own.index).dropna()
    except KeyError:  # a number that a pair does not have
        return None
    if "line" in values.index.names:
        means = values.groupby(level="line").mean().to_numpy()
        return statistics.mean_interval(means, level, "t") if len(means) > 1 else None
    of_networks = values.groupby(level=[*range(values.index.nlevels - 1)], observed=True)
    if not len(values) or (n := round(of_networks.size().mean())) < 2:
        return None
    middle = of_networks.mean().mean()
    half = stats.t.ppf((1 + level) / 2, n - 1) * math.sqrt(of_networks.var().mean() / n)
    return Estimate(float(middle), float(middle - half), float(middle + half), n, level, "t, over pairs")


def _without_each(part: Part, pairs: pd.DataFrame, level: float) -> Estimate | None:
    """The mean over networks with the interval of the jackknife (Tukey 1958) that leaves out each line in turn.

    pairs: by network and line the numbers of which a network's are means, NaN where a network has not that line. A
    line is left out of all networks that have it, and a network that has no other keeps it.
    """
    networks = pairs.groupby(level=[*range(pairs.index.nlevels - 1)], observed=True)
    at, numbers = networks.ngroup().to_numpy(), pairs.to_numpy(float)  # by numpy: pandas takes three times as long
    there, numbers = ~np.isnan(numbers), np.nan_to_num(numbers)
    total, count = np.zeros((2, networks.ngroups, pairs.shape[1]))
    np.add.at(total, at, numbers)
    np.add.at(count, at, there)
    with np.errstate(invalid="ignore"):  # 0 / 0 of a number that a network has nowhere
        means, others = total / count, count[at] > there
        fewer = (total[at] - numbers * others) / (count[at] - there * others)

    def asked(rows: np.ndarray) -> np.ndarray:
        return np.asarray(part.values(pd.DataFrame(rows, columns=pairs.columns)), float)

    change = pd.Series(asked(fewer) - asked(means)[at], pairs.index)
    value = float(np.mean(asked(means)))
    moved = change.groupby(level=-1).sum() / networks.ngroups
    moved = moved[moved != 0]  # lines of a number that this part does not ask change nothing
    n = len(moved)
    if n < 2 or not np.isfinite(moved).all():
        return None
    error = math.sqrt((n - 1) / n * float(((moved - moved.mean()) ** 2).sum()))
    half = stats.t.ppf((1 + level) / 2, n - 1) * error
    return Estimate(value, value - half, value + half, n, level, "jackknife")


def _wider(found: Estimate, pairs: Estimate | None, what: str) -> tuple[Estimate, str]:
    """At each end the farther of the intervals over networks and over pairs, `what` these are, and both in words."""
    if pairs is None or not math.isfinite(found.low):
        return found, ""
    networks, images = (interval({"low": e.low, "high": e.high, "threshold": None}) for e in (found, pairs))
    wider = replace(found, low=min(found.low, pairs.low), high=max(found.high, pairs.high))
    return wider, f" (over networks{networks}, over {pairs.n} {what}{images})"


def units(part: Part, table: pd.DataFrame) -> np.ndarray:
    """The values of the units that have one: (n,), or (n, 2)."""
    values = np.asarray(part.values(table), float)
    return values[~np.isnan(values) if values.ndim == 1 else ~np.isnan(values).any(1)]


def finding(
    part: Part, table: pd.DataFrame, least: int = 1, shared: float | pd.DataFrame = 0.0, parts: int = 1
) -> Finding:
    """The finding of one part without its premises, as one of `parts` parts that share the error.

    shared: `Arm.shared`, or `Arm.pairs`.
    """
    values = units(part, table)
    blank = Finding("unclear", "", unit=part.unit, threshold=part.threshold, n=len(values))
    if len(values) < (least if part.least is None else part.least):
        why = part.absent or f"too few can be asked whether {part.asks}"
        state = "void" if part.absent else "unclear"
        return replace(blank, state=state, text=f"{why} ({len(values)} of {len(table)})")
    if not np.isfinite(values).all():
        return replace(blank, text=f"{_said(part, values.mean(), table, values)} (not finite for every unit)")
    level, splits = 1 - part.error / parts, isinstance(shared, float) and shared > 0
    how = {**part.how, "shared": shared} if splits and part.estimate == "mean" else part.how
    found, both = ESTIMATES[part.estimate](values, level=level, **how), ""
    if isinstance(shared, pd.DataFrame) and part.estimate == "mean":
        each = str(shared.index.names[-1]).removeprefix("each ")
        what = "pairs of images" if each in shared.index.names else f"{each}s"
        found, both = _wider(found, over_pairs(part, table, shared, level), what)
    low, high = part.accepts
    inside = (low == -math.inf or found.low > low) and (high == math.inf or found.high < high)
    outside = found.high <= low or found.low >= high
    if part.estimate == "never":
        inside, outside = not values.any(), bool(values.any())
    unclear = np.isnan([found.low, found.high]).any() or not (inside or outside)
    return replace(
        blank,
        state="unclear" if unclear else "holds" if inside else "fails",
        text=_said(part, found.value, table, values) + both,
        value=found.value,
        low=found.low,
        high=found.high,
        leans="holds" if low < found.value < high else "fails",
        times=max(_times(found, end) for end in (low, high) if math.isfinite(end)),
    )


def _said(part: Part, value: float, table: pd.DataFrame, values: np.ndarray) -> str:
    """The sentence of a part with its numbers; a column of two levels is written {name, network}."""
    total = float(np.sum(values))
    numbers = {"count": int(total) if math.isfinite(total) else total, "n": len(values)}
    if {name for _, name, *_ in string.Formatter().parse(part.says)} - {*numbers, "", None}:
        means = table.mean(numeric_only=True).round(9).items()
        numbers = {", ".join(map(str, key)) if isinstance(key, tuple) else str(key): x for key, x in means} | numbers
    # the mean of few accuracies may end in 5, and then its last bits would decide how it is printed
    return part.says.format(round(float(value), 9), **numbers)


def _times(found: Estimate, end: float) -> float:
    """The multiple of n at which the half width towards `end`, which falls as n^-1/2, is the distance to it."""
    distance = abs(found.value - end)
    half = found.value - found.low if end < found.value else found.high - found.value
    return (half / distance) ** 2 if distance > 0 and math.isfinite(half) else math.inf


def joined(findings: Iterable[Finding]) -> Finding:
    """The finding that decides among parts that must all hold.

    Of those in the worst state it is the one that leans most clearly towards failing, because one failure decides. If
    none does, it is the one nearest to its threshold, measured in its interval, because all must hold.
    """
    findings = list(findings)
    state = verdicts.joined(one.state for one in findings)
    worst = [one for one in findings if one.state == state]
    failing = [one for one in worst if one.leans == "fails"]
    return min(failing, key=lambda one: one.times) if failing else max(worst, key=lambda one: one.times)


def after_holm(
    parts: Sequence[Callable[[int], Finding]], states: tuple[str, ...] = ("fails",), looks: int = 1
) -> list[Finding]:
    """The findings of parts, where one that is in these states by itself but not after Holm's correction is unclear.

    parts: functions of the number of parts that share the error. Parts that must all hold need no correction to hold;
    looks of which each decides need one to hold, too. looks: arms that share the error of every part.
    """
    found, decided = [part(looks) for part in parts], set()
    while True:
        left = [i for i, one in enumerate(found) if one.state in states and i not in decided]
        corrected = {i: parts[i](looks * (len(parts) - len(decided))) for i in left}
        new = {i for i, one in corrected.items() if one.state in states}
        if not new:
            for i, one in corrected.items():
                text = f"{found[i].text} ({found[i].state} by itself, but not after Holm's correction)"
                found[i] = replace(found[i], state="unclear", text=text, times=one.times)
            return found
        decided |= new


def _premise(part: Part, table: pd.DataFrame, least: int, shared: float | pd.DataFrame) -> Finding | None:
    """The finding that follows from the first premise that does not hold; None where all hold.

    Void where it fails. Where it is unclear, the part keeps its numbers, and is unclear whatever they are.
    """
    for premise in part.only_if:
        found = judged((replace(premise, only_if=()),), table, least, shared=shared)
        if found.state == "fails" and premise.aside:
            own = finding(part, table, least, shared)
            return replace(own, state="void", text=f"{premise.absent}: {found.text}; {own.text}", times=math.inf)
        if found.state in ("fails", "void"):
            if premise.unit != part.unit:  # its numbers are in the text; a strip of the claim cannot show them
                found = Finding("", found.text, unit=part.unit, threshold=part.threshold, n=found.n)
            text = f"{premise.absent}: {found.text}" if found.state != "void" else found.text
            return replace(found, state="void", text=text)
        if found.state == "unclear":
            own = finding(part, table, least, shared)
            text = f"whether it can be asked is unclear ({found.text}); {own.text}"
            return replace(own, state="unclear", text=text, times=math.inf)
    return None


def judged(
    parts: Sequence[Part],
    table: pd.DataFrame,
    least: int = LEAST_SEEDS,
    looks: int = 1,
    shared: float | pd.DataFrame = 0.0,
) -> Finding:
    """The finding on parts that must all hold in one table; parts whose premises do not hold are left out.

    looks: a number of arms that share the error. shared: see `finding`.
    """
    asked: list[tuple[str, Part, pd.DataFrame]] = []
    absent: list[Finding] = []
    for part in parts:
        groups = table.groupby(level=part.over, observed=True) if part.over else [("", table)]
        for name, rows in groups:
            if missing := _premise(part, rows, least, shared):
                absent.append(missing)
            else:
                asked.append((str(name), part, rows))
    if not asked:
        return absent[0] if absent else Finding("untested", "no units")
    found = after_holm([partial(finding, part, rows, least, shared) for _, part, rows in asked], looks=looks)
    if all(one.state == "void" for one in found):
        return found[0]
    decides = joined(one for one in found if one.state != "void")
    central = [one for one, (_, part, _) in zip(found, asked, strict=True) if one.state == "holds" and not part.aside]
    if decides.state == "holds" and central:
        decides = joined(central)
    at, part = next((at, part) for one, (at, part, _) in zip(found, asked, strict=True) if one is decides)
    if len(found) > 1:
        count = sum(one.state == decides.state for one in found)
        verb = verdicts.of_several(decides.state)
        several = len({name for name, *_ in asked}) > 1
        place = f"{at} {part.over}: " if part.over and several else "for example "
        decides = replace(decides, text=f"{count} of {len(found)} parts {verb}, {place}{decides.text}")
    return replace(decides, times=math.inf) if part.fixed else decides


# -- judging ------------------------------------------------------------------------------------------------------


def judge(claim: Claim, tables: Any, chapter: str) -> dict:
    """The row of the ledger for a claim.

    `arms` has the findings, `beside` those of smaller studies. `fresh_seeds`, `fresh_minutes` and `fresh_arm` say how
    large a new study would decide the arm of an unclear claim that needs fewest, and are None where nothing
    affordable does: seeds that are added to a study until it decides would decide by chance too often. `decided` says
    how many arms are decided, `uncounted` names those that are so only before Holm's correction. `record` names the
    runs behind the row, `minutes` is their training time.
    """
    every = [arm.since(claim.from_seed) for arm in claim.arms(tables)]
    arms = [arm for arm in every if arm.judges]
    findings = _findings(claim, arms)
    states = counted_states(claim, arms, findings)
    word = verdicts.verdict(states.values())
    behind = [arm for arm in arms if findings[arm.name].state != "untested"] or arms
    asked = [findings[arm.name] for arm in behind] or list(findings.values())
    asked = [found for found in asked if found.state not in verdicts.UNDECIDED] or asked  # a void arm decides nothing
    runs = (
        pd.concat([arm.runs for arm in behind]).drop_duplicates("run")
        if behind
        else pd.DataFrame(columns=["run", "minutes"])
    )
    contradiction = claim.contradiction() if claim.contradiction else ""
    said = contradiction, "void" in {found.state for found in findings.values()}, claim.amended, claim.late
    seeds, minutes, undecided = _fresh(arms, findings) if word == "unclear" else (None, None, None)
    return {
        "id": claim.id,
        "replaces": list(claim.replaces),
        "kind": _kind(claim, behind),
        "source": printed()[claim.source]["reference"],
        "where": claim.where,
        "says": claim.says,
        "asks": claim.condition,
        "chapter": chapter,
        "evidence": _together((arm.evidence for arm in behind), ", "),
        "protocol": _together((arm.protocol for arm in behind), "; ") or claim.protocol,
        "measured": "; ".join(f"{name}: {found.text}" for name, found in findings.items()),
        "n": min(found.n for found in asked) if arms else sum(found.n for found in asked),
        "verdict": word,
        "on": verdicts.depends_on((arm.factors, states[arm.name]) for arm in arms),
        "decided": verdicts.decided_in_words(states.values()),
        "undecided": [name for name, state in states.items() if state in verdicts.UNDECIDED],
        "uncounted": [name for name, state in states.items() if state != findings[name].state],
        "flags": [flag for flag, is_so in zip(verdicts.FLAGS, said, strict=True) if is_so],
        "contradiction": contradiction,
        "amended": asdict(claim.amended) if claim.amended else None,
        "fresh_seeds": seeds,
        "fresh_minutes": minutes,
        "fresh_arm": undecided,
        "arms": _rows(findings),
        "beside": _beside(claim, [arm for arm in every if not arm.judges]),
        "record": sorted(runs["run"]),
        "command": _together((arm.command for arm in behind), "; ") or claim.command,
        "minutes": round(float(runs["minutes"].sum()), 1),
    }


def _kind(claim: Claim, arms: Sequence[Arm]) -> str:
    """The kind of a row: a claim of a paper counts at its scale unless more than half of the arms are reduced."""
    reduced = claim.kind == "paper" and 2 * sum(arm.reduced for arm in arms) > len(arms)
    return "reduced" if reduced else claim.kind


def _findings(claim: Claim, arms: Sequence[Arm]) -> dict[str, Finding]:
    if claim.check:
        worst = claim.check()
        text = claim.measured.format(**worst._asdict())
        return {claim.on: Finding("holds" if worst.holds else "fails", text, worst.value, n=worst.cases)}
    if claim.looks:
        ready = [arm for arm in arms if _recorded(arm) >= (arm.needed or claim.least)]
        found = after_holm([partial(_in_arm, claim, arm) for arm in ready], verdicts.DECIDED)
        times = [_in_arm(claim, arm, len(ready)).times for arm in ready]  # of an undecided one, with all looks
        found = [replace(f, times=t) if f.state == "unclear" else f for f, t in zip(found, times, strict=True)]
        looked = {arm.name: one for arm, one in zip(ready, found, strict=True)}
        return {arm.name: looked.get(arm.name) or _in_arm(claim, arm) for arm in arms}
    return {arm.name: _in_arm(claim, arm) for arm in arms}


def counted_states(claim: Claim, arms: Sequence[Arm], findings: Mapping[str, Finding]) -> dict[str, str]:
    """The state of each arm as the verdict counts it.

    Of many arms one may be decided by accident. So where one is decided alone, or arms are decided both ways, those
    count that still are after Holm's correction over all arms with a finding. `looks` are corrected already.
    """
    states = {name: found.state for name, found in findings.items()}
    decided = [state for state in states.values() if state in verdicts.DECIDED]
    if claim.check or claim.looks or (len(decided) > 1 and len(set(decided)) == 1):
        return states
    tested = [arm for arm in arms if states[arm.name] not in ("void", "untested")]
    corrected = after_holm([partial(_in_arm, claim, arm) for arm in tested], verdicts.DECIDED)
    return states | {arm.name: found.state for arm, found in zip(tested, corrected, strict=True)}


def _recorded(arm: Arm) -> int:
    """The units of an arm; of a table with an outer level, such as the width, the least number at its values."""
    if arm.n is None and arm.table.index.nlevels > 1:
        return int(arm.table.groupby(level=0, observed=False).size().min() if len(arm.table) else 0)
    return len(arm.table) if arm.n is None else arm.n


@lru_cache(maxsize=64)  # those of one claim, which are judged again for Holm's correction
def _in_arm(claim: Claim, arm: Arm, looks: int = 1) -> Finding:
    recorded, needed = _recorded(arm), arm.needed or claim.least
    if recorded < needed:
        late = f" from seed {claim.from_seed} on" if claim.from_seed else ""
        return Finding("untested", f"{counted(recorded, 'seed')}{late}, {needed} needed", n=recorded)
    parts = claim.parts(arm) if callable(claim.parts) else claim.parts
    shared = arm.shared if arm.pairs is None else arm.pairs
    found = judged(parts, arm.table, min(claim.least, LEAST_SEEDS), looks, shared)
    return replace(found, n=recorded) if arm.shared else found  # splits of the same data are not so many units


def _rows(findings: dict[str, Finding]) -> list[dict]:
    return [{"name": name} | found.row() for name, found in findings.items()]


def _together(words: Iterable[str], between: str) -> str:
    return between.join(dict.fromkeys(word for word in words if word))


def _beside(claim: Claim, arms: Sequence[Arm]) -> list[dict]:
    """What smaller studies say to the same claim; those that cannot judge it are left out."""
    shown = []
    for evidence in dict.fromkeys(arm.evidence for arm in arms):
        those = [arm for arm in arms if arm.evidence == evidence]
        findings = _findings(claim, those)
        word = verdicts.verdict(counted_states(claim, those, findings).values())
        if word != "untested":
            shown.append({"evidence": evidence, "verdict": word, "arms": _rows(findings)})
    return shown


def _fresh(arms: Sequence[Arm], findings: dict[str, Finding]) -> tuple[int | None, float | None, str | None]:
    """Seeds of a new study that would decide the arm that needs fewest, minutes for them, and the name of the arm."""
    needed = []
    for arm in arms:
        found = findings[arm.name]
        # an arm may wait for networks of its study that this claim does not ask, or have units without a value
        there = max(_recorded(arm), found.n)
        if found.state == "unclear" and found.times * there < MOST_UNITS:
            seeds = math.floor(found.times * there) + 1
            needed.append((seeds, round(seeds * float(arm.runs["minutes"].sum()) / there, 1), arm.name))
    return min(needed, default=(None, None, None))
