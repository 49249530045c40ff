"""The medium's process, as the lab talks to it: started, ordered about, and ended."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
from pathlib import Path

from boxed import wait_until, wired
from chapar_lab.air import Air
from chapar_lab.namespaces import SCRATCH, inside
from chapar_lab.program import LabError
from chapar_lab.recording import read
from chapar_lab.wiring import address_of

PORT = 4711
PATIENCE = 10.0
FLOOD = 20_000
"""Frames, more than the largest buffer holds."""
EVERYBODY = ("10.66.255.255", PORT)
SCENARIO = 'duration = 5\nnodes = 3\ntopology = { kind = "chain" }\nradio = { delay = 0, jitter = 0 }\n'


def air_of(folder: Path, text: str = SCENARIO) -> Air:
    file = folder / "scenario.toml"
    file.write_text(text, encoding="utf-8")
    hub = os.open("/proc/self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    return Air(file, 1, hub, folder, record=folder / "air.record")


def open_sockets(networks: dict[int, int]) -> dict[int, socket.socket]:
    found = {}
    for node, network in networks.items():
        with inside(network):
            found[node] = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        found[node].setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
        found[node].bind(("", PORT))
        found[node].settimeout(0)
    return found


def heard(sockets: dict[int, socket.socket], wanted: dict[int, int], text: bytes) -> dict[int, int]:
    """How often each of these nodes has got it, once each has as often as is wanted at least."""
    counts = dict.fromkeys(sockets, 0)

    def look() -> bool:
        for node, sock in sockets.items():
            try:
                counts[node] += sock.recv(100) == text
            except BlockingIOError:
                continue
        return all(counts[node] >= count for node, count in wanted.items())

    wait_until(look, PATIENCE, f"{text!r}, heard as in {wanted}")
    return counts


def test_nodes_hear_whom_they_are_told_to_and_as_often() -> None:
    """From the order on until the next one; what was on the air is on record, by the time of the run."""

    async def work(networks: dict[int, int]) -> tuple[list[dict[int, int]], list[tuple[int, tuple[int, ...], bool]]]:
        sockets = open_sockets(networks)
        sender, others = sockets[1], {node: sockets[node] for node in (2, 3)}
        air = air_of(Path(SCRATCH))
        await air.begin()
        air.links(frozenset({(1, 2), (2, 1)}))
        await _obeyed(sockets, 2, 1)
        sender.sendto(b"first", EVERYBODY)
        found = [heard(others, {2: 1}, b"first")]
        air.start(asyncio.get_running_loop().time())
        air.duplicate(1.0)
        air.links(frozenset({(1, 3)}))
        await _obeyed(sockets, 1, 3)
        sender.sendto(b"second", EVERYBODY)
        found.append(heard(others, {3: 2}, b"second"))
        await air.end()
        with air.record.open("rb") as file:
            aired = [each for each in read(file) if each.frame.endswith((b"first", b"second"))]
        return found, [(each.sender, each.heard, each.t < 0) for each in aired]

    found, aired = wired([1, 2, 3], work)
    assert found == [{2: 1, 3: 0}, {2: 0, 3: 2}]
    assert aired == [(1, (2,), True), (1, (3, 3), False)]


async def _obeyed(sockets: dict[int, socket.socket], sender: int, receiver: int) -> None:
    """Wait until the medium has read its orders: who should hear, does."""
    end = asyncio.get_running_loop().time() + PATIENCE
    while asyncio.get_running_loop().time() < end:
        sockets[sender].sendto(b"probe", (address_of(receiver), PORT))
        await asyncio.sleep(0.01)
        try:
            while sockets[receiver].recv(100) != b"probe":
                continue
        except BlockingIOError:
            continue
        return
    raise AssertionError("the medium does not obey")


def test_it_ends_when_it_is_told_to() -> None:
    """On purpose, with its record whole; afterwards it takes no orders, and ending again is nothing."""

    async def work(_: dict[int, int]) -> list[object]:
        air = air_of(Path(SCRATCH))
        await air.begin()
        up = air.program.is_up
        await air.end()
        await air.end()
        try:
            air.duplicate(0.5)
        except LabError as error:
            return [up, air.program.is_up, air.program.ended_on_purpose, str(error)]
        return ["it has obeyed"]

    assert wired([1, 2, 3], work) == [True, False, True, "the medium has ended"]


def test_frames_that_came_too_fast_are_counted() -> None:
    """The kernel throws them away while the medium does not get to run, and nobody else would know."""

    async def work(networks: dict[int, int]) -> tuple[int, int]:
        sockets = open_sockets(networks)
        air = air_of(Path(SCRATCH))
        await air.begin()
        air.program.signal(signal.SIGSTOP)
        for _ in range(FLOOD):
            sockets[1].sendto(bytes(1400), EVERYBODY)
        air.program.signal(signal.SIGCONT)
        await air.end()
        with air.record.open("rb") as file:
            return air.missed, sum(each.sender == 1 for each in read(file))

    missed, recorded = wired([1, 2, 3], work)
    assert missed > 0
    assert missed + recorded <= FLOOD


def test_a_medium_that_cannot_start_says_why() -> None:
    """Here: the radio of a node is not there."""

    async def work(_: dict[int, int]) -> str:
        try:
            await air_of(Path(SCRATCH)).begin()
        except LabError as error:
            return str(error)
        return "it has started"

    said = wired([1, 2], work)
    assert said.startswith("the medium did not start; its log ends:\n")
    assert "cannot listen on n3" in said


def test_a_medium_that_fails_is_an_error_in_the_end() -> None:
    """It did not understand an order, which is a mistake of ours."""

    async def work(_: dict[int, int]) -> str:
        air = air_of(Path(SCRATCH))
        await air.begin()
        air.duplicate(float("nan"))
        air.links(frozenset({("no", "node")}))  # type: ignore[arg-type]  # the mistake
        try:
            await air.end()
        except LabError as error:
            return str(error)
        return "it has ended well"

    assert wired([1, 2, 3], work).startswith("the medium ended with code 2; its log ends:\n")
