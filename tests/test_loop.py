"""The way through the steps: every step once and in order, notes where they were asked for, and a stop in time."""

import os
import signal
import time
from pathlib import Path

import numpy as np
import pytest
import torch

from support.training import checkpoints, loop
from support.training.checkpoints import Checkpoint
from support.training.classifiers.specs import RunSpec
from support.training.machine import Division


class Walked(loop.Course):
    """A course whose trainer and whose checkpoints only write down what they are told to do."""

    def __init__(self, steps, done=None, a_step=0.0, checkpoint=Path("never written"), **options):
        super().__init__([], steps, loop.Options("cpu", checkpoint, **options))
        self.taken, self.noted, self.kept, self.a_step = [], [], [], a_step
        if done is not None:
            self.saved = Checkpoint({"step": done}, self.state())

    def advance(self, first, last):
        assert first <= last
        self.taken += range(first, last + 1)
        time.sleep(self.a_step * (last - first + 1))

    def state(self):
        return {"tensor": torch.tensor(2)}

    def save(self, number, note, tensors):
        assert (note, tensors) == ({"note": 1}, self.state())
        self.kept.append(number)

    def go(self, at, note_down=None, unit="step"):
        def look(number):
            (note_down or self.noted.append)(number)
            return {}

        assert self.follow(self.state, self.advance, look, at, {"note": 1}, unit) == {}
        return self


def test_every_step_is_taken_once_and_notes_are_where_they_belong():
    reported = []
    walked = Walked(1000, progress=lambda step, steps: reported.append((step, steps))).go({0, 1, 7, 500, 1000})
    assert walked.taken == list(range(1, 1001)) and walked.noted == [0, 1, 7, 500, 1000]
    assert reported[-1] == (1000, 1000) and {1, 7, 500} < {step for step, _ in reported}
    assert len(reported) < 100 and walked.kept == []  # stretches, and no checkpoint of so short a walk


def test_from_a_checkpoint_it_goes_on_and_does_not_note_down_again():
    walked = Walked(20, done=10).go({0, 10, 20})
    assert walked.taken == list(range(11, 21)) and walked.noted == [20]


def test_nothing_to_do_is_noted_down_all_the_same():
    walked = Walked(0).go({0})
    assert (walked.taken, walked.noted) == ([], [0])


def test_looks_at_the_clock_are_a_stretch_apart(monkeypatch):
    """By a clock that only the steps move: 0.002 seconds each."""
    looks = []
    walked = Walked(5000, progress=lambda step, _: looks.append(step))
    monkeypatch.setattr(loop.time, "monotonic", lambda: 0.002 * len(walked.taken))
    walked.go({0, 5000})
    stretches = [b - a for a, b in zip(looks[:-1], looks[1:], strict=True)]
    assert max(stretches) == round(loop.STRETCH / 0.002) and looks[:3] == [1, 3, 7]


def test_slow_steps_behind_fast_ones_are_not_one_long_stretch(monkeypatch):
    """By the same clock: a network that is fitted takes no time, and the points behind its last batch a second."""
    looks = []
    walked = Walked(1100, progress=lambda step, _: looks.append(step))
    monkeypatch.setattr(loop.time, "monotonic", lambda: float(sum(step > 1000 for step in walked.taken)))
    walked.go({0, 1000, 1100})
    measured = [step for step in looks if step >= 1000]
    assert measured[:3] == [1000, 1001, 1002] and max(np.diff(measured)) <= max(1, round(2 * loop.STRETCH))


def test_out_of_time_it_saves_and_says_where_it_is():
    walked = Walked(1000, a_step=0.001, minutes=0)
    with pytest.raises(loop.Stopped, match="out of its 0 minutes at epoch 1 of 1,000$"):
        walked.go({0, 1000}, unit="epoch")
    assert walked.kept == [walked.taken[-1]] == [1]


def test_the_last_step_is_never_out_of_time():
    walked = Walked(1, minutes=0).go({0, 1})
    assert walked.noted == [0, 1] and walked.kept == []


def test_without_a_checkpoint_it_says_that_the_work_is_lost():
    walked = Walked(1000, a_step=0.001, checkpoint=None, minutes=0)
    with pytest.raises(loop.Stopped, match="its work is lost"):
        walked.go({0})
    assert walked.kept == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_is_heard_at_the_next_look_and_handlers_come_back(number):
    before, walked = signal.getsignal(number), Walked(1000)

    def asks(step):
        if step == 5:
            os.kill(os.getpid(), number)

    with pytest.raises(loop.Stopped, match="interrupted at step 5 of 1,000"):
        walked.go({0, 5}, asks)
    assert walked.kept == [5] and signal.getsignal(number) is before


def test_an_interrupt_at_the_last_step_is_heard_and_loses_nothing():
    """With a checkpoint the next call has nothing left to do; without one there is nothing to go back to."""

    def asks(step):
        if step == 5:
            os.kill(os.getpid(), signal.SIGTERM)

    walked = Walked(5)
    with pytest.raises(loop.Stopped, match="interrupted at step 5 of 5$"):
        walked.go({0, 5}, asks)
    assert walked.kept == [5]
    assert Walked(5, done=5).go({0, 5}, asks).taken == []
    assert Walked(5, checkpoint=None).go({0, 5}, asks).taken == [1, 2, 3, 4, 5]


def test_checkpoints_are_written_on_the_way():
    walked = Walked(50, a_step=0.01, checkpoint_seconds=0.0).go({0, 50})
    assert walked.kept and walked.kept == sorted(set(walked.kept))


class Counting:
    """A stack with one number, which every step doubles."""

    def __init__(self):
        self.value = torch.ones(1)

    def step(self, number):
        self.value *= 2

    def state(self):
        return {"value": self.value}

    def restore(self, tensors):
        self.value.copy_(tensors["value"])


def followed(path, steps=8, **options):
    stack, course = Counting(), loop.Course([], steps, loop.Options("cpu", path, **options))

    def look(number):
        return {"value": stack.value.clone()} | ({"odd": np.array([number])} if number % 2 else {})

    return course.follow(stack.state, loop.each(stack.step), look, range(steps + 1), {"said": 1})


def test_what_was_seen_comes_back_stacked_by_name_and_through_checkpoints_too(tmp_path):
    path = tmp_path / "block.safetensors"
    for _ in range(7):  # a step each, then it is out of time
        with pytest.raises(loop.Stopped):
            followed(path, minutes=0)
    for seen in (followed(None), followed(path)):
        assert seen["value"].tolist() == [[2.0**k] for k in range(9)] and seen["odd"].tolist() == [[1], [3], [5], [7]]


def test_a_checkpoint_in_another_layout_is_passed_over(tmp_path):
    path = tmp_path / "block.safetensors"
    course = loop.Course([], 8, loop.Options("cpu", path))
    for name, taken in (("curves.value", True), ("curves", False)):
        checkpoints.write(path, course.identity, {"step": 3}, {name: torch.zeros(4), "value": torch.ones(1)})
        assert (loop.Course([], 8, loop.Options("cpu", path)).saved is not None) == taken


@pytest.mark.parametrize(("loss", "wanted"), [([1.0, 2.0, 3.0], None), ([1.0, np.inf, 3.0], 4), ([np.nan] * 3, 0)])
def test_a_network_diverged_where_a_loss_is_first_not_finite(loss, wanted):
    spec = RunSpec(architecture="Abs", seed=0, data="none", data_digest="", images=1, scaling="raw", rate=0.1)
    arrays = {"steps": np.array([0, 4, 9]), "train_loss": np.zeros(3), "test_loss": np.array(loss)}
    course = loop.Course([spec], 9, loop.Options("cpu"))
    division = Division("cpu", 1, "default", 10, 1)
    (found,) = course.measurements([spec], [arrays], [{}], ("train_loss", "test_loss"), division)
    assert (found.diverged_at, found.division["rows"], found.begun) == (wanted, 10, None)


def test_steps_are_not_negative():
    with pytest.raises(ValueError, match="steps must be at least 0, not -1"):
        loop.Course([], -1, loop.Options("cpu"))
