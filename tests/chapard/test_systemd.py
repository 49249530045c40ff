"""systemd hears what it should, and the unit that starts us is one it accepts."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from chapard.systemd import Notifier

if TYPE_CHECKING:
    from collections.abc import Iterator

UNIT = Path(__file__).resolve().parents[2] / "deploy/systemd/chapard.service"


@pytest.fixture
def manager(tmp_path: Path) -> Iterator[socket.socket]:
    """The service manager's end."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sock:
        sock.bind(str(tmp_path / "notify"))
        sock.settimeout(5)
        yield sock


def heard(manager: socket.socket) -> str:
    return manager.recv(1000).decode()


def test_the_manager_hears_each_step(manager: socket.socket) -> None:
    """Ready, alive, status and stopping are the words systemd knows; a status that has not changed is not repeated."""
    notifier = Notifier({"NOTIFY_SOCKET": manager.getsockname()})
    notifier.ready()
    notifier.status("broker (alone)")
    notifier.status("broker (alone)")
    notifier.alive()
    notifier.stopping()
    assert [heard(manager) for _ in range(4)] == ["READY=1", "STATUS=broker (alone)", "WATCHDOG=1", "STOPPING=1"]
    notifier.close()


def test_an_abstract_socket_is_reached_too() -> None:
    """A name that begins with @ is a socket without a file."""
    name = f"chapard-test-{os.getpid()}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sock:
        sock.bind(f"\0{name}")
        sock.settimeout(5)
        notifier = Notifier({"NOTIFY_SOCKET": f"@{name}"})
        notifier.ready()
        assert heard(sock) == "READY=1"
        notifier.close()


def test_without_a_manager_nothing_happens(tmp_path: Path) -> None:
    """No socket named, or nobody behind it: every word is said into the air, after closing too."""
    for environ in ({}, {"NOTIFY_SOCKET": str(tmp_path / "nobody")}):
        notifier = Notifier(environ)
        notifier.ready()
        notifier.status("fine")
        notifier.close()
        notifier.stopping()


def test_the_watchdog_is_fed_at_half_its_patience(manager: socket.socket) -> None:
    """Half of WATCHDOG_USEC, if it is meant for this process and a number."""
    base = {"NOTIFY_SOCKET": manager.getsockname()}
    mine, others = str(os.getpid()), str(os.getpid() + 1)
    for extra, interval in (
        ({"WATCHDOG_USEC": "30000000"}, 15.0),
        ({"WATCHDOG_USEC": "30000000", "WATCHDOG_PID": mine}, 15.0),
        ({"WATCHDOG_USEC": "30000000", "WATCHDOG_PID": others}, None),
        ({"WATCHDOG_USEC": "soon"}, None),
        ({"WATCHDOG_USEC": "0"}, None),
        ({}, None),
    ):
        notifier = Notifier(base | extra)
        assert notifier.watchdog_interval == interval
        notifier.close()
    assert Notifier({"WATCHDOG_USEC": "30000000"}).watchdog_interval is None


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not installed")
def test_systemd_accepts_the_unit() -> None:
    """`systemd-analyze verify` has nothing to say about it."""
    done = subprocess.run(  # noqa: S603 - a fixed command on a file of ours
        ["systemd-analyze", "verify", "--man=no", str(UNIT)],  # noqa: S607 - found above
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    about_us = [line for line in (done.stdout + done.stderr).splitlines() if "chapard" in line]
    assert (done.returncode, about_us) == (0, [])


def test_the_unit_holds_what_olsr_needs_and_no_more() -> None:
    """Its own user, two capabilities, a read-only system: what the comments promise is what stands there."""
    lines = [line.strip() for line in UNIT.read_text().splitlines()]
    for line in (
        "Type=notify",
        "User=chapar",
        "StateDirectory=chapar",
        "CapabilityBoundingSet=CAP_NET_BIND_SERVICE CAP_NET_ADMIN",
        "AmbientCapabilities=CAP_NET_BIND_SERVICE CAP_NET_ADMIN",
        "NoNewPrivileges=yes",
        "ProtectSystem=strict",
        "RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX AF_NETLINK",
        "SystemCallFilter=@system-service",
    ):
        assert line in lines, line
