"""The command `chapar-audit compact`: its options. What it needs is loaded when it is asked for."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import argparse

ABOUT: Final = "turn what recorders have left, here or on nodes in the field, into Parquet"


def add(commands: Any) -> None:
    """Add the command to those of `chapar-audit`."""
    parser = commands.add_parser("compact", help=ABOUT, description=ABOUT.capitalize() + ".")
    add_options(parser)
    parser.set_defaults(run=_run)


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", metavar="DIR", type=Path, help="where spools lie, at any depth")
    parser.add_argument("--out", metavar="DIR", type=Path, help="where the datasets go (default: the same folder)")
    parser.add_argument("--epoch-us", metavar="US", type=int, default=0, help="count times from here (default: 0)")
    parser.add_argument("--replace", action="store_true", help="these spools are all there is of their runs")


def _run(args: argparse.Namespace) -> int:
    from chapar_audit import compact  # noqa: PLC0415 - pyarrow takes 0.3 s and 80 MB

    return compact.run(args)
