"""`python -m support diagnose MODULE:MODEL DATA`: the report on a network, as text or as a page."""

import argparse
import importlib
import inspect
import os
import re
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO

import support
from support.command_line import run


def _loaded(place: str, load: Callable[[BinaryIO], Any], wanted: str = "") -> Any:
    """What the file holds; ValueError with its name where it is cut, or of another kind than is wanted."""
    try:
        with open(place, "rb") as file:
            return load(file)
    except OSError:
        raise
    except Exception as error:  # zip, pickle and numpy raise many kinds
        kind = re.search(r"GLOBAL (\S+)", str(error))  # in torch's words on what it does not unpickle
        if wanted and kind:
            raise ValueError(f"{place} holds not tensors alone, but a {kind[1]}; {wanted}") from error
        raise ValueError(f"{place} cannot be read: {' '.join(str(error).split()) or type(error).__name__}") from error


def _named(place: str) -> Any:
    """What "package.module:name" names."""
    module, _, name = place.partition(":")
    return getattr(importlib.import_module(module), name)


def made_anew(place: str) -> bool:
    """Whether the model at this place is a new one of a class, with random weights."""
    return not place.endswith((".pt", ".pth")) and inspect.isclass(_named(place))


def model_at(place: str) -> Any:
    """The module at "package.module:name", or what that function gives; or the one in a .pt file, which is unpickled.

    Raises ValueError where there is none.
    """
    import torch

    if place.endswith((".pt", ".pth")):
        found = _loaded(place, lambda file: torch.load(file, map_location="cpu", weights_only=False))
        if isinstance(found, dict):
            raise ValueError(
                f"{place} holds weights alone; name the model as MODULE:MODEL, and pass --weights {place}"
            )
        return found
    if ":" not in place:
        raise ValueError(f"{place!r} is neither MODULE:MODEL, such as my_project.nets:model, nor a .pt file")
    module, _, name = place.partition(":")
    if module.endswith(".py"):
        stem = Path(module).stem
        raise ValueError(f"{place!r} names a file; name the module, {stem}:{name}, in the folder of {stem}.py")
    try:
        found = _named(place)
    except (ImportError, AttributeError, SyntaxError, ValueError) as error:
        raise ValueError(f"{place!r} cannot be imported: {error}") from error
    if isinstance(found, torch.nn.Module):
        return found
    try:
        inspect.signature(found).bind()
    except (TypeError, ValueError) as error:
        raise ValueError(f"{place!r} is no module and no function without arguments: {error}") from error
    return found()


def weights_into(model: Any, place: str) -> None:
    """Loads the weights, a state_dict in a .pt file, into the model. Raises ValueError for those of another one."""
    import torch

    wanted = "if it is a whole model, save its state_dict(), or pass the file in place of MODULE:MODEL"
    held = _loaded(place, lambda file: torch.load(file, map_location="cpu", weights_only=True), wanted)
    try:
        model.load_state_dict(held)
    except (RuntimeError, TypeError, AttributeError) as error:
        raise ValueError(f"{place} does not fit the model: {' '.join(str(error).split())}") from error


def data_at(place: str) -> tuple[Any, Any]:
    """Inputs and labels of a .npz or .pt file with arrays of these names. Raises ValueError for other files."""
    import numpy as np
    import torch

    if place.endswith(".npz"):
        found: Any = _loaded(place, lambda file: dict(np.load(file, allow_pickle=False)))
    elif place.endswith((".pt", ".pth")):
        wanted = "save inputs and labels as tensors, or as arrays in an .npz file"
        found = _loaded(place, lambda file: torch.load(file, map_location="cpu", weights_only=True), wanted)
    else:
        raise ValueError(f"{place!r} is neither an .npz nor a .pt file")
    if isinstance(found, tuple | list) and len(found) == 2:
        return found[0], found[1]
    if not isinstance(found, dict) or not {"inputs", "labels"} <= {*found}:
        held = ", ".join(map(str, found)) if isinstance(found, dict) else type(found).__name__
        raise ValueError(f"{place} holds {held}; wanted inputs and labels")
    return found["inputs"], found["labels"]


def main(arguments: list[str] | None = None) -> int:
    """Runs a command; 0, or 2 with one line on stderr for what cannot be measured."""
    parser = argparse.ArgumentParser(prog="python -m support", description="Measure the geometry of a network.")
    parser.add_argument("--version", action="version", version=support.__version__)
    commands = parser.add_subparsers(dest="command", required=True)
    diagnose = commands.add_parser("diagnose", help="a report on a network: five findings, and what to do")
    diagnose.add_argument(
        "model", help="MODULE:MODEL, a module or a function that gives one, or a .pt file (unpickled)"
    )
    diagnose.add_argument("data", help="a .npz or .pt file with inputs (N, ...) and labels (N,)")
    diagnose.add_argument("--weights", metavar="FILE.pt", help="weights to load into the model, a state_dict")
    diagnose.add_argument("--rate", type=float, help="the learning rate")
    diagnose.add_argument("--save", metavar="FILE.html", help="also write the report as one HTML file")
    options = parser.parse_args(arguments)
    sys.path.insert(0, os.getcwd())
    return run(lambda: _diagnose(options), (ValueError, OSError), 2)


def _diagnose(options: argparse.Namespace) -> None:
    page = Path(options.save).expanduser() if options.save else None
    if page and (page.is_dir() or not page.parent.is_dir()):  # before time is spent
        raise ValueError(f"cannot write the page {page}: it is a folder, or its folder does not exist")
    model = model_at(options.model)
    if options.weights:
        weights_into(model, options.weights)
    report = support.diagnose(model, *data_at(options.data), rate=options.rate)
    if made_anew(options.model) and not options.weights:
        report = replace(report, about=f"The class gave a new network, with random weights. {report.about}")
    print(report)
    if page:
        print(f"\nWritten: {report.save(page)}")


if __name__ == "__main__":
    sys.exit(main())
