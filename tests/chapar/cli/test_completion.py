"""Shell completion: bash is asked itself; of the others, where they are not installed, the text is looked at."""

from __future__ import annotations

import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from chapar.cli.arguments import SHELLS, actions_of, commands_of, parser
from chapar.cli.completion import commands, script

if TYPE_CHECKING:
    from pathlib import Path

FLAGS = {
    flag for each in commands_of(parser()).values() for action in actions_of(each) for flag in action.option_strings
}
ASK = """
{script}
COMP_WORDS=(chapar {line})
COMP_CWORD=$(( ${{#COMP_WORDS[@]}} - 1 ))
_chapar
printf '%s\\n' "${{COMPREPLY[@]}}"
"""


def completed(line: str, folder: Path) -> set[str]:
    """What bash offers for the last word of the line."""
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("bash is not installed")
    asked = ASK.format(script=script("bash", parser()), line=line)
    ran = subprocess.run([bash, "--norc", "-euc", asked], capture_output=True, text=True, check=False, cwd=folder)  # noqa: S603 - our own script
    assert (ran.returncode, ran.stderr) == (0, "")
    return set(ran.stdout.split())


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("su", {"sub"}),
        ("s", {"sub", "status"}),
        ("--v", {"--version"}),
        ("pub temp --st", {"--stdin-lines"}),
        ("-a h:1 pub --pers", {"--persistent"}),
        ("-a pub sub --wh", {"--where"}),
        ("sub --payl", {"--payload"}),
        ("met --", {"--help", "--json", "--http"}),
        ("completion ''", set(SHELLS)),
        ("completion z", {"zsh"}),
        ("pub -f order", {"order.json"}),
        ("pub --file ''", {"order.json"}),
        ("pub -m order", set()),
        ("sub --where --", set()),
    ],
)
def test_bash_offers_what_fits(line: str, offered: set[str], tmp_path: Path) -> None:
    """Commands, options of the command, words of an argument, files where a file is wanted, else nothing."""
    (tmp_path / "order.json").touch()
    assert completed(line, tmp_path) == offered


@pytest.mark.parametrize("shell", SHELLS)
def test_every_command_and_option_is_known_to_every_shell(shell: str) -> None:
    """None is forgotten, since all come from the parser."""
    text = script(shell, parser())
    fish = {f"-l {flag[2:]}" if flag.startswith("--") else f"-s {flag[1:]}" for flag in FLAGS}
    assert all(word in text for word in (fish if shell == "fish" else FLAGS))
    assert all(name in text for name in commands_of(parser()))


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_the_other_shells_accept_their_script(shell: str) -> None:
    """Read without running it, where the shell is installed; quotes are balanced in any case."""
    text = script(shell, parser())
    unescaped = text.replace("'\\''", "") if shell == "zsh" else text.replace("\\'", "")
    for line in unescaped.splitlines():
        assert line.count("'") % 2 == 0, line
    program = shutil.which(shell)
    if program is not None:
        ran = subprocess.run([program, "-n"], input=text, capture_output=True, text=True, check=False)  # noqa: S603 - as above
        assert (ran.returncode, ran.stderr) == (0, "")


def test_options_know_what_they_take() -> None:
    """A file, a value, nothing; once or several times."""
    pub = next(each for each in commands(parser()) if each.name == "pub")
    known = {option.flags[-1]: option for option in pub.options}
    assert known["--file"].is_file
    assert known["--attr"].repeats
    assert known["--message"].takes_value
    assert not known["--message"].repeats
    assert not known["--persistent"].takes_value
