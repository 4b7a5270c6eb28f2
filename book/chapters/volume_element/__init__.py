"""Whether training magnifies space near decision boundaries."""
