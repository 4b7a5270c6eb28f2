"""Residual networks: training with labels or by self-supervision, probes, and places of measurement."""
