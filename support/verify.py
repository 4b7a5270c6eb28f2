"""Whether the records are whole, whether what the book prints follows from them, and one run trained once more."""

from support import claims, readme
from support.records import COMMITTED, Record, RecordError, Store
from support.sweep import STUDIES

ROWS = (1500, 1100, 700)  # images in a chunk of each replay: three orders of summation
FACTOR = 10.0  # the record may be this many times as far from a replay as the replays are from each other
LOSS_FLOOR = 1e-5  # relative; thirty times the rounding of one float32 product, which all replays may share
IMAGES_FLOOR = 3  # so many images may fall on the other side of a near tie


def verify(store: Store) -> int:
    """Checks every record and what is printed from them; prints a line for each fault, then counts. 0 if none.

    A study that is not finished is no fault: how many of its runs are recorded is said, and for which seeds it was
    begun. README.md is compared only with the committed records.
    Raises RecordError for a folder that does not exist.
    """
    for root in store.roots:
        if not root.is_dir():
            raise RecordError(f"there is no folder of records {root}")
    faulty = store.verify()
    faults = [f"{path}: {fault}" for path, found in faulty.items() for fault in found]
    sound = [Record(p, r.content) for r in _readable(store, faulty) if (p := r.path) not in faulty]
    studies = []
    for plan in STUDIES.values():
        line, found = completeness(plan, sound)
        studies.append(line)
        faults += found
    if store.roots == [COMMITTED]:
        try:
            if not readme.check([claims.entry(claim, sound) for claim in claims.CLAIMS]):
                faults.append("README.md: the table of claims does not follow from the records")
        except RuntimeError as error:
            faults.append(str(error))
    print("\n".join([*faults, *studies]))
    print(f"{len(sound)} sound records, {len(faults)} faults")
    return 1 if faults else 0


def _readable(store: Store, faulty: dict):
    """The records whose JSON can be read."""
    if not faulty:
        yield from store
