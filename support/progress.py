"""Progress of long work with the time left, on stderr, which a built page leaves out."""

import sys
import time

WIDTH = 20  # characters of the bar


class Progress:
    """Prints the step and the estimated time left: every 30 s as a line, on a terminal every second as a bar.

    live: whether a bar overwrites itself; by default on a terminal. seconds: between two prints. unit: the word for a
    step.
    """

    def __init__(self, label: str, live: bool | None = None, seconds: float | None = None, unit: str = "step"):
        self.label, self.unit, self.begun = label, unit, time.monotonic()
        self.first: int | None = None
        self.live = sys.stderr.isatty() if live is None else live
        self.seconds = seconds if seconds is not None else 1.0 if self.live else 30.0
        self.last = self.begun
        self.shown = 0  # characters of the bar on the screen

    def __call__(self, step: int, steps: int) -> None:
        """Takes note of a step, and prints if it is time; a bar is removed at the last step."""
        now = time.monotonic()
        if self.first is None:  # a resumed run does not start at 0, and the first step waits for data and libraries
            self.first, self.begun = step, now
        if self.live and self.shown and step >= steps:
            self._print(f"\r{' ' * self.shown}\r")
            self.shown = 0
        if now - self.last < self.seconds or step >= steps or step <= self.first:
            return
        self.last = now
        left = (now - self.begun) / (step - self.first) * (steps - step)
        text = f"{self.label}: {self.unit} {step:,} of {steps:,}, about {_duration(left)} left"
        if self.live:
            full = WIDTH * step // steps
            text = f"[{'#' * full}{'.' * (WIDTH - full)}] {text}"
            self._print("\r" + text.ljust(self.shown))
            self.shown = max(self.shown, len(text))
        else:
            self._print(text + "\n")

    @staticmethod
    def _print(text: str) -> None:
        print(text, end="", file=sys.stderr, flush=True)


def _duration(seconds: float) -> str:
    return f"{seconds / 60:.1f} min" if seconds >= 60 else f"{seconds:.0f} s"
