"""chapard: the broker daemon of every mesh node."""
