"""The command `chapar`: publish, subscribe and look at the daemon from a shell. It begins in `chapar.cli.command`."""
