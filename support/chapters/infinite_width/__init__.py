"""The geometry of random layers of infinite width."""

NOTEBOOK = "07_infinite_width"
