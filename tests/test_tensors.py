"""Tensors as bytes are those of the safetensors library, and damaged bytes are an error."""

import pytest
import torch
from safetensors import torch as library

from support.training.tensors import TYPES, pack, unpack

TENSORS = {
    "weight": torch.randn(3, 4, generator=torch.Generator().manual_seed(0)),
    "odd": torch.tensor([0.1, float("nan"), float("-inf"), 1e-45]),
    "flag": torch.tensor([True, False, True]),  # what comes after it is not aligned
    "double": torch.tensor([[1e300]], dtype=torch.float64),
    "scalar": torch.tensor(7),
    "none": torch.empty(0, 5),
    "turned": torch.arange(6).reshape(2, 3).T,
} | {f"of {t}": torch.ones(2, dtype=t) for t in (torch.int32, torch.int16, torch.int8, torch.uint8)}


def same(found, wanted):
    assert found.keys() == wanted.keys()
    for name, tensor in wanted.items():
        assert found[name].dtype == tensor.dtype and found[name].shape == tensor.shape, name
        assert found[name].numpy().tobytes() == tensor.numpy().tobytes(), name


def test_what_is_packed_is_unpacked_bit_for_bit():
    tensors, metadata = unpack(pack(TENSORS, {"note": "ä"}))
    same(tensors, TENSORS)
    assert metadata == {"note": "ä"} and unpack(pack({})) == ({}, {})
    assert {t.numpy().dtype.str for t in TENSORS.values()} == set(TYPES.values())


def test_the_library_reads_it_and_its_files_are_read(tmp_path):
    same(library.load(pack(TENSORS, {"note": "1"})), TENSORS)
    theirs = {name: tensor.contiguous() for name, tensor in TENSORS.items()}
    tensors, metadata = unpack(library.save(theirs, {"note": "1"}))
    same(tensors, TENSORS)
    assert metadata == {"note": "1"}


@pytest.mark.parametrize(
    "content",
    [b"", b"\x08", b"\xff" * 8, b"\x02" + b"\0" * 7 + b"[]", b"\x02" + b"\0" * 7 + b"\xff\xff",
     pack({"w": torch.ones(3)})[:-1],
     pack({"w": torch.ones(3)}).replace(b"[3]", b"[4]"),
     pack({"w": torch.ones(3)}).replace(b"[0,12]", b"[1,13]"),
     pack({"w": torch.ones(3)}).replace(b"F32", b"F31"),
     pack({"w": torch.ones(3)}).replace(b"shape", b"shame")],
)  # fmt: skip
def test_damaged_bytes_are_a_value_error(content):
    with pytest.raises(ValueError):
        unpack(content)
