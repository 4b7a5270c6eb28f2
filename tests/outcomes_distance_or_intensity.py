"""Made-up tables that drive the claims of chapter 1 to each outcome; 20 seeds, accuracies in percent."""

import numpy as np

WIGGLE = np.resize([-1.0, 1.0], 20)
NARROW, WIDE = 0.05 * WIGGLE, 8 * np.linspace(-1, 1, 20)


def acc(**networks) -> dict:
    """Columns of accuracies; "_" in a name stands for "-"."""
    return {("accuracy", name.replace("_", "-")): x for name, x in networks.items()}


def _printed(number: str, percent: float) -> list:
    def columns(x):
        return {(number, "ReLU2"): x, (f"{number}, train", "ReLU2"): x}

    return [
        (columns(percent + WIGGLE), "holds"),
        (columns(percent + 30 + WIGGLE), "fails"),
        (columns(percent - 30 + WIGGLE), "fails"),
        (columns(percent + 10 + WIGGLE), "unclear"),
    ]


def _equal(first: str, second: str, margin: float = 0.5) -> list:
    return [
        (acc(**{first: 90 + NARROW, second: 90.0}), "holds"),
        (acc(**{first: 90 + 3 * margin + NARROW, second: 90.0}), "fails"),
        (acc(**{first: 90 - 3 * margin + NARROW, second: 90.0}), "fails"),
        (acc(**{first: 90 + margin + NARROW, second: 90.0}), "unclear"),
    ]


def lead(first: str, second: str, least: float) -> list:
    return [
        (acc(**{first: 80 + least + 0.2 + NARROW, second: 80.0}), "holds"),
        (acc(**{first: 80 + least - 0.2 + NARROW, second: 80.0}), "fails"),
        (acc(**{first: 80 + least + WIGGLE, second: 80.0}), "unclear"),
    ]


_BIASED = ("ReLU", "ReLU2_Neg", "Abs", "Abs2")


def _same(**changed) -> dict:
    both = {f"{name}{bias}": 90 + NARROW for name in _BIASED for bias in ("", "_Bias")}
    return acc(**both | changed)


def _stays(bias_of_relu2=30 + WIDE, abs2_neg=80.0, abs2_neg_bias=80.0, relu2=30 + WIDE) -> dict:
    return acc(
        ReLU=90 + NARROW, ReLU2=relu2, Abs2=90 + NARROW, Abs2_Neg=abs2_neg + NARROW, ReLU_Bias=90 + NARROW,
        ReLU2_Bias=bias_of_relu2, Abs2_Bias=90 + NARROW, Abs2_Neg_Bias=abs2_neg_bias + NARROW,
    )  # fmt: skip


def _dead(k: int) -> dict:
    return {("never active", "Abs2"): 10.0 * (np.arange(20) < k), ("never active", "Abs2-Neg"): np.zeros(20)}


OUTCOMES = {
    "LDM-5.1-a": _equal("ReLU", "Abs"),
    "LDM-5.2-a": lead("ReLU", "ReLU2", 10),
    "LDM-5.2-b": _equal("Abs", "Abs2"),
    "LDM-5.3-a": [
        (acc(ReLU2_Neg=90 + NARROW, ReLU2=40.0, ReLU=92.0), "holds"),
        (acc(ReLU2_Neg=45 + NARROW, ReLU2=40.0, ReLU=92.0), "fails"),
        (acc(ReLU2_Neg=50 + WIGGLE, ReLU2=40.0, ReLU=92.0), "unclear"),
        (acc(ReLU2_Neg=90 + NARROW, ReLU2=88.0, ReLU=92.0), "void"),
        (acc(ReLU2_Neg=95 + NARROW, ReLU2=82.0, ReLU=92.0 + WIGGLE), "unclear"),
    ],
    "LDM-5.3-b": _equal("ReLU", "ReLU2_Neg"),
    "LDM-5.3-c": lead("Abs", "Abs2_Neg", 1),
    "LDM-5.3-d": lead("Abs2", "Abs2_Neg", 1),
    "LDM-5.3-e": [
        (acc(Abs2_Neg=90 + WIDE, Abs2=90 + NARROW), "holds"),
        (acc(Abs2_Neg=90 + NARROW, Abs2=90 + NARROW), "fails"),
        (acc(Abs2_Neg=90 + 3 * np.linspace(-1, 1, 20), Abs2=90 + np.linspace(1, -1, 20)), "unclear"),
    ],
    "LDM-S-a": [
        (acc(ReLU2=60 + WIDE, ReLU2_Neg=94 + NARROW, Abs2=95 + WIDE, Abs2_Neg=90 + NARROW), "holds"),
        (acc(ReLU2=60 + WIDE, ReLU2_Neg=94 + NARROW, Abs2=95 + NARROW, Abs2_Neg=90 + WIDE), "fails"),
        (acc(ReLU2=60 + WIDE, ReLU2_Neg=60 + WIDE, Abs2=95 + WIDE, Abs2_Neg=90 + NARROW), "unclear"),
    ],
    "LDM-5.1-a-1": _equal("ReLU_Bias", "Abs_Bias"),
    "LDM-6.2-a": _printed("never active", 33.0),
    "LDM-6.2-b": _printed("scarcely active", 53.5),
    "LDM-5.4-a": [
        (_same(), "holds"),
        (_same(Abs_Bias=93 + NARROW), "fails"),
        (_same(ReLU2_Neg_Bias=91 + WIGGLE), "unclear"),
    ],
    "LDM-5.4-b": [
        (_stays(), "holds"),
        (_stays(bias_of_relu2=88 + NARROW), "fails"),
        (_stays(abs2_neg_bias=89.0 + WIGGLE), "unclear"),
        (_stays(relu2=89 + NARROW, abs2_neg=89.5), "void"),
    ],
    "LDM-6.3-a": [(_dead(0), "holds"), (_dead(1), "fails"), ({("never active", "Abs2"): [np.nan] * 20,
                  ("never active", "Abs2-Neg"): [np.nan] * 20}, "unclear")],
    "LDM-TX-a": [
        (acc(Abs2=95.35 + NARROW) | {"arm": "Abs2"}, "holds"),
        (acc(Abs2=90 + NARROW) | {"arm": "Abs2"}, "fails"),
        (acc(Abs2=96.35 + NARROW) | {"arm": "Abs2"}, "unclear"),
        (acc(ReLU2=47.2 + NARROW) | {"arm": "ReLU2"}, "holds"),
    ],
    "LDM-T3-a": [
        ({("accuracy", "Abs-Bias"): 95.23 + NARROW, "arm": "Abs-Bias"}, "holds"),
        ({("accuracy", "Abs-Bias"): 90 + NARROW, "arm": "Abs-Bias"}, "fails"),
        ({("accuracy", "Abs-Bias"): 94.23 + NARROW, "arm": "Abs-Bias"}, "unclear"),
    ],
}  # fmt: skip
