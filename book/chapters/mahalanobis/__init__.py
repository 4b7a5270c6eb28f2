"""Networks that learn the Mahalanobis distance, and what their weights know of it."""
