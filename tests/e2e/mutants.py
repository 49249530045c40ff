"""Datagrams for the fuzz target: real ones, what becomes of them when something goes wrong on the way, and noise."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgpack

from chapar.event import Event, event_id
from chapar.filter import Filter
from chapar.session import Acknowledge, Close, Inquire, Open, Ping, Publish, Subscribe, Unsubscribe
from chapar.wire.client import datagrams
from chapar_sim.scenario import load
from chapar_sim.world import World

if TYPE_CHECKING:
    from collections.abc import Sequence
    from random import Random

    from chapar.session import Request

SCENARIO: Final = Path(__file__).resolve().parents[1] / "scenarios" / "mesh.toml"
NOISE_SHARE: Final = 0.6
NOISE: Final = 80
"""Bytes of the longest noise."""
HOSTILE: Final[tuple[Any, ...]] = (
    *(0, 1, -1, 15, 16, 31, 32, 127, 128, 255, 256, 4095, 4096, 65_535, 65_536),
    *(2**31, 2**32 - 1, 2**32, 2**63, 2**64 - 1),
    *(0.0, -0.0, 1.5, math.nan, math.inf, -math.inf, True, False, None),
    *("", "x", "x" * 300, "\0", "/", "\u2028", "subject", "é" * 40),
    *(b"", b"\0", b"\xff" * 4, b"\0" * 12, b"\xff" * 12, b"\xff" * 33, b"x" * 2000),
    *((), ((),), (0,) * 64, (2**32 - 1,) * 300, ("a", "b"), (b"", b""), {}, {"a": 1}),
    *(msgpack.ExtType(1, b"x"), msgpack.Timestamp(1)),
)
_packer = msgpack.Packer()
_DEEP: Final = b"\x91" * 600 + b"\xc0"
CLIENTS: Final = 24
ADDRESSES: Final = 400
"""More than the daemon binds to names."""


class Mutants:
    """An endless supply."""

    def __init__(self, rng: Random, mesh: Sequence[tuple[bytes, int]], clients: Sequence[bytes]) -> None:
        self._rng = rng
        self._mesh = [(_Seed(data), source) for data, source in mesh]
        self._clients = [_Seed(data) for data in clients]
        self._addresses = [("127.0.0.1", 20_000 + place) for place in range(ADDRESSES)]

    def of_mesh(self) -> tuple[bytes, int]:
        """A datagram, and the node it comes from: mostly the one that its frames name."""
        rng, seeds = self._rng, self._mesh
        seed, source = seeds[int(rng.random() * len(seeds))]
        chance = rng.random()
        if chance < NOISE_SHARE:
            return rng.randbytes(1 + int(rng.random() * NOISE)), source
        if rng.random() < 0.1:
            source = int(rng.random() * 255)
        return _mutant(seed, seeds[int(rng.random() * len(seeds))][0], chance, rng), source

    def of_client(self) -> tuple[bytes, tuple[str, int]]:
        """A datagram, and the address it comes from: few of the addresses send most of them."""
        rng, seeds = self._rng, self._clients
        address = self._addresses[int(rng.random() ** 4 * ADDRESSES)]
        chance = rng.random()
        if chance < NOISE_SHARE:
            return rng.randbytes(1 + int(rng.random() * NOISE)), address
        seed, other = seeds[int(rng.random() * len(seeds))], seeds[int(rng.random() * len(seeds))]
        return _mutant(seed, other, chance, rng), address


def _mutant(seed: _Seed, other: _Seed, chance: float, rng: Random) -> bytes:
    """What becomes of a datagram; `chance`, of the part above the noise, says what happens to it."""
    data = seed.data
    if chance < 0.74:
        return data[: int(rng.random() * len(data))]
    if chance < 0.83:
        return _flipped(data, rng)
    if chance < 0.92:
        return seed.with_hostile_value(rng)
    if chance < 0.97:
        return data[: int(rng.random() * len(data))] + other.data[int(rng.random() * len(other.data)) :]
    if chance < 0.99:
        at, end = sorted((int(rng.random() * len(data)), int(rng.random() * len(data))))
        return data[:end] + data[at:]
    return data


class _Seed:
    """A good datagram, and the arrays it is made of."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        unpacker = msgpack.Unpacker(use_list=True, max_buffer_size=2**20)
        unpacker.feed(data)
        self._arrays: list[list[Any]] = list(unpacker)

    def with_hostile_value(self, rng: Random) -> bytes:
        """The same with one value replaced, at any depth, in good msgpack."""
        place = int(rng.random() * len(self._arrays))
        array = self._arrays[place]
        before = b"".join(map(_pack, self._arrays[:place]))
        if rng.random() < 0.01:
            return before + _DEEP
        return b"".join((before, _pack(_replaced(array, rng)), *map(_pack, self._arrays[place + 1 :])))


def _pack(value: object) -> bytes:
    return bytes(_packer.pack(value))


def _replaced(array: list[Any], rng: Random) -> list[Any]:
    new = list(array)
    at = int(rng.random() * len(new))
    inner = new[at]
    chance = rng.random()
    if isinstance(inner, list) and inner and chance < 0.6:
        new[at] = _replaced(inner, rng)
    elif chance < 0.05:
        del new[at]
    elif chance < 0.1:
        new.insert(at, HOSTILE[int(rng.random() * len(HOSTILE))])
    else:
        new[at] = HOSTILE[int(rng.random() * len(HOSTILE))]
    return new


def _flipped(data: bytes, rng: Random) -> bytes:
    spoilt = bytearray(data)
    for _ in range(1 + int(rng.random() * 3)):
        spoilt[int(rng.random() * len(spoilt))] ^= 1 + int(rng.random() * 255)
    return bytes(spoilt)


def mesh_seeds(seed: int, target: int) -> list[tuple[bytes, int]]:
    """What arrived at a node of a simulated network, each once, with its sender."""
    world = World(load(SCENARIO), seed)
    world.run()
    return list(dict.fromkeys((each.payload, each.source) for each in world.ip.recent if each.node == target))


def client_seeds() -> list[bytes]:
    """What clients ask for, one request or several to a datagram."""
    events = [
        Event(subject="x", payload=b"payload"),
        Event(subject="x", attributes={"speed": 3, "name": "a", "on": True}, payload=b"p" * 90),
        Event(subject="y", lifetime=60, payload=b"kept"),
        Event(subject="y", persistent=True),
        Event(subject="x", to=[1, 2, 5]),
        Event(type="t", group="g"),
    ]
    filters = [Filter(subject="x"), Filter(where="speed > 2 and name starts with 'a'"), Filter(sender=2, type="t")]
    seeds: list[bytes] = []
    for place in range(CLIENTS):
        opened = Open(f"client-{place}", 0, 1, lasting=place % 2 == 0)
        body: list[Request] = [Subscribe(number, filter_) for number, filter_ in enumerate(filters, 1)]
        for number, event in enumerate(events, 10):
            body.append(Publish(number - 1, number, event.head(), (event.payload,) * (1 + number % 3)))
        body += [Acknowledge(1_700_000_000, place), Inquire(30, event_id(2, 1_700_000_000, place + 1)), Ping()]
        body += [Unsubscribe(1), Close()]
        seeds += datagrams([opened, *body[:-1]])
        seeds += [data for each in [opened, *body] for data in datagrams([each])]
    return seeds
