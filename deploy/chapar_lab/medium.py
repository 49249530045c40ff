"""The medium of the lab as a process: `python -m chapar_lab.medium SCENARIO.toml --seed 1 --record FILE`.

It runs in the hub's namespace, where the far end of node I's interface is called nI, and relays frames between these
ends. It says `"ready"` in a line once it listens on all of them, obeys the lines of its input (`chapar_lab.ether`),
and ends when its input does. Once a second, and in the end, it tells `["seen", FRAMES, BYTES]`, what it has got from
nodes so far, and `["missed", UNREAD, UNSENT]` if the kernel has thrown frames away that came too fast, or would not
take some.
"""

from __future__ import annotations

import argparse
import errno
import json
import os
import select
import signal
import socket
import struct
import sys
import time
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Final

from chapar_lab.ether import Ether, OrderError
from chapar_lab.recording import Recorder
from chapar_sim.clock import Clock
from chapar_sim.scenario import ScenarioError, load

if TYPE_CHECKING:
    from collections.abc import Sequence

    from chapar_sim.scenario import Scenario

READY: Final = "ready"
BATCH: Final = 32
"""Frames taken from one interface before the others have their turn."""
MOST_PENDING: Final = 200_000
"""Frames under way at which no more are read: the kernel then throws away what comes too fast."""
TELL_EVERY: Final = 1.0
"""Seconds between two lines about what was seen; the recording is flushed as often."""
LARGEST: Final = 0xFFFF + 14
"""Bytes of a frame, its Ethernet header included."""
BUFFER: Final = 8 << 20
"""Bytes that wait in the kernel for each interface, and in this process for the disk."""
PRIORITY: Final = -10
"""Where it may, it goes before the nodes: what they compute does not slow down the air."""
_ETH_P_ALL: Final = 3
_SOL_PACKET, _PACKET_STATISTICS, _PACKET_QDISC_BYPASS, _PACKET_IGNORE_OUTGOING = 263, 6, 20, 23
_SO_SNDBUFFORCE, _SO_RCVBUFFORCE = 32, 33
_STATISTICS: Final = struct.Struct("II")
_UNAVAILABLE: Final = frozenset({errno.ENETDOWN, errno.ENXIO, errno.ENODEV, errno.ENOBUFS, errno.EMSGSIZE})
"""What a call on an interface that is down, gone or choked fails with: a radio that is out of order."""


class MediumError(Exception):
    """The medium cannot work; the message says why."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Relay until the input ends: 0. What cannot be done is said in a line: 2."""
    parser = argparse.ArgumentParser(prog="chapar_lab.medium", description="Relays frames between the nodes of a lab.")
    parser.add_argument("scenario", metavar="SCENARIO.toml")
    parser.add_argument("--seed", type=int, required=True, help="of all chance")
    parser.add_argument("--record", type=Path, required=True, metavar="FILE", help="what everything is written to")
    options = parser.parse_args(arguments)
    with suppress(PermissionError):
        os.setpriority(os.PRIO_PROCESS, 0, PRIORITY)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever started it ends its input
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    try:
        scenario = load(options.scenario)
        with options.record.open("wb", buffering=BUFFER) as file:
            Medium(scenario, options.seed, Recorder(file, time.monotonic())).run()
    except (ScenarioError, MediumError, OrderError, OSError) as error:
        sys.stderr.write(f"chapar-lab: {error}\n")
        return 2
    return 0


class Medium:
    """The sockets of all nodes, and the loop that serves them in real time."""

    def __init__(self, scenario: Scenario, seed: int, recorder: Recorder) -> None:
        self._clock = Clock()
        self._recorder = recorder
        self._ether = Ether(scenario.radio, self._clock, Random(f"{seed}/radio"), recorder, self._deliver)
        self._sockets = {spec.index: _listen(f"n{spec.index}") for spec in scenario.nodes}
        self._node_of = {each.fileno(): node for node, each in self._sockets.items()}
        self._orders = sys.stdin.fileno()
        self._line = b""
        self._is_over = False
        self._unread = self._unsent = self._told = 0
        self._poll = select.epoll()
        for descriptor in self._node_of:
            self._poll.register(descriptor, select.EPOLLIN)

    def run(self) -> None:
        self._tell(READY)
        self._clock.run_until(time.monotonic())
        self._report_regularly()
        try:
            self._expect_orders()
            while not self._is_over:
                self._turn()
        finally:
            self._report()

    def _turn(self) -> None:
        """Whatever is due, and a batch from everybody who has something."""
        clock = self._clock
        clock.run_until(time.monotonic())
        for descriptor, _ in self._ready():
            if descriptor == self._orders:
                self._read_orders()
            elif len(clock) < MOST_PENDING:
                self._drain(self._node_of[descriptor])

    def _ready(self) -> list[tuple[int, int]]:
        """Which descriptors can be read; waits until one can, or something is due."""
        ready = self._poll.poll(0)
        wait = self._clock.due - time.monotonic()
        if not ready and wait > 0:
            select.select([self._poll], [], [], wait)  # in microseconds, where the other has milliseconds
            ready = self._poll.poll(0)
        return ready

    def _drain(self, node: int) -> None:
        receive, run_until, send, now = (
            self._sockets[node].recv,
            self._clock.run_until,
            self._ether.send,
            time.monotonic,
        )
        for _ in range(BATCH):
            try:
                frame = receive(LARGEST)
            except BlockingIOError:
                return
            except OSError as error:
                if error.errno not in _UNAVAILABLE:
                    raise
                return
            run_until(now())
            send(node, frame)

    def _deliver(self, node: int, frame: bytes) -> None:
        sender = self._sockets.get(node)
        if sender is None:
            return
        try:
            sender.send(frame)
        except OSError as error:
            if error.errno not in _UNAVAILABLE and not isinstance(error, BlockingIOError):
                raise
            self._unsent += 1

    def _expect_orders(self) -> None:
        try:
            self._poll.register(self._orders, select.EPOLLIN)
        except PermissionError:  # a file: all of it is there
            while not self._is_over:
                self._read_orders()

    def _read_orders(self) -> None:
        got = os.read(self._orders, LARGEST)
        if not got:
            self._is_over = True
            return
        *lines, self._line = (self._line + got).split(b"\n")
        for line in lines:
            self._ether.obey(line)

    # What it tells

    def _report(self) -> None:
        self._recorder.flush()
        self._tell("seen", self._ether.frames, self._ether.bytes)
        for each in self._sockets.values():
            statistics = each.getsockopt(_SOL_PACKET, _PACKET_STATISTICS, _STATISTICS.size)  # and set to 0
            self._unread += _STATISTICS.unpack(statistics)[1]
        if self._unread + self._unsent > self._told:
            self._told = self._unread + self._unsent
            self._tell("missed", self._unread, self._unsent)

    def _report_regularly(self) -> None:
        self._report()
        self._clock.after(TELL_EVERY, self._report_regularly)

    def _tell(self, *words: object) -> None:
        line = json.dumps(words if len(words) > 1 else words[0]) + "\n"
        # Whoever should read may be slow, or gone; that must not keep the frames.
        with suppress(BrokenPipeError):
            if select.select([], [sys.stdout], [], 0)[1]:
                os.write(sys.stdout.fileno(), line.encode())


def _listen(interface: str) -> socket.socket:
    """A socket that gets all frames which come in at an interface, and can send there."""
    end = socket.socket(socket.AF_PACKET, socket.SOCK_RAW | socket.SOCK_NONBLOCK, 0)
    end.setsockopt(_SOL_PACKET, _PACKET_IGNORE_OUTGOING, 1)
    end.setsockopt(_SOL_PACKET, _PACKET_QDISC_BYPASS, 1)
    for forced, plain in ((_SO_RCVBUFFORCE, socket.SO_RCVBUF), (_SO_SNDBUFFORCE, socket.SO_SNDBUF)):
        try:
            end.setsockopt(socket.SOL_SOCKET, forced, BUFFER)
        except PermissionError:  # in a namespace of users the machine's own limit holds
            end.setsockopt(socket.SOL_SOCKET, plain, BUFFER)
    try:
        end.bind((interface, _ETH_P_ALL))
    except OSError as error:
        raise MediumError(f"cannot listen on {interface}: {error.strerror}") from None
    return end


if __name__ == "__main__":
    sys.exit(main())
