"""The command line as argparse sees it, with help that teaches by example.

Options may be abbreviated by nobody: a script that works today works when another option is added. Completion is
generated from what `parser` returns, so it cannot lag behind.
"""

from __future__ import annotations

import argparse
from difflib import get_close_matches
from typing import TYPE_CHECKING, Final, NoReturn, TypeVar

from chapar.cli.exits import Exit
from chapar.cli.notation import HTTP, NotationError, attribute, duration, http_endpoint
from chapar.errors import FilterError
from chapar.filter_text import EVERYTHING, parse
from chapar.limits import MAX_CLIENT_NAME, MAX_NODES

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    T = TypeVar("T")

SHELLS: Final = ("bash", "zsh", "fish")
FILE: Final = "FILE"
"""The metavar of options that take the name of a file."""

PAGES: Final[Mapping[str, str]] = {
    "status": "who this node is, its role, its tables, routes, disk, and what was dropped",
    "peers": "the nodes heard of: role, broker, how long ago",
    "fmt": "the filter mapping table: who has subscribed to what",
    "met": "the memorised event table: events kept for those who are away",
    "clients": "the sessions of applications at this node",
    "routes": "what the routing daemon has told",
    "losses": "the last events that somebody did not get from this node, and why",
}

_MAIN_EPILOG: Final = """\
three terminals, one machine:
  chapard
  chapar sub temp --where "celsius > 20"
  chapar pub temp --attr celsius=21.5 -m hello

more in `chapar COMMAND --help`

exit codes:
  0 done   1 what was asked for failed   2 wrong usage   3 no daemon reachable
"""
_PUB_EPILOG: Final = """\
examples:
  chapar pub temp --attr celsius=21.5 -m hello           an event with a number and a text
  chapar pub door --attr open=true --attr room='"12"'    a boolean, and a string that looks like a number
  chapar pub alarm -m "water rising" --lifetime 2h       kept two hours for those who are away
  chapar pub order -f order.json --persistent --to 7     kept until node 7 has it
  chapar pub order -m go --persistent --to 7 --wait-confirmed 30s    and wait until it says so
  sensors --json | chapar pub reading --stdin-lines      one event per line, for as long as lines come
  tar c notes | chapar pub backup -f -                   all of standard input is one payload

Succeeds, silently, when the daemon of this node has the event; with a lifetime or --persistent it is then on its disk.
"""
_SUB_EPILOG: Final = """\
examples:
  chapar sub temp                                        every event with this subject
  chapar sub temp --where "celsius > 20 and room = 'lab'"
  chapar sub --type alarm --sender 7                     any subject, one type, from one node
  chapar sub temp -n 1 --timeout 10s || echo "too cold"  one event, or exit code 1
  chapar sub order --client-id till-3                    next time, also what came in between
  chapar sub temp --json | jq .attributes.celsius        for programs
  chapar sub backup -n 1 --payload | tar x               the payload as it is

filters: = != < <= > >=, in (1, 2), starts with "x", exists, joined by and.
Each line: subject, attributes and payload between tabs; what is not printable is escaped.
Ctrl-C ends with exit code 130; when the reader of a pipe goes away, with 0. Without -n, --timeout ends with 0 if
any event came.
"""
_PAGE_EPILOGS: Final[Mapping[str, str]] = {
    "status": "  chapar status\n  chapar status --json | jq .role",
    "peers": "  chapar peers\n  chapar peers --json | jq '.peers[] | select(.is_broker) | .index'",
    "fmt": "  chapar fmt\n  chapar fmt | grep temp",
    "met": "  chapar met\n  chapar met --json | jq '.events | length'",
    "clients": "  chapar clients\n  chapar clients --json | jq '.clients[] | select(.state == \"off\")'",
    "routes": "  chapar routes\n  chapar routes --http 127.0.0.2:7780",
    "losses": "  chapar losses\n  chapar losses --json | jq -r '.losses[] | [.id, .reason] | @tsv'",
}
_COMPLETION_EPILOG: Final = """\
to switch it on:
  bash   eval "$(chapar completion bash)"                               in ~/.bashrc
  zsh    chapar completion zsh > "${fpath[1]}/_chapar"                  once
  fish   chapar completion fish > ~/.config/fish/completions/chapar.fish    once
"""


class Parser(argparse.ArgumentParser):
    """An argument parser whose complaints are one line."""

    def __init__(self, **options: object) -> None:
        options["allow_abbrev"] = False
        options["formatter_class"] = argparse.RawDescriptionHelpFormatter
        super().__init__(**options)  # type: ignore[arg-type]  # as given, to a constructor with twenty keywords

    def error(self, message: str) -> NoReturn:
        self.exit(Exit.USAGE, f"{self.prog}: {message}; see {self.prog} --help\n")


def parser() -> Parser:
    """The whole command line. `command` names the command asked for, None if there is none."""
    main = Parser(
        prog="chapar",
        description="Publish, subscribe, and look at the daemon of this node.",
        epilog=_MAIN_EPILOG,
    )
    main.add_argument("--version", action="store_true", help="print the version")
    _add_address(main, default=None)
    _add_http(main, default=None)
    commands = main.add_subparsers(dest="command", metavar="COMMAND", title="commands")
    _add_pub(commands)
    _add_sub(commands)
    for name, text in PAGES.items():
        epilog = f"examples:\n{_PAGE_EPILOGS[name]}\n"
        page = commands.add_parser(name, help=text, description=_sentence(text), epilog=epilog)
        page.add_argument("--json", action="store_true", help="the daemon's own JSON")
        _add_http(page, default=argparse.SUPPRESS)
    text = "print what makes a shell complete this command"
    completion = commands.add_parser("completion", help=text, description=_sentence(text), epilog=_COMPLETION_EPILOG)
    completion.add_argument("shell", choices=SHELLS)
    return main


def parsed(arguments: Sequence[str]) -> argparse.Namespace:
    """What `arguments` ask for. Wrong usage ends the process with one line and exit code 2."""
    main = parser()
    args, unknown = main.parse_known_args(arguments)
    asked = commands_of(main).get(args.command, main)
    if unknown:
        asked.error(_unknown(unknown[0], asked))
    if args.command is None and not args.version:
        main.error(f"name a command: {', '.join(commands_of(main))}")
    if args.command in PAGES and args.address is not None:
        asked.error("this reads the daemon's HTTP port: name it with --http, not --address")
    return args


def commands_of(main: argparse.ArgumentParser) -> Mapping[str, argparse.ArgumentParser]:
    """The parsers of a parser's commands, by name."""
    return next((action.choices for action in actions_of(main) if isinstance(action.choices, dict)), {})


def actions_of(some: argparse.ArgumentParser) -> list[argparse.Action]:
    """Options and positional arguments of a parser."""
    return some._actions  # noqa: SLF001 - argparse has no other way to list them


def helps_of(main: argparse.ArgumentParser) -> Mapping[str, str]:
    """What each command of a parser is for."""
    listed = next(action for action in actions_of(main) if isinstance(action, argparse._SubParsersAction))  # noqa: SLF001 - as above
    return {choice.dest: choice.help or "" for choice in listed._choices_actions}  # noqa: SLF001 - as above


def _unknown(argument: str, asked: argparse.ArgumentParser) -> str:
    if not argument.startswith("-"):
        return f"{argument!r} is one argument too many: quote what contains spaces"
    flags = [flag for action in actions_of(asked) for flag in action.option_strings]
    near = get_close_matches(argument.partition("=")[0], flags, n=1)
    return f"there is no option {argument}" + (f": did you mean {near[0]}?" if near else "")


def _add_pub(commands: argparse._SubParsersAction[Parser]) -> None:
    text = "publish events"
    pub = commands.add_parser("pub", help=text, description=_sentence(text), epilog=_PUB_EPILOG)
    pub.add_argument("subject", metavar="SUBJECT", help="what the event is about")
    payload = pub.add_mutually_exclusive_group()
    payload.add_argument("-m", "--message", metavar="TEXT", help="the payload")
    payload.add_argument("-f", "--file", metavar=FILE, help="take the payload from this file; - is standard input")
    payload.add_argument("--stdin-lines", action="store_true", help="publish each line of standard input as it comes")
    pub.add_argument(
        "--attr",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        type=_typed(attribute),
        help="an attribute that filters can ask for: integer, float, true, false, else text; quotes make it text",
    )
    pub.add_argument("--type", metavar="T", help="the type of the event")
    pub.add_argument("--group", metavar="G", help="the group it is for")
    kept = pub.add_mutually_exclusive_group()
    kept.add_argument("--lifetime", metavar="TIME", type=_typed(duration), default=0.0, help="keep it so long: 60s, 2h")
    kept.add_argument("--persistent", action="store_true", help="keep it until everyone has it")
    pub.add_argument("--to", metavar="NODE", action="append", default=[], type=_index, help="address this node")
    pub.add_argument(
        "--wait-confirmed", metavar="TIME", type=_time_above_zero, help="wait until all who are to have it have it"
    )
    pub.add_argument("-v", "--verbose", action="store_true", help="print the id of the event")
    pub.add_argument("--json", action="store_true", help="print the id of the event as JSON")
    _add_address(pub, default=argparse.SUPPRESS)


def _add_sub(commands: argparse._SubParsersAction[Parser]) -> None:
    text = "subscribe, and print events as they come"
    sub = commands.add_parser("sub", help=text, description=_sentence(text), epilog=_SUB_EPILOG)
    sub.add_argument("subject", metavar="SUBJECT", nargs="?", help="only events about this (default: any)")
    sub.add_argument("--where", metavar="EXPR", type=_where, default="", help="a filter, like 'speed > 2 and lat > 52'")
    sub.add_argument("--type", metavar="T", help="only events of this type")
    sub.add_argument("--group", metavar="G", help="only events for this group")
    sub.add_argument("--sender", metavar="NODE", type=_index, help="only events published at this node")
    sub.add_argument("-n", "--count", metavar="COUNT", type=_count, help="end after so many events")
    sub.add_argument("--timeout", metavar="TIME", type=_time_above_zero, help="end after this time: 10, 500ms, 2h")
    form = sub.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="one JSON object per line")
    form.add_argument("--payload", action="store_true", help="payloads as they are, each with a newline")
    sub.add_argument(
        "--client-id",
        metavar="ID",
        type=_client_id,
        help="a name under which the daemon keeps what comes while this is not running",
    )
    _add_address(sub, default=argparse.SUPPRESS)


def _add_address(some: Parser, *, default: str | None) -> None:
    some.add_argument(
        "-a",
        "--address",
        metavar="HOST:PORT",
        default=default,
        help="the daemon's client port (default: $CHAPAR_DAEMON, else 127.0.0.1:7700)",
    )


def _add_http(some: Parser, *, default: str | None) -> None:
    some.add_argument(
        "--http",
        metavar="HOST:PORT",
        type=_typed(http_endpoint),
        default=default,
        help=f"the daemon's HTTP port (default: $CHAPAR_HTTP, else {HTTP})",
    )


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."


def _typed(read: Callable[[str], T]) -> Callable[[str], T]:
    """`read` as argparse wants it: its complaints as they are."""

    def convert(text: str) -> T:
        try:
            return read(text)
        except NotationError as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    return convert


def _where(text: str) -> str:
    try:
        parse(text or EVERYTHING)
    except FilterError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return text


def _client_id(text: str) -> str:
    if not 0 < len(text) <= MAX_CLIENT_NAME or not text.isprintable() or "/" in text:
        advice = f"write 1 to {MAX_CLIENT_NAME} printable characters without /"
        raise argparse.ArgumentTypeError(f"{text!r} is no name for a client: {advice}")
    return text


def _index(text: str) -> int:
    if not text.isascii() or not text.isdecimal() or int(text) >= MAX_NODES:
        raise argparse.ArgumentTypeError(f"{text!r} is no node: write its index, 0 to {MAX_NODES - 1}")
    return int(text)


def _count(text: str) -> int:
    if not text.isascii() or not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(f"{text!r} is no count: write a whole number from 1")
    return int(text)


def _time_above_zero(text: str) -> float:
    seconds = _typed(duration)(text)
    if not seconds:
        raise argparse.ArgumentTypeError("no time at all: write 500ms, 60s, 5m, 2h or 1d")
    return seconds
