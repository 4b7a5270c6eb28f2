"""The one function that judges claims, and how the findings of parts become those of arms, and a verdict."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from functools import lru_cache, partial
from typing import Any

import pandas as pd

from book.claims import verdicts
from book.claims.findings import Finding, Shared, finding
from book.claims.rules import Arm, Claim, Part, printed
from book.claims.verdicts import LEAST_SEEDS
from book.records.derived import NotMade
from support.words import counted

MOST_UNITS = 1000  # a claim that needs more is not called decidable


# -- parts that must all hold -------------------------------------------------------------------------------------


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


def _premise(part: Part, table: pd.DataFrame, least: int, shared: Shared) -> Finding | None:
    """The finding that follows from the first premise that does not hold; None where all hold.

    Void where it fails. Where it is unclear, the part keeps its numbers, and is unclear whatever they are.
    """
    for premise in part.only_if:
        found = judged((replace(premise, only_if=()),), table, least, shared=shared)
        unclear = found.state == "unclear"
        if unclear or (found.state == "fails" and premise.aside):
            own, why = finding(part, table, least, shared), found.text
            why = f"whether it can be asked is unclear ({why})" if unclear else f"{premise.absent}: {why}"
            return replace(own, state="unclear" if unclear else "void", text=f"{why}; {own.text}", times=math.inf)
        if found.state in ("fails", "void"):
            if premise.unit != part.unit:  # its numbers are in the text; a strip of the claim cannot show them
                found = Finding("", found.text, unit=part.unit, threshold=part.threshold, n=found.n)
            text = f"{premise.absent}: {found.text}" if found.state != "void" else found.text
            return replace(found, state="void", text=text)
    return None


def judged(
    parts: Sequence[Part], table: pd.DataFrame, least: int = LEAST_SEEDS, looks: int = 1, shared: Shared = 0.0
) -> Finding:
    """The finding on parts that must all hold in one table; parts whose premises do not hold are left out.

    looks: a number of arms that share the error.
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


# -- claims -------------------------------------------------------------------------------------------------------


def judge(claim: Claim, tables: Any, chapter: str) -> dict:
    """The row of the ledger for a claim.

    `arms` has the findings, `beside` those of smaller studies. `fresh_seeds`, `fresh_minutes` and `fresh_arm` say how
    large a new study would decide the arm of an unclear claim that needs fewest, and are None where nothing
    affordable does: seeds that are added to a study until it decides would decide by chance too often. `decided` says
    how many arms are decided, `uncounted` names those that are so only before Holm's correction. `record` names the
    runs behind the row, `minutes` is their training time. Without a derived table that it asks for it is untested.
    """
    try:
        every = [arm.since(claim.from_seed) for arm in claim.arms(tables)]
        arms = [arm for arm in every if arm.judges]
        findings = _findings(claim, arms)
    except NotMade as error:
        command = f"python -m book records derive {error.name}"
        every = arms = [Arm(f"table {error.name}", pd.DataFrame(), {}, command=command)]
        findings = {arms[0].name: Finding("untested", str(error))}
    states = counted_states(claim, arms, findings)
    word = verdicts.verdict(states.values())
    behind = [arm for arm in arms if findings[arm.name].state != "untested"] or arms
    asked = [findings[arm.name] for arm in behind] or list(findings.values())
    asked = [found for found in asked if found.state not in verdicts.UNDECIDED] or asked  # a void arm decides nothing
    every_run = [arm.runs for arm in behind] or [pd.DataFrame(columns=["run", "minutes"])]
    runs = pd.concat(every_run).drop_duplicates("run")
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
