"""Typed parameters of a chapter: one cell of flat literals, checked before anything runs.

    settings = parameters.read(globals(), Settings)      # a chapter calls it through `chapters.read`

reads the notebook's variables, refuses unknown names, wrong types and impossible values with one clear error, and
fills in what the scale says for every parameter left at None. A value that is given always wins over the scale.
Papermill only warns about names it does not know, hence the check here, which works by hand as well.
"""

import ast
import types
import typing
from dataclasses import dataclass, fields

from support.words import suggest

SCALES = ("smoke", "laptop", "paper")


class ParameterError(ValueError):
    """A parameter that does not exist, has the wrong type, or an impossible value."""


@dataclass(frozen=True)
class Limits:
    """What a value may be: one of `choices`, or a number from `least` to `most`."""

    choices: tuple = ()
    least: float | None = None
    most: float | None = None


Scale = typing.Annotated[str, Limits(choices=SCALES)]
Device = typing.Annotated[str, Limits(choices=("auto", "cpu", "cuda"))]
Presets = dict[str, typing.Any]  # parameter -> its value, or a tuple of one for each of SCALES


@dataclass(frozen=True)
class Settings:
    """Parameters of a chapter, its fields; None leaves a value to the scale.

    presets: what stands for None.
    """

    presets: typing.ClassVar[Presets] = {}

    scale: Scale

    @classmethod
    def defaults(cls, given: dict) -> dict:
        """The values of parameters that were left at None; given: all parameters as they were given."""
        return at_scale(cls.presets, given["scale"])


def at_scale(presets: Presets, scale: str) -> dict:
    """The values at a scale, by parameter."""
    at = SCALES.index(scale)
    return {name: value[at] if isinstance(value, tuple) else value for name, value in presets.items()}


def read(namespace: dict, settings: type[Settings]):
    """The chapter's settings, complete and checked.

    Args:
        namespace: the notebook's globals().
        settings: its fields are the parameters; a field's Limits stand in `Annotated[type, Limits]`.
    Raises:
        ParameterError: repeats the name and value that were given, and suggests the nearest name.
    """
    hints = _hints(settings)
    for name in _assigned(namespace, set(hints)):
        if name not in hints:
            raise ParameterError(f"unknown parameter {name!r}{suggest(name, hints)}")
    missing = [name for name in hints if name not in namespace]
    if missing:
        raise ParameterError(f"the parameters cell does not set {', '.join(missing)}; run it first")
    given = {name: _checked(name, namespace[name], hint) for name, hint in hints.items()}
    filled = settings.defaults(given) | {name: value for name, value in given.items() if value is not None}
    return settings(**{name: filled.get(name) for name in hints})


def _hints(settings: type[Settings]) -> dict[str, typing.Any]:
    """The annotation of each parameter."""
    hints = typing.get_type_hints(settings, include_extras=True)
    return {field.name: hints[field.name] for field in fields(settings)}


def check(given: dict, *settings: type[Settings]) -> None:
    """Checks parameters that are about to be passed to notebooks, as `read` will; raises ParameterError.

    Each must be known to one of the settings at least, and fit all that know it.
    """
    hints = [_hints(s) for s in settings]
    for name, value in given.items():
        theirs = [h[name] for h in hints if name in h]
        if not theirs:
            raise ParameterError(
                f"unknown parameter {name!r}{suggest(name, dict.fromkeys(n for h in hints for n in h))}"
            )
        for hint in theirs:
            _checked(name, value, hint)


def _assigned(namespace: dict, known: set[str]) -> list[str]:
    """Names set by the parameter cells: the cells of nothing but literals that were run just before this one.

    IPython keeps the source of every cell that was run in `In`; the last entry is the cell that is asking. Where
    none of the names is a parameter, the cells were others, and the reader asks again after having worked on.
    """
    names = []
    for source in reversed(namespace.get("In", [])[:-1]):
        try:
            statements = ast.parse(source).body
        except SyntaxError:
            break
        if not statements or not all(map(_literal, statements)):
            break
        for statement in statements:
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            names += [t.id for t in targets if isinstance(t, ast.Name)]
    return names if known & set(names) else []


def _literal(statement: ast.stmt) -> bool:
    """Whether it assigns a plain value, as a parameters cell does; a call or a name is work in progress."""
    if not isinstance(statement, ast.Assign | ast.AnnAssign) or statement.value is None:
        return False
    try:
        ast.literal_eval(statement.value)
    except ValueError:
        return False
    return True


def _checked(name: str, value, hint):
    """The value, if it fits its annotation; whole numbers pass as float."""
    hint, limits = _unpack(hint)
    allowed = typing.get_args(hint) if isinstance(hint, types.UnionType) else (hint,)
    if value is None and type(None) in allowed:
        return None
    fits = type(value) in allowed or (type(value) is int and float in allowed)
    if not fits:
        wanted = " or ".join("None" if t is type(None) else t.__name__ for t in allowed)
        hint = " (in YAML, write 1.0e-3 for a number)" if isinstance(value, str) and float in allowed else ""
        raise ParameterError(f"{name} must be {wanted}, not {value!r}, which is {type(value).__name__}{hint}")
    if limits.choices and value not in limits.choices:
        near = suggest(value, limits.choices) if isinstance(value, str) else f" (known: {limits.choices})"
        raise ParameterError(f"{name} cannot be {value!r}{near}")
    for bound, wrong, word in ((limits.least, float.__lt__, "at least"), (limits.most, float.__gt__, "at most")):
        # "not (inside)" rather than "outside", so that NaN is refused too
        if bound is not None and (value != value or wrong(float(value), float(bound))):
            raise ParameterError(f"{name} must be {word} {bound:g}, not {value!r}")
    return value


def _unpack(hint) -> tuple[typing.Any, Limits]:
    if typing.get_origin(hint) is typing.Annotated:
        kind, *extras = typing.get_args(hint)
        return kind, next((e for e in extras if isinstance(e, Limits)), Limits())
    return hint, Limits()
