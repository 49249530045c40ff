"""Going into a node from outside its box."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from boxed import open_box
from chapar_lab.namespaces import SCRATCH
from chapar_lab.run import is_in_user_namespace
from chapar_lab.visit import open_namespaces, visit
from chapar_lab.wiring import wire

if TYPE_CHECKING:
    from collections.abc import Iterator

PATIENCE = 20.0


@contextlib.contextmanager
def node_2() -> Iterator[list[int]]:
    """The namespaces of node 2 of a box that stays up."""
    inner, outer = socket.socketpair()

    def work() -> None:
        network = wire([1, 2])[2]
        Path(SCRATCH, "note").write_text("from inside", encoding="utf-8")
        socket.send_fds(inner, [b"x"], open_namespaces(network, is_user=is_in_user_namespace()))
        signal.pause()

    with inner, outer, open_box(work):
        outer.settimeout(PATIENCE)
        _, descriptors, _, _ = socket.recv_fds(outer, 1, 8)
        try:
            yield descriptors
        finally:
            for each in descriptors:
                os.close(each)


def visited(*command: str) -> int:
    """The exit code of a command on node 2; this process stays outside."""
    with node_2() as descriptors:
        pid = os.fork()
        if pid == 0:
            with contextlib.suppress(BaseException):
                os._exit(visit(descriptors, 2, command))
            os._exit(99)
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def python(code: str) -> tuple[str, ...]:
    return sys.executable, "-S", "-c", code


def test_a_command_is_where_the_node_is(capfd: pytest.CaptureFixture[str]) -> None:
    """In its network, among the processes and files of the box, and knows which node that is."""
    code = """
import os, socket
print(sorted(name for _, name in socket.if_nameindex()), "10.66.0.2" in open("/proc/net/fib_trie").read())
print(open("/run/note").read(), open("/proc/1/cmdline").read() == open("/proc/self/cmdline").read())
print(os.environ["CHAPAR_LAB_NODE"], os.environ["PS1"])
"""
    assert visited(*python(code)) == 0
    first, second, third = capfd.readouterr().out.splitlines()
    assert first == "['lo', 'wlan0'] True"
    assert second == "from inside False"
    assert third == "2 node 2 $ "


def test_it_is_in_the_folder_of_its_user(capfd: pytest.CaptureFixture[str]) -> None:
    """So that names of files mean what they did."""
    assert visited(*python("import os; print(os.getcwd())")) == 0
    assert capfd.readouterr().out == f"{os.getcwd()}\n"


def test_our_own_commands_are_found(capfd: pytest.CaptureFixture[str]) -> None:
    """Those beside the Python that runs the lab, before all others."""
    assert visited(*python("import os; print(os.environ['PATH'].split(os.pathsep)[0])")) == 0
    assert capfd.readouterr().out == f"{os.path.dirname(sys.executable)}\n"


@pytest.mark.parametrize(("code", "wanted"), [("raise SystemExit(3)", 3), ("import os; os.kill(os.getpid(), 9)", 137)])
def test_its_exit_code_is_passed_on(code: str, wanted: int) -> None:
    """As a shell would, if it was killed."""
    assert visited(*python(code)) == wanted


def test_a_command_that_is_not_there(capfd: pytest.CaptureFixture[str]) -> None:
    """Is said in a line, with a shell's exit code."""
    assert visited("chapar-nothing") == 127
    assert capfd.readouterr().err == "chapar-lab: cannot run chapar-nothing: No such file or directory\n"
