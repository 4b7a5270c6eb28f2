"""Networks that learn the distance to the mean of a Gaussian, many trained at once."""
