"""Which metric a network learns: the two geometries joined."""

NOTEBOOK = "10_from_mahalanobis_to_riemann"
