"""Checkpoints that survive a kill at any moment: written to another file, flushed, renamed; the last two are kept."""

import contextlib
import hashlib
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from support.training.tensors import pack, unpack


class CheckpointError(RuntimeError):
    """A checkpoint that cannot be written."""


class OtherLayout(ValueError):
    """A checkpoint without the entries or tensors that are restored: another version of the trainer wrote it."""

    def __init__(self):
        super().__init__("this checkpoint is of another version of the trainer; delete it to begin again")


@dataclass(frozen=True)
class Checkpoint:
    """The state of a block: a note for JSON, and tensors by name."""

    note: dict
    tensors: dict[str, torch.Tensor]

    def entry(self, name: str) -> Any:
        """An entry of the note. Raises OtherLayout if there is none."""
        if name not in self.note:
            raise OtherLayout
        return self.note[name]

    def restore(self, state: dict[str, torch.Tensor]) -> None:
        """Copies the tensors into those of a state. Raises OtherLayout, before any is changed, if they do not fit."""
        if any(name not in self.tensors or self.tensors[name].shape != value.shape for name, value in state.items()):
            raise OtherLayout
        with torch.no_grad():
            for name, value in state.items():
                value.copy_(self.tensors[name])


def write(path: Path, identity: str, note: dict, tensors: dict[str, torch.Tensor]) -> None:
    """Writes a checkpoint. At every moment a whole one exists under `path` or its `.previous`.

    Raises CheckpointError if it cannot be written, for example on a full disk.
    """
    path = Path(path)
    tensors = {name: t.detach().cpu().contiguous() for name, t in tensors.items()}
    metadata = {"identity": identity, "note": json.dumps(note)}
    metadata["sha256"] = _sha256(metadata, tensors)
    beside = path.with_suffix(".writing")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _flush(beside, pack(tensors, metadata))
        if path.exists():
            path.replace(path.with_suffix(".previous"))
        beside.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):
            beside.unlink()
        raise CheckpointError(
            f"cannot write the checkpoint {path}: {error.strerror}; the same call continues from the previous one"
        ) from error


def _flush(path: Path, content: bytes) -> None:
    with open(path, "wb") as f:
        f.write(content)
        f.flush()
        os.fsync(f.fileno())


def read(path: Path | None, identity: str) -> Checkpoint | None:
    """The newest whole checkpoint of this identity, or None. Damaged ones are skipped."""
    if path is None:
        return None
    for candidate in (Path(path), Path(path).with_suffix(".previous")):
        try:
            tensors, metadata = unpack(candidate.read_bytes())
        except (OSError, ValueError):  # a folder of that name, too
            continue
        sha256 = metadata.pop("sha256", None)
        if metadata.get("identity") == identity and sha256 == _sha256(metadata, tensors):
            return Checkpoint(json.loads(metadata["note"]), tensors)
    return None


def remove(path: Path) -> None:
    """Removes a checkpoint, the previous one, and what an interrupted write left."""
    for one in (path, path.with_suffix(".previous"), path.with_suffix(".writing")):
        one.unlink(missing_ok=True)


def _sha256(metadata, tensors) -> str:
    total = hashlib.sha256(json.dumps(metadata, sort_keys=True).encode())
    for name in sorted(tensors):
        value = tensors[name].numpy()
        total.update(f"{name} {value.dtype.str} {value.shape}".encode() + value.tobytes())
    return total.hexdigest()
