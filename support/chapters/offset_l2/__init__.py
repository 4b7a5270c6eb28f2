"""OffsetL2, a layer that is a distance to a point."""

NOTEBOOK = "03_offset_l2"
