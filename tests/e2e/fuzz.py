"""The fuzz target: random and mutated datagrams at all ports of a daemon. No crash, no growth, counters only.

    python tests/e2e/fuzz.py --seconds 60 --seed 7

Two processes each feed a node in memory, through the functions that the daemon's sockets call: a datagram of the mesh
goes to `Node.datagram_received` with the index of its sender, one of a client to `ClientPort.received` with its
address, one of OLSR to `Agent.datagram_received` (see `olsrfuzz`); after 64 of them, as in the daemon, effects are
drained and time goes on. Each datagram handed over so is counted.
The last fifth of the time goes to the sockets of a real daemon, which take fewer: those are counted apart.

Mutants are made of what nodes of a simulated network sent each other and of what clients ask for: bytes flipped, cut,
doubled, spliced, values replaced by hostile ones; some come unchanged, some are noise. A seed stands for one run of
each process, so a failure is had again by its seed and the number of datagrams before it.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, Final, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # for those who run it as a script

from chapar.event import Event
from chapar.filter import Filter
from chapar.session import ClientSession, Subscribed
from chapar.wire.client import datagrams, decode_messages_untrusted
from chapar_olsr.paths import shortest_paths
from chapar_olsr.view import RouteView
from chapard.clients import ClientPort
from chapard.core.config import Config
from chapard.core.effects import Answer, Reason, Save, SessionRow
from chapard.core.node import Node
from chapard.transport import Traffic
from e2e.mutants import Mutants, client_seeds, mesh_seeds
from e2e.olsrfuzz import Olsr
from e2e.socketfuzz import Storm, storm

if TYPE_CHECKING:
    from collections.abc import Sequence

    from chapar.session import Message
    from chapard.transport import Address

JOBS: Final = 2
IN_MEMORY: Final = 0.8
"""Share of the time for the nodes in memory; the rest is for sockets."""
TARGET: Final = 2
"""The node under attack: a relay of the network that the seeds were taken from."""
MESH: Final = {
    node: frozenset(near) for node, near in ((1, (2,)), (2, (1, 3, 4)), (3, (2, 4)), (4, (2, 3, 5)), (5, (4,)))
}
MESH_PER_TURN: Final = 31
CLIENTS_PER_TURN: Final = 31
OLSR_PER_TURN: Final = 2
TURNS_PER_CHECK: Final = 256
MOST_TIMES: Final = 12
"""So many times the time asked for, and the machine is too slow for the datagrams asked for."""
TURN_SECONDS: Final = 0.005
MOST_GROWTH: Final = 64 * 1024 * 1024
"""Bytes by which a process may grow once its tables had time to fill: allocators do not give all memory back."""
MOST_ON_DISK: Final = 64 * 1024 * 1024
LIMITS: Final[dict[str, Any]] = {
    "session_limit": 64, "session_queue": 64, "session_bytes": 65_536, "session_window": 32,
    "subscriptions_per_client": 32, "met_events": 512, "persistent_events": 128, "met_bytes": 4 * 1024 * 1024,
    "filters_per_home": 256, "seen_limit": 1024, "link_queue": 256, "outbox_limit": 256,
}  # fmt: skip
"""Bounds that a minute of fuzzing reaches, so that growth beyond them would show."""


class Tally(NamedTuple):
    """What one process did."""

    seed: int
    mesh: int
    """Datagrams handed over at the mesh port."""
    clients: int
    """Datagrams handed over at the client port."""
    olsr: int
    """Datagrams handed over to the OLSR agent."""
    mesh_malformed: int
    clients_malformed: int
    olsr_malformed: int
    """Packets, or messages in them."""
    drops: dict[str, int]
    grown: int
    """Bytes that the process has grown by since its tables were full."""
    failure: str = ""


class Sink:
    """A transport that keeps what was sent to one address, and forgets the rest."""

    def __init__(self, kept: Address) -> None:
        self.address: Address = ("127.0.0.1", 1)
        self.traffic = Traffic()
        self.kept: list[bytes] = []
        self._kept_for = kept

    def send(self, data: bytes, address: Address) -> None:
        self.traffic.sent += 1
        if address == self._kept_for:
            self.kept.append(data)

    def kernel_drops(self) -> int:
        return 0

    def close(self) -> None:
        pass


class Target:
    """One node with its client port, driven as the daemon drives it, in virtual time."""

    def __init__(self, rng: Random) -> None:
        self.now = 1_700_000_000.0
        self.node = Node(TARGET, int(self.now), Config(record=False, **LIMITS), rng, self.now, None)
        self.clients = ClientPort(self._ask, lambda: None, lambda: None, self.node.config.session_limit)
        self.witness = Witness(self)
        self.clients.transports.append(self.witness.sink)
        self._saved: dict[str, int] = {}
        routes = shortest_paths(TARGET, MESH)
        self.node.route_changed(RouteView(TARGET, MESH[TARGET], routes, frozenset({4}), MESH[TARGET]), self.now)
        self.turn()

    def _ask(self, client: str, request: object) -> None:
        self.node.client_request(client, request, self.now)  # type: ignore[arg-type]  # what the port has decoded

    def turn(self) -> None:
        """What a daemon does at the end of a turn of its loop, and the passing of some time."""
        answers: list[tuple[str, Message]] = []
        for effect in self.node.drain(self.now):
            if isinstance(effect, Answer):
                answers.append((effect.client, effect.message))
            elif isinstance(effect, Save):
                if effect.value is None:
                    self._saved.pop(effect.key, None)
                else:
                    self._saved[effect.key] = len(effect.value)
            elif isinstance(effect, SessionRow):
                self.clients.session_changed(effect.client, is_on=effect.state == "on")
        for client, message in answers:
            self.clients.answer(client, message)
        self.clients.flush()
        self.now += TURN_SECONDS
        if self.node.next_deadline() <= self.now:
            self.node.tick(self.now)

    def check(self) -> None:
        """Every table and the disk are within their bounds."""
        for name, (used, limit) in self.node.sizes().items():
            assert used <= limit, f"{name} holds {used} of {limit}"
        on_disk = sum(self._saved.values())
        assert on_disk < MOST_ON_DISK, f"{on_disk} bytes on the disk"


class Witness:
    """A client that has nothing to do with the attack: it must be served before and after."""

    ADDRESS: Final = ("127.0.0.1", 7)

    def __init__(self, target: Target) -> None:
        self.sink = Sink(self.ADDRESS)
        self._target = target
        self._session = ClientSession("witness")
        self._got: list[bytes] = []
        self._stands = False

    def publishes_and_gets(self, payload: bytes) -> None:
        """Open the session, subscribe, publish, and get the event back."""
        self._session.open(self._target.now)
        if not self._stands:
            self._session.subscribe(Filter(subject="witness"))
        self._converse()
        assert self._session.is_on, "the witness cannot open its session"
        assert self._stands, "the witness cannot subscribe"
        self._session.publish(Event(subject="witness", payload=payload))
        self._converse()
        assert self._got[-1:] == [payload], "the witness does not get its own event"
        self._session.close(self._target.now)
        self._converse()

    def _converse(self) -> None:
        for _ in range(20):
            for data in datagrams(self._session.requests(self._target.now)):
                self._target.clients.received(data, self.ADDRESS)
            self._target.turn()
            arrived, self.sink.kept = self.sink.kept, []
            for message in (each for data in arrived for each in decode_messages_untrusted(data)):
                self._stands |= isinstance(message, Subscribed)
                for number, event in self._session.received(message, self._target.now):
                    self._got.append(event.payload)
                    self._session.consumed(number)


class Attack:
    """One process's attack on one node and one OLSR agent."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.target = Target(Random(f"core/{seed}"))
        self.olsr = Olsr(seed, self.target.now, TURN_SECONDS)
        self.fed_to_mesh = self.fed_to_clients = self.fed_to_olsr = 0
        self._mutants = Mutants(Random(f"fuzz/{seed}"), mesh_seeds(seed, TARGET), client_seeds())
        self._last = b""

    @property
    def fed(self) -> int:
        return self.fed_to_mesh + self.fed_to_clients + self.fed_to_olsr

    def run(self, seconds: float, least: int) -> Tally:
        """Feed the node for so long, and with so many datagrams, unless they take several times as long."""
        began, size, failure = time.monotonic(), 0, ""
        try:
            self.target.witness.publishes_and_gets(b"before")
            while (spent := time.monotonic() - began) < seconds or self.fed < least:
                assert spent < MOST_TIMES * seconds, f"{self.fed} datagrams in {spent:.0f} s: too slow"
                for _ in range(TURNS_PER_CHECK):
                    self._turn()
                self.target.check()
                self.olsr.check()
                if not size and spent > seconds / 3:
                    size = resident_bytes()
            self.target.witness.publishes_and_gets(b"after")
        except Exception as error:  # noqa: BLE001 - whatever it is, it is what we are looking for
            failure = f"{type(error).__name__}: {error}; after {self.fed} datagrams, the last {self._last.hex()}"
        grown = resident_bytes() - size
        if size and grown > MOST_GROWTH and not failure:
            failure = f"grew by {grown} bytes"
        drops = self.target.node.outlet.drops
        counted = {str(reason): count for reason, count in sorted(drops.items())} | self.olsr.counted
        fed = self.fed_to_mesh, self.fed_to_clients, self.fed_to_olsr
        malformed = drops[Reason.MALFORMED], self.target.clients.malformed, self.olsr.malformed
        return Tally(self.seed, *fed, *malformed, counted, grown, failure)

    def _turn(self) -> None:
        """As many datagrams as a daemon takes in before it acts on them."""
        target, mutants = self.target, self._mutants
        receive, now = target.node.datagram_received, target.now
        for _ in range(MESH_PER_TURN):
            self.fed_to_mesh += 1
            self._last, source = mutants.of_mesh()
            receive(self._last, source, now)
        for _ in range(CLIENTS_PER_TURN):
            self.fed_to_clients += 1
            self._last, address = mutants.of_client()
            target.clients.received(self._last, address)
        for _ in range(OLSR_PER_TURN):
            self.fed_to_olsr += 1
            self._last, source = self.olsr.mutant()
            self.olsr.agent.datagram_received(self._last, source, self.olsr.agent.main, now)
        target.turn()
        self.olsr.turn(target.now)


def attack(seed: int, seconds: float, least: int) -> Tally:
    return Attack(seed).run(seconds, least)


def resident_bytes() -> int:
    with open("/proc/self/statm", encoding="ascii") as statm:
        return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run both parts; 0 if nothing went wrong."""
    parser = argparse.ArgumentParser(description="Fuzz chapard's ports.")
    parser.add_argument("--seconds", type=float, default=60, help="how long, in all (%(default)s)")
    parser.add_argument("--datagrams", type=int, default=0, help="in memory at least, even if that takes longer")
    parser.add_argument("--seed", type=int, default=1, help="of all chance (%(default)s)")
    options = parser.parse_args(arguments)
    in_memory = partial(attack, seconds=options.seconds * IN_MEMORY, least=options.datagrams // JOBS)
    with ProcessPoolExecutor(JOBS) as pool:
        tallies = list(pool.map(in_memory, [options.seed * JOBS + job for job in range(JOBS)]))
    with tempfile.TemporaryDirectory(prefix="chapard-fuzz-") as folder:
        settings = [f"protocol.{name}={value}" for name, value in LIMITS.items()]
        outcome = asyncio.run(storm(Path(folder), options.seed, options.seconds * (1 - IN_MEMORY), settings))
    report(tallies, outcome)
    failures = [f"seed {each.seed}: {each.failure}" for each in tallies if each.failure]
    failures += [f"sockets: {outcome.failure}"] if outcome.failure else []
    for failure in failures:
        print(failure, file=sys.stderr)
    return 1 if failures else 0


def report(tallies: Sequence[Tally], outcome: Storm) -> None:
    drops = sum((Counter(each.drops) for each in tallies), Counter[str]())
    mesh, clients = sum(each.mesh for each in tallies), sum(each.clients for each in tallies)
    olsr = sum(each.olsr for each in tallies)
    print(f"in memory: {mesh + clients + olsr} datagrams")
    print(f"  mesh port {mesh}, of them {sum(each.mesh_malformed for each in tallies)} malformed")
    print(f"  client port {clients}, of them {sum(each.clients_malformed for each in tallies)} malformed")
    print(f"  OLSR {olsr}, with {sum(each.olsr_malformed for each in tallies)} malformed packets or messages")
    print(f"  growth once tables were full: {max(each.grown for each in tallies) / 2**20:.1f} MB")
    print(f"  counted: {', '.join(f'{reason} {count}' for reason, count in drops.items())}")
    print(f"at sockets: {outcome.received} datagrams of {outcome.sent}; the kernel dropped {outcome.dropped}")
    print(f"  of them {outcome.malformed} malformed; growth: {outcome.grown / 2**20:.1f} MB")


if __name__ == "__main__":
    os.nice(5)  # whatever else runs here is more urgent
    sys.exit(main())
