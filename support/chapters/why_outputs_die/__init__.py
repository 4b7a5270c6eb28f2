"""Why outputs die: gentler starts and the map of learning rates."""

NOTEBOOK = "01b_when_outputs_die"
