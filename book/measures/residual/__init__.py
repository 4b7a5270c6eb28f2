"""Studies, results and rules of residual networks, for two chapters."""
