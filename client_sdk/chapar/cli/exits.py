"""How the command ends: its exit codes, and the error that carries one of them to `main`."""

from __future__ import annotations

from enum import IntEnum
from typing import Final

PATIENCE: Final = 2.0
"""Seconds for a daemon to answer: one that is there and not overwhelmed takes milliseconds."""


class Exit(IntEnum):
    """Exit codes, the same for every Chapar command."""

    DONE = 0
    FAILED = 1
    """The thing asked for failed: no event in time, a refusal."""
    USAGE = 2
    NO_DAEMON = 3
    """None has answered within PATIENCE."""
    INTERRUPTED = 130
    """By Ctrl-C, as a shell reports it: 128 and the number of the signal."""
    TERMINATED = 143


class Failure(Exception):  # noqa: N818 - the command fails; a fault is not implied
    """The command ends here: with `code`, and one line for whoever typed it that says what to do."""

    def __init__(self, code: Exit, line: str) -> None:
        super().__init__(line)
        self.code = code
        self.line = line
