"""Ethernet frames, byte by byte."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chapar_lab.frame import ARP, STRANGER, Datagram, datagram_of, destination, kind_of, mac_of

NODE_1 = bytes.fromhex("026600000001")
ALL = b"\xff" * 6
UDP = bytes.fromhex("1e151e15000b0000") + b"abc"
"""From port 7701 to port 7701."""
IPV4 = bytes.fromhex("4500001f0000000040110000") + bytes([10, 66, 0, 1, 10, 66, 0, 2])
IPV6 = bytes.fromhex("60000000000b1140") + bytes(15) + b"\x09" + bytes(16)


def frame(to: bytes, kind: str, rest: bytes) -> bytes:
    return to + NODE_1 + bytes.fromhex(kind) + rest


@pytest.mark.parametrize(
    ("to", "node"),
    [
        ("026600000007", 7),
        ("026600000102", 258),
        ("ffffffffffff", None),
        ("01005e000001", None),
        ("333300000016", None),
        ("026700000007", STRANGER),
        ("5254001122aa", STRANGER),
    ],
)
def test_a_mac_address_names_a_node_all_or_a_stranger(to: str, node: int | None) -> None:
    """Nodes carry their index in theirs; broadcast and multicast are for all."""
    assert destination(frame(bytes.fromhex(to), "0800", b"")) == node


def test_the_mac_address_of_a_node() -> None:
    """As `ip` takes it, and as it is read again."""
    assert [mac_of(7), mac_of(258)] == ["02:66:00:00:00:07", "02:66:00:00:01:02"]
    assert destination(frame(bytes.fromhex(mac_of(258).replace(":", "")), "0800", b"")) == 258


def test_a_datagram_over_ipv4() -> None:
    """Its port, its payload and whose it is; what pads a short frame is no payload."""
    assert datagram_of(frame(ALL, "0800", IPV4 + UDP)) == Datagram(7701, b"abc", 42, 1)
    assert datagram_of(frame(ALL, "0800", IPV4 + UDP + bytes(15))) == Datagram(7701, b"abc", 57, 1)


def test_ipv4_options_are_skipped() -> None:
    """The header says how long it is."""
    longer = b"\x46" + IPV4[1:] + bytes(4)
    assert datagram_of(frame(ALL, "0800", longer + UDP)) == Datagram(7701, b"abc", 46, 1)


def test_a_datagram_over_ipv6() -> None:
    """Its headers are larger."""
    assert datagram_of(frame(ALL, "86dd", IPV6 + UDP)) == Datagram(7701, b"abc", 62, 9)


@pytest.mark.parametrize(
    ("kind", "rest"),
    [
        pytest.param("0806", IPV4 + UDP, id="ARP"),
        pytest.param("0800", IPV4[:9] + b"\x06" + IPV4[10:] + UDP, id="TCP"),
        pytest.param("0800", IPV4[:6] + b"\x20\x00" + IPV4[8:] + UDP, id="more fragments follow"),
        pytest.param("0800", IPV4[:6] + b"\x00\x08" + IPV4[8:] + UDP, id="a later fragment"),
        pytest.param("0800", b"\x44" + IPV4[1:] + UDP, id="a header shorter than there are"),
        pytest.param("0800", b"\x4f" + IPV4[1:] + UDP, id="a header longer than the frame"),
        pytest.param("0800", IPV4 + UDP[:4] + b"\x00\x07" + UDP[6:], id="shorter than a UDP header"),
        pytest.param("0800", IPV4 + UDP[:-1], id="cut off"),
        pytest.param("0800", IPV4[:15], id="cut off in the header"),
        pytest.param("86dd", IPV6[:6] + b"\x3a" + IPV6[7:] + UDP, id="ICMPv6"),
        pytest.param("86dd", IPV6[:30], id="IPv6 cut off"),
    ],
)
def test_what_is_no_whole_datagram_is_none(kind: str, rest: bytes) -> None:
    """Whatever else it may be."""
    assert datagram_of(frame(ALL, kind, rest)) is None


def test_kinds() -> None:
    """The EtherType, where there is one."""
    assert (kind_of(frame(ALL, "0806", b"")), kind_of(ALL)) == (ARP, 0)


@given(st.binary(max_size=90))
def test_any_bytes_are_read(junk: bytes) -> None:
    """A frame cut off anywhere is for somebody or nobody, and carries something or nothing."""
    for each in (junk, frame(ALL, "0800", IPV4 + UDP)[: len(junk)], frame(NODE_1, "86dd", junk)):
        to, datagram = destination(each), datagram_of(each)
        assert to is None or 0 <= to <= STRANGER
        assert datagram is None or len(datagram.payload) + datagram.headers == len(each)
