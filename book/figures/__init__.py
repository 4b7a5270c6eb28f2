"""Figures: style, captions, shared plots, figures that turn, sliders."""
