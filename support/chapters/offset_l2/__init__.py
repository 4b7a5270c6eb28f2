"""OffsetL2, a layer that is a distance to a point."""

NOTEBOOK = "04_offset_l2"
