"""A report on a network that this package did not make: dead units, steps, hyperplanes, metric and volume element.

    from support import diagnose
    diagnose(model, inputs, labels, rate=0.1)

`model` is any torch module, one output a class, `inputs` is what it takes, (N, ...), and `labels` are (N,). A copy in
float64 and evaluation mode is measured; the model is not changed. Each part can be called alone, and shows a picture:

    from support import diagnosis
    print(diagnosis.units(model, inputs, labels))
    diagnosis.volume(model, inputs, labels, ends=(0, 1)).plot()
    diagnosis.lines(model, inputs, labels, number=100)
"""

from support.diagnosis.distances import hyperplanes, metrics
from support.diagnosis.report import diagnose
from support.diagnosis.training import steps, units
from support.diagnosis.volume import lines, volume
from support.networks.network import Network

__all__ = ["Network", "diagnose", "hyperplanes", "lines", "metrics", "steps", "units", "volume"]
