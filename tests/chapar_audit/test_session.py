"""Spark where there is Java."""

import pytest

from chapar_audit.session import NoSparkError, check_java


def test_without_java_there_is_one_line_that_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing on PATH, no JAVA_HOME."""
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    with pytest.raises(NoSparkError, match="openjdk-17-jre-headless"):
        check_java()
