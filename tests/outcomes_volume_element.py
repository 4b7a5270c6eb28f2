"""Made-up tables that drive the claims of the chapter on the volume element to each outcome.

Each has two widths with ten networks; a number of the second width may be given apart.
"""

import numpy as np
import pandas as pd

WIGGLE = np.resize([-1.0, 1.0], 10)
INDEX = pd.MultiIndex.from_product([[5, 20], range(10)], names=["width", "seed"])


def both(first, second=None) -> np.ndarray:
    """A number of each network at both widths."""
    second = first if second is None else second
    return np.concatenate([np.broadcast_to(x, 10) for x in (first, second)]).astype(float)


def columns(kind="true", **numbers) -> dict:
    """Columns of networks with such labels; "_" in a name stands for a space."""
    return {
        (name.replace("_", " "), kind): both(*x) if isinstance(x, tuple) else both(x) for name, x in numbers.items()
    }


def of(state: str, **numbers) -> tuple:
    return columns(**numbers) | {"index": INDEX}, state


UP, NONE = 2 + 0.1 * WIGGLE, 0.5 * WIGGLE
_MAGNIFIED = {"effect": UP, "contrast": UP}
_BEFORE = [
    of("holds", **_MAGNIFIED, contrast_before=0.2),
    of("fails", **_MAGNIFIED, contrast_before=1.8),
    of("fails", **_MAGNIFIED, contrast_before=(0.2, 1.8)),
    of("unclear", **_MAGNIFIED, contrast_before=1 + 0.3 * WIGGLE),
    of("holds", effect=UP, contrast=(UP, -UP), contrast_before=0.2),  # the second width has no contrast
    of("void", effect=UP, contrast=-UP, contrast_before=0.2),
]
_NEARER = [
    of("holds", nearer=0.1 + 0.01 * WIGGLE, nearer_before=0.0),
    of("fails", nearer=-0.1 + 0.01 * WIGGLE, nearer_before=-0.2),
    of("fails", nearer=0.1 + 0.01 * WIGGLE, nearer_before=0.2),
    of("unclear", nearer=0.1 * WIGGLE, nearer_before=-0.5),
]
_ACCURATE = [
    of("holds", contrast=1, train_accuracy=98 + WIGGLE, test_accuracy=97 + WIGGLE),
    of("fails", contrast=1, train_accuracy=98 + WIGGLE, test_accuracy=92 + WIGGLE),
    of("fails", contrast=1, train_accuracy=92 + WIGGLE, test_accuracy=97 + WIGGLE),
    of("unclear", contrast=1, train_accuracy=98 + WIGGLE, test_accuracy=95 + WIGGLE),
]


def _with_controls(state: str, shuffled, learned=95.0, **numbers) -> tuple:
    own = columns(**_MAGNIFIED | numbers)
    return own | columns("shuffled", contrast=shuffled, train_accuracy=learned + WIGGLE) | {"index": INDEX}, state


def _on_mnist(state: str, accuracy, **numbers) -> tuple:
    accurate = columns(train_accuracy=98 + WIGGLE, test_accuracy=accuracy)
    return columns(**numbers) | accurate | {"index": INDEX, "arm": "MNIST"}, state


def _round(*uneven) -> dict:
    return {f"{n} units": x + 0.01 * WIGGLE for n, x in zip((2, 10, 100, 250, 500), (*uneven, 0.01), strict=True)}


def _share_at_the_boundary(*shares) -> dict:
    return {f"{n} units": x + (1 + n % 9) * WIGGLE for n, x in zip((5, 20, 250), shares, strict=True)}


def _sd(kind: str, state: str, value, **more) -> tuple:
    return {f"{kind} SD": value, f"{kind} nats": 10 * np.asarray(value), **more}, state


def _larger(kind: str) -> list:
    return [
        _sd(kind, "holds", 1 + 0.1 * WIGGLE),
        _sd(kind, "fails", -1 + 0.1 * WIGGLE),
        _sd(kind, "unclear", 0.2 + WIGGLE),
    ]


_X = np.arange(20.0)
_NOISE = np.random.default_rng(0).permutation(20)
_LOSS = _X + 0.5 * _NOISE


def _ranks(state: str, name: str, second, accuracy=100.0, **numbers) -> tuple:
    """Twenty networks whose effects rise from one to the next."""
    columns = {"effect": _X, name: second, "train accuracy": accuracy} | numbers
    return {(name, "true"): x for name, x in columns.items()}, state


def _falls(name: str, **more) -> list:
    return [
        _ranks("holds", name, -_X + 0.1 * _NOISE, **more),
        _ranks("fails", name, _X + 0.1 * _NOISE, **more),
        _ranks("unclear", name, _NOISE, **more),
        _ranks("void", name, -_X, accuracy=75.0, **more),
    ]


OUTCOMES = {
    "OWN-10-a": _falls("test accuracy"),
    "OWN-10-b": _falls("margin"),
    "OWN-10-c": [
        *_falls("test accuracy", loss=np.resize([1.0, 2.0], 20)),
        _ranks("unclear", "test accuracy", -_LOSS + _NOISE[::-1], loss=_LOSS),
    ],
    "OWN-10-d": _falls("test accuracy"),
    "RG-4-a": [
        of("holds", **_MAGNIFIED),
        of("fails", effect=UP, contrast=-UP),
        of("fails", effect=-UP, contrast=UP),
        of("fails", effect=UP, contrast=(UP, -UP)),
        of("unclear", effect=UP, contrast=(UP, NONE)),
        _on_mnist("holds", 97 + WIGGLE, **_MAGNIFIED),
        _on_mnist("void", 91 + WIGGLE, **_MAGNIFIED),
        _on_mnist("unclear", 95 + WIGGLE, **_MAGNIFIED),
    ],
    "RG-4-b": _BEFORE,
    "RG-I-b": _BEFORE,
    "OWN-5-b": _BEFORE,
    "OWN-5-c": _BEFORE,
    "RG-4-c": [
        _with_controls("holds", 0.2),
        _with_controls("fails", 1.9),
        _with_controls("unclear", 1 + 0.3 * WIGGLE),
        _with_controls("void", 0.2, learned=60.0),
        _with_controls("void", 0.2, contrast=-UP),
    ],
    "RG-4-d": _NEARER,
    "RG-I-d": _NEARER,
    "RG-4-e": [
        of("holds", effect=UP, effect_before=1.0),
        of("fails", effect=UP, effect_before=3.0),
        of("unclear", effect=2 + WIGGLE, effect_before=2.0),
        _on_mnist("void", 91 + WIGGLE, effect=UP, contrast=UP, effect_before=1.0),
    ],
    "RG-4-f": [
        of("holds", crest_distance_along=0.5, crest_distance_before=0.6, crest_distance=0.3 + 0.01 * WIGGLE),
        of("fails", crest_distance_along=0.2, crest_distance_before=0.6, crest_distance=0.3 + 0.01 * WIGGLE),
        of("fails", crest_distance_along=0.5, crest_distance_before=0.2, crest_distance=0.3 + 0.01 * WIGGLE),
        of("unclear", crest_distance_along=0.5, crest_distance_before=0.3, crest_distance=0.3 + 0.1 * WIGGLE),
    ],
    "RG-4-g": [
        (_share_at_the_boundary(20.0, 40.0, 60.0), "holds"),
        (_share_at_the_boundary(20.0, 40.0, 10.0), "fails"),
        (_share_at_the_boundary(20.0, 40.0, 20.0), "unclear"),
    ],
    "RG-I-l": [
        (_round(2.0, 0.5, 0.2, 0.1), "holds"),
        (_round(2.0, 0.5, 0.6, 0.1), "fails"),
        (_round(2.0, 0.5 + 0.5 * WIGGLE, 0.5, 0.1), "unclear"),
    ],
    "RG-I-m": [
        (_round(0.0, 0.5, 0.2, 0.1), "holds"),
        (_round(0.0, 0.5, 0.6, 0.1), "fails"),
        (_round(0.0, 0.5 + 0.5 * WIGGLE, 0.5, 0.1), "unclear"),
    ],
    "RG-4-h": [
        ({"ricci": 0.5 + 0.01 * WIGGLE, "ricci before": 0.3}, "holds"),
        ({"ricci": 0.2 + 0.01 * WIGGLE, "ricci before": 0.3}, "fails"),
        ({"ricci": 0.3 + 0.1 * WIGGLE, "ricci before": 0.3}, "unclear"),
    ],
    "RG-4-i": [
        ({"volume": 0.8, "ricci": 0.5 + 0.01 * WIGGLE}, "holds"),
        ({"volume": 0.3, "ricci": 0.5 + 0.01 * WIGGLE}, "fails"),
        ({"volume": 0.5, "ricci": 0.5 + 0.1 * WIGGLE}, "unclear"),
    ],
    "RG-I-a": _ACCURATE,
    "OWN-5-a": _ACCURATE,
    "OWN-5-g": [*_ACCURATE, of("holds", contrast=np.nan, train_accuracy=98 + WIGGLE, test_accuracy=97 + WIGGLE)],
    "RG-I-e": [
        of("holds", entropy_rank=0.5 + 0.01 * WIGGLE, entropy_rank_before=0.1),
        of("fails", entropy_rank=-0.5 + 0.01 * WIGGLE, entropy_rank_before=-0.9),
        of("fails", entropy_rank=0.5 + 0.01 * WIGGLE, entropy_rank_before=0.9),
        of("unclear", entropy_rank=0.5 + WIGGLE, entropy_rank_before=-0.9),
    ],
    "RG-5-a": [
        of("holds", contrast_layer_1=1.0, contrast_layer_2=2 + 0.1 * WIGGLE, contrast_layer_3=3.0),
        of("fails", contrast_layer_1=1.0, contrast_layer_2=2 + 0.1 * WIGGLE, contrast_layer_3=1.0),
        of("fails", contrast_layer_1=3.0, contrast_layer_2=2 + 0.1 * WIGGLE, contrast_layer_3=4.0),
        of("unclear", contrast_layer_1=1.0, contrast_layer_2=2 + WIGGLE, contrast_layer_3=2.0),
    ],
    "RG-6-a": _larger("clean"),
    "OWN-5-d": _larger("decoded"),
    "OWN-5-e": _larger("matched"),
    "OWN-5-f": [
        _sd("matched", "holds", 1 + 0.1 * WIGGLE, **{"matched nats before": 1.0}),
        _sd("matched", "fails", 1 + 0.1 * WIGGLE, **{"matched nats before": 9.0}),
        _sd("matched", "unclear", 1 + 0.1 * WIGGLE, **{"matched nats before": 5 + WIGGLE}),
        _sd("matched", "unclear", 0.2 + 0.1 * WIGGLE, **{"matched nats before": 0.0}),
        _sd("matched", "void", -1 + 0.1 * WIGGLE, **{"matched nats before": -9.0}),
    ],
}
