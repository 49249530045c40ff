"""What an event costs to encode and decode, beside plain msgpack of the same fields."""

from __future__ import annotations

from statistics import median
from time import process_time
from typing import TYPE_CHECKING

import msgpack

from benchmarks.figure import Figure
from chapar.event import Event, event_id
from chapar.filter import Filter

if TYPE_CHECKING:
    from collections.abc import Callable

GOAL = 2.5
CALLS = 200
ROUNDS = 500

EVENT = Event(subject="position", attributes={"lat": 52.1, "speed": 3}, payload=bytes(range(64)), id=event_id(3, 1, 9))


def measure() -> list[Figure]:
    """Ratios of medians of processor time, in short turns, so that a busy machine slows all of them alike."""
    pack, unpack, fields, body = msgpack.Packer().pack, msgpack.unpackb, tuple(EVENT), EVENT.encode()
    decode = Event.decode_untrusted
    asked = Filter(subject="position", where="speed > 2 and lat > 52")
    plain, ours, encoding, decoding, matching = (
        value * 1e9
        for value in _medians(
            lambda: unpack(pack(fields)),
            lambda: decode(EVENT.encode()),
            EVENT.encode,
            lambda: decode(body),
            lambda: asked.matches(EVENT),
        )
    )
    ratio = ours / plain
    return [
        Figure("event, 64-byte payload: encode and decode", ratio, "× msgpack", f"≤ {GOAL}", met=ratio <= GOAL),
        Figure("msgpack pack and unpack of the same", plain, "ns", "", met=None),
        Figure("event encode", encoding, "ns", "", met=None),
        Figure("event decode and check", decoding, "ns", "", met=None),
        Figure("filter of three constraints, one match", matching, "ns", "", met=None),
    ]


def _medians(*subjects: Callable[[], object]) -> list[float]:
    """Seconds per call of each subject."""
    times: list[list[float]] = [[] for _ in subjects]
    for _ in range(ROUNDS):
        for subject, measured in zip(subjects, times, strict=True):
            measured.append(_seconds(subject))
    return [median(measured) for measured in times]


def _seconds(subject: Callable[[], object]) -> float:
    started = process_time()
    for _ in range(CALLS):
        subject()
    return (process_time() - started) / CALLS
