"""Sigmoid classifiers, and whether training magnifies space near their decision boundaries.

`tasks` has the data, `stack` and `training` train many networks at once and look at them with `geometry.boundary`,
which turns the claim into numbers; `results` reads these from runs, `claims` judges them, `study` says what is run.
"""

from support.volume.training import VolumeSpec, train

__all__ = ["VolumeSpec", "train"]
