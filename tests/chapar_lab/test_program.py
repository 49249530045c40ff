"""The programs of a lab, as real processes."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from boxed import boxed, wait_until
from chapar_lab.namespaces import new_network
from chapar_lab.program import STOP_PATIENCE, TAIL, LabError, Program

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PATIENCE = 20.0
READY = """
import os, socket
notices = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
def say(text):
    notices.sendto(text.encode(), os.environ["NOTIFY_SOCKET"])
"""
WAIT = "\nimport signal\nsignal.pause()\n"


@contextmanager
def here() -> Iterator[int]:
    """The network that this process is in. To start a program there needs the right to enter it."""
    network = os.open("/proc/self/ns/net", os.O_RDONLY)
    try:
        yield network
    finally:
        os.close(network)


def program(folder: Path, code: str, network: int) -> Program:
    return Program("the example", [sys.executable, "-S", "-c", code], network, folder, log="example.log")


def state_of(process: int) -> str:
    """As /proc has it: T for stopped."""
    with open(f"/proc/{process}/stat", encoding="ascii") as file:
        return file.read().rpartition(")")[2].split()[0]


def failure_of(folder: Path, code: str, patience: float = PATIENCE) -> str:
    """What is said of a program that does not become ready."""

    def work() -> str:
        with here() as network:
            example = program(folder, code, network)
            try:
                asyncio.run(example.run(patience))
            except LabError as error:
                return str(error)
            return "it is ready"

    return boxed(work)


def test_a_program_that_says_so_is_ready(tmp_path: Path) -> None:
    """Not before: other notices do not count. What it prints goes to its log."""
    code = f"{READY}print('hello', flush=True)\nsay('STATUS=busy')\nsay('STATUS=done\\nREADY=1'){WAIT}"

    def work() -> tuple[bool, bool, str]:
        with here() as network:
            example = program(tmp_path, code, network)
            asyncio.run(example.run(PATIENCE))
            up = example.is_up
            example.kill()
            return up, example.is_up, example.log.read_text(encoding="utf-8")

    assert boxed(work) == (True, False, "hello\n")


def test_a_program_that_ends_instead_shows_what_it_said_last(tmp_path: Path) -> None:
    """Its name, its code, and the last lines of its log, no more."""
    code = "import sys\nfor each in range(50):\n    print('line', each, file=sys.stderr)\nsys.exit(3)"
    first, *said = failure_of(tmp_path, code).splitlines()
    assert first == "the example ended with code 3; its log ends:"
    assert said == [f"    line {each}" for each in range(50 - TAIL, 50)]


def test_a_program_that_is_killed_early_said_nothing(tmp_path: Path) -> None:
    """It has the code of its signal."""
    assert failure_of(tmp_path, "import os; os.abort()") == "the example ended with code -6; it said nothing"


def test_a_program_that_is_not_ready_in_time(tmp_path: Path) -> None:
    """Is an error, though it runs, and says other things."""
    code = f"{READY}say('STATUS=soon'){WAIT}"
    assert failure_of(tmp_path, code, patience=0.5) == "the example was not ready within 0.5 s; it said nothing"


def test_a_program_that_is_not_there(tmp_path: Path) -> None:
    """Cannot be started; which one, is said."""

    def work() -> str:
        with here() as network:
            with pytest.raises(LabError) as caught:
                Program("the example", ["/nowhere/example"], network, tmp_path).start()
            return str(caught.value)

    assert boxed(work) == "the example: cannot start /nowhere/example: No such file or directory"


def test_a_program_runs_in_the_network_that_it_was_given(tmp_path: Path) -> None:
    """And whoever has started it stays where it was."""
    print_it = "import os; print(os.stat('/proc/self/ns/net').st_ino)"

    async def work() -> tuple[list[int], bool]:
        network, before = new_network(), os.stat("/proc/thread-self/ns/net").st_ino
        example = program(tmp_path, print_it, network)
        example.start()
        assert await example.ended() == 0
        there = int(example.log.read_text(encoding="ascii"))
        return [there, os.fstat(network).st_ino], before == os.stat("/proc/thread-self/ns/net").st_ino

    (there, wanted), is_back = boxed(lambda: asyncio.run(work()))
    assert there == wanted
    assert is_back


def test_what_would_point_it_at_another_daemon_is_not_passed_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The variables of the user are, except those of Chapar."""
    monkeypatch.setenv("CHAPAR_DAEMON", "192.0.2.1:7770")
    monkeypatch.setenv("CHAPARD_NODE_ADDRESS", "192.0.2.1")
    monkeypatch.setenv("EXAMPLE", "kept")
    code = "import os; print(sorted(each for each in os.environ if each.startswith(('CHAPAR', 'EXAMPLE'))))"

    async def work() -> str:
        with here() as network:
            example = program(tmp_path, code, network)
            example.start()
            await example.ended()
            return example.log.read_text(encoding="utf-8")

    assert boxed(lambda: asyncio.run(work())) == "['EXAMPLE']\n"


def test_to_stop_is_to_ask(tmp_path: Path) -> None:
    """It may save something, also if it was paused; and that it has ended is on purpose."""
    code = f"{READY}import signal, sys\nsignal.signal(15, lambda *_: sys.exit(5))\nsay('READY=1'){WAIT}"

    async def work() -> list[object]:
        with here() as network:
            example = program(tmp_path, code, network)
            await example.stop()  # nothing to do
            await example.run(PATIENCE)
            assert example.process is not None
            pid = example.process.pid
            example.signal(signal.SIGSTOP)
            wait_until(lambda: state_of(pid) == "T", PATIENCE, "the pause")
            was_meant = example.ended_on_purpose
            await example.stop()
            return [was_meant, example.ended_on_purpose, example.is_up, example.process.returncode]

    assert boxed(lambda: asyncio.run(work())) == [False, True, False, 5]


def test_a_start_that_is_given_up_does_not_keep_the_end_from_being_seen(tmp_path: Path) -> None:
    """As when another program has failed meanwhile. Whoever stops this one then waits no longer than it takes."""

    async def work() -> float:
        with here() as network:
            example = program(tmp_path, f"print('up', flush=True){WAIT}", network)
            starting = asyncio.ensure_future(example.run(PATIENCE))
            while not example.is_up:
                await asyncio.sleep(0.01)
            starting.cancel()
            await asyncio.wait((starting,))
            loop = asyncio.get_running_loop()
            before = loop.time()
            await example.stop()
            return loop.time() - before

    assert boxed(lambda: asyncio.run(work())) < STOP_PATIENCE / 2


def test_who_waits_for_a_process_is_not_kept_by_the_next_one(tmp_path: Path) -> None:
    """It was killed, and started again before the waiting one had its turn."""

    async def work() -> int:
        with here() as network:
            example = program(tmp_path, f"print('up', flush=True){WAIT}", network)
            example.start()
            waiting = asyncio.ensure_future(example.ended())
            await asyncio.sleep(0)
            example.kill()
            example.start()
            code = await waiting
            example.kill()
            return code

    assert boxed(lambda: asyncio.run(work())) == -9


def test_it_can_be_killed_and_started_again(tmp_path: Path) -> None:
    """At once, without a word; the next process is no leftover of the purpose before, and writes on in the log."""
    code = f"{READY}import signal\nsignal.signal(15, signal.SIG_IGN)\nprint('up', flush=True)\nsay('READY=1'){WAIT}"

    async def work() -> list[object]:
        with here() as network:
            example = program(tmp_path, code, network)
            await example.run(PATIENCE)
            example.kill()
            assert example.process is not None
            first = [example.is_up, example.ended_on_purpose, example.process.returncode]
            await example.run(PATIENCE)
            second = [example.is_up, example.ended_on_purpose]
            example.kill()
            return [first, second, example.log.read_text(encoding="utf-8")]

    assert boxed(lambda: asyncio.run(work())) == [[False, True, -9], [True, False], "up\nup\n"]
