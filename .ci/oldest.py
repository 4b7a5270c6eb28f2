"""Prints the core packages of pyproject.toml at the oldest version of their ranges that pip finds for this Python."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path


def numbers(version: str) -> tuple[int, ...]:
    """The numbers of a release, "2.4.1+cpu" -> (2, 4, 1)."""
    return tuple(map(int, re.findall(r"\d+", version.split("+")[0])))


def oldest(name: str, least: str) -> str:
    """The oldest version from `least` on."""
    command = [sys.executable, "-m", "pip", "index", "versions", name]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    found = said.partition("Available versions:")[2].splitlines()[0].strip().split(", ")
    return min((v for v in found if numbers(v) >= numbers(least)), key=numbers)


for line in tomllib.loads(Path("pyproject.toml").read_text())["project"]["dependencies"]:
    name, least = line.split(">=")
    print(f"{name}=={oldest(name, least)}")
