"""Made-up tables that drive the claims of the chapter on deep networks to each outcome, ten networks each."""

import numpy as np

WIGGLE = np.resize([-1.0, 1.0], 10)
UP, NONE = 0.3 + 0.01 * WIGGLE, 0.3 * WIGGLE


def above_0(column: str, **more) -> list:
    """The mean of a column must be positive."""
    return [({column: UP, **more}, "holds"), ({column: -UP, **more}, "fails"), ({column: NONE, **more}, "unclear")]


def larger(first: str, second: str, share: float = 1.0, **more) -> list:
    """A share of the first must exceed the second."""
    line = 0.3 * share
    return [
        ({first: UP, second: line - 0.1, **more}, "holds"),
        ({first: UP, second: line + 0.1, **more}, "fails"),
        ({first: UP, second: line + NONE, **more}, "unclear"),
    ]


def every(columns: list[str]) -> list:
    """Each of several columns must be positive."""
    good = dict.fromkeys(columns, UP)
    one = [({**good, column: -UP}, "fails") for column in columns]
    return [(good, "holds"), *one, ({**good, columns[-1]: NONE}, "unclear")]


_RANGES = {f"range {s}": 0.1 * s + 0.001 * WIGGLE * s for s in (1, 2, 3, 4)}


def _learned(column: str) -> dict:
    return {column: np.full(10, 95.0)}


def _ranks(name: str) -> list:
    before, after = f"{name} before", f"{name} after"
    return [
        ({before: 0.1, after: UP}, "holds"),
        ({before: 0.5, after: UP}, "fails"),
        ({before: -0.9, after: -UP}, "fails"),
        ({before: 0.3, after: UP + NONE}, "unclear"),
    ]


def _untrained(classifier: str) -> list:
    return larger("middle interpolated", f"{classifier} interpolated before") + [
        ({"middle interpolated": UP, f"{classifier} interpolated before": np.full(10, np.nan)}, "void")
    ]


_FULL_RANK = [
    ({"full rank": 99.9 + 0.01 * WIGGLE}, "holds"),
    ({"full rank": 98 + 0.01 * WIGGLE}, "fails"),
    ({"full rank": 99 + 0.5 * WIGGLE}, "unclear"),
]
OUTCOMES = {
    "RG-5.1-a": above_0("effect 4 across after"),
    "RG-5.1-b": [
        *larger("rise across after", "rise alike after", 0.5),
        ({"rise across after": -UP, "rise alike after": -1.0}, "void"),
        ({"rise across after": NONE, "rise alike after": -1.0}, "unclear"),
    ],
    "RG-5.1-i": [
        *larger("plane rise across after", "plane rise alike after", 0.5),
        ({"plane rise across after": -UP, "plane rise alike after": -1.0}, "void"),
    ],
    "RG-5.1-c": every([f"effect {s} across after" for s in (1, 2, 3, 4)]),
    "RG-5.1-g": every([f"nearer {s}" for s in (1, 2, 3, 4)]),
    "RG-5.1-h": [
        *above_0("effect 4 across after", **_learned("train accuracy")),
        ({"effect 4 across after": UP, "train accuracy": np.full(10, 60.0)}, "void"),
    ],
    "RG-5.1-d": [
        (_RANGES, "holds"),
        (_RANGES | {"range 1": 0.5}, "fails"),
        (_RANGES | {"range 4": 0.25 + 0.001 * WIGGLE}, "fails"),
        (_RANGES | {"range 3": 0.3 + WIGGLE}, "unclear"),
        (_RANGES | {"range 2": 0.35, "range 3": 0.3 + 0.001 * WIGGLE}, "holds"),  # of these two nothing is said
    ],
    "RG-5.1-e": [
        ({"test accuracy": 90 + 0.1 * WIGGLE, "relu test accuracy": 90.2}, "holds"),
        ({"test accuracy": 90 + 0.1 * WIGGLE, "relu test accuracy": 87.0}, "fails"),
        ({"test accuracy": 90 + 0.1 * WIGGLE, "relu test accuracy": 93.0}, "fails"),
        ({"test accuracy": 90 + WIGGLE, "relu test accuracy": 89.0}, "unclear"),
    ],
    "RG-5.1-f": _FULL_RANK,
    "RG-I-g": _FULL_RANK,
    "RG-I-h": [
        ({"train accuracy": 99.5 + 0.1 * WIGGLE, "test accuracy": 92 + 0.1 * WIGGLE}, "holds"),
        ({"train accuracy": 98.5 + 0.1 * WIGGLE, "test accuracy": 92 + 0.1 * WIGGLE}, "fails"),
        ({"train accuracy": 99.5 + 0.1 * WIGGLE, "test accuracy": 90 + 0.1 * WIGGLE}, "fails"),
        ({"train accuracy": 99.5 + 0.1 * WIGGLE, "test accuracy": 91 + WIGGLE}, "unclear"),
    ],
    "RG-5.2-a": [
        *above_0("half effect 4 across after", **{"gelu half effect 4 across after": UP}),
        ({"half effect 4 across after": UP, "gelu half effect 4 across after": -UP}, "void"),
    ],
    "RG-I-f": _ranks("entropy rank"),
    "RG-I-j": _ranks("entropy rank inside across"),
    "OWN-8-a": above_0("gain 4"),
    "OWN-8-b": [({**columns, "arm": "stage 2"}, state) for columns, state in above_0("gain 2")],
    "OWN-8-c": [
        *larger("gain 4", "shuffled gain 4", 0.5, **_learned("shuffled train accuracy")),
        ({"gain 4": UP, "shuffled gain 4": 0.0, "shuffled train accuracy": np.full(10, 60.0)}, "void"),
    ],
    "OWN-8-d": [
        *above_0("gain 4", **_learned("train accuracy")),
        ({"gain 4": UP, "train accuracy": np.full(10, 60.0)}, "void"),
    ],
    "OWN-8-e": larger("entropy rank inside across after", "entropy rank inside alike after"),
    "OWN-8-f": _untrained("random"),
    "OWN-8-h": _untrained("probe"),
    **{id: [({"random": -0.2, "probe": 0.2, kind: 0.2 + 0.01 * WIGGLE}, "holds"),
            ({"random": -0.2, "probe": 0.2, kind: -0.2 + 0.01 * WIGGLE}, "fails"),
            ({"random": -0.2, "probe": 0.2, kind: NONE}, "unclear")]
       for id, kind in (("OWN-8-i", "shuffled"), ("OWN-8-j", "whitened"))},
    "OWN-8-k": [
        ({"middle one class before": -1 + 0.01 * WIGGLE, "dimmed one class before": -0.9}, "holds"),
        ({"middle one class before": -1 + 0.01 * WIGGLE, "dimmed one class before": -0.5}, "fails"),
        ({"middle one class before": -1 + NONE, "dimmed one class before": -0.7}, "unclear"),
    ],
    **{id: [({"middle one class after": 0.2 + 0.01 * WIGGLE, picture: holds}, "holds"),
            ({"middle one class after": 0.2 + 0.01 * WIGGLE, picture: fails}, "fails"),
            ({"middle one class after": 0.2 + 0.01 * WIGGLE, picture: 0.1 + NONE}, "unclear"),
            ({"middle one class after": -0.2 + 0.01 * WIGGLE, picture: holds}, "void")]
       for id, picture, holds, fails in (("OWN-8-l", "dimmed one class after", 0.19, 0.02),
                                         ("OWN-8-m", "brightened one class after", 0.02, 0.19))},
    "OWN-8-n": [
        (dict.fromkeys(("dimmed two classes after", "dimmed one class after", "middle one class after"), 0.2)
         | {"middle two classes after": 0.2 + more}, state)
        for more, state in ((0.1 + 0.01 * WIGGLE, "holds"), (-0.1 + 0.01 * WIGGLE, "fails"), (NONE, "unclear"))
    ],
    "OWN-8-g": [
        *(
            (columns | {"deep train accuracy": 93.5, "train accuracy": 93.3 + 0.1 * WIGGLE}, state)
            for columns, state in larger("deep contrast 4 after", "contrast 4 after")
        ),
        ({"deep contrast 4 after": UP, "contrast 4 after": 0.0, "deep train accuracy": 95.0,
          "train accuracy": 91 + 0.1 * WIGGLE}, "void"),
    ],
}  # fmt: skip
