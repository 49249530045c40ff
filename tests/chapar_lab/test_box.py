"""The box of a lab, looked at from inside and from outside."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pytest

from boxed import END_PATIENCE, boxed, marked, marker, open_box, require_box, sleeper, wait_until
from chapar_lab.box import FAILED, NoBoxError, can_box, inside_box
from chapar_lab.namespaces import SCRATCH


def test_the_work_is_the_first_process_and_alone() -> None:
    """It is process 1, root, and sees no process but itself; its network is a new one."""
    here = os.readlink("/proc/self/ns/net")

    def work() -> tuple[int, int, list[str], str]:
        seen = sorted(each.name for each in Path("/proc").glob("[0-9]*"))
        return os.getpid(), os.geteuid(), seen, os.readlink("/proc/self/ns/net")

    pid, user, seen, there = boxed(work)
    assert (pid, user, seen) == (1, 0, ["1"])
    assert there != here


@pytest.mark.parametrize("code", [0, 1, 130])
def test_its_exit_code_is_that_of_the_work(code: int) -> None:
    """Whatever that is."""
    with open_box(lambda: code, code=lambda found: found) as box:
        assert box.ended() == code


def test_work_that_is_killed_has_failed() -> None:
    """From outside, as nobody inside can kill the first process; the process outside says so by its exit code."""
    with open_box(signal.pause) as box:
        first = wait_until(box.first, END_PATIENCE, "the first process")
        os.kill(first, signal.SIGKILL)
        assert box.ended() == FAILED


def test_a_mistake_in_the_work_is_told_and_has_failed(capfd: pytest.CaptureFixture[str]) -> None:
    """With its trace, as nobody else would tell of it."""

    def code(_: object) -> int:
        raise RuntimeError("a mistake")

    with open_box(lambda: None, code=code) as box:
        assert box.ended() == FAILED
    assert "RuntimeError: a mistake" in capfd.readouterr().err


def test_the_end_of_the_work_ends_everything_in_the_box() -> None:
    """Processes that it has started and left running, in sessions of their own, are gone."""
    word = marker()

    def work() -> None:
        for _ in range(2):
            subprocess.Popen(sleeper(word), start_new_session=True)  # noqa: S603 - our own
        wait_until(lambda: len(marked(word)) == 2, END_PATIENCE, "the sleepers")

    with open_box(work) as box:
        box.result()
        box.ended()
        assert marked(word) == []


def test_the_box_goes_with_the_process_outside() -> None:
    """Also if that is killed, which leaves it no chance to do anything."""
    word = marker()

    def work() -> None:
        subprocess.Popen(sleeper(word), start_new_session=True)  # noqa: S603 - our own
        signal.pause()

    with open_box(work) as box:
        wait_until(lambda: marked(word), END_PATIENCE, "the sleeper")
        os.kill(box.pid, signal.SIGKILL)
        assert box.ended() == -signal.SIGKILL
        wait_until(lambda: not marked(word), END_PATIENCE, "the end of the sleeper")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signals_are_passed_on(number: signal.Signals) -> None:
    """To the work, which decides what they mean; the process outside waits for it."""
    word = marker()

    def work() -> int:
        got: list[int] = []
        signal.signal(number, lambda number, _: got.append(number))
        subprocess.Popen(sleeper(word))  # noqa: S603 - our own; from here on we listen
        while not got:
            signal.sigtimedwait([], 0.01)
        return got[0]

    with open_box(work, code=lambda got: got + 40) as box:
        wait_until(lambda: marked(word), END_PATIENCE, "the sleeper")
        os.kill(box.pid, number)
        assert box.result() == number
        assert box.ended() == number + 40


def test_a_box_leaves_no_trace(tmp_path: Path) -> None:
    """Its files and mounts are not seen outside, neither while it is up nor afterwards."""
    up = tmp_path / "up"
    name = marker()

    def work() -> None:
        Path(SCRATCH, name).write_text("x", encoding="utf-8")
        up.touch()
        signal.pause()

    before = Path("/proc/self/mountinfo").read_text(encoding="utf-8")
    with open_box(work):
        wait_until(up.exists, END_PATIENCE, "the work")
        assert not Path(SCRATCH, name).exists()
        assert Path("/proc/self/mountinfo").read_text(encoding="utf-8") == before
    assert Path("/proc/self/mountinfo").read_text(encoding="utf-8") == before


def test_whether_there_can_be_a_box_is_found_out_without_entering_one() -> None:
    """This process stays where it is."""
    require_box()
    namespaces = [f"/proc/self/ns/{name}" for name in ("user", "mnt", "net", "pid_for_children")]
    before = [os.readlink(each) for each in namespaces]
    assert can_box() == ""
    assert [os.readlink(each) for each in namespaces] == before


def test_there_is_no_box_where_the_kernel_allows_none(tmp_path: Path) -> None:
    """As for a user without privileges in a changed root. The reason is one line."""

    def forbidden() -> tuple[str, str] | None:
        os.chroot(tmp_path)
        try:
            os.setuid(65534)
        except OSError:
            return None  # root of a namespace with one user
        try:
            inside_box(lambda: 0)
        except NoBoxError as error:
            return can_box(), str(error)
        return "", "there is one"

    found = boxed(forbidden)
    if found is None:
        pytest.skip("nobody else to be than root")
    tried, raised = found
    assert tried == raised == "unshare: Operation not permitted"
