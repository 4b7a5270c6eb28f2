"""Whether training magnifies space near decision boundaries."""

NOTEBOOK = "05_volume_element"
