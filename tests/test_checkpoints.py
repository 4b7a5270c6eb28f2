"""A checkpoint that is torn, altered or someone else's is passed over; the one before it is there."""

import itertools
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from support.training import checkpoints


@pytest.fixture
def path(tmp_path):
    """Two checkpoints on disk: steps 1 and 2 of "mine"."""
    path = tmp_path / "folder" / "block.safetensors"
    for step in (1, 2):
        checkpoints.write(
            path, "mine", {"step": step}, {"w": torch.full((50,), float(step)), "n": torch.tensor(step)}
        )
    return path


def step_of(path, identity="mine"):
    found = checkpoints.read(path, identity)
    if found is None:
        return None
    assert (found.tensors["w"] == found.note["step"]).all() and found.tensors["n"] == found.note["step"]
    return found.note["step"]


def test_the_newest_is_read_back_bit_for_bit(path):
    assert step_of(path) == 2
    odd = torch.tensor([0.1, float("nan"), float("-inf"), 1e-45]), torch.tensor([1e300], dtype=torch.float64)
    checkpoints.write(path, "mine", {"step": 3, "seconds": 0.1}, dict(zip("ab", odd, strict=True)))
    found = checkpoints.read(path, "mine")
    assert found.note == {"step": 3, "seconds": 0.1}
    for name, value in zip("ab", odd, strict=True):
        assert found.tensors[name].dtype == value.dtype
        assert found.tensors[name].numpy().tobytes() == value.numpy().tobytes()


def test_there_is_none_where_none_was_written(tmp_path):
    assert checkpoints.read(None, "mine") is None
    assert checkpoints.read(tmp_path / "no.safetensors", "mine") is None


@pytest.mark.parametrize("kept", [0, 3, 8, 100, 0.5, -1])
def test_a_truncated_one_falls_back_to_the_one_before(path, kept):
    content = path.read_bytes()
    path.write_bytes(content[: int(kept * len(content)) if isinstance(kept, float) else kept])
    assert step_of(path) == 1
    path.with_suffix(".previous").write_bytes(b"")
    assert step_of(path) is None


def test_no_single_altered_byte_gets_through(path):
    """Every 7th byte of the file, header and all, flipped in turn: never a wrong number, always the one before."""
    content = path.read_bytes()
    for place in range(0, len(content), 7):
        path.write_bytes(content[:place] + bytes([content[place] ^ 0x10]) + content[place + 1 :])
        assert step_of(path) in (1, 2), place
        if checkpoints.read(path, "mine").note["step"] == 2:  # only padding, which says nothing, may change
            assert content[place : place + 1] == b" ", place


def test_that_of_another_run_is_ignored(path):
    assert step_of(path, "other") is None
    checkpoints.write(path, "other", {"step": 9}, {"w": torch.full((3,), 9.0), "n": torch.tensor(9)})
    assert step_of(path, "other") == 9
    assert step_of(path) == 2  # mine, now the one before


def test_a_file_that_is_no_checkpoint_is_passed_over(path):
    save_file({"w": torch.zeros(3)}, path)
    assert step_of(path) == 1


@pytest.mark.parametrize("renames", [0, 1])
def test_between_its_two_renames_a_whole_one_is_on_disk(path, renames, monkeypatch):
    """The kill falls before the first or before the second rename."""
    count, replace = itertools.count(), Path.replace

    class Killed(BaseException):
        pass

    def dies(self, target):
        if next(count) == renames:
            raise Killed
        return replace(self, target)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", dies)
        with pytest.raises(Killed):
            checkpoints.write(path, "mine", {"step": 3}, {"w": torch.full((50,), 3.0), "n": torch.tensor(3)})
    assert step_of(path) == 2
    checkpoints.write(path, "mine", {"step": 4}, {"w": torch.full((50,), 4.0), "n": torch.tensor(4)})
    assert step_of(path) == 4


@pytest.mark.parametrize("where", ["the folder", "the file"])
def test_one_that_cannot_be_written_is_one_clear_error(path, where, tmp_path):
    """Real errors of the file system: a file where the folder should be, a folder where the file should be."""
    if where == "the folder":
        target = path / "under" / "a-file.safetensors"
    else:
        target = path
        path.with_suffix(".writing").mkdir()
    with pytest.raises(checkpoints.CheckpointError, match="cannot write the checkpoint .*safetensors"):
        checkpoints.write(target, "mine", {"step": 3}, {"w": torch.zeros(3)})
    assert step_of(path) == 2


def test_removing_leaves_nothing(path):
    path.with_suffix(".writing").write_text("torn")
    checkpoints.remove(path)
    assert list(path.parent.iterdir()) == []
    checkpoints.remove(path)  # nor does it mind
