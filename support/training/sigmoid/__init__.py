"""Sigmoid networks in the plane or on images, and the volume element at their boundaries."""
