"""The brokers that the comparison starts: each a process of its own, on loopback, with ports that were free."""

from __future__ import annotations

import json
import shutil
import socket
import sys
import urllib.request
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from benchmarks.processes import free_port, running, wait_for

if TYPE_CHECKING:
    from collections.abc import Iterator

HOST = "127.0.0.1"
PATIENCE = 20.0
"""Seconds a broker has to answer."""
MOSQUITTO_SETTINGS = """\
listener {port} 127.0.0.1
allow_anonymous true
persistence false
log_type none
set_tcp_nodelay true
max_queued_messages 0
max_inflight_messages 0
"""
"""Nothing that would slow it down or let it drop: no log, no disk, no delay, no limit."""


class Broker(NamedTuple):
    pid: int
    port: int
    http: int
    """0: it has none."""

    def page(self, path: str) -> bytes:
        """A page of its HTTP server."""
        with urllib.request.urlopen(f"http://{HOST}:{self.http}{path}", timeout=PATIENCE) as answer:
            content: bytes = answer.read()
            return content

    def status(self) -> dict[str, Any]:
        status: dict[str, Any] = json.loads(self.page("/status"))
        return status


def mosquitto_program() -> str | None:
    """Where mosquitto is installed, also for users whose path has no sbin; None if it is not."""
    return shutil.which("mosquitto") or shutil.which("mosquitto", path="/usr/sbin:/usr/local/sbin")


@contextmanager
def mosquitto(folder: Path) -> Iterator[Broker]:
    program = mosquitto_program()
    assert program is not None, "whoever starts it has looked"
    port = free_port()
    settings = folder / f"mosquitto-{port}.conf"
    settings.write_text(MOSQUITTO_SETTINGS.format(port=port))
    with running([program, "-c", str(settings)], settings.with_suffix(".log")) as process:
        wait_for(lambda: _listens(port), PATIENCE, "mosquitto", process)
        yield Broker(process.pid, port, 0)


@contextmanager
def chapard(folder: Path, *more: str) -> Iterator[Broker]:
    """A daemon with its defaults, its disk included; `more` are settings on top of them."""
    port, http = free_port(socket.SOCK_DGRAM), free_port()
    settings = (
        f"node.state_dir={folder / f'state-{port}'}",
        f"clients.listen={HOST}:{port}",
        f"http.listen={HOST}:{http}",
        *(more or ("mesh.port=0",)),
    )
    options = [word for setting in settings for word in ("--set", setting)]
    command = [str(Path(sys.executable).with_name("chapard")), *options]
    with running(command, folder / f"chapard-{port}.log") as process:
        wait_for(lambda: _listens(http), PATIENCE, "chapard", process)
        yield Broker(process.pid, port, http)


def _listens(port: int) -> bool:
    with closing(socket.socket()) as probe:
        return probe.connect_ex((HOST, port)) == 0
