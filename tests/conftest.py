"""How the whole suite runs: hypothesis reproducibly, and without deadlines that a busy machine would miss."""

from hypothesis import settings

settings.register_profile("chapar", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("chapar")
