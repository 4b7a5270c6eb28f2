"""Which metric a network learns: the two geometries joined."""
