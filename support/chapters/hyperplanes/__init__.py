"""Where the hyperplanes of the output layer lie."""

NOTEBOOK = "02_abs2_neg_geometry"
