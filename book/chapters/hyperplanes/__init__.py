"""Where the hyperplanes of the output layer lie."""
