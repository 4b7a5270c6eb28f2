"""Made-up tables that drive the claims of the chapter on kernels to each outcome."""

import numpy as np

WIGGLE = np.linspace(-1, 1, 25)


def _tau(values) -> dict:
    from book.chapters.kernels.magnified import TAUS

    return {f"contrast {tau:g}": value for tau, value in zip([t for t in TAUS if t < 1], values, strict=False)}


_UP = 1 + 0.1 * WIGGLE
ERRORS_RISE = [
    ({"last": 6 + 0.1 * WIGGLE, "first": 5.0}, "holds"),
    ({"last": 4 + 0.1 * WIGGLE, "first": 5.0}, "fails"),
    ({"last": 5 + WIGGLE, "first": 5.0}, "unclear"),
]
OUTCOMES = {
    "KER-1-a": [
        ({"plain": 5 + 0.1 * WIGGLE, "support": 4.0}, "holds"),
        ({"plain": 5 + 0.1 * WIGGLE, "support": 5.5}, "fails"),
        ({"plain": 5 + 0.1 * WIGGLE, "support": 5.0}, "unclear"),
        ({"plain": 5 + 3 * WIGGLE, "support": 4.3, "shared": 0.25}, "unclear"),
        ({"plain": 0.5 + 0.1 * WIGGLE, "support": 0.0}, "void"),
    ],
    "KER-1-b": [
        ({"effect": _UP, "contrast": _UP}, "holds"),
        ({"effect": -_UP, "contrast": _UP}, "fails"),
        ({"effect": _UP, "contrast": -_UP}, "fails"),
        ({"effect": _UP, "contrast": WIGGLE}, "unclear"),
    ],
    "KER-1-b-2": [
        (_tau([_UP, _UP, _UP]), "holds"),
        (_tau([_UP, -_UP, _UP]), "fails"),
        (_tau([_UP, WIGGLE, _UP]), "unclear"),
    ],
    "KER-1-c": [
        ({"random": 5 + 0.1 * WIGGLE, "support": 4.0}, "holds"),
        ({"random": 3 + 0.1 * WIGGLE, "support": 4.0}, "fails"),
        ({"random": 5 + 3 * WIGGLE, "support": 5.0}, "unclear"),
        ({"random": 0.5 + 0.1 * WIGGLE, "support": 0.0}, "void"),
    ],
    "KER-1-e": [
        ({"rises": 100.0}, "holds"),
        ({"rises": 0.0}, "fails"),
        ({"rises": np.where(np.arange(25) % 2, 100.0, 0.0)}, "unclear"),
    ],
    "KER-2-a": [
        ({"trained": 0.8 + 0.1 * WIGGLE, "untrained": 0.1, "turned": 0.0}, "holds"),
        ({"trained": 0.1 + 0.1 * WIGGLE, "untrained": 0.8, "turned": 0.0}, "fails"),
        ({"trained": 0.1 + 0.1 * WIGGLE, "untrained": 0.0, "turned": 0.8}, "fails"),
        ({"trained": 0.8 + 0.1 * WIGGLE, "untrained": 0.1, "turned": 0.8}, "unclear"),
    ],
    **dict.fromkeys(
        ("KER-2-b", "KER-2-f", "KER-5-a"),
        [
            ({"cosine": 0.95 + 0.01 * WIGGLE}, "holds"),
            ({"cosine": 0.7 + 0.01 * WIGGLE}, "fails"),
            ({"cosine": 0.9 + 0.01 * WIGGLE}, "unclear"),
        ],
    ),
    "KER-2-c": [
        ({"machine": 5 + 0.1 * WIGGLE, "network": 6.0}, "holds"),
        ({"machine": 8 + 0.1 * WIGGLE, "network": 6.0}, "fails"),
        ({"machine": 7 + WIGGLE, "network": 6.0}, "unclear"),
    ],
    "KER-2-e": [
        ({"share M": 95 + WIGGLE}, "holds"),
        ({"share M": 50 + WIGGLE}, "fails"),
        ({"share M": 90 + WIGGLE}, "unclear"),
    ],
    "KER-4-a": [
        ({"share M": 60 + WIGGLE, "share Euclid": 20.0}, "holds"),
        ({"share M": 10 + WIGGLE, "share Euclid": 20.0}, "fails"),
        ({"share M": 20 + WIGGLE, "share Euclid": 20.0}, "unclear"),
    ],
    "KER-4-b": ERRORS_RISE,
    "KER-6-a": [
        ({"gain 2": 15 + WIGGLE, "gain 6": 2.0, "gain 10": -10.0}, "holds"),
        ({"gain 2": 15 + WIGGLE, "gain 6": 20.0, "gain 10": -10.0}, "fails"),
        ({"gain 2": 15 + WIGGLE, "gain 6": 2.0, "gain 10": 5.0}, "fails"),
        ({"gain 2": 2 + WIGGLE, "gain 6": 2.0, "gain 10": -10.0}, "unclear"),
    ],
    "KER-6-b": ERRORS_RISE,
    "KER-6-c": [
        ({"cropped": 6 + 0.1 * WIGGLE, "first": 5.0}, "holds"),
        ({"cropped": 4 + 0.1 * WIGGLE, "first": 5.0}, "fails"),
        ({"cropped": 5 + WIGGLE, "first": 5.0}, "unclear"),
    ],
    "KER-6-d": [
        ({"cropped": 5.1 + 0.1 * WIGGLE, "first": 5.0}, "holds"),
        ({"cropped": 6 + 0.1 * WIGGLE, "first": 5.0}, "fails"),
        ({"cropped": 5.5 + WIGGLE, "first": 5.0}, "unclear"),
    ],
    "KER-7-a": [
        ({"support": 13 + WIGGLE, "learned": 6.0}, "holds"),
        ({"support": 9 + WIGGLE, "learned": 6.0}, "fails"),
        ({"support": 11 + WIGGLE, "learned": 6.0}, "unclear"),
        ({"support": 0.5 + 0.1 * WIGGLE, "learned": 0.1}, "void"),
    ],
    "KER-7-b": [
        (
            {"contrast support, forced": _UP, "support, forced": 16 + WIGGLE, "random, forced": 17, "plain": 13},
            "holds",
        ),
        (
            {"contrast support, forced": -_UP, "support, forced": 16 + WIGGLE, "random, forced": 17, "plain": 13},
            "fails",
        ),
        (
            {"contrast support, forced": _UP, "support, forced": 11 + WIGGLE, "random, forced": 17, "plain": 13},
            "fails",
        ),
        (
            {"contrast support, forced": _UP, "support, forced": 16 + WIGGLE, "random, forced": 11, "plain": 13},
            "fails",
        ),
        ({"contrast support, forced": WIGGLE, "support, forced": 16.0, "random, forced": 17, "plain": 13}, "unclear"),
    ],
    "KER-7-c": [
        ({"random": 13 + 0.1 * WIGGLE, "support": 13.0}, "holds"),
        ({"random": 15 + 0.1 * WIGGLE, "support": 13.0}, "fails"),
        ({"random": 13.5 + WIGGLE, "support": 13.0}, "unclear"),
    ],
    "KER-8-a": [
        ({"learned": 6 + 0.1 * WIGGLE, "plain": 5.0}, "holds"),
        ({"learned": 4 + 0.1 * WIGGLE, "plain": 5.0}, "fails"),
        ({"learned": 5 + WIGGLE, "plain": 5.0}, "unclear"),
    ],
    "KER-8-b": [
        ({"plain": 5 + 0.1 * WIGGLE, "support": 5.0}, "holds"),
        ({"plain": 6 + 0.1 * WIGGLE, "support": 5.0}, "fails"),
        ({"plain": 5.5 + WIGGLE, "support": 5.0}, "unclear"),
    ],
    "KER-8-c": [
        ({"support, forced": 6 + 0.1 * WIGGLE, "plain": 5.0}, "holds"),
        ({"support, forced": 4 + 0.1 * WIGGLE, "plain": 5.0}, "fails"),
        ({"support, forced": 5 + WIGGLE, "plain": 5.0}, "unclear"),
    ],
    "KER-5-b": [
        ({"cosine": 0.95 + 0.01 * WIGGLE, "products": 0.8, "root": 0.9}, "holds"),
        ({"cosine": 0.7 + 0.01 * WIGGLE, "products": 0.8, "root": 0.6}, "fails"),
        ({"cosine": 0.7 + 0.01 * WIGGLE, "products": 0.6, "root": 0.8}, "fails"),
        ({"cosine": 0.9 + 0.01 * WIGGLE, "products": 0.8, "root": 0.9}, "unclear"),
    ],
    "KER-5-c": [
        ({"without decay": 0.1 + 0.01 * WIGGLE}, "holds"),
        ({"without decay": 0.95 + 0.01 * WIGGLE}, "fails"),
        ({"without decay": 0.9 + 0.01 * WIGGLE}, "unclear"),
    ],
    "KER-5-d": [
        ({"last": 5.1 + 0.1 * WIGGLE, "first": 5.0}, "holds"),
        ({"last": 6 + 0.1 * WIGGLE, "first": 5.0}, "fails"),
        ({"last": 5.5 + WIGGLE, "first": 5.0}, "unclear"),
    ],
    "KER-5-e": [
        ({"usual": 6 + 0.1 * WIGGLE, "last": 5.0}, "holds"),
        ({"usual": 4 + 0.1 * WIGGLE, "last": 5.0}, "fails"),
        ({"usual": 5 + WIGGLE, "last": 5.0}, "unclear"),
    ],
}
