"""The medium as a command; what it relays is tested in namespaces (e2e)."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

PATIENCE = 20


def start(folder: Path, text: str) -> subprocess.CompletedProcess[str]:
    scenario = folder / "scenario.toml"
    scenario.write_text(text, encoding="utf-8")
    command = [sys.executable, "-m", "chapar_lab.medium", str(scenario), "--seed", "1", "--record", str(folder / "air")]
    return subprocess.run(  # noqa: S603 - our own
        command, capture_output=True, text=True, timeout=PATIENCE, check=False, stdin=subprocess.DEVNULL
    )


def test_a_scenario_that_is_none_is_said(tmp_path: Path) -> None:
    """In one line."""
    done = start(tmp_path, "nodes = many")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("chapar-lab: ")
    assert done.stderr.count("\n") == 1


def test_without_the_interfaces_there_is_no_medium(tmp_path: Path) -> None:
    """It says which one it misses, or that it may not."""
    done = start(tmp_path, 'duration = 1\nnodes = 250\ntopology = { kind = "chain" }')
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    assert "cannot listen on n" in done.stderr
