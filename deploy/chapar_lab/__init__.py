"""A MANET in a box: runs a scenario with real daemons in network namespaces, over an emulated radio."""
