"""How the whole suite runs: hypothesis without deadlines, since a busy machine must not fail a test, and reproducible."""

from hypothesis import settings

settings.register_profile("chapar", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("chapar")
