"""All studies of the book by name: what `python -m support sweep` can run and `records verify` counts."""

from support.chapters.volume_element import study as volume
from support.evidence.classifiers import study as classifiers
from support.evidence.distances import study as mahalanobis

STUDIES = classifiers.STUDIES | mahalanobis.STUDIES | volume.STUDIES
