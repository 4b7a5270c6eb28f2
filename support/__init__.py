"""The support package of the book; importing it does nothing."""
