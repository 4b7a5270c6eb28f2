"""Where the hyperplanes of the output layer lie."""

NOTEBOOK = "03_hyperplanes"
