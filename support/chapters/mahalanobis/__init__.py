"""Networks that learn the Mahalanobis distance, and what their weights know of it."""

NOTEBOOK = "05_mahalanobis"
