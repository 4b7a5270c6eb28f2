"""What self-supervised encoders do to volumes at the boundaries of a linear probe."""
