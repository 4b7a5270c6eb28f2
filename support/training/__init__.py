"""From a specification to measurements: one loop, and a stack for each kind of network."""
