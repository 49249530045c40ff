"""The fuzz target, for its minute: five million datagrams at both ports, no crash, no growth, counters only."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

FUZZ = Path(__file__).with_name("fuzz.py")
SECONDS = 60
PATIENCE = 900


def test_fuzz() -> None:
    """Neither a node in memory nor a daemon's sockets mind what they are sent."""
    command = [sys.executable, str(FUZZ), "--seconds", str(SECONDS), "--datagrams", "5_000_000"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)  # noqa: S603 - our own
    print(done.stdout)
    assert done.returncode == 0, done.stderr
