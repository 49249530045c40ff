"""For all tests: the same examples on every run, no deadlines, and nothing left behind in the process."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from collections.abc import Iterator

settings.register_profile("chapar", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("chapar")


@pytest.fixture(autouse=True)
def _logging_as_it_was() -> Iterator[None]:
    """A daemon in a test configures the logging of the whole process."""
    root = logging.getLogger()
    level, handlers, raises = root.level, root.handlers[:], logging.raiseExceptions
    yield
    root.setLevel(level)
    root.handlers[:] = handlers
    logging.raiseExceptions = raises
