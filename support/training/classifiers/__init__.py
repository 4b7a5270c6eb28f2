"""Classifiers with one hidden layer, many of them trained at once."""
