"""The part of the fuzz target that attacks a real daemon, through its sockets."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import time
from random import Random
from typing import TYPE_CHECKING, Final, NamedTuple

from prometheus_client.parser import text_string_to_metric_families

import chapar
from e2e.daemons import Daemon, free_ports, prefix
from e2e.mutants import Mutants, client_seeds, mesh_seeds

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from prometheus_client.samples import Sample

TARGET: Final = 2
BURST: Final = 64
CLIENT_SOCKETS: Final = 32
MOST_GROWTH: Final = 64 * 1024 * 1024
_PATIENCE: Final = 30.0


class Storm(NamedTuple):
    """What came of it."""

    sent: int
    received: int
    """As the daemon counts them."""
    dropped: int
    """As the kernel counts them."""
    malformed: int
    grown: int
    failure: str


async def storm(folder: Path, seed: int, seconds: float, settings: Sequence[str]) -> Storm:
    """Attack both ports of a daemon of node 2 for so long, and see how it is afterwards."""
    rng = Random(f"storm/{seed}")
    mutants = Mutants(rng, mesh_seeds(seed, TARGET), client_seeds())
    host = f"{prefix()}.{TARGET}"
    (folder / "routes.toml").write_text("edges = [[1, 2], [2, 3], [2, 4], [3, 4], [4, 5]]\n", encoding="utf-8")
    given = [*settings, "routes.source=static", f"routes.file={folder / 'routes.toml'}"]
    with Daemon(folder / "node", host=host, ports=free_ports([host]), settings=given) as daemon:
        await daemon.run()
        async with (
            chapar.connect(daemon.address, client_id="witness") as witness,
            witness.subscribe(subject="witness") as events,
        ):
            sent, grown = await _rage(daemon, mutants, seconds)
            failure = await _failure(daemon, witness, events)
        if not failure and grown > MOST_GROWTH:
            failure = f"the daemon grew by {grown} bytes"
        received, dropped, malformed = await _counters(daemon) if daemon.is_up else (0, 0, 0)
    return Storm(sent, received, dropped, malformed, grown, failure)


async def _rage(daemon: Daemon, mutants: Mutants, seconds: float) -> tuple[int, int]:
    """Send for so long; returns how many, and by how much the daemon has grown in the last two thirds."""
    began, sent, size = time.monotonic(), 0, 0
    with contextlib.ExitStack() as stack:
        peers = {node: _bound(stack, f"{prefix()}.{node}") for node in (1, 3, 4, 5)}
        clients = [_bound(stack, "127.0.0.1") for _ in range(CLIENT_SOCKETS)]
        mesh, port = (daemon.host, daemon.ports.mesh), (daemon.host, daemon.ports.clients)
        while (spent := time.monotonic() - began) < seconds and daemon.is_up:
            for _ in range(BURST):
                data, source = mutants.of_mesh()
                _send(peers.get(source, peers[4]), data, mesh)
                data, address = mutants.of_client()
                _send(clients[address[1] % CLIENT_SOCKETS], data, port)
            sent += 2 * BURST
            if not size and spent > seconds / 3:
                size = daemon.resident_bytes()
            await asyncio.sleep(0)
    return sent, daemon.resident_bytes() - size if daemon.is_up else 0


def _bound(stack: contextlib.ExitStack, host: str) -> socket.socket:
    sock = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK))
    sock.bind((host, 0))
    return sock


def _send(sock: socket.socket, data: bytes, to: tuple[str, int]) -> None:
    with contextlib.suppress(BlockingIOError, ConnectionRefusedError):
        sock.sendto(data, to)


async def _failure(daemon: Daemon, witness: chapar.Client, events: chapar.Subscription) -> str:
    """What is wrong with the daemon now; nothing if it is well."""
    if not daemon.is_up:
        return f"the daemon has ended:\n{daemon.tail()}"
    if daemon.faults():
        return "\n".join(daemon.faults())
    status = await daemon.status()
    over = {name: pair for name, pair in status["sizes"].items() if pair[0] > pair[1]}
    if over:
        return f"beyond their limits: {over}"
    try:
        async with asyncio.timeout(_PATIENCE):
            await witness.publish(subject="witness", payload=b"after")
            await anext(events)
    except (TimeoutError, chapar.ChaparError) as error:
        return f"a client that has nothing to do with it is not served any more: {error!r}"
    return ""


async def _counters(daemon: Daemon) -> tuple[int, int, int]:
    """Datagrams received, dropped by the kernel, and malformed, from the metrics page."""
    _, page = await daemon.page("/metrics")
    samples = [sample for family in text_string_to_metric_families(page) for sample in family.samples]
    return (
        _sum(samples, "chapar_datagrams_total"),
        _sum(samples, "chapar_kernel_drops_total"),
        _sum(samples, "chapar_malformed_total"),
    )


def _sum(samples: Iterable[Sample], name: str) -> int:
    """A counter of both ports; of what goes in and out, what comes in."""
    return int(sum(each.value for each in samples if each.name == name and each.labels.get("direction") != "sent"))
