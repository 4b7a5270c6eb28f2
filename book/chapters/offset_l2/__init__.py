"""OffsetL2, a layer that is a distance to a point."""
