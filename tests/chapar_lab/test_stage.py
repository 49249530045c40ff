"""The clients of one node as a process."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from asyncio.subprocess import PIPE
from collections import Counter
from typing import TYPE_CHECKING

from chapar_lab.rows import from_line
from chapar_lab.stage import READY
from e2e.daemons import alone

if TYPE_CHECKING:
    from pathlib import Path

SCENARIO = """
duration = 5
nodes = 2
topology = { kind = "chain" }
[[client]]
name = "pub"
node = 1
publish = [{ subject = "a", every = 0.05, count = 10, lifetime = 60 }]
[[client]]
name = "sub"
nodes = "all"
subscribe = [{ filter = 'subject = "a"' }]
"""
PATIENCE = 20


def test_it_acts_for_one_node(tmp_path: Path) -> None:
    """When it is told the time of the start, until its input ends; the clients of other nodes it leaves to others."""
    file = tmp_path / "scenario.toml"
    file.write_text(SCENARIO, encoding="utf-8")
    command = [sys.executable, "-m", "chapar_lab.stage", str(file), "--node", "1", "--seed", "1"]

    async def work() -> list[str]:
        with alone(tmp_path, "log.level=warning") as daemon:
            await daemon.run()
            stage = await asyncio.create_subprocess_exec(
                *command, stdin=PIPE, stdout=PIPE, env={"CHAPAR_DAEMON": daemon.address}
            )
            assert stage.stdin is not None
            assert stage.stdout is not None
            lines: list[str] = []
            async with asyncio.timeout(PATIENCE):
                assert json.loads(await stage.stdout.readline()) == READY
                stage.stdin.write(f"{asyncio.get_running_loop().time()}\n".encode())
                while lines.count("delivered") < 10:
                    line = (await stage.stdout.readline()).decode()
                    lines.append(type(from_line(line)).__name__.lower())
                stage.stdin.close()
                rest = (await stage.stdout.read()).decode().splitlines()
                lines += [type(from_line(line)).__name__.lower() for line in rest]
                assert await stage.wait() == 0
            assert await daemon.stop() == 0
        return lines

    kinds = Counter(asyncio.run(work()))
    assert kinds == {"accepted": 10, "delivered": 10, "interest": 1, "presence": 4}


def test_a_scenario_that_is_none_is_said(tmp_path: Path) -> None:
    """In one line."""
    command = [sys.executable, "-m", "chapar_lab.stage", str(tmp_path / "none.toml"), "--node", "1", "--seed", "1"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)  # noqa: S603 - our own
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
