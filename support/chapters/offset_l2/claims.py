"""The claims of the chapter."""

from support.chapters.offset_l2.study import STUDIES as OWN
from support.evidence.claims import Claim
from support.evidence.classifiers.claims import Studies
from support.evidence.classifiers.rules import CATASTROPHE, STEADY, Equal, Every, Exceeds, Steady
from support.evidence.classifiers.study import STUDIES
from support.networks.architectures import L2

_SHORT = ", within a tenth of the steps and a sixth of the images"  # of the source's
CLAIMS = (
    *(Claim(f"LDM-6.4-{letter}{also}", "section 6.4", f"{says}{within}.", rule, Studies((study,)),
            source="oursland2025", kind=kind)
      for letter, says, rule in (
          ("a", "With OffsetL2 the gap between normal and negated variants disappears",
           Every((Equal("ReLU-L2", "ReLU-L2-Neg"), Equal("Abs-L2", "Abs-L2-Neg")))),
          ("b", "ReLU-L2 avoids the catastrophic failure of ReLU2-Bias",
           Exceeds("ReLU-L2", "ReLU2-Bias", CATASTROPHE)),
          ("c", "Every OffsetL2 network outperforms the baseline of its activation",
           Every(tuple(Exceeds(name, f"{name.split('-')[0]}-Bias", 0.0) for name in L2))),
          ("d", f"The SD of every OffsetL2 network is at most {STEADY} points",
           Every(tuple(Steady(name) for name in L2))))
      for also, within, study, kind in (("", "", OWN["mnist-l2"], "paper"),
                                        ("-0", _SHORT, STUDIES["mnist-10k-heads"], "variant"))),
)  # fmt: skip
