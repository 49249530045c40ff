"""The command from its arguments to its exit code, whatever it was asked for."""

from __future__ import annotations

import os
import re
import subprocess

import pytest

from chapar.cli.arguments import SHELLS, parser
from chapar.cli.command import main
from chapar.cli.completion import script
from chapar_command import LIMIT, chapar, command, environment


def test_the_version_is_printed() -> None:
    """And nothing else."""
    outcome = chapar("--version")
    assert (outcome.code, outcome.err) == (0, "")
    assert re.fullmatch(rb"chapar [0-9]+\.[0-9]+\.[0-9]+\S*\n", outcome.out)


def test_help_is_for_standard_output() -> None:
    """So that it can be paged."""
    outcome = chapar("--help")
    assert (outcome.code, outcome.err) == (0, "")
    assert b'chapar sub temp --where "celsius > 20"' in outcome.out


@pytest.mark.parametrize("shell", SHELLS)
def test_completion_is_printed(shell: str, capfd: pytest.CaptureFixture[str]) -> None:
    """The script, as it is generated."""
    assert main(["completion", shell]) == 0
    assert capfd.readouterr() == (script(shell, parser()), "")


def test_wrong_usage_is_one_line_and_2() -> None:
    """From the process too."""
    outcome = chapar("sub", "--where", "celsius >")
    assert (outcome.code, outcome.out) == (2, b"")
    assert outcome.err == (
        "chapar sub: argument --where: filter, column 10: expected a value, not the end of the text: "
        "use a number, a quoted string, true or false; see chapar sub --help\n"
    )


@pytest.mark.parametrize("arguments", [["--help"], ["completion", "bash"], ["--version"]])
def test_a_reader_who_has_had_enough_is_no_error(arguments: list[str]) -> None:
    """`chapar --help | true`: no traceback, no complaint."""
    source, target = os.pipe()
    os.close(source)
    try:
        done = subprocess.run(  # noqa: S603 - our own command
            command(*arguments), stdout=target, stderr=subprocess.PIPE, timeout=LIMIT, check=False, env=environment()
        )
    finally:
        os.close(target)
    assert (done.returncode, done.stderr) == (0, b"")


def test_a_full_disk_is_one_line_and_1() -> None:
    """Where output can go no more."""
    with open("/dev/full", "wb") as full:
        done = subprocess.run(  # noqa: S603 - our own command
            command("completion", "bash"), stdout=full, stderr=subprocess.PIPE, timeout=LIMIT, check=False
        )
    assert done.returncode == 1
    assert done.stderr == b"chapar completion: cannot read or write any more: No space left on device\n"
