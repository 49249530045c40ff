"""What systemd is told: ready, alive, stopping, and in one line how things are.

The protocol is a datagram of `KEY=value` lines to the socket that `NOTIFY_SOCKET` names. Without it, nothing is sent;
if nobody listens any more, neither is anything said about it.
"""

from __future__ import annotations

import os
import socket
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


class Notifier:
    """The way to the service manager, if there is one."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        name = environ.get("NOTIFY_SOCKET", "")
        self._address = "\0" + name[1:] if name.startswith("@") else name
        self._socket = self._open() if self._address else None
        self.watchdog_interval = _interval(environ) if self._socket is not None else None
        """Seconds after which the manager is to hear of us again: half of its patience. None: it does not wait."""
        self._status = ""

    def ready(self) -> None:
        self._send("READY=1")

    def stopping(self) -> None:
        self._send("STOPPING=1")

    def alive(self) -> None:
        self._send("WATCHDOG=1")

    def status(self, text: str) -> None:
        """Say how things are; the same text is not said twice."""
        if text != self._status:
            self._status = text
            self._send(f"STATUS={text}")

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _open(self) -> socket.socket:
        return socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK | socket.SOCK_CLOEXEC)

    def _send(self, line: str) -> None:
        if self._socket is not None:
            with suppress(OSError):  # the manager restarts, or its queue is full: it judges by its watchdog
                self._socket.sendto(line.encode(), self._address)


def _interval(environ: Mapping[str, str]) -> float | None:
    """Half of the manager's patience, if it waits for this process."""
    patience = environ.get("WATCHDOG_USEC", "")
    meant = environ.get("WATCHDOG_PID", "") in ("", str(os.getpid()))
    return int(patience) / 2e6 if meant and patience.isascii() and patience.isdigit() and int(patience) else None
