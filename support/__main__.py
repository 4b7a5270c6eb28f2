"""`python -m support diagnose MODULE:MODEL DATA`: the report on a network, as text or as a page."""

import argparse
import importlib
import os
import sys
from pathlib import Path
from typing import Any

import support


def model_at(place: str) -> Any:
    """The module at "package.module:name", or what that function gives; or the one in a .pt file, which is unpickled.

    Raises ValueError where there is none.
    """
    import torch

    if place.endswith((".pt", ".pth")):
        found = torch.load(place, map_location="cpu", weights_only=False)
        if isinstance(found, dict):
            raise ValueError(f"{place} holds weights alone; save the whole module, or name it as MODULE:MODEL")
        return found
    module, colon, name = place.partition(":")
    if not colon:
        raise ValueError(f"{place!r} is neither MODULE:MODEL, such as my_project.nets:model, nor a .pt file")
    try:
        found = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise ValueError(f"{place!r} cannot be imported: {error}") from error
    return found if isinstance(found, torch.nn.Module) else found()


def data_at(place: str) -> tuple[Any, Any]:
    """Inputs and labels of a .npz or .pt file with arrays of these names. Raises ValueError for other files."""
    import numpy as np
    import torch

    if place.endswith(".npz"):
        found: Any = np.load(place, allow_pickle=False)
    elif place.endswith((".pt", ".pth")):
        found = torch.load(place, map_location="cpu", weights_only=True)
    else:
        raise ValueError(f"{place!r} is neither an .npz nor a .pt file")
    if isinstance(found, tuple | list) and len(found) == 2:
        return found[0], found[1]
    if not {"inputs", "labels"} <= {*found}:
        raise ValueError(f"{place} holds {', '.join(map(str, found))}; wanted inputs and labels")
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
    diagnose.add_argument("--rate", type=float, help="the learning rate")
    diagnose.add_argument("--save", metavar="FILE.html", help="also write the report as one HTML file")
    options = parser.parse_args(arguments)
    sys.path.insert(0, os.getcwd())
    try:
        report = support.diagnose(model_at(options.model), *data_at(options.data), rate=options.rate)
        print(report)
        if options.save:
            print(f"\nWritten: {report.save(Path(options.save))}")
    except (ValueError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
