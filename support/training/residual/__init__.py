"""Residual networks: training with labels or by self-supervision, probes, and where the volume element is measured."""
