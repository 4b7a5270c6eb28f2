"""The geometry of random layers of infinite width."""

NOTEBOOK = "06_infinite_width"
