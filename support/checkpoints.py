"""Checkpoints that survive a kill at any moment: written beside, flushed, renamed; the one before is kept."""

import hashlib
import json
import os
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file


@dataclass(frozen=True)
class Checkpoint:
    note: dict
    tensors: dict[str, torch.Tensor]


def write(path: Path, identity: str, note: dict, tensors: dict[str, torch.Tensor]) -> None:
    """Writes a checkpoint; at every moment a whole one is on disk under `path` or its `.previous`."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    tensors = {name: t.detach().cpu().contiguous() for name, t in tensors.items()}
    metadata = {"identity": identity, "note": json.dumps(note), "sha256": _sha256(tensors)}
    beside = path.with_suffix(".writing")
    save_file(tensors, beside, metadata)
    with open(beside, "rb+") as f:
        os.fsync(f.fileno())
    if path.exists():
        path.replace(path.with_suffix(".previous"))
    beside.replace(path)


def read(path: Path | None, identity: str) -> Checkpoint | None:
    """The newest whole checkpoint of that identity, or None: a torn or altered one is passed over."""
    if path is None:
        return None
    for candidate in (Path(path), Path(path).with_suffix(".previous")):
        try:
            with safe_open(candidate, "pt") as f:
                metadata = f.metadata()
                tensors = {name: f.get_tensor(name) for name in f.keys()}  # noqa: SIM118 (not a dict)
        except (FileNotFoundError, SafetensorError):
            continue
        if metadata["identity"] == identity and metadata["sha256"] == _sha256(tensors):
            return Checkpoint(json.loads(metadata["note"]), tensors)
    return None


def remove(path: Path) -> None:
    """Removes a checkpoint and all that belongs to it."""
    for suffix in ("", ".previous", ".writing"):
        target = Path(path).with_suffix(suffix) if suffix else Path(path)
        target.unlink(missing_ok=True)


def _sha256(tensors) -> str:
    total = hashlib.sha256()
    for name in sorted(tensors):
        total.update(name.encode() + tensors[name].numpy().tobytes())
    return total.hexdigest()
