"""Distance or intensity: six small networks, compared by accuracy and by dead outputs."""
