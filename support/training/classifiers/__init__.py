"""Networks with one hidden layer that tell classes apart, many trained at once."""
