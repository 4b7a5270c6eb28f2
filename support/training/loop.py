"""The training loop that all trainers share: it measures, reports progress, saves checkpoints, and stops in time.

course = Course(specs, steps, Options(**options))        # reads the checkpoint, if one exists
seen = course.follow(stack.state, advance, look, at)         # takes the remaining steps
return course.measurements(specs, arrays, stack.weights(), losses, division)

Resumed and uninterrupted training agree bit for bit on the same machine: a checkpoint also keeps how the work was
divided (`machine.Division`, or the number of threads), and random numbers follow from seed and step alone. Where they
come from the CPU on every device, a block may continue on another device; its record then names both.
"""

import signal
import threading
import time
from collections.abc import Callable, Collection, Iterator
from dataclasses import asdict, dataclass, fields
from pathlib import Path

import numpy as np
import torch

from support import defaults
from support.training import checkpoints
from support.training.machine import Division, environment, resolve_device, wait
from support.training.specs import Measurement, Spec, digest, diverged_at, recorded_steps

SEEN = "curves."  # prefix of the measurements in a checkpoint
STRETCH = 0.3  # seconds between checks of the clock and of Ctrl-C, and between reports
STOP = threading.Event()  # set to stop every training of this process: only its main thread hears of Ctrl-C


class Stopped(RuntimeError):
    """Training stopped at a checkpoint before its last step. The next call continues from there."""


@dataclass(frozen=True)
class Options:
    """The keyword arguments of every `train`.

    device: "auto", "cpu" or "cuda".
    checkpoint: path of the block's checkpoint, or None. An existing checkpoint is continued. It is written every
        `checkpoint_seconds`; the caller stores the results and then calls `checkpoints.remove`.
    minutes: after this many minutes, stop at a checkpoint and raise `Stopped`.
    progress: called as progress(step, steps) a few times a second.
    """

    device: str = "auto"
    checkpoint: Path | None = None
    checkpoint_seconds: float = 60.0
    minutes: float | None = None
    progress: Callable[[int, int], None] | None = None


class Course:
    """The training of a block up to its last step, with its checkpoint and clock.

    saved: the checkpoint from which it continues, or None. begun: the environment in which that one began, or None;
    of a block that continues on another device also "device", the first one, and "steps", how many it took there.

    Args:
        movable: whether a block may continue on another device. Otherwise that is a ValueError.
    """

    def __init__(self, specs: Collection[Spec], steps: int, options: Options, movable: bool = False):
        defaults.check()
        if steps < 0:
            raise ValueError(f"steps must be at least 0, not {steps!r}")
        self.steps, self.options, self.clock = steps, options, time.monotonic()
        self.identity = digest([s.key for s in specs] + [steps])
        self.saved = checkpoints.read(options.checkpoint, self.identity)
        if self.saved and not any(name.startswith(SEEN) for name in self.saved.tensors):
            self.saved = None  # from an older version of the trainer, with another layout
        note = self.saved.note if self.saved else {}
        self.before, self.begun, made = note.get("seconds", 0.0), note.get("begun"), note.get("device")
        self.here = environment()  # now, because the code may change while this process trains
        # a block that began on the CPU continues there, even if a GPU is available now
        self.device = resolve_device("cpu" if made == "cpu" and options.device == "auto" else options.device)
        self.moved = made not in (None, self.device.type)
        if self.moved and not movable:
            raise ValueError(
                f"this block was begun on device {made!r}, not {self.device.type!r}: go on there, or delete its "
                f"checkpoint to begin again: {options.checkpoint}"
            )
        if self.moved:
            assert self.saved is not None
            self.begun = {"device": made, "steps": self.saved.entry("step")} | self.saved.entry("begun")

    @property
    def seconds(self) -> float:
        """Seconds of training so far, those before the checkpoint included."""
        return self.before + time.monotonic() - self.clock

    def division(self) -> Division | None:
        """How the work before the checkpoint was divided; None without one. Raises `checkpoints.OtherLayout`."""
        if self.saved is None:
            return None
        entry = self.saved.entry("division")
        if entry.keys() != {f.name for f in fields(Division)}:
            raise checkpoints.OtherLayout
        return Division(**entry)

    def follow(
        self,
        state: Callable[[], dict[str, torch.Tensor]],
        advance: Callable[[int, int], None],
        look: Callable[[int], dict],
        at: Collection[int],
        note: dict | None = None,
        unit: str = "step",
    ) -> dict[str, np.ndarray]:
        """Trains from the checkpoint or the start to the last step.

        It goes in stretches of about `STRETCH` seconds, with a check of the clock after each.
        Returns the measurements by name, stacked along a new first axis.

        Args:
            state: returns all tensors that a step changes, by name.
            advance: takes all steps from its first argument to its second, both included.
            look: measures the networks after a step of `at`, and at step 0 if there is no checkpoint; returns arrays
                or tensors by name.
            note: more entries for the checkpoint, for JSON.
            unit: the word for a step in messages.
        Raises:
            Stopped: out of time, or interrupted (Ctrl-C, SIGTERM).
            checkpoints.OtherLayout: the checkpoint does not hold this state.
        """
        steps, minutes, progress = self.steps, self.options.minutes, self.options.progress
        kept = self.options.checkpoint is not None
        seen: dict[str, list[torch.Tensor]] = {}

        def note_down():
            for name, value in look(number).items():
                seen.setdefault(name, []).append(torch.as_tensor(value))

        def save():
            tensors = state() | {SEEN + name: torch.stack(every) for name, every in seen.items()}
            self.save(number, dict(note or {}), tensors)

        with _Interrupt() as interrupt:
            number, stretch = 0, 1
            if self.saved is None:
                note_down()
            else:
                number = self.saved.entry("step")
                self.saved.restore(state())
                for name, value in self.saved.tensors.items():
                    if name.startswith(SEEN):
                        seen[name.removeprefix(SEEN)] = list(value)
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
                    note_down()
                    stretch = 1  # the next steps may take much longer, such as those that measure a trained network
                if progress is not None:
                    progress(number, steps)
                out_of_time = minutes is not None and time.monotonic() - begun > 60 * minutes
                # an interrupt after the last step still stops the caller, if a checkpoint keeps the work
                if (number < steps and out_of_time) or (interrupt.asked and (number < steps or kept)):
                    if kept:
                        save()
                    why = "interrupted" if interrupt.asked else f"out of its {minutes:g} minutes"
                    lost = "" if kept else " (no checkpoint was asked for: its work is lost)"
                    raise Stopped(f"{why} at {unit} {number:,} of {steps:,}{lost}")
                if kept and now - saved > self.options.checkpoint_seconds:
                    save()
                    saved = time.monotonic()
        return {name: torch.stack(every).numpy() for name, every in seen.items()}

    def measurements(
        self,
        specs: Collection[Spec],
        arrays: Collection[dict[str, np.ndarray]],
        weights: Collection[dict[str, torch.Tensor]],
        losses: Collection[str],
        division: Division,
        probe: dict | None = None,
    ) -> list[Measurement]:
        """One Measurement per specification, from its arrays and final weights.

        losses: names of the arrays that show by a value that is not finite that a network has diverged.
        """
        share, results = self.seconds / len(specs), []
        for spec, own, last in zip(specs, arrays, weights, strict=True):
            lost = diverged_at(own["steps"], np.isfinite(np.stack([own[name] for name in losses])).all(axis=0))
            results.append(Measurement(spec, own, last, lost, asdict(division), probe or {}, share, self.begun))
        return results

    def save(self, number: int, note: dict, tensors: dict[str, torch.Tensor]) -> None:
        """Writes the checkpoint of this step. `options.checkpoint` must be set."""
        assert self.options.checkpoint is not None
        note |= {"step": number, "seconds": self.seconds, "device": self.device.type}
        note["begun"] = self.begun or self.here
        checkpoints.write(self.options.checkpoint, self.identity, note, tensors)


def recorded(advance: Callable[[int], None], steps: int) -> Iterator[int]:
    """Trains from the start, without checkpoints, and yields at each recorded step."""
    at = recorded_steps(steps)
    for number in range(steps + 1):
        if number:
            advance(number)
        if number in at:
            yield number


def each(step: Callable[[int], None]) -> Callable[[int, int], None]:
    """An `advance` that takes one step after the other."""

    def advance(first: int, last: int) -> None:
        for number in range(first, last + 1):
            step(number)

    return advance


class _Interrupt:
    """While active, the first Ctrl-C or SIGTERM only sets `asked`, so that training can stop at a checkpoint."""

    heard = False

    @property
    def asked(self) -> bool:
        return self.heard or STOP.is_set()

    def __enter__(self):
        self.before = {}
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                self.before[number] = signal.signal(number, self._note)
        return self

    def _note(self, number, frame):
        if self.heard:  # the second one stops at once
            raise KeyboardInterrupt
        self.heard = True

    def __exit__(self, *_):
        for number, handler in self.before.items():
            signal.signal(number, handler)
