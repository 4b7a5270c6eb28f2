"""Whether training magnifies space near decision boundaries."""

NOTEBOOK = "06_volume_element"
