"""The quick way into a spool for the rows that come in numbers: frames, publications and deliveries.

Each function gives one that adds an effect's rows to a spool, in less than half the time of `Spool.append`, which does
the same and says what that is: whatever is not usual here (new text, no room, a number out of bounds) is left to it.
"""

from __future__ import annotations

from struct import error as StructError  # noqa: N812 - an exception has the name of one
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from chapard.core.effects import DeliveryRow, FrameRow, PublishRow
from chapard.core.records import rows_of
from chapard.core.spool import WHOLE

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from chapard.core.spool import Spool

    Adder = Callable[[Any, int], None]

_NO_PEER, _NO_EVENT, _NO_FILTER = 2, 4, 8
"""Marks of frames: the first, second and third column that may be null."""
MOST_ENTRIES: Final = 4096
"""Of a spool whose deliveries name several clients at once: where these differ too often, each has its own record."""
_NO_SUBJECT: Final = 2
_PUBLISHED_UNKNOWN: Final = WHOLE | 2
"""The mark of every delivery: when its event was published, only its home knows."""


def frames(spool: Spool) -> Adder:
    """Adds frames."""
    numbers, pack_into, buffer, size = spool.numbers, spool.pack_into, spool.buffer, spool.size

    def add(row: FrameRow, ts_us: int) -> None:
        direction, peer, kind, traffic_class, length, event_id, filter_id, retry = row
        at = spool.used
        end = at + size
        if end <= spool.room:
            mark = WHOLE
            if peer is None:
                peer, mark = 0, WHOLE | _NO_PEER
            if event_id is None:
                event, mark = b"", mark | _NO_EVENT
            else:
                event = event_id
            try:
                if filter_id is None:
                    filter_number, mark = 0, mark | _NO_FILTER
                else:
                    filter_number = numbers[filter_id]
                pack_into(
                    buffer, at, ts_us, numbers[direction], peer, numbers[kind], numbers[traffic_class], length, event,
                    filter_number, retry, mark,
                )  # fmt: skip
            except (KeyError, StructError):
                pass
            else:
                spool.used = end
                spool.rows += 1
                return
        _slowly(spool, row, ts_us)

    return add


def publishes(spool: Spool) -> Adder:
    """Adds publications."""
    numbers, pack_into, buffer, size = spool.numbers, spool.pack_into, spool.buffer, spool.size

    def add(row: PublishRow, ts_us: int) -> None:
        client, event_id, delivery, lifetime_ms, length, subject, times = row
        at = spool.used
        end = at + size
        if end <= spool.room:
            try:
                number, mark = (0, WHOLE | _NO_SUBJECT) if subject is None else (numbers[subject], WHOLE)
                pack_into(
                    buffer, at, ts_us, numbers[client], event_id, numbers[delivery], lifetime_ms, length, number,
                    times, 1, mark,
                )  # fmt: skip
            except (KeyError, StructError):
                pass
            else:
                spool.used = end
                spool.rows += times
                return
        _slowly(spool, row, ts_us)

    return add


def deliveries(spool: Spool) -> Adder:
    """Adds deliveries, those of several clients in one record: who they are is mostly who they were before."""
    numbers, pack_into, buffer, size = spool.numbers, spool.pack_into, spool.buffer, spool.size

    def add(row: DeliveryRow, ts_us: int) -> None:
        clients, event_id, origin, hops, via, queued_us, times = row
        several = len(clients)
        who: object = clients[0] if several == 1 else tuple(clients)
        if several > 1 and who not in numbers and len(numbers) < MOST_ENTRIES:
            spool.number(who)
        at = spool.used
        end = at + size
        if end <= spool.room:
            try:
                pack_into(
                    buffer, at, ts_us, numbers[who], event_id, origin, 0, hops, numbers[via], queued_us, times, several,
                    _PUBLISHED_UNKNOWN,
                )  # fmt: skip
            except (KeyError, StructError):
                pass
            else:
                spool.used = end
                spool.rows += times * several
                return
        _slowly(spool, row, ts_us)

    return add


def _slowly(spool: Spool, row: FrameRow | PublishRow | DeliveryRow, ts_us: int) -> None:
    for _, values, times in rows_of(row, 0, ts_us):
        spool.append(values, times)


HOT: Final[Mapping[str, tuple[type, Callable[[Spool], Adder]]]] = MappingProxyType(
    {"frames": (FrameRow, frames), "publishes": (PublishRow, publishes), "deliveries": (DeliveryRow, deliveries)}
)
"""By dataset: the effect, and what adds it."""
