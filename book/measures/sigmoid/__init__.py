"""Numbers of shallow and deep sigmoid networks: the volume element at their boundaries."""
