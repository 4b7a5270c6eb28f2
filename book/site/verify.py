"""Checks that the records are sound and that the book's printed numbers follow from them."""

from book import chapters
from book.records import derived
from book.records.paths import COMMITTED
from book.records.store import Record, RecordError, Store
from book.records.sweep import Study
from book.site import readme


def verify(store: Store) -> int:
    """Checks every record and the text printed from them. Prints counts and a line for each fault; returns 0 or 1.

    An unfinished study is no fault; its recorded runs are counted, and its incomplete seeds are listed. A folder
    without sound records is a failure. README.md is compared only with the committed records.
    """
    printed = _printed() if store.roots == [COMMITTED] else []  # first, because records need more memory
    sound, found = store.survey()
    faults = [f"{path}: {fault}" for path, several in found.items() for fault in several]
    faults += _mixed(sound)
    faults += [f"{path}: {fault}" for path, several in derived.faults(store.roots[0]).items() for fault in several]
    faults += printed
    for line in [completeness(plan, sound) for plan in chapters.studies().values()] + faults:
        print(line)
    compared = "; README.md compared with them" if store.roots == [COMMITTED] else ""
    print(f"{len(sound)} sound records, {len(faults)} faults{compared}")
    return 1 if faults or not sound else 0


def completeness(plan: Study, records: list[Record]) -> str:
    """A line with the number of a study's recorded runs, and the seeds of which only some runs are recorded."""
    specs = {r.spec for r in records if plan.asks_for(r.spec) and r.answers(plan.steps)}
    a_seed = plan.runs_a_seed
    counts = {seed: sum(s.seed == seed for s in specs) for seed in plan.all_seeds}
    partly = ", ".join(f"seed {seed} ({n} of {a_seed})" for seed, n in counts.items() if 0 < n < a_seed)
    return f"{plan.name}: {len(specs)} of {a_seed * plan.seeds} runs" + (f"; in part: {partly}" if partly else "")


def _mixed(records: list[Record]) -> list[str]:
    """The faults of data names with several digests: such runs would be averaged silently."""
    digests = {}
    for r in records:
        digests.setdefault(r.spec.draw_name, set()).add(r.spec.data_digest)
    several = {data: sorted(found) for data, found in digests.items() if len(found) > 1}
    return [f"{data}: records of {len(d)} different data sets, {', '.join(d)}" for data, d in several.items()]


def _printed() -> list[str]:
    """The faults of README.md. The ledger is judged again only if a record or the package changed."""
    try:
        same = readme.check(readme.parts(chapters.ledger(), chapters.titles()))
    except RecordError:
        return ["README.md is not compared with records that cannot be read"]
    except RuntimeError as error:
        return [str(error)]
    fault = "README.md: its findings or its table are not those of these records (claims --write-readme)"
    return [] if same else [fault]
