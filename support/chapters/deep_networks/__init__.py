"""Whether training magnifies space near the boundaries of residual networks, and in which stage."""

NOTEBOOK = "08_deep_networks"
