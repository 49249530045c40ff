"""What datagrams consist of."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chapar.wire import Ack, Digests, Fragment, Link, Publish, Records, encode
from chapar_sim.traffic import HEADERS, Classifier, Label, Share, olsr_label

LINK = encode(Link(1, 1, 1, 1, 1, 1))
ACK = encode(Ack(1, 1, 1))
EVENT = encode(Publish(1, b"\x9a\xc4\x0a" + bytes(10) + b"rest"))
DIGESTS = encode(Digests(1, 0, 0, 0, 0, (0,) * 32, 0))
RECORDS = encode(Records(1, 0, (b"record",), 0))


def test_headers_are_charged_to_the_first_data_frame() -> None:
    """Whatever else shares the datagram, it is there for the event."""
    label = Classifier().label(LINK + ACK + EVENT)
    assert label.traffic_class == "data"
    assert label.shares == (
        Share("LINK", "control", len(LINK)),
        Share("ACK", "control", len(ACK)),
        Share("PUBLISH", "data", len(EVENT) + HEADERS),
    )


def test_without_data_headers_are_charged_to_what_the_datagram_was_sent_for() -> None:
    """The numbering of the datagram is not what it was sent for."""
    label = Classifier().label(LINK + DIGESTS)
    assert label.traffic_class == "sync"
    assert [share.bytes for share in label.shares] == [len(LINK), len(DIGESTS) + HEADERS]


def test_a_fragment_belongs_to_the_class_of_its_message() -> None:
    """Later fragments of a message follow its first one; of an unknown message only its size is known."""
    classifier = Classifier()
    for whole, expected in ((RECORDS, "sync"), (EVENT, "data")):
        first = encode(Fragment(1, len(whole), 0, 2, whole[:8]))
        second = encode(Fragment(1, len(whole), 1, 2, whole[8:]))
        assert [classifier.label(each).traffic_class for each in (first, second)] == [expected, expected]
    assert Classifier().label(encode(Fragment(2, 9, 1, 2, b"x"))).traffic_class == "data"


@given(st.binary(max_size=80))
def test_any_bytes_get_a_label_and_spoil_nothing(junk: bytes) -> None:
    """Garbage is labelled, all of its bytes are accounted for, and the next datagram is read as ever."""
    classifier = Classifier()
    label = classifier.label(junk)
    assert sum(share.bytes for share in label.shares) == len(junk) + HEADERS
    assert classifier.label(LINK + EVENT) == Classifier().label(LINK + EVENT)


def olsr_message(kind: int, size: int, said: int | None = None) -> bytes:
    return bytes([kind, 0]) + (size if said is None else said).to_bytes(2, "big") + bytes(size - 4)


def test_an_olsr_packet_is_routing_message_by_message() -> None:
    """Its own header is charged to its first message; a foreign message has a number instead of a name."""
    label = olsr_label(bytes(4) + olsr_message(1, 20) + olsr_message(77, 16))
    assert label == Label(
        (Share("HELLO", "routing", 20 + 4 + HEADERS), Share("OLSR 77", "routing", 16)),
        "routing",
    )


@pytest.mark.parametrize("said", [0, 3, 25])
def test_what_is_no_olsr_message_is_garbage_to_its_end(said: int) -> None:
    """A length that cannot be ends the reading, and never the reader."""
    label = olsr_label(bytes(4) + olsr_message(1, 20) + olsr_message(2, 24, said), headers=62)
    assert label.shares == (Share("HELLO", "routing", 20 + 4 + 62), Share("garbage", "routing", 24))


@given(st.binary(max_size=80))
def test_any_bytes_at_the_port_of_olsr_get_a_label(junk: bytes) -> None:
    """All of them are accounted for, and all are routing."""
    label = olsr_label(junk)
    assert sum(share.bytes for share in label.shares) == len(junk) + HEADERS
    assert {share.traffic_class for share in label.shares} == {label.traffic_class} == {"routing"}


def test_larger_headers_are_charged_as_they_are() -> None:
    """Of IPv6, for example."""
    assert [share.bytes for share in Classifier().label(ACK, headers=62).shares] == [len(ACK) + 62]
