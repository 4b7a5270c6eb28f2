"""Kernel machines: Amari and Wu's magnified kernel, recursive feature machines, and Simon et al.'s learned kernel."""
