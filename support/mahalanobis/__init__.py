"""Networks that learn the Mahalanobis distance to the mean of a Gaussian, and what their weights know of it.

`gaussians` draws the data, `networks` has the three networks as ordinary modules, `stack` and `training` train many
of them at once, `measures` and `recovery` look at their weights, `quadratic` is the exact optimum beside them.
"""

from support.mahalanobis.training import DistanceSpec, train

__all__ = ["DistanceSpec", "train"]
