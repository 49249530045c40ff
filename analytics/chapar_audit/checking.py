"""The command `chapar-audit check`: whether there is what an audit needs."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Final

from chapar_audit.session import NoSparkError, check_java, check_version

if TYPE_CHECKING:
    import argparse

ABLE, UNABLE = 0, 1
ABOUT: Final = "say whether this machine can run an audit"


def add(commands: Any) -> None:
    """Add the command to those of `chapar-audit`."""
    parser = commands.add_parser("check", help=ABOUT, description=ABOUT.capitalize() + ".")
    parser.set_defaults(run=_run)


def _run(_: argparse.Namespace) -> int:
    try:
        check_java()
        check_version()
    except NoSparkError as error:
        sys.stderr.write(f"chapar-audit: {error}\n")
        return UNABLE
    sys.stdout.write("chapar-audit: this machine can run an audit\n")
    return ABLE
