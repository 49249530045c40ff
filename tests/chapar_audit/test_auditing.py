"""The options of `chapar-audit DIR`, and its help."""

from __future__ import annotations

from pathlib import Path

import pytest

from chapar_audit import auditing
from chapar_audit.cli import COMMANDS, main


def test_help_teaches_by_example_and_names_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    """Each example about auditing is understood."""
    with pytest.raises(SystemExit) as end:
        main(["--help"])
    assert end.value.code == 0
    said = capsys.readouterr().out
    assert max(map(len, said.splitlines())) <= 110
    examples = [line.partition("#")[0].split() for line in said.splitlines() if line.startswith("  chapar-audit ")]
    for words in examples:
        if words[1] not in COMMANDS:
            auditing.parser().parse_args(words[1:])
    assert {words[1] for words in examples} >= COMMANDS


def test_a_folder_is_all_that_is_needed() -> None:
    """The rest has defaults."""
    args = auditing.parser().parse_args(["field"])
    assert (args.folder, args.name, args.master, args.out) == (Path("field"), None, "local[*]", None)
    assert (args.html, args.json) == (None, False)
