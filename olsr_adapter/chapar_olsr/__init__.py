"""Route views, and the graph computations of OLSR."""
