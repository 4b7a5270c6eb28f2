"""The way through the steps: every step once and in order, notes where they were asked for, and a stop in time."""

import os
import signal
import time

import pytest

from support import loop


class Walked:
    """A trainer that only writes down what it is told to do."""

    def __init__(self, seconds=0.0):
        self.taken, self.noted, self.saved, self.seconds = [], [], [], seconds

    def advance(self, first, last):
        assert first <= last
        self.taken += range(first, last + 1)
        time.sleep(self.seconds * (last - first + 1))

    def walk(self, steps, at, done=None, unit="step", **options):
        options = loop.Options(**options)
        loop.walk(
            steps, self.advance, self.noted.append, at, done=done, save=self.saved.append, options=options, unit=unit
        )


def test_every_step_is_taken_once_and_notes_are_where_they_belong():
    walked, reported = Walked(), []
    walked.walk(1000, {0, 1, 7, 500, 1000}, progress=lambda step, steps: reported.append((step, steps)))
    assert walked.taken == list(range(1, 1001)) and walked.noted == [0, 1, 7, 500, 1000]
    assert reported[-1] == (1000, 1000) and {1, 7, 500} < {step for step, _ in reported}
    assert len(reported) < 100 and walked.saved == []  # stretches, and no checkpoint of so short a walk


def test_from_a_checkpoint_it_goes_on_and_does_not_note_down_again():
    walked = Walked()
    walked.walk(20, {0, 10, 20}, done=10)
    assert walked.taken == list(range(11, 21)) and walked.noted == [20]


def test_nothing_to_do_is_noted_down_all_the_same():
    walked = Walked()
    walked.walk(0, {0})
    assert (walked.taken, walked.noted) == ([], [0])


def test_looks_at_the_clock_are_a_stretch_apart(monkeypatch):
    """By a clock that only the steps move: 0.002 seconds each."""
    walked, looks = Walked(), []
    monkeypatch.setattr(loop.time, "monotonic", lambda: 0.002 * len(walked.taken))
    walked.walk(5000, {0, 5000}, progress=lambda step, _: looks.append(step))
    stretches = [b - a for a, b in zip(looks[:-1], looks[1:], strict=True)]
    assert max(stretches) == round(loop.STRETCH / 0.002) and looks[:3] == [1, 3, 7]


def test_out_of_time_it_saves_and_says_where_it_is():
    walked = Walked(seconds=0.001)
    with pytest.raises(loop.Stopped, match=f"out of its 0 minutes at epoch {1} of 1,000$"):
        walked.walk(1000, {0, 1000}, minutes=0, unit="epoch")
    assert walked.saved == [walked.taken[-1]] == [1]


def test_the_last_step_is_never_out_of_time():
    walked = Walked()
    walked.walk(1, {0, 1}, minutes=0)
    assert walked.noted == [0, 1] and walked.saved == []


def test_without_a_checkpoint_it_says_that_the_work_is_lost():
    walked = Walked(seconds=0.001)
    with pytest.raises(loop.Stopped, match="its work is lost"):
        loop.walk(1000, walked.advance, walked.noted.append, {0}, options=loop.Options(minutes=0))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_is_heard_at_the_next_look_and_handlers_come_back(number):
    before, walked = signal.getsignal(number), Walked()

    def note_down(step):
        walked.noted.append(step)
        if step == 5:
            os.kill(os.getpid(), number)

    with pytest.raises(loop.Stopped, match="interrupted at step 5 of 1,000"):
        loop.walk(1000, walked.advance, note_down, {0, 5}, save=walked.saved.append)
    assert walked.saved == [5] and signal.getsignal(number) is before


def test_an_interrupt_at_the_last_step_is_heard_and_loses_nothing():
    """With a checkpoint the next call has nothing left to do; without one there is nothing to go back to."""

    def asks(step):
        if step == 5:
            os.kill(os.getpid(), signal.SIGTERM)

    walked = Walked()
    with pytest.raises(loop.Stopped, match="interrupted at step 5 of 5$"):
        loop.walk(5, walked.advance, asks, {0, 5}, save=walked.saved.append)
    assert walked.saved == [5]
    loop.walk(5, walked.advance, asks, {0, 5}, done=5, save=walked.saved.append)
    loop.walk(5, walked.advance, asks, {0, 5})
    assert walked.taken == [1, 2, 3, 4, 5] * 2


def test_checkpoints_are_written_on_the_way():
    walked = Walked(seconds=0.01)
    walked.walk(50, {0, 50}, checkpoint_seconds=0.0)
    assert walked.saved and walked.saved == sorted(set(walked.saved))
