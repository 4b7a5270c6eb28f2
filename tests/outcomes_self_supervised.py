"""Made-up tables that drive the claims of the chapter on encoders to each outcome, ten encoders each."""

import numpy as np
from outcomes_deep_networks import NONE, UP, WIGGLE, above_0, larger


def below_0(column: str, **more) -> list:
    """The mean of a column must be negative."""
    turned = {"holds": "fails", "fails": "holds", "unclear": "unclear"}
    return [(columns, turned[state]) for columns, state in above_0(column, **more)]


def _named(outcomes: list, arm: str) -> list:
    return [({**columns, "arm": arm}, state) for columns, state in outcomes]


_EFFECT = above_0("features effect across after")
_GAIN = above_0("features gain")
_TOO_FEW = ({"features gain": np.where(np.arange(10) < 4, UP, np.nan)}, "void")
_UNTRAINED = [
    ({"middle interpolated": UP, "random interpolated before": 0.1, "probe interpolated before": 0.1}, "holds"),
    ({"middle interpolated": UP, "random interpolated before": 0.5, "probe interpolated before": 0.1}, "fails"),
    ({"middle interpolated": UP, "random interpolated before": 0.1, "probe interpolated before": 0.5}, "fails"),
    (
        {"middle interpolated": UP, "random interpolated before": 0.1, "probe interpolated before": 0.3 + NONE},
        "unclear",
    ),
]
_RAW, _SAME = "raw effect at its boundary", "raw effect at the same places"
OUTCOMES = {
    "RG-5.3-a": _EFFECT,
    "RG-5.3-b": below_0("top effect across after"),
    "RG-5.3-c": [
        *above_0("head_sphere effect across after", **{"top effect across after": -UP}),
        ({"head_sphere effect across after": UP, "top effect across after": UP}, "void"),
    ],
    "OWN-9-a": _named(
        larger("sphere effect across after", "simclr sphere effect across after"), "features on the sphere"
    ),
    "OWN-9-b": _named(larger("head gain", "simclr head gain"), "behind the head"),
    "OWN-9-c": [*_GAIN, _TOO_FEW],
    "OWN-9-d": _GAIN,
    "OWN-9-e": [
        ({"probe fall": 9 + WIGGLE, "simclr probe fall": 1.0}, "holds"),
        ({"probe fall": -9 + WIGGLE, "simclr probe fall": 1.0}, "fails"),
        ({"probe fall": 1.0, "simclr probe fall": -9 + WIGGLE}, "fails"),
        ({"probe fall": 1 + 3 * WIGGLE, "simclr probe fall": -1.0}, "unclear"),
    ],
    "OWN-9-f": _EFFECT,
    "OWN-9-g": _GAIN,
    "OWN-9-h": larger("supervised features gain", "features gain"),
    "OWN-9-i": [
        *below_0(_RAW, **{"features effect across after": UP}),
        ({_RAW: -UP, "features effect across after": -UP}, "void"),
    ],
    "OWN-9-j": [
        ({_SAME: UP, "features effect across after": 0.5}, "holds"),
        ({_SAME: UP, "features effect across after": 0.1}, "fails"),
        ({_SAME: UP, "features effect across after": 0.3 + NONE}, "unclear"),
    ],
    "OWN-9-k": _EFFECT,
    "OWN-9-l": _UNTRAINED,
    "OWN-9-m": _UNTRAINED,
    "OWN-9-n": [
        *larger("effect 4 alike after", "plain effect 4 alike after", **{"test accuracy": 95 + WIGGLE}),
        ({"effect 4 alike after": UP, "plain effect 4 alike after": 0.0, "test accuracy": 70 + WIGGLE}, "void"),
    ],
}
