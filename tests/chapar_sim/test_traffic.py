"""What datagrams consist of."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from chapar.wire import Ack, Digests, Fragment, Link, Publish, Records, encode
from chapar_sim.traffic import HEADERS, Classifier, Share

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
