"""The network of namespaces: who hears whom, and what is left of it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from e2e import netns
from e2e.netns import Mesh, wait_until

HEARS = (
    "import socket; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.bind(('', 6666))\n"
    "print('ready', flush=True)\n"
    "while True: print(s.recvfrom(99)[1][0], flush=True)"
)
CALLS = (
    "import socket; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); "
    "s.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1); s.sendto(b'here', ('10.66.0.255', 6666))"
)


@pytest.fixture(autouse=True)
def _namespaces() -> None:
    netns.require("ping")


def reaches(mesh: Mesh, a: int, b: int, version: int = 4) -> bool:
    to = mesh[b].address if version == 4 else mesh[b].address6
    return mesh[a].run(["ping", "-c", "1", "-W", "0.3", to]).returncode == 0


def must_reach(mesh: Mesh, a: int, b: int) -> None:
    """The kernel asks for an address that did not answer once a second."""
    wait_until(lambda: reaches(mesh, a, b), 5.0, f"{a} reaches {b}")


def names() -> list[str]:
    folder = Path("/run/netns")
    return sorted(each.name for each in folder.iterdir()) if folder.is_dir() else []


def test_neighbours_hear_each_other_and_nobody_else() -> None:
    """In a chain of three the ends do not, until they are joined; a cut cuts both ways, and can be healed."""
    with Mesh(nodes=3, edges=[(1, 2), (2, 3)]) as mesh:
        assert reaches(mesh, 1, 2)
        assert reaches(mesh, 3, 2, version=6)
        assert not reaches(mesh, 1, 3)
        mesh.heal(1, 3)
        must_reach(mesh, 1, 3)
        mesh.cut(1, 2)
        assert not reaches(mesh, 1, 2)
        assert not reaches(mesh, 2, 1)
        assert not reaches(mesh, 1, 2, version=6)
        assert reaches(mesh, 2, 3), "other links stand"
        mesh.heal(1, 2)
        must_reach(mesh, 2, 1)


def test_a_broadcast_is_heard_by_all_neighbours_at_once() -> None:
    """One interface, one call, and whoever is near hears it: a radio, not a bundle of wires."""
    with Mesh(nodes=4, edges=[(1, 2), (1, 3), (3, 4)]) as mesh:
        logs = {}
        for node in mesh:
            logs[node.index] = log = node.folder / "heard"
            with log.open("wb") as file:
                node.popen([sys.executable, "-c", HEARS], stdout=file)

        def heard() -> dict[int, list[str]]:
            return {index: log.read_text(encoding="ascii").split() for index, log in logs.items()}

        wait_until(lambda: all(heard().values()), 10.0, "all listen")
        assert mesh[1].run([sys.executable, "-c", CALLS]).returncode == 0
        wait_until(lambda: heard()[2] == heard()[3] == ["ready", mesh[1].address], 2.0, lambda: f"the call: {heard()}")
        assert heard()[4] == ["ready"]


def test_nothing_is_left() -> None:
    """Namespaces and processes go with the mesh, whether it ends well or with an error, and stopped ones too."""
    started = []
    before = names()

    def fail() -> None:
        with Mesh(nodes=2) as mesh:
            started.append(mesh[1].popen(["sleep", "1000"]))
            started.append(
                mesh[2].popen([sys.executable, "-c", "import os, signal; os.kill(os.getpid(), signal.SIGSTOP)"])
            )
            assert [each.poll() for each in started] == [None, None]
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert all(each.returncode is not None for each in started)
    ours = f"chapar-{os.getpid()}-"
    assert [name for name in names() if name.startswith(ours) and name not in before] == []


def test_what_a_dead_process_left_is_removed() -> None:
    """The next mesh finds namespaces whose maker is gone, and what still runs in them."""
    script = (
        "import os, sys; sys.path.insert(0, sys.argv[1]); from e2e.netns import Mesh\n"
        "mesh = Mesh(nodes=1).__enter__(); print(mesh[1].namespace, mesh[1].popen(['sleep', '1000']).pid, flush=True)\n"
        "os._exit(1)"
    )
    tests = str(Path(__file__).resolve().parent.parent)
    done = subprocess.run([sys.executable, "-c", script, tests], capture_output=True, text=True, check=False)  # noqa: S603 - our own
    namespace, pid = done.stdout.split()
    assert namespace in names()
    with Mesh(nodes=1):
        assert namespace not in names()
    wait_until(lambda: not is_running(int(pid)), 5.0, "the process has ended")


def is_running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"  # one whose parent is gone waits for init


def test_a_failure_shows_what_the_processes_said(capsys: pytest.CaptureFixture[str]) -> None:
    """Whoever reads of it finds the last lines of each, by node."""

    def fail() -> None:
        with Mesh(nodes=1) as mesh:
            mesh[1].popen(["sh", "-c", "echo a word of mine >&2"]).wait(10.0)
            raise AssertionError("on purpose")

    with pytest.raises(AssertionError, match="on purpose"):
        fail()
    assert "node 1, 01-sh.log\na word of mine" in capsys.readouterr().out


def test_waiting_ends() -> None:
    """With what the condition gave, or with a sentence that says what was waited for."""
    assert wait_until(lambda: 7, 1.0, "seven") == 7
    with pytest.raises(AssertionError, match=r"not within 0\.1 s: a moon"):
        wait_until(lambda: 0, 0.1, "a moon")
