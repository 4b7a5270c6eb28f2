"""Why outputs die: gentler starts and the map of learning rates."""

NOTEBOOK = "02_why_outputs_die"
