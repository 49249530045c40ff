"""The command `chapar-audit DIR`: its options. What it needs is loaded when it is asked for."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from chapar_audit.planning.options import Parser

if TYPE_CHECKING:
    import argparse

USAGE: Final = """\
%(prog)s DIR [--run NAME] [--master URL] [--out DIR] [--html [FILE]] [--json]
       %(prog)s model|compact|reproduce|check …"""
EXAMPLES: Final = """\
examples:
  chapar-sim run deploy/scenarios/demo.toml --out build/demo   # or chapar-lab run: real daemons
  chapar-audit build/demo                                      # does it behave as the models say?
  chapar-audit build/demo --html                               # and with plots: build/demo/audit/report.html
  chapar-audit build/demo --json                               # the verdict for programs
  chapar-audit field --run monday --out verdicts               # one of several runs in a folder
  chapar-audit field --run monday --master spark://10.0.0.1:7077

other commands, which explain themselves with --help:
  chapar-audit model NAME …      what the analytic models predict, without any run
  chapar-audit compact DIR       turn what recorders have left into Parquet
  chapar-audit reproduce FIGURE  draw a figure of the papers, with models and runs of our own
  chapar-audit check             whether this machine has what an audit needs: Java

A row of the verdict holds, or deviates, with the most likely reason below it, or is open: neither what was
recorded nor the models can decide it. The verdict, and the tables behind it as Parquet, go to DIR/audit.

exit codes: 0 the verdict holds; 1 it deviates, or nothing could be decided; 2 wrong usage, nothing that can
be read, or no Spark; 130 interrupted
"""


def parser() -> Parser:
    """Of the command without a sub-command."""
    made = Parser(
        prog="chapar-audit",
        usage=USAGE,
        description="Check what a run recorded against what its medium saw and what the analytic models predict.",
        epilog=EXAMPLES,
    )
    made.add_argument("folder", metavar="DIR", type=Path, help="where chapar-sim, chapar-lab or chapard recorded")
    made.add_argument("--run", dest="name", metavar="NAME", help="which run, if there are several in DIR")
    made.add_argument("--master", metavar="URL", default="local[*]", help="a Spark cluster (default: this machine)")
    made.add_argument("--out", metavar="DIR", type=Path, help="where results go (default: DIR/audit)")
    made.add_argument("--html", metavar="FILE", nargs="?", const="", help="a page with plots (default: report.html)")
    made.add_argument("--json", action="store_true", help="print the verdict as JSON")
    made.set_defaults(run=_run)
    return made


def _run(args: argparse.Namespace) -> int:
    from chapar_audit import command  # noqa: PLC0415 - Spark takes seconds to load

    return command.run(args)
