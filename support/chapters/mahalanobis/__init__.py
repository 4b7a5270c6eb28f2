"""Networks that learn the Mahalanobis distance, and what their weights know of it."""

NOTEBOOK = "04_mahalanobis"
