"""The record of everything that was on the air: a file of binary records that the medium appends to as it goes.

The file begins with MAGIC and the time at which the run started. A record is a head (time, sender, flags, the numbers
of those who heard and who missed it, the length of the frame), the indexes of those nodes, and the frame. Times are of
the clock that all processes of a machine share; a reader gets them relative to the start. A record that breaks off
ends the recording: whoever wrote it was killed.
"""

from __future__ import annotations

from functools import cache
from struct import Struct
from typing import TYPE_CHECKING, Final, NamedTuple

from chapar_lab.frame import ARP, datagram_of, kind_of
from chapar_sim.trace import MICRO, AirRow
from chapar_sim.traffic import OTHER, Classifier, whole

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import BinaryIO

    from chapar_lab.frame import Datagram
    from chapar_sim.trace import Trace
    from chapar_sim.traffic import Label

MAGIC: Final = b"chapair\x01"
_START: Final = Struct("<d")
_HEAD: Final = Struct("<dHBHHI")
_OVERFLOWED: Final = 1


class RecordingError(ValueError):
    """A file that is no recording."""


class Aired(NamedTuple):
    """One transmission, or a frame that found its sender's queue full."""

    t: float
    """Seconds since the start of the run; before it, negative."""
    sender: int
    heard: tuple[int, ...]
    missed: tuple[int, ...]
    """Whom it was meant for as well."""
    overflowed: bool
    """It was never on the air."""
    frame: bytes


class Recorder:
    """Writes a recording to a file that is open for writing, from its beginning."""

    def __init__(self, file: BinaryIO, start: float) -> None:
        self._file = file
        self.start(start)

    def start(self, time: float) -> None:
        """The run starts at this time, whatever was said before."""
        self._file.seek(0)
        self._file.write(MAGIC + _START.pack(time))
        self._file.seek(0, 2)

    def record(
        self,
        time: float,
        sender: int,
        heard: tuple[int, ...],
        missed: tuple[int, ...],
        frame: bytes,
        *,
        overflowed: bool = False,
    ) -> None:
        head = _HEAD.pack(time, sender, _OVERFLOWED if overflowed else 0, len(heard), len(missed), len(frame))
        self._file.write(head + _indexes(len(heard) + len(missed)).pack(*heard, *missed) + frame)

    def flush(self) -> None:
        self._file.flush()


def read(file: BinaryIO) -> Iterator[Aired]:
    """Everything in a recording, in order of time. Raises RecordingError if it is none."""
    if file.read(len(MAGIC)) != MAGIC:
        raise RecordingError("this is no recording of the air")
    first = file.read(_START.size)
    if len(first) < _START.size:
        return
    (start,) = _START.unpack(first)
    while len(head := file.read(_HEAD.size)) == _HEAD.size:
        time, sender, flags, heard, missed, size = _HEAD.unpack(head)
        indexes = _indexes(heard + missed)
        rest = file.read(indexes.size + size)
        if len(rest) < indexes.size + size:
            return
        nodes = indexes.unpack_from(rest)
        overflowed = bool(flags & _OVERFLOWED)
        yield Aired(time - start, sender, nodes[:heard], nodes[heard:], overflowed, rest[indexes.size :])


@cache
def _indexes(count: int) -> Struct:
    return Struct(f"<{count}H")


def enter(recording: Iterable[Aired], trace: Trace) -> None:
    """Add what was on the air to the trace of its run: all of it as rows, and what came after the start as traffic."""
    classifier = Classifier()
    for each in recording:
        datagram = datagram_of(each.frame)
        port, source = (0, each.sender) if datagram is None else (datagram.port, datagram.source)
        label = _label(each.frame, datagram, classifier)
        ts_us, size = round(each.t * MICRO), len(each.frame)
        trace.air.append(AirRow(ts_us, each.sender, each.heard, size, port, each.missed, label.frames, source))
        if each.t < 0:
            continue
        if each.overflowed:
            trace.traffic.overflows += 1
        else:
            trace.traffic.count(label)


def _label(frame: bytes, datagram: Datagram | None, classifier: Classifier) -> Label:
    """What a frame is."""
    if datagram is None:
        return whole("ARP" if kind_of(frame) == ARP else "OTHER", OTHER, len(frame))
    return classifier.label_for(datagram.port, datagram.payload, datagram.headers)
