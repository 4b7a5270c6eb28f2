"""Whether training magnifies space near the boundaries of residual networks, and in which stage."""
