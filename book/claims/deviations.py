"""How the study behind a claim relates to the paper's own, and in what it differs; written by hand.

A *reproduction* uses the paper's data and methods, as far as they are known. A *replication* asks the paper's
question with other data or another method. Hypotheses of this book are neither.
"""

import re

REPRODUCTION, REPLICATION, OWN = "reproduction", "replication", "own"

_STARTS = "Runs of the same seed start from the same weights; the paper compares independent samples."
_BOTH = "Two input scalings are run: raw bytes, as in the paper's code, and standardised pixels, as in its text."
_POINTS = "The starts and the sampled points come from our own seeds."
_SINUSOID = (
    "For the sinusoid the rate of 0.1 and the layers are those of the published file names; the text prints 0.05 and "
    "layers of 8 and 8."
)
_PAIRS = "Volume elements are measured at pairs of points in many networks; the paper shows maps of single networks."
_FORMULAS = "The paper derives the formulas; we evaluate them in the stated cases."
_SMALL = "The data sets and their sizes are the choice of this book."
# type of study -> pattern of ids -> what differs; every claim of a paper fits exactly one pattern, as a test checks
STUDIES: dict[str, dict[str, tuple[str, ...]]] = {
    REPRODUCTION: {
        r"LDM-(T2-a|5-a|6\.4-f)": ("Only printed numbers are compared; nothing is trained.",),
        r"LDM-(3\.4-a|6\.1-e|6\.4-[eg])": ("We check what the paper says by computing it.",),
        r"LDM-(T[X35]-a|6\.2-[ab])": (_STARTS, "Only raw inputs are compared with what the paper prints."),
        r"LDM-(5\.[1-4]-[a-e]|6\.3-a|6\.4-[a-d])": (_STARTS, _BOTH),
        r"RG-(3|C|D|E|F|G)-[a-h]|RG-I-k": (_FORMULAS,),
        r"KER-(1-f|2-d|3-b)": (_FORMULAS,),
    },
    REPLICATION: {
        r"LDM-S-a": (_STARTS, _BOTH, "Two pairs of networks stand for all."),
        r"LDM-S-b": (_SMALL, "The heads stand behind a small encoder, and Adam trains them."),
        r"LDM-5\.1-a-1": (_STARTS, "The networks have an output bias, and their inputs are raw."),
        r"LDM-6\.(1-[abcd]|2-[cd])": (
            _STARTS,
            _BOTH,
            "Distances of classes to hyperplanes are measured in every network, by a rule of this book.",
        ),
        r"LDM-5\.3-a-\d": (_STARTS, _BOTH, "The start, the optimiser or the number of steps differs."),
        r"LDM-6\.4-[a-d]-0": (_STARTS, _BOTH, "It trains for a tenth of the steps on a sixth of the images."),
        r"LDM-1-a": (_STARTS, _BOTH, "Five starts are compared; the paper has one."),
        r"LDM-1-b": (_STARTS, _BOTH, _SMALL, "Five starts are compared; the paper has one."),
        r"MDX-.*": (
            "The Gaussians, the starts and the sampled points come from our own seeds.",
            "Errors are measured on new points; the paper measures them on the training points.",
            "In the arms called redrawn every trial has its own Gaussian; in the paper all trials share one.",
        ),
        r"RG-4-[abde]": (_POINTS, _SINUSOID, _PAIRS),
        r"RG-4-[f-i]": (
            _POINTS,
            _SINUSOID,
            "Volume elements of many networks are measured at many points; the paper shows single maps.",
        ),
        r"RG-I-[bd]": (_POINTS, _PAIRS),
        r"RG-I-[lm]": (_POINTS, "Many networks are measured on a circle; the paper shows maps."),
        r"RG-I-a": ("Images are divided by 255, and pixels that are always 0 are left out.",),
        r"RG-I-e": ("A sigmoid network on MNIST stands in for the paper's residual network.",),
        r"RG-6-a": (
            "The ambiguous images are our own; the paper takes those of Dirty-MNIST.",
            "The networks are trained on digits of MNIST alone; the paper adds ambiguous digits.",
        ),
        r"RG-5-a": ("Three layers of a sigmoid network on the sinusoid stand in for deeper networks.",),
        r"RG-5\.[12]-[a-i]|RG-I-[fghj]": (
            "The residual networks with records are narrower than the paper's, and ResNet-10 is also shallower.",
            "The images are a JPEG copy.",
            "Segments, planes and triangles are measured in many networks; the paper shows some of single networks.",
        ),
        r"RG-5\.3-[abc]": (
            "The encoder is a ResNet-10 of width 16, trained on a JPEG copy.",
            "In the authors' code views, batch and head differ between the two methods. Here they are the same.",
            "Training uses Adam instead of SGD, and the views have no blur and no solarisation.",
        ),
        r"KER-1-(a|b(-2)?)": (_SMALL,),
        r"KER-2-[abf]": (_SMALL, "The text that we have lacks the formula, and this is one of three readings."),
        r"KER-2-c": (_SMALL,),
    },
}
FROM_PROTOCOL = {  # words of a row's protocol -> what differs where they stand there
    "10,000 of 60,000 training images": "The first 10,000 of the paper's 60,000 training images.",
    "of the paper's 200 epochs": "Fewer epochs than the paper's 200.",
    "of the paper's 1,000 epochs": "Fewer epochs than the paper's 1,000.",
}


def of(row: dict) -> dict:
    """The entries "study_type" and "deviations" for a row of the ledger."""
    if row["kind"] == "own":
        return {"study_type": OWN, "deviations": []}
    kinds = ((study, ids, said) for study, patterns in STUDIES.items() for ids, said in patterns.items())
    study, said = next(
        ((study, said) for study, ids, said in kinds if re.fullmatch(ids, row["id"])), (REPLICATION, ())
    )
    from_protocol = [different for words, different in FROM_PROTOCOL.items() if words in row["protocol"]]
    return {"study_type": study, "deviations": [*said, *from_protocol]}
