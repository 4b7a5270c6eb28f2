"""The geometry of random layers of infinite width."""
