"""The command `chapar-audit`."""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING, Final

from chapar_audit import auditing, checking, compaction, reproduction
from chapar_audit.models.conditions import ImpossibleInputError
from chapar_audit.planning import networks, routing, tables, waiting
from chapar_audit.planning.options import USAGE, Parser

if TYPE_CHECKING:
    from collections.abc import Sequence

DONE: Final = 0
COMMANDS: Final = frozenset({"model", "compact", "reproduce", "check"})
"""What is not the name of a folder to audit; such a folder is written ./model."""
EXAMPLES: Final = """\
examples:
  chapar-audit model static --m 3 --k 4 --subscribers 8        where flooding becomes cheaper
  chapar-audit model tree --m 2 --k 4 --lam .5 --mu 1 --omega 2 --r 1
  chapar-audit model onoff --lam 1 --d .125 --on 20 --off 20   how long events wait for who is away half of the time
  chapar-audit compact DIR                                     what recorders left there becomes Parquet
  chapar-audit model fmt --filters 100 --nodes 40 --elements 5 --bits 16 --json

Numbers may be fractions, as in --r 1/6. `chapar-audit model NAME --help` explains the options of a model.

exit codes: 0 done, 2 wrong usage, or numbers that no system can have
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit code."""
    words = sys.argv[1:] if arguments is None else list(arguments)
    parser = _parser() if words and words[0] in COMMANDS else auditing.parser()
    args = parser.parse_args(words)
    if hasattr(args, "run"):
        return int(args.run(args))
    try:
        answer = args.ask(args)
        text = json.dumps(answer.values, indent=2, allow_nan=False) if args.json else "\n".join(answer.lines)
    except ImpossibleInputError as error:
        sys.stderr.write(f"chapar-audit: {error}\n")
        return USAGE
    except (OverflowError, ValueError):
        sys.stderr.write("chapar-audit: these numbers are too large to calculate with\n")
        return USAGE
    try:
        sys.stdout.write(text + "\n")
        sys.stdout.flush()
    except BrokenPipeError:  # whoever read us has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return DONE


def _parser() -> Parser:
    parser = Parser(
        prog="chapar-audit",
        description="What the analytic models say of a publish/subscribe network.",
        epilog=EXAMPLES,
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    about = "the traffic, the waiting and the sizes that the models predict"
    planning = commands.add_parser("model", help=about, description=about.capitalize() + ".", epilog=EXAMPLES)
    models = planning.add_subparsers(required=True, metavar="NAME")
    for group in (routing, networks, waiting, tables):
        group.add(models)
    compaction.add(commands)
    reproduction.add(commands)
    checking.add(commands)
    return parser
