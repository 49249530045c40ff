"""The models on the command line: `chapar-audit model`. Each module has the sub-commands of some models."""
