"""One room for each chapter: its settings, its claims, what only it measures, its tables and figures."""
