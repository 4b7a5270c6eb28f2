"""Distance or intensity: six small networks, compared by accuracy and by dead outputs."""

NOTEBOOK = "01_distance_or_intensity"
