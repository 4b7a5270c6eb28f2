"""Why outputs die: gentler starts and the map of learning rates."""
