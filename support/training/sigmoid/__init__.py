"""Sigmoid networks in the plane or on images."""
