"""The ether of the lab, in virtual time."""

from __future__ import annotations

from io import BytesIO
from random import Random

import pytest

from chapar_lab.ether import Ether, OrderError
from chapar_lab.recording import Aired, Recorder, read
from chapar_sim.clock import Clock
from chapar_sim.terrain import RadioSpec

SOURCE = bytes.fromhex("026600000001") + b"\x08\x00"
TO_2 = bytes.fromhex("026600000002") + SOURCE
TO_ALL = b"\xff" * 6 + SOURCE
TO_A_STRANGER = bytes.fromhex("525400112233") + SOURCE


class Lab:
    """An ether, what is delivered, and the recording."""

    def __init__(self, **radio: float) -> None:
        self.clock = Clock()
        self.got: list[tuple[float, int, bytes]] = []
        self._file = BytesIO()
        spec = RadioSpec(**{"delay": 0.5, "jitter": 0.0, **radio})  # type: ignore[arg-type]  # numbers all
        self.ether = Ether(spec, self.clock, Random(1), Recorder(self._file, 0.0), self._deliver)

    def _deliver(self, node: int, frame: bytes) -> None:
        self.got.append((self.clock.now, node, frame))

    def run(self) -> None:
        self.clock.run_until(self.clock.now + 10)

    def recorded(self) -> list[Aired]:
        self._file.seek(0)
        return list(read(self._file))


def test_frames_reach_whom_they_are_for_if_they_can_be_heard() -> None:
    """One node or all; a stranger's frame is on the air, and reaches nobody."""
    lab = Lab()
    lab.ether.obey('["links", [[1, 2], [1, 3], [2, 1]]]')
    for frame in (TO_2, TO_ALL, TO_A_STRANGER):
        lab.ether.send(1, frame)
    lab.ether.send(3, TO_2)
    lab.run()
    assert lab.got == [(0.5, 2, TO_2), (0.5, 2, TO_ALL), (0.5, 3, TO_ALL)]
    assert [(each.sender, each.heard, each.missed) for each in lab.recorded()] == [
        (1, (2,), ()),
        (1, (2, 3), ()),
        (1, (), (0xFFFF,)),
        (3, (), (2,)),
    ]
    assert (lab.ether.frames, lab.ether.bytes) == (4, 4 * 14)


def test_nobody_hears_anybody_before_it_is_told_who_does() -> None:
    """It is on the air, and recorded; and a new set of links replaces the one before."""
    lab = Lab()
    lab.ether.send(1, TO_ALL)
    lab.ether.obey('["links", [[1, 2]]]')
    lab.ether.send(1, TO_ALL)
    lab.ether.obey('["links", [[1, 3]]]')
    lab.ether.send(1, TO_ALL)
    lab.run()
    assert [each.heard for each in lab.recorded()] == [(), (2,), (3,)]


def test_a_runt_harms_nobody() -> None:
    """Nobody hears it."""
    lab = Lab()
    lab.ether.obey('["links", [[1, 2]]]')
    lab.ether.send(1, b"\xff\xff")
    lab.run()
    assert lab.got == []
    assert [each.frame for each in lab.recorded()] == [b"\xff\xff"]


def test_frames_are_heard_twice_from_when_it_is_asked_for() -> None:
    """Until it is asked for otherwise."""
    lab = Lab()
    lab.ether.obey('["links", [[1, 2]]]')
    for order in (b'["duplicate", 1]', b'["duplicate", 0.0]'):
        lab.ether.obey(order)
        lab.ether.send(1, TO_2)
    lab.run()
    assert len(lab.got) == 3


def test_overflows_are_recorded() -> None:
    """With a rate and a queue for one frame, the third at once is lost."""
    lab = Lab(rate=80, queue=1)
    lab.ether.obey('["links", [[1, 2]]]')
    for _ in range(3):
        lab.ether.send(1, TO_2)
    lab.run()
    assert [(round(each.t, 3), each.overflowed) for each in lab.recorded()] == [(0, True), (1.4, False), (2.8, False)]


def test_the_start_counts_as_zero() -> None:
    """What is sent later has the time since then."""
    lab = Lab()
    lab.clock.run_until(7)
    lab.ether.obey('["start", 5.5]')
    lab.ether.send(1, TO_2)
    assert [each.t for each in lab.recorded()] == [1.5]


@pytest.mark.parametrize(
    "line",
    [
        "",
        "nonsense",
        "7",
        "{}",
        "[]",
        '["start"]',
        '["start", "soon"]',
        '["start", NaN]',
        '["links", 5]',
        '["links", [[1, 2, 3]]]',
        '["links", [[1, "2"]]]',
        '["links", [[1, -2]]]',
        '["links", [[1, 99999]]]',
        '["duplicate", 1.5]',
        '["jam", 1]',
    ],
)
def test_what_is_no_order_is_refused(line: str) -> None:
    """The message says what was wrong with which line."""
    with pytest.raises(OrderError, match="is no order"):
        Lab().ether.obey(line)
