"""The geometry that a map pulls back to its inputs: metric, volume element, curvature.

Conventions: a map f takes one example, (d,) -> (m,), and is used as it is, without a factor 1/sqrt(m). Only the
shallow maps, given by their weights, are Phi(x) = phi(W x + b) / sqrt(n). Logarithms are natural. The Ricci scalar is
positive on spheres: 2 / a^2 for radius a in two dimensions. All arithmetic is float64: points and weights are
converted, and of a module of lower precision a copy in float64 is taken, except by `deep_log_volume_element`. Results
carry no gradient: they are measurements, and no terms of a loss.
"""

from support.geometry.bayes import bayes_chi
from support.geometry.checks import NotFinite, SingularMetric
from support.geometry.curvature import ricci_scalar, shallow_ricci_scalar, shallow_slog_ricci_scalar
from support.geometry.deep import deep_log_volume_element
from support.geometry.geodesics import Geodesic, geodesic, path_length
from support.geometry.infinite_width import (
    nngp_log_volume_element,
    nngp_metric,
    nngp_ricci_scalar,
    random_shallow_map,
)
from support.geometry.kernels import conformal_rbf_log_volume_element, conformal_rbf_metric, kernel_metric
from support.geometry.neural_tangent import ntk_log_volume_element, ntk_metric, ntk_ricci_scalar
from support.geometry.pullback import (
    log_volume_element,
    pullback_metric,
    shallow_log_volume_element,
    shallow_pullback_metric,
)
from support.geometry.slices import Plane, entropy, line, plane, square
