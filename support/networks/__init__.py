"""What is trained, and on what: architectures and layers, data sets, toy tasks; and a reader's own model."""

from support.networks.architectures import architecture
from support.networks.data import load
from support.networks.layers import Neg, OffsetL2

__all__ = ["Neg", "OffsetL2", "architecture", "load"]
