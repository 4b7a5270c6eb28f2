"""Studies of distance networks, their arms, and what is measured of their weights."""
