"""All studies of the book by name: what `python -m support sweep` can run and `records verify` counts."""

from support import plans
from support.mahalanobis import study as mahalanobis
from support.volume import study as volume

STUDIES = plans.STUDIES | mahalanobis.STUDIES | volume.STUDIES
