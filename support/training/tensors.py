"""Tensors as bytes in the safetensors format: a length, a JSON header, and the values one after another.

This module needs only torch and numpy, so that a sweep runs without other packages. Its files and those of the
library safetensors are interchangeable, which the tests check.
"""

import json
from typing import Any

import numpy as np
import torch

TYPES = {"F64": "<f8", "F32": "<f4", "I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "|i1", "U8": "|u1"}
TYPES |= {"BOOL": "|b1"}
NAMES = {code: name for name, code in TYPES.items()}
ALIGNED = 8  # bytes of which the header's length is a multiple


def pack(tensors: dict[str, torch.Tensor], metadata: dict[str, str] | None = None) -> bytes:
    """The bytes of tensors on the CPU, with texts as metadata."""
    header: dict[str, Any] = {"__metadata__": metadata} if metadata else {}
    parts, end = [], 0
    for name, tensor in tensors.items():
        value = tensor.numpy()
        parts.append(value.tobytes())
        start, end = end, end + value.nbytes
        header[name] = {"dtype": NAMES[value.dtype.str], "shape": value.shape, "data_offsets": (start, end)}
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % ALIGNED)
    return b"".join([len(text).to_bytes(8, "little"), text, *parts])


def unpack(content: bytes) -> tuple[dict[str, torch.Tensor], dict[str, str]]:
    """The tensors and the metadata in these bytes. Raises ValueError for another format."""
    first = 8 + int.from_bytes(content[:8], "little")
    try:
        header = json.loads(content[8:first])
        metadata, tensors = header.pop("__metadata__", {}), {}
        for name, about in header.items():
            start, end = about["data_offsets"]
            if not 0 <= start <= end <= len(content) - first:
                raise ValueError(f"{name!r} lies outside of the file")
            values = np.frombuffer(content, np.uint8)[first + start : first + end].view(TYPES[about["dtype"]])
            tensors[name] = torch.from_numpy(values.reshape(about["shape"]).copy())
    except (AttributeError, KeyError, RecursionError, TypeError, UnicodeDecodeError) as error:
        raise ValueError(f"not in the safetensors format: {type(error).__name__}: {error}") from error
    return tensors, metadata
