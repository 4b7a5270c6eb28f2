"""Numbers of trained networks, by kind of network: their studies, arms and measures."""
