"""Sliders for readers who run a chapter themselves: a training that starts at a click and is drawn as it goes.

    live.panel("What to look for ...", train, draw, {"rate": live.Control("learning rate", (0.01, 0.1, 1.0), 0.1)})

A panel appears only where somebody sits at the front end, for example in JupyterLab. Where a chapter is executed for
a page nobody can move a slider, and the call leaves nothing behind.
"""

import signal
import time
from _thread import interrupt_main
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from typing import Any

from matplotlib.figure import Figure

PAUSE = 3.0  # training takes at least this multiple of the time for drawing


@dataclass(frozen=True)
class Control:
    """A slider over numbers, or a choice of words: its label, its values, and the first one."""

    label: str
    options: Sequence[Any]
    value: Any


def attended() -> bool:
    """Whether somebody sits at the front end: the program that sent this cell says that its user can be asked.

    JupyterLab, Jupyter Notebook and VS Code say so with every cell; papermill, nbconvert and jupyter-book do not.
    """
    from IPython import get_ipython

    kernel = getattr(get_ipython(), "kernel", None)
    return kernel is not None and bool(kernel.get_parent("shell").get("content", {}).get("allow_stdin"))


def panel(*arguments, **options) -> None:
    """Shows a `Panel` to a reader, and does nothing where there is none."""
    if attended():
        from IPython.display import display

        display(Panel(*arguments, **options).box)


class Panel:
    """Sliders, two buttons and a picture.

    Args:
        about: what to try and what to look for.
        train: train(note, **values) trains with the values of the controls. It calls note(step, steps, state) as it
            goes, first with step 0.
        draw: draw(steps, states, **values) returns the figure and a sentence, from the steps and states so far and
            the values of `turned`.
        controls: set before the training.
        turned: change only what is drawn.
    """

    def __init__(
        self,
        about: str,
        train: Callable[..., None],
        draw: Callable[..., tuple[Figure, str]],
        controls: Mapping[str, Control],
        turned: Mapping[str, Control] | None = None,
    ):
        import ipywidgets

        self.train, self.draw = train, draw
        self.steps: list[int] = []
        self.states: list[Any] = []
        self.first = ""  # said before the words of the picture
        self.drawn: Any = None  # what the picture shows
        self.controls = {name: _widget(control) for name, control in controls.items()}
        self.turned = {name: _widget(control) for name, control in (turned or {}).items()}
        self.back = ipywidgets.SelectionSlider(
            options=[0], description="step shown", disabled=True, continuous_update=False, **WIDE
        )
        self.start = ipywidgets.Button(description="Train", button_style="primary")
        self.stop = ipywidgets.Button(
            description="Stop", disabled=True, tooltip="The same as interrupting the kernel"
        )
        self.words = ipywidgets.HTML()
        self.picture = ipywidgets.Image(format="png", layout={"max_width": "100%", "display": "none"})
        self.start.on_click(lambda _: _in_main_thread(self.run))
        self.stop.on_click(lambda _: interrupt_main())
        for widget in (self.back, *self.turned.values()):
            widget.observe(lambda _: _in_main_thread(self.redraw), names="value")
        self.box = ipywidgets.VBox(
            [
                ipywidgets.HTML(about),
                *self.controls.values(),
                ipywidgets.HBox([self.start, self.stop]),
                self.words,
                self.back,
                *self.turned.values(),
                self.picture,
            ]
        )

    def run(self) -> None:
        """Trains with the values of the controls. Stop, or an interrupt of the kernel, keeps what was measured."""
        self.steps, self.states, self.first = [], [], ""
        self.start.disabled, self.stop.disabled, self.back.disabled = True, False, True
        handler = signal.signal(signal.SIGINT, signal.default_int_handler)  # an idle kernel ignores interrupts
        ready, end = 0.0, ""

        def note(step: int, steps: int, state: Any) -> None:
            nonlocal ready, end
            self.steps.append(step)
            self.states.append(state)
            end = f"of {steps:,}"
            begun = time.monotonic()
            if begun >= ready and step < steps:
                self.first = f"Step {step:,} {end}."
                self._show()
                now = time.monotonic()
                ready = now + PAUSE * (now - begun)

        try:
            self.train(note, **{name: widget.value for name, widget in self.controls.items()})
            self.first = ""
        except KeyboardInterrupt:
            last = f"{self.steps[-1]:,}" if self.steps else "0"
            self.first = f"Stopped after step {last} {end}. What was measured until then stays."
        except Exception as error:
            self.first = f"{type(error).__name__}: {error}"
            raise
        finally:
            signal.signal(signal.SIGINT, handler)
            self.start.disabled, self.stop.disabled = False, True
            self.words.value = self.first
            if self.steps:
                self.back.options = [(f"{step:,}", step) for step in self.steps]
                self.back.value, self.back.disabled = self.steps[-1], False
                self._show()

    def redraw(self) -> None:
        """Draws again what the sliders below the picture ask for."""
        if self.states and self._asked() != self.drawn:
            self._show()

    def _asked(self) -> tuple:
        upto = len(self.steps) if self.back.disabled else self.steps.index(self.back.value) + 1
        return upto, {name: widget.value for name, widget in self.turned.items()}

    def _show(self) -> None:
        from matplotlib import pyplot

        self.drawn = upto, values = self._asked()
        fig, said = self.draw(self.steps[:upto], self.states[:upto], **values)
        png = BytesIO()
        fig.savefig(png, format="png", dpi=110)
        pyplot.close(fig)
        self.picture.value, self.picture.layout.display = png.getvalue(), ""
        self.words.value = f"{self.first} {said}".strip()


WIDE: dict[str, Any] = {"style": {"description_width": "13em"}, "layout": {"width": "34em", "max_width": "100%"}}


def _widget(control: Control):
    import ipywidgets

    if all(isinstance(option, str) for option in control.options):
        kind, more = ipywidgets.Dropdown, {}
    else:
        kind, more = ipywidgets.SelectionSlider, {"continuous_update": False}
    options = [(option if isinstance(option, str) else f"{option:g}", option) for option in control.options]
    return kind(options=options, value=control.value, description=control.label, **more, **WIDE)


def _in_main_thread(work: Callable[[], None]) -> None:
    """Runs it as the kernel's next work. JupyterLab sends clicks to a thread that no interrupt reaches."""
    from IPython import get_ipython

    get_ipython().kernel.io_loop.add_callback(work)
