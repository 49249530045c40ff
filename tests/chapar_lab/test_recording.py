"""The record of the air."""

from __future__ import annotations

from io import BytesIO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chapar.wire import Ack, Publish, encode
from chapar_lab.recording import MAGIC, Aired, Recorder, RecordingError, enter, read
from chapar_sim.trace import AirRow, Trace
from chapar_sim.traffic import Share

TO_ALL = b"\xff" * 6 + bytes.fromhex("026600000001")
ACK = encode(Ack(1, 1, 1))
EVENT = encode(Publish(1, b"\x9a\xc4\x0a" + bytes(10) + b"rest"))
HELLO = bytes(4) + b"\x01\x00\x00\x14" + bytes(16)

nodes = st.lists(st.integers(0, 0xFFFF), max_size=5).map(tuple)
records = st.lists(
    st.builds(Aired, st.floats(-9, 9), st.integers(0, 0xFFFF), nodes, nodes, st.booleans(), st.binary(max_size=60))
)


def recorded(records: list[Aired], start: float = 0.0) -> bytes:
    file = BytesIO()
    recorder = Recorder(file, start)
    for t, sender, heard, missed, overflowed, frame in records:
        recorder.record(start + t, sender, heard, missed, frame, overflowed=overflowed)
    return file.getvalue()


def udp(port: int, payload: bytes) -> bytes:
    size = (8 + len(payload)).to_bytes(2, "big")
    ip = b"\x45\x00\x00\x00\x00\x00\x00\x00\x40\x11\x00\x00" + bytes(8)
    return TO_ALL + b"\x08\x00" + ip + b"\x00\x00" + port.to_bytes(2, "big") + size + b"\x00\x00" + payload


@given(records)
def test_what_is_recorded_is_read(written: list[Aired]) -> None:
    """Everything, in the order of writing."""
    assert list(read(BytesIO(recorded(written)))) == written


@given(records, st.integers(0, 400))
def test_a_recording_that_breaks_off_is_read_up_to_there(written: list[Aired], cut: int) -> None:
    """The medium was killed in the midst of a record; what came before it stands."""
    whole = recorded(written)
    cut = max(len(MAGIC), len(whole) - cut)
    found = list(read(BytesIO(whole[:cut])))
    assert found == written[: len(found)]
    assert cut < len(whole) or found == written


def test_times_are_of_the_start_whenever_it_is_told() -> None:
    """What was on the air before has negative times."""
    file = BytesIO()
    recorder = Recorder(file, 100.0)
    recorder.record(101.0, 1, (2,), (), b"early")
    recorder.start(102.0)
    recorder.record(103.5, 1, (2,), (), b"late")
    file.seek(0)
    assert [(each.t, each.frame) for each in read(file)] == [(-1.0, b"early"), (1.5, b"late")]


@pytest.mark.parametrize("text", [b"", b"nonsense, and more of it"])
def test_another_file_is_refused(text: bytes) -> None:
    """It does not begin as a recording does."""
    with pytest.raises(RecordingError):
        list(read(BytesIO(text)))


def test_a_recording_becomes_part_of_a_trace() -> None:
    """Each frame is a row; traffic is counted by what is in it, from the start of the run on."""
    arp, babel = TO_ALL + b"\x08\x06" + bytes(28), udp(6696, b"*\x02\x00\x00")
    frames = [udp(7701, ACK), udp(7701, ACK + EVENT), udp(698, HELLO), babel, arp, udp(53, b"?"), b"runt"]
    trace = Trace()
    enter([Aired(place - 1, 1, (2,), (3,), frame=frame, overflowed=False) for place, frame in enumerate(frames)], trace)
    assert [row.port for row in trace.air] == [7701, 7701, 698, 6696, 0, 53, 0]
    ack = Share("ACK", "control", len(ACK))
    assert trace.air[0] == AirRow(-1_000_000, 1, (2,), len(frames[0]), 7701, (3,), (ack,), 0)
    assert [row.bytes for row in trace.air] == [len(frame) for frame in frames]
    assert dict(trace.traffic.transmissions) == {"data": 1, "routing": 2, "other": 3}
    assert dict(trace.traffic.frames) == dict.fromkeys(("ACK", "PUBLISH", "HELLO", "BABEL", "ARP", "UDP", "OTHER"), 1)
    assert sum(trace.traffic.bytes.values()) == sum(len(frame) for frame in frames[1:])


def test_overflows_are_rows_but_no_traffic() -> None:
    """They were never on the air."""
    trace = Trace()
    enter([Aired(0.5, 1, (), (2,), overflowed=True, frame=udp(7701, ACK))], trace)
    ack = Share("ACK", "control", len(ACK))
    assert trace.air == [AirRow(500_000, 1, (), len(ACK) + 42, 7701, (2,), (ack,), 0)]
    assert (trace.traffic.overflows, sum(trace.traffic.transmissions.values())) == (1, 0)
