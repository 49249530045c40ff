"""However a lab ends, nothing of it is left; and what is wrong with one is said."""

from __future__ import annotations

import os
import pty
import select
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from chapar_lab.control import runs
from e2e import labs

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.lab

VANISHING = 10.0
"""Seconds in which the kernel has ended everything."""
PAIR = f"""
name = "pair"
duration = 4
settle = 2
nodes = 2
{labs.BRISK}
[topology]
kind = "chain"
[[client]]
name = "source"
node = 1
publish = [{{ subject = "a", every = 0.2, start = 1 }}]
[[client]]
name = "sink"
node = 2
subscribe = [{{ filter = 'subject = "a"' }}]
"""


def left(folder: Path) -> list[str]:
    """What is there of labs whose scenario is in this folder."""
    mounts = Path("/proc/self/mounts").read_text(encoding="utf-8").splitlines()
    links = sorted(os.listdir("/sys/class/net"))
    return [
        *map(str, labs.processes(str(folder))),
        *(line for line in mounts if "chapar-lab" in line),
        *(name for name in links if name.startswith("n") and name[1:].isdigit()),
        *map(str, Path("/run").glob("chapar-lab*")),
        *map(str, Path("/run/netns").glob("*lab*")),
    ]


def soon(condition: Callable[[], bool]) -> bool:
    end = time.monotonic() + VANISHING
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(labs.LOOK_EVERY)
    return condition()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL], ids=lambda each: each.name)
def test_a_run_that_is_ended_leaves_nothing(number: signal.Signals, tmp_path: Path) -> None:
    """Ctrl-C, a polite word, or none: every process ends, and with them networks, mounts and files."""
    with labs.up(tmp_path, PAIR) as lab:
        lab.reach("running", "holding")
        assert len(labs.processes(str(tmp_path))) > 2
        lab.process.send_signal(number)
        with suppress(subprocess.TimeoutExpired):
            lab.process.wait(VANISHING)
        assert soon(lambda: not left(tmp_path)), left(tmp_path)
        assert lab.process.pid not in runs()


@pytest.mark.parametrize("phase", ["starting", "starting: 2 of", "forming", "running", "stays up"])
def test_ctrl_c_on_a_terminal(phase: str, tmp_path: Path) -> None:
    """Whatever a run is about: it ends within seconds, says so in one line, and leaves nothing."""
    labs.require()
    scenario = tmp_path / "scenario.toml"
    scenario.write_text(PAIR, encoding="utf-8")
    pid, terminal = pty.fork()
    if pid == 0:
        os.execv(labs.COMMAND, [labs.COMMAND, "run", str(scenario), "--hold"])  # noqa: S606 - our own command
    said = _said(terminal, until=phase)
    assert phase in said
    os.write(terminal, b"\x03")
    pressed = time.monotonic()
    after = _said(terminal).rpartition("^C")[2]
    _, status = os.waitpid(pid, 0)
    os.close(terminal)
    assert time.monotonic() - pressed < VANISHING
    assert os.waitstatus_to_exitcode(status) == 130
    assert after.splitlines() == ["", "chapar-lab: interrupted"]
    assert soon(lambda: not left(tmp_path)), left(tmp_path)


def _said(terminal: int, until: str = "") -> str:
    """What a terminal shows: up to these words, or to the end."""
    said, end = b"", time.monotonic() + labs.PATIENCE
    while time.monotonic() < end and not (until and until.encode() in said):
        if select.select([terminal], [], [], labs.LOOK_EVERY)[0]:
            try:
                said += os.read(terminal, 4096)
            except OSError:  # nobody writes to it any more
                break
    return said.decode()


def test_two_at_a_time_and_three_in_a_row(tmp_path: Path) -> None:
    """Parallel runs do not know of each other, and each leaves the machine as it found it."""
    first, second = tmp_path / "1", tmp_path / "2"
    for folder in (first, second):
        folder.mkdir()
    with labs.up(first, PAIR) as one, labs.up(second, PAIR) as two:
        for each in (one, two):
            each.reach("holding")
        assert {one.process.pid, two.process.pid} <= set(runs())
    for folder in (first, second):
        assert labs.result(folder)["violations"] == []
    done = labs.kept(tmp_path, PAIR)
    assert done.missed() == []
    assert soon(lambda: not left(tmp_path)), left(tmp_path)


def test_a_visit(tmp_path: Path) -> None:
    """While a lab is up, commands work on its nodes: an event goes from one shell to another; status and drawing."""
    with labs.up(tmp_path, PAIR) as lab:
        lab.reach("holding")
        reader = subprocess.Popen(  # noqa: S603 - our own command
            [labs.COMMAND, "shell", "--run", str(lab.process.pid), "2", "chapar", "sub", "hello", "-n", "1"],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert soon(lambda: '"hello"' in lab.ask("shell", "1", "chapar", "fmt"))
        lab.ask("shell", "1", "chapar", "pub", "hello", "-m", "from here")
        said, _ = reader.communicate(timeout=labs.PATIENCE)
        assert "from here" in said
        assert "wlan0" in lab.ask("shell", "1", "cat", "/proc/net/dev")
        table = lab.ask("status")
        assert "holding" in table
        assert table.count("broker") >= 3
        assert "events of source: 1→2" in lab.ask("topology")
        assert lab.ask("topology", "--svg", "-").startswith("<svg")


def test_a_program_that_does_not_start_is_shown(tmp_path: Path) -> None:
    """Which node, why, and the last lines of its log; nothing is left, and the exit code says that it failed."""
    broken = tmp_path / "bin"
    broken.mkdir()
    babeld = broken / "babeld"
    babeld.write_text("#!/bin/sh\necho 'no such radio' >&2\nexit 3\n", encoding="utf-8")
    babeld.chmod(0o755)
    done = labs.run(tmp_path, PAIR.replace(labs.BRISK, '[routes]\nsource = "babel"\n'), path=str(broken))
    assert done.code == 1
    assert "babeld of node" in done.said
    assert "ended by itself with code 3" in done.said
    assert "no such radio" in done.said
    assert "Traceback" not in done.said
    assert soon(lambda: not left(tmp_path)), left(tmp_path)


def test_a_result_that_cannot_be_written_is_a_failure(tmp_path: Path) -> None:
    """A place that was fine when the run began, and is not any more when it ends: one line says so."""
    tmp_path.joinpath("out", "topology.svg").mkdir(parents=True)
    done = labs.run(tmp_path, PAIR)
    assert done.code == 1
    assert done.said.splitlines()[-1] == f"chapar-lab: --out {tmp_path}/out: Is a directory"
