"""The virtual-time simulator: many protocol cores over a simulated radio."""
