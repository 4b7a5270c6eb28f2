"""All studies of the book by name: what `python -m support sweep` can run and `records verify` counts."""

from support.classifiers import study as classifiers
from support.mahalanobis import study as mahalanobis
from support.volume import study as volume

STUDIES = classifiers.STUDIES | mahalanobis.STUDIES | volume.STUDIES
