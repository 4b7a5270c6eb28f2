"""Packing: loose records become shards of many runs, with arrays rounded where no printed number depends on it.

    python -m book records pack

`BITS` states the rounding, and each packed record repeats it under "stored", "bits". The record keeps the digests of
the measured arrays under "measured"; its "arrays_sha256" and "weights_sha256" belong to the stored arrays.
"""

import json
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from book.records import files
from book.records.files import RecordError, arrays_digest, text_digest
from book.records.store import Record, Store, read

MOST_RUNS, MOST_BYTES = 256, 2**23  # of a shard, unpacked; reading one run unpacks its whole shard

# Bits of the mantissa that are kept, by experiment and array; float32 has 23, float64 has 52. A tuple has one number
# for each entry of the last axis. Arrays that are not listed stay exact: losses, accuracies, shares of active images,
# and effects, whose bootstrap intervals depend on the last digit. No digit of a table or claim changes by this.
Bits = int | tuple[int, ...]
BITS: dict[str, dict[str, Bits]] = {
    "classifier": {"moments": (18, 18, 7), "weight": 7},  # mean, SD, skewness; counts compare |mean| / SD with others
    "metric": {"moments": (18, 18, 7), "weight": 7},
    "centres": {"moments": (18, 18, 7), "weight": 7},
    "mahalanobis": {},
    "volume": {"peak": 23, "profile": 23, "same_profile": 23, "spectrum": 23},
    "residual": {  # float32; pictures
        "plane_volume": 16,
        "plane_entropy": 16,
        "planes_volume": 16,
        "planes_entropy": 16,
        "line_volume": 14,
        "spectrum": 14,
    },
}
# More bits where chapters compute from the weights: fits of hyperplanes behind these first layers, and the nearest
# points behind those of "-L2-Neg", depend on the last digits.
FITTED, FITTED_IMAGES, L2_BITS = ("Abs2", "Abs2-Neg", "ReLU-L2-Neg", "Abs-L2-Neg"), 10_000, 16
# Narrow networks keep all digits of their weights: at 12 bits two units of a sigmoid network became parallel.
WIDE = 100
WIDE_BITS: dict[str, dict[str, Bits]] = {"volume": {"W1": 16, "b1": 16, "W2": 16}, "mahalanobis": {"weight": 32}}
FLOATS: dict[int, tuple[Any, int]] = {4: (np.uint32, 23), 8: (np.uint64, 52)}  # bytes -> type of the bits, mantissa


def bits_of(spec: Any) -> dict[str, Bits]:
    """The bits of the mantissa that a packed record of this run keeps, by array; other arrays keep all bits."""
    bits = dict(BITS[spec.experiment])
    name = getattr(spec, "architecture", "")
    if "-L2" in name:
        bits["weight"] = L2_BITS
    if name in FITTED and spec.images <= FITTED_IMAGES:
        del bits["weight"]
    wide = max(getattr(spec, "width", 0), getattr(spec, "dimension", 0)) >= WIDE
    return bits | (WIDE_BITS.get(spec.experiment, {}) if wide else {})


def rounded(values: np.ndarray, bits: Bits) -> np.ndarray:
    """Floats rounded to this many bits of the mantissa, ties to even. Type, NaN and infinity stay as they are.

    >>> float(rounded(np.float32([1 / 3]), 4)[0])
    0.328125
    """
    unsigned, mantissa = FLOATS[values.dtype.itemsize]
    shift = (mantissa - np.minimum(bits, mantissa)).astype(unsigned)
    whole, one = np.ascontiguousarray(values).view(unsigned), unsigned(1)
    half = np.where(shift > 0, (one << np.maximum(shift, one) - one) - one + (whole >> shift & one), unsigned(0))
    near = (whole + half >> shift << shift).view(values.dtype)
    return np.where(np.isfinite(values), near, values)


def pack(store: Store) -> int:
    """Packs the loose records of a store's first folder and prints a summary. Returns 0, or 1 if some were left.

    The shards are written, flushed, renamed and read again before a loose file is deleted. So a kill at any moment
    loses nothing, and the next call continues. Shards are never changed: later records go into new ones. A record
    with a fault is reported and stays loose.
    """
    runs, left = 0, []
    for folder in sorted(path for path in store.roots[0].glob("*/*") if path.is_dir()):
        with files.locked(folder):
            packed, faults = _pack(folder)
        runs += packed
        left += faults
    for fault in left:
        print(fault)
    print(f"packed {runs:,} runs" + (f"; left {len(left):,} with faults as they are" if left else ""))
    return 1 if left else 0


def _pack(folder: Path) -> tuple[int, list[str]]:
    """The number of loose records that were packed in a folder, and the faults of the others."""
    there = {record.name: record for record in Store.of(folder, loose=False)}
    loose, faults = [], []
    for path in sorted(folder.glob("*.json")):
        try:
            if path.stem not in there:
                record = read(path)
                wrong = record.faults()
                faults += [f"{path}: {fault}" for fault in wrong]
                if not wrong:
                    loose.append(record)
        except RecordError as error:
            faults.append(str(error))
    if loose:
        _write(folder, loose)
        there = {record.name: record for record in Store.of(folder, loose=False)}
    done = [path for path in sorted(folder.glob("*.json")) if path.stem in there]
    for path in done:
        if wrong := there[path.stem].faults() or _contradiction(path, there[path.stem]):
            faults += [f"{path} is not deleted: {fault}" for fault in wrong]
            continue
        for suffix in (".npz", ".safetensors", ".json"):  # JSON last: while it exists, the next call deletes the rest
            path.with_suffix(suffix).unlink(missing_ok=True)
    return len(loose), faults


def _contradiction(path: Path, packed: Record) -> list[str]:
    """A fault if a loose record has other measurements than the packed one of its name, as a copied folder may."""
    try:
        loose, kept = read(path).content, packed.content | packed.content["measured"]
    except RecordError as error:
        return [str(error)]
    same = all(loose[digest] == kept[digest] for digest in ("arrays_sha256", "weights_sha256"))
    return [] if same else ["its measurements are not those of the packed record"]


def _write(folder: Path, records: list[Record]) -> None:
    stored = {record.name: dict(record.content) for record in records}
    for kind, part in (("curves", "arrays"), ("weights", "weights")):
        for names, content, arrays in _shards(records, kind):
            path = folder / files.shard_name(kind, content)
            files.atomically(path, content)
            for name in names:
                entry = stored[name]
                entry.setdefault("measured", {})[f"{part}_sha256"] = entry[f"{part}_sha256"]
                entry[f"{part}_sha256"] = arrays_digest(arrays[name])
                entry.setdefault("stored", {})[kind] = path.name
    for record in records:
        entry = stored[record.name]
        entry["measured"] |= {"sha256": entry["sha256"]}
        there = record.arrays.keys() | (record.weights() or {}).keys()
        entry["stored"]["bits"] = {name: bits for name, bits in bits_of(record.spec).items() if name in there}
        entry["sha256"] = text_digest(entry)
    lines = files.lines_bytes(_line(stored[record.name]) for record in records)
    files.atomically(folder / files.shard_name("runs", lines), lines)


def _line(content: dict) -> str:
    """A record's JSON on one line, the key first, so that a truncated line still names its run."""
    rest = dict(sorted(content.items()))
    return json.dumps({"key": rest.pop("key")} | rest, separators=(",", ":"))


def _shards(records: list[Record], kind: str) -> Iterator[tuple[list[str], bytes, dict]]:
    """(names of runs, bytes of their shard, rounded arrays by run), for runs with equal types and shapes."""
    alike = defaultdict(dict)
    # runs of one seed share initial values, which compress well when they are neighbours
    for record in sorted(records, key=lambda r: (r.spec.seed, [str(value) for value in asdict(r.spec).values()])):
        of_record = record.arrays if kind == "curves" else record.weights()
        if of_record is None:
            continue
        bits = bits_of(record.spec)
        arrays = {n: np.asarray(a) for n, a in of_record.items()}
        arrays = {n: rounded(a, bits[n]) if n in bits else a for n, a in arrays.items()}
        alike[tuple((n, a.dtype.str, a.shape) for n, a in sorted(arrays.items()))][record.name] = arrays
    for group in alike.values():
        size = sum(a.nbytes for a in next(iter(group.values())).values())
        count, names = max(1, min(MOST_RUNS, MOST_BYTES // max(size, 1))), list(group)
        for some in (names[i : i + count] for i in range(0, len(names), count)):
            yield some, files.shard_bytes({name: group[name] for name in some}), group
