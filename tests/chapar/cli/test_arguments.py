"""The command line as argparse sees it."""

from __future__ import annotations

import shlex

import pytest

from chapar.cli.arguments import PAGES, actions_of, commands_of, helps_of, parsed, parser
from chapar.endpoint import Endpoint

COMMANDS = ("pub", "sub", *PAGES, "completion")


def test_every_command_of_the_design_is_there() -> None:
    """With a line about each."""
    assert tuple(commands_of(parser())) == tuple(helps_of(parser())) == COMMANDS
    assert all(helps_of(parser()).values())


def test_pub_takes_all_of_an_event() -> None:
    """Each option once, typed."""
    options = "-m hello --attr celsius=21.5 --attr ok=true --type t --group g --lifetime 5m --to 7 --to 9 -v -a [::1]:7"
    args = parsed(["pub", "temp", *options.split()])
    assert (args.subject, args.message, args.type, args.group) == ("temp", "hello", "t", "g")
    assert args.attr == [("celsius", 21.5), ("ok", True)]
    assert (args.lifetime, args.to, args.verbose) == (300.0, [7, 9], True)
    assert args.address == "[::1]:7"


def test_sub_takes_all_of_a_filter() -> None:
    """The subject may be left out."""
    args = parsed(["sub", "--where", "a > 1", "--sender", "3", "-n", "5", "--timeout", "500ms", "--client-id", "x"])
    assert (args.subject, args.where, args.sender, args.count) == (None, "a > 1", 3, 5)
    assert (args.timeout, args.client_id) == (0.5, "x")


@pytest.mark.parametrize("line", ["-a h:1 pub s", "pub -a h:1 s", "pub s --address=h:1"])
def test_the_address_stands_before_or_behind_the_command(line: str) -> None:
    """As people type it; the HTTP address too."""
    assert parsed(line.split()).address == "h:1"
    assert parsed(["pub", "s"]).address is None
    assert parsed(["--http", "h", "met"]).http == parsed(["met", "--http", "h:7780"]).http == Endpoint("h", 7780)
    assert parsed(["met"]).http is None


WRONG = [
    ("", "name a command: pub, sub, status"),
    ("fly", "invalid choice: 'fly'"),
    ("pub", "the following arguments are required: SUBJECT"),
    ("pub s --attr celsius", "write NAME=VALUE"),
    ("pub s --attr celsius=1 --lifetime soon", "write 500ms, 60s"),
    ("pub s -m a -f b", "not allowed with"),
    ("pub s -m a --stdin-lines", "not allowed with"),
    ("pub s --lifetime 5s --persistent", "not allowed with"),
    ("pub s --to x", "write its index, 0 to 4095"),
    ("pub s --to 4096", "write its index, 0 to 4095"),
    ("pub s t", "'t' is one argument too many"),
    ("pub s --atr a=1", "there is no option --atr: did you mean --attr?"),
    ("pub s --persist", "there is no option --persist: did you mean --persistent?"),
    ("pub s --wait-confirmed 0", "no time at all"),
    ("sub --wher x", "did you mean --where?"),
    ("sub --zzz", "there is no option --zzz;"),
    ("sub --where 'celsius >'", "filter, column 10: expected a value"),
    ("sub --where 'a = b'", "filter, column 5:"),
    ("sub -n 0", "write a whole number from 1"),
    ("sub -n -1", "write a whole number from 1"),
    ("sub --timeout ''", "is no length of time"),
    ("sub --json --payload", "not allowed with"),
    ("sub --client-id a/b", "is no name for a client"),
    ("sub --client-id ''", "is no name for a client"),
    ("-a h:1 status", "name it with --http"),
    ("status --http 127.0.0.1:99999", "is no address"),
    ("completion tcsh", "invalid choice: 'tcsh'"),
]


@pytest.mark.parametrize(("line", "complaint"), WRONG)
def test_wrong_usage_is_one_line_and_2(line: str, complaint: str, capsys: pytest.CaptureFixture[str]) -> None:
    """It names the mistake and where help is."""
    with pytest.raises(SystemExit) as end:
        parsed(shlex.split(line))
    out, err = capsys.readouterr()
    assert (end.value.code, out) == (2, "")
    assert complaint in err
    assert err.startswith("chapar")
    assert err.endswith(" --help\n")
    assert err.count("\n") == 1


@pytest.mark.parametrize("name", COMMANDS)
def test_help_teaches_by_example(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Each example of a command is one that its own parser accepts, and every option says what it does."""
    with pytest.raises(SystemExit) as end:
        parsed([name, "--help"])
    assert end.value.code == 0
    examples = [part for line in capsys.readouterr().out.splitlines() if (part := example(line, name))]
    assert examples
    for words in examples:
        assert parsed(words).command == name
    assert all(action.help for action in actions_of(commands_of(parser())[name]) if action.option_strings)


def example(line: str, name: str) -> list[str]:
    """The arguments of the example on a line of help, without the pipes around it and the remark behind it."""
    if not line.startswith("  ") or f"chapar {name} " not in f"{line} " or line.startswith("  chapar.."):
        return []
    call = line.partition(f"chapar {name}")[2].partition("  ")[0]
    for end in (" | ", " || ", " > ", ')"'):
        call = call.partition(end)[0] if "--where" not in call else call
    return [name, *shlex.split(call)]
