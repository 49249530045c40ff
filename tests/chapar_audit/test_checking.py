"""`chapar-audit check` says whether an audit can run, as the exit code too."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from chapar_audit.cli import main
from chapar_audit.session import INSTALL

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("java", "code", "said"),
    [
        (None, 1, "Spark needs Java, and there is none in JAVA_HOME ({home}): {install}"),
        ("11.0.21", 1, "Spark needs Java 17 or newer, and this is Java 11: {install}"),
        ("17.0.15", 0, "this machine can run an audit"),
        ("21", 0, "this machine can run an audit"),
    ],
)
def test_what_java_there_is_decides(
    java: str | None, code: int, said: str,
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    """In one line; what is lacking goes to standard error."""
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    if java is not None:
        program = tmp_path / "bin" / "java"
        program.parent.mkdir()
        program.write_text(f"#!/bin/sh\necho 'openjdk version \"{java}\" 2025-04-15' >&2\n")
        program.chmod(0o755)
    assert main(["check"]) == code
    line = f"chapar-audit: {said.format(home=tmp_path, install=INSTALL)}\n"
    assert tuple(capsys.readouterr()) == (("", line) if code else (line, ""))
