"""Options that models share, and a parser whose errors take one line."""

from __future__ import annotations

import argparse
import math
import sys
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from collections.abc import Callable

    from chapar_audit.planning.answer import Answer

    SubParsers = Any
    Ask = Callable[[argparse.Namespace], Answer]

USAGE = 2


class Parser(argparse.ArgumentParser):
    """Says what is wrong in one line, and where help is."""

    def __init__(self, **more: Any) -> None:
        super().__init__(formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False, **more)

    def error(self, message: str) -> NoReturn:
        sys.stderr.write(f"{self.prog}: {message} (see {self.prog} --help)\n")
        raise SystemExit(USAGE)


def number(text: str) -> float:
    """A number, or a fraction like 1/6."""
    above, slash, below = text.partition("/")
    try:
        value = float(above) / float(below) if slash else float(above)
    except (ValueError, ZeroDivisionError):
        value = math.nan
    if math.isnan(value):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number; write 0.5, 1/6 or 1e-3")
    return value


def whole(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number") from None


def numbers(text: str) -> tuple[float, ...]:
    """Numbers between commas."""
    return tuple(number(each) for each in text.split(","))


def wholes(text: str) -> tuple[int, ...]:
    return tuple(whole(each) for each in text.split(","))


def model(models: SubParsers, name: str, ask: Ask, about: str, examples: str) -> argparse.ArgumentParser:
    """Add the sub-command of a model; `ask` answers it."""
    parser: argparse.ArgumentParser = models.add_parser(
        name, help=about, description=about[0].upper() + about[1:] + ".", epilog=f"examples:\n{examples}"
    )
    parser.add_argument("--json", action="store_true", help="print the numbers as JSON, in full precision")
    parser.set_defaults(ask=ask)
    return parser


def need(parser: argparse.ArgumentParser, name: str, about: str, kind: Callable[[str], object] = number) -> None:
    """An option that must be given."""
    parser.add_argument(f"--{name}", required=True, type=kind, metavar=name.upper(), help=about)


def may(parser: argparse.ArgumentParser, name: str, about: str, kind: Callable[[str], object], default: object) -> None:
    """An option that may be left out."""
    parser.add_argument(f"--{name}", type=kind, default=default, metavar=name.upper(), help=about)


def form(parser: argparse.ArgumentParser, about: str) -> None:
    parser.add_argument("--form", choices=("right", "printed"), default="right", help=f"printed: {about}")
