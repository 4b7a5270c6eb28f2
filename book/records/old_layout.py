"""Migration: moves records of the two earlier layouts into shards. Nothing else knows these layouts.

    <key>-<steps>.json, .npz, .safetensors      a run: its JSON, arrays, and final weights
    runs-<sha8>.jsonl.gz                        a run a line, which names its curves-<sha8>.npz and weights-<sha8>.npz

In the second one floats are planes of bytes, in members that end in .f4 or .f8, and some were rounded. Values stay
bit for bit. A migrated line keeps under "earlier" the digests that it had, and to how many bits arrays were rounded.
"""

import hashlib
import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numpy as np
from safetensors.numpy import load

from book.records import derived, files, store
from book.records.files import RecordError, content_of, reading, signed
from support.training.specs import specification


def migrate(root: Path) -> int:
    """Moves all records below a folder into shards, prints a summary, and returns 0, or 1 if there are faults.

    Earlier files are deleted once all their records are in shards that were read again. So a kill at any moment loses
    nothing, and the next call continues. A folder with a fault is named and left as it is.
    """
    moved, faults = 0, 0
    for folder in store.folders(root):
        try:
            with files.locked(folder):
                moved += _migrate(root, folder)
        except RecordError as error:
            faults += 1
            print(f"{folder} is left as it is: {error}")
        finally:
            _shard.cache_clear()
    for path in sorted((root / "derived").glob("*.json")):
        _sign(path)
    print(f"moved {moved:,} records" + (f"; left {faults:,} folders" if faults else ""))
    return 1 if faults else 0


def _sign(path: Path) -> None:
    """Gives a derived table a digest of all that it says; earlier ones had one of their rows alone."""
    with reading(f"the derived table {path}"):
        content = json.loads(files.read_bytes(path))
        rows = hashlib.sha256(json.dumps(content["rows"], sort_keys=True).encode()).hexdigest()
    if content["sha256"] == rows:
        derived.write(path, content)


def _migrate(root: Path, folder: Path) -> int:
    paths, kinds = sorted(folder.iterdir()), (store.EARLIER, store.LINES)
    moved = [path for path in paths if store.LINES.fullmatch(path.name) and store.arrays_of(path).exists()]
    old = [path for path in paths if path not in moved and any(kind.fullmatch(path.name) for kind in kinds)]
    known = {name: content for name, (_, content) in store.index(moved).items()}
    runs = dict[str, store.Run]()
    # packed records first: a loose one of the same run was never read
    for path in sorted(old, key=lambda path: path.suffix != ".gz"):
        for run in _packed(path) if path.suffix == ".gz" else [_loose(path)] if path.suffix == ".json" else []:
            with reading(f"{path}: the record {run.name}"):
                spec = specification(run.content["spec"])
            if spec.key != run.content["key"] or store.folder_of(root, spec) != folder:
                raise RecordError(f"{path}: the record {run.name} has another key or folder than its specification")
            first = known.get(run.name) or runs.setdefault(run.name, run).content
            if any(_measured(first)[digest] != _measured(run.content)[digest] for digest in store.DIGESTS):
                raise RecordError(f"{path}: another file has other measurements of {run.name}")
    store.replace([], store.write_shards(folder, runs.values()))
    # what states records goes first: without it, the next call deletes the rest
    for path in sorted(old, key=lambda path: path.suffix not in (".json", ".gz")):
        path.unlink()
    return len(runs)


def _measured(content: dict) -> dict:
    """The digests of what was measured, before any rounding."""
    return content | content.get("earlier", {})


def _loose(path: Path) -> store.Run:
    where = f"the record {path}"
    with reading(where):
        content = content_of(files.read_bytes(path).decode(), where)
        with files.npz(path.with_suffix(".npz")) as members:
            arrays = dict(members)
        weights = {}
        if content["weights_kept"]:
            weights = load(files.read_bytes(path.with_suffix(".safetensors")))
        if path.stem != store.named(content):
            raise ValueError(f"it is that of {store.named(content)}")
        return _renewed(content, arrays, weights, {"sha256": content["sha256"]})


def _packed(path: Path) -> Iterator[store.Run]:
    if hashlib.sha256(files.read_bytes(path)).hexdigest()[:8] != path.name[5:13]:
        raise RecordError(f"the file {path} was altered: its name is not that of its content")
    for number, text in enumerate(files.lines(path), 1):
        where = f"line {number} of {path}"
        with reading(where):
            content = content_of(text, where)
            stored, name = content["stored"], store.named(content)
            earlier = content["measured"] | {"packed_sha256": content["sha256"], "bits": stored["bits"]}
            curves = _shard(path.with_name(stored["curves"]))[name]
            weights = _shard(path.with_name(stored["weights"]))[name] if content["weights_kept"] else {}
            yield _renewed(content, curves, weights, earlier)


@cache  # until the folder is done
def _shard(path: Path) -> dict[str, dict[str, np.ndarray]]:
    """The arrays of each run of a packed shard."""
    if not re.fullmatch(r"(curves|weights)-[0-9a-f]{8}\.npz", path.name):
        raise ValueError(f"{path.name!r} is no name of a shard")
    if hashlib.sha256(files.read_bytes(path)).hexdigest()[:8] != path.stem[-8:]:
        raise RecordError(f"the shard {path} was altered: its name is not that of its content")
    with files.npz(path) as opened:
        members = dict(opened)
    runs, arrays = members.pop("runs").tolist(), {}
    for name, values in members.items():
        if name.endswith((".f4", ".f8")):  # planes, the lowest byte of each number first
            arrays[name[:-3]] = np.ascontiguousarray(np.moveaxis(values, 0, -1)).view(f"<{name[-2:]}")[..., 0]
        else:
            arrays[name] = values
    return {run: {name: values[row] for name, values in arrays.items()} for row, run in enumerate(runs)}


def _renewed(content: dict, arrays: dict, weights: dict, earlier: dict) -> store.Run:
    """The run with a line of today's layout. Raises RecordError if its arrays were altered."""
    for part in store.altered(content, arrays, weights):
        raise RecordError(f"the {part} of {store.named(content)} were altered")
    renewed = {name: value for name, value in content.items() if name not in ("stored", "measured", "sha256")}
    renewed |= {"format": store.FORMAT, "earlier": earlier}
    return store.Run(signed(renewed), arrays, weights)
