"""Which metric a network learns: the two geometries joined."""

NOTEBOOK = "11_from_mahalanobis_to_riemann"
