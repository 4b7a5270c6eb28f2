"""The way through the steps, the same for every trainer: note down, report, save, and stop in time.

course = Course(specs, steps, Options(**options))        # reads the checkpoint, if there is one
course.walk(advance, note_down, at, state)               # takes the steps that are left
"""

import signal
import threading
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path

import torch

from support.training import checkpoints
from support.training.machine import environment, resolve_device, wait
from support.training.specs import Spec, digest

STRETCH = 0.3  # seconds between two looks at the clock and at Ctrl-C, and between two reports


class Stopped(RuntimeError):
    """Training stopped before its last step, at a checkpoint; the next call goes on from there."""


@dataclass(frozen=True)
class Options:
    """The keywords of every `train`.

    device: "auto", "cpu" or "cuda".
    checkpoint: path of the block's checkpoint, or None. It is written every `checkpoint_seconds` and removed by
        `checkpoints.remove` once the caller has stored the results; a run found there is continued.
    minutes: stop at a checkpoint after so long and raise `Stopped`.
    progress: called as progress(step, steps) a few times a second.
    """

    device: str = "auto"
    checkpoint: Path | None = None
    checkpoint_seconds: float = 60.0
    minutes: float | None = None
    progress: Callable[[int, int], None] | None = None


class Course:
    """The way of a block to its last step, with its checkpoint and its clock.

    saved: the checkpoint that it goes on from, or None. begun: the environment that this one was begun in, or None.
    seconds: taken so far, those before the checkpoint too.
    """

    def __init__(self, specs: Collection[Spec], steps: int, options: Options):
        self.steps, self.options, self.clock = steps, options, time.monotonic()
        self.identity = digest([s.key for s in specs] + [steps])
        self.saved = checkpoints.read(options.checkpoint, self.identity)
        note = self.saved.note if self.saved else {}
        self.before, self.begun, made = note.get("seconds", 0.0), note.get("begun"), note.get("device")
        self.here = environment()  # of the code that trains, not of what it has become an hour later
        # what was begun on the CPU goes on there, although a GPU may have come
        self.device = resolve_device("cpu" if made == "cpu" and options.device == "auto" else options.device)
        if made not in (None, self.device.type):
            raise ValueError(
                f"this block was begun on device {made!r}, not {self.device.type!r}: go on there, or delete its "
                f"checkpoint to begin again: {options.checkpoint}"
            )

    @property
    def seconds(self) -> float:
        return self.before + time.monotonic() - self.clock

    @property
    def done(self) -> int | None:
        """The step that the checkpoint was at; None, nothing is done."""
        return self.saved.note["step"] if self.saved else None

    def walk(
        self,
        advance: Callable[[int, int], None],
        note_down: Callable[[int], None],
        at: Collection[int],
        state: Callable[[], tuple[dict, dict[str, torch.Tensor]]],
        unit: str = "step",
    ) -> None:
        """Takes the steps that are left, in stretches as long as a look at the clock is worth.

        Args:
            advance: takes the steps from the first to the last that it is given, both included.
            note_down: looks at the networks after that step; called at the steps of `at`, where no stretch passes by.
                Where nothing is done yet, step 0 is noted down first.
            state: what a checkpoint keeps, a note for JSON and tensors; asked for every `checkpoint_seconds` and
                before it stops.
            unit: what a step is called.
        Raises:
            Stopped: out of time, or interrupted (Ctrl-C, SIGTERM).
        """
        steps, minutes, progress = self.steps, self.options.minutes, self.options.progress
        kept = self.options.checkpoint is not None
        with _Interrupt() as interrupt:
            if self.done is None:
                note_down(0)
            number, stretch = self.done or 0, 1
            begun = saved = time.monotonic()
            while number < steps:
                goal = min([number + stretch, steps] + [s for s in at if s > number])
                before = time.monotonic()
                advance(number + 1, goal)
                wait(self.device)
                now = time.monotonic()
                stretch = max(1, min(2 * stretch, round(STRETCH * (goal - number) / max(now - before, 1e-9))))
                number = goal
                if number in at:
                    note_down(number)
                if progress is not None:
                    progress(number, steps)
                out_of_time = minutes is not None and time.monotonic() - begun > 60 * minutes
                # an interrupt after the last step still stops who asked for these steps; a checkpoint has their work
                if (number < steps and out_of_time) or (interrupt.asked and (number < steps or kept)):
                    if kept:
                        self.save(number, *state())
                    why = "interrupted" if interrupt.asked else f"out of its {minutes:g} minutes"
                    lost = "" if kept else " (no checkpoint was asked for: its work is lost)"
                    raise Stopped(f"{why} at {unit} {number:,} of {steps:,}{lost}")
                if kept and now - saved > self.options.checkpoint_seconds:
                    self.save(number, *state())
                    saved = time.monotonic()

    def save(self, number: int, note: dict, tensors: dict[str, torch.Tensor]) -> None:
        """Writes the checkpoint of that step."""
        note |= {"step": number, "seconds": self.seconds, "device": self.device.type}
        note["begun"] = self.begun or self.here
        checkpoints.write(self.options.checkpoint, self.identity, note, tensors)


class _Interrupt:
    """While active, the first Ctrl-C or SIGTERM is only noted, so that training can stop at a checkpoint."""

    asked = False

    def __enter__(self):
        self.before = {}
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                self.before[number] = signal.signal(number, self._note)
        return self

    def _note(self, number, frame):
        if self.asked:  # the second one means it
            raise KeyboardInterrupt
        self.asked = True

    def __exit__(self, *_):
        for number, handler in self.before.items():
            signal.signal(number, handler)
