"""OLSR packets on the wire."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import fields
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chapar_olsr.agent.codec import MAX_PACKET_BYTES, Codec, OlsrError
from chapar_olsr.agent.messages import Hello, Hna, Kind, LinkGroup, LinkType, Message, Mid, NeighbourType, Packet, Tc
from chapar_olsr.faults import Fault
from olsr_captures import FOLDER, PLAIN, QUALITY, captured

if TYPE_CHECKING:
    from pathlib import Path

    from chapar_olsr.agent.messages import Body

CODEC = Codec(4)
NODE = int(ip_address("10.66.0.0"))
"""Node I of the captures has this address and I."""
VECTORS = json.loads((FOLDER / "packets.json").read_text(encoding="utf-8"))
RECORDED = [each.data for file in (PLAIN, QUALITY) for each in captured(file)]
SIZES = pytest.mark.parametrize("size", [4, 16])


def vectors(group: str) -> list[Any]:
    return [pytest.param(case, id=case["name"]) for case in VECTORS[group]]


def recoded(codec: Codec, packet: Packet) -> Packet:
    """The same, with every body that can be read written anew."""
    return packet._replace(messages=tuple(recoded_message(codec, message) for message in packet.messages))


def recoded_message(codec: Codec, message: Message) -> Message:
    body = codec.decode_body_untrusted(message)
    if body is None:
        return message
    kind, data = codec.encode_body(body)
    return message._replace(kind=kind, body=data)


def written(value: Any, name: str, size: int) -> Any:
    """A field as the vectors write it."""
    if isinstance(value, tuple):
        return [written(each, name, size) for each in value]
    if isinstance(value, LinkGroup):
        return {each.name: written(getattr(value, each.name), each.name, size) for each in fields(value)}
    if isinstance(value, bytes):
        return value.hex()
    if name in ("originator", "addresses", "neighbours", "aliases", "networks"):
        return str(ip_address(value.to_bytes(size, "big")))
    return value


def written_body(body: Body | None, size: int) -> dict[str, Any] | None:
    if body is None:
        return None
    values = {each.name: written(getattr(body, each.name), each.name, size) for each in fields(body)}
    return {"form": type(body).__name__} | values


def written_message(codec: Codec, message: Message) -> dict[str, Any]:
    size = codec.address_bytes
    header = {name: written(value, name, size) for name, value in message._asdict().items() if name != "body"}
    return header | {"says": written_body(codec.decode_body_untrusted(message), size)}


# Real packets


@pytest.mark.parametrize(
    ("file", "kinds"),
    [(PLAIN, {Kind.HELLO: 62, Kind.TC: 148}), (QUALITY, {Kind.LQ_HELLO: 63, Kind.LQ_TC: 132})],
    ids=["plain", "quality"],
)
def test_every_packet_of_a_real_network_encodes_to_its_own_bytes(file: Path, kinds: dict[int, int]) -> None:
    """All of them are read to the last field; the counts show that none was passed over."""
    seen = Counter[int]()
    for each in captured(file):
        packet = CODEC.decode_untrusted(each.data)
        assert CODEC.encode(recoded(CODEC, packet)) == each.data
        assert None not in map(CODEC.decode_body_untrusted, packet.messages)
        seen.update(message.kind for message in packet.messages)
    assert seen == kinds


def test_a_real_packet_means_what_its_sender_meant() -> None:
    """Node 4 of the chain: 5 and 3 have chosen me, 5 is a neighbour, 3 is my relay."""
    first = next(captured(PLAIN))
    said = [CODEC.decode_body_untrusted(message) for message in CODEC.decode_untrusted(first.data).messages]
    symmetric = LinkGroup(LinkType.SYMMETRIC, NeighbourType.SYMMETRIC, (NODE + 5,))
    relay = LinkGroup(LinkType.SYMMETRIC, NeighbourType.MPR, (NODE + 3,))
    assert first.source == NODE + 4
    assert said == [Tc(2, (NODE + 5, NODE + 3)), Hello(0x04, 3, (symmetric, relay))]


# Packets made by hand


@pytest.mark.parametrize("case", vectors("good"))
def test_good_packets_mean_what_is_written(case: dict[str, Any]) -> None:
    """The bytes decode to the fields beside them, in that order, and these encode to the bytes."""
    codec, data = Codec(case["address_bytes"]), bytes.fromhex(case["hex"])
    packet = codec.decode_untrusted(data)
    meant = [written_message(codec, message) for message in packet.messages]
    assert packet.sequence == case["sequence"]
    assert json.dumps(meant) == json.dumps(case["messages"])
    assert codec.encode(recoded(codec, packet)) == data


@pytest.mark.parametrize("case", vectors("bad"))
def test_bad_packets_are_refused_as_the_fault_they_are(case: dict[str, Any]) -> None:
    """The bytes violate the clause they are named after, and a person can be told so in a line."""
    codec = Codec(case["address_bytes"])
    with pytest.raises(OlsrError) as refused:
        recoded(codec, codec.decode_untrusted(bytes.fromhex(case["hex"])))
    assert refused.value.fault is Fault(case["fault"])
    assert 0 < len(str(refused.value)) < 80


def test_every_known_kind_has_vectors() -> None:
    """Each kind of message is shown, good and bad."""
    kinds = {message["kind"] for case in VECTORS["good"] for message in case["messages"]}
    assert kinds >= set(Kind)
    refused = {bytes.fromhex(case["hex"])[4] for case in VECTORS["bad"] if len(case["hex"]) > 8}
    assert refused >= set(Kind)


@pytest.mark.parametrize(
    ("kind", "body", "clean"),
    [
        (Kind.HELLO, "ffff0503 06ff0008 0a420002", "00000503 06000008 0a420002"),
        (Kind.TC, "0008ffff 0a420001", "00080000 0a420001"),
    ],
)
def test_reserved_fields_are_not_read_and_sent_as_zero(kind: Kind, body: str, clean: str) -> None:
    """Whoever has a use for them one day will be understood, and never hears nonsense from us (6.1, 9.1)."""
    noted, plain = (Message(kind, 0, 0, 0, 0, 0, bytes.fromhex(each)) for each in (body, clean))
    assert CODEC.decode_body_untrusted(noted) == CODEC.decode_body_untrusted(plain)
    assert recoded_message(CODEC, noted) == plain


# Whatever we say


def quality_of(addresses: tuple[int, ...]) -> tuple[bytes, ...]:
    return tuple((0xDEAD0000 | address & 0xFFFF).to_bytes(4, "big") for address in addresses)


@st.composite
def bodies(draw: st.DrawFn, size: int) -> Body:
    """A body of any kind."""
    byte, address = st.integers(0, 0xFF), st.integers(0, 256**size - 1)
    addresses = st.lists(address, max_size=5).map(tuple)
    pairs = st.tuples(address, address)
    rated = draw(st.booleans())
    qualities = quality_of if rated else lambda _: ()
    groups = st.builds(
        lambda link, neighbour, found: LinkGroup(link, neighbour, found, qualities(found)),
        *(st.integers(0, 3), st.integers(0, 63), addresses),
    )
    hellos = st.builds(Hello, byte, byte, st.lists(groups, max_size=4).map(tuple), st.just(rated))
    tcs = st.builds(
        lambda ansn, found, border: Tc(ansn, found, qualities(found), border if rated else (255, 255), rated),
        *(st.integers(0, 0xFFFF), addresses, st.tuples(byte, byte)),
    )
    hnas = st.builds(Hna, st.lists(pairs, max_size=4).map(tuple))
    return draw(st.one_of(hellos, tcs, st.builds(Mid, addresses), hnas))


def messages(codec: Codec, body: Body) -> st.SearchStrategy[Message]:
    """Such a message with any header."""
    kind, data = codec.encode_body(body)
    byte, short = st.integers(0, 0xFF), st.integers(0, 0xFFFF)
    originator = st.integers(0, 256**codec.address_bytes - 1)
    return st.builds(Message, st.just(kind), byte, originator, byte, byte, short, st.just(data))


@SIZES
@given(data=st.data())
def test_what_is_said_is_what_is_heard(size: int, data: st.DataObject) -> None:
    """Packets and bodies come back from their bytes as they were, with addresses of both lengths."""
    codec = Codec(size)
    said = data.draw(st.lists(bodies(size), min_size=1, max_size=4))
    packet = Packet(data.draw(st.integers(0, 0xFFFF)), tuple(data.draw(messages(codec, body)) for body in said))
    heard = codec.decode_untrusted(codec.encode(packet))
    assert heard == packet
    assert [codec.decode_body_untrusted(message) for message in heard.messages] == said


@SIZES
def test_the_longest_packet_that_a_length_can_tell_is_understood(size: int) -> None:
    """Up to 65535 bytes; who wants to send more has made a mistake."""
    codec = Codec(size)
    longest = bytes(MAX_PACKET_BYTES - 4 - codec.header_bytes)
    packet = Packet(0, (Message(200, 0, 0, 1, 0, 0, longest),))
    assert len(codec.encode(packet)) == MAX_PACKET_BYTES
    assert codec.decode_untrusted(codec.encode(packet)) == packet
    with pytest.raises(AssertionError):
        codec.encode(Packet(0, (Message(200, 0, 0, 1, 0, 0, longest[:-8]), Message(200, 0, 0, 1, 0, 0, b""))))


@pytest.mark.parametrize(
    "body",
    [
        Hello(5, 3, (LinkGroup(2, 1, (1, 2), (b"four",)),), has_quality=True),
        Hello(5, 3, (LinkGroup(2, 1, (1,), (b"four",)),)),
        Hello(5, 3, (LinkGroup(2, 1, (1,), (b"not",)),), has_quality=True),
        Tc(1, (1, 2), (b"four",), has_quality=True),
        Tc(1, (1,), (b"four",)),
    ],
)
def test_qualities_belong_to_addresses(body: Body) -> None:
    """To each address its quality, four bytes long, in a body that says so: all else is our own mistake."""
    with pytest.raises(AssertionError):
        CODEC.encode_body(body)


def test_a_packet_without_messages_is_never_sent() -> None:
    """Nobody would read it (3.4)."""
    with pytest.raises(AssertionError):
        CODEC.encode(Packet(0, ()))


@pytest.mark.parametrize(("address", "length"), [("10.66.0.1", 4), ("0.0.0.1", 4), ("fd66::1", 16), ("::1", 16)])
def test_an_address_is_written_in_its_own_family(address: str, length: int) -> None:
    """A small number is not taken for an IPv4 address."""
    assert Codec(length).text(int(ip_address(address))) == address


# Whatever others say


def fault_of(codec: Codec, data: bytes) -> Fault | None:
    """Why the packet is refused, if it is. What is accepted is read throughout, and encodes to the same bytes."""
    try:
        packet = codec.decode_untrusted(data)
    except OlsrError as error:
        return error.fault
    assert codec.encode(packet) == data
    faults = [fault_of_body(codec, message) for message in packet.messages]
    return next((fault for fault in faults if fault is not None), None)


def fault_of_body(codec: Codec, message: Message) -> Fault | None:
    """Why the body is refused, if it is. What is accepted is written again in as many bytes."""
    try:
        again = recoded_message(codec, message)
    except OlsrError as error:
        return error.fault
    assert (again.kind, len(again.body)) == (message.kind, len(message.body))
    return None


def with_true_length(data: bytes) -> bytes:
    """The same, past the first check."""
    return len(data).to_bytes(2, "big") + data[2:] if len(data) > 1 else data


@SIZES
@given(data=st.binary(max_size=80))
def test_noise_raises_one_error_only(size: int, data: bytes) -> None:
    """No other exception leaves the codec, whether the packet's length is right or not."""
    for each in (data, with_true_length(data)):
        assert fault_of(Codec(size), each) in (Fault.PACKET_LENGTH, Fault.MESSAGE_LENGTH, None)


@SIZES
@given(kind=st.sampled_from(Kind), body=st.binary(max_size=80))
def test_bodies_of_noise_raise_one_error_only(size: int, kind: Kind, body: bytes) -> None:
    """A body is read or refused for a length."""
    assert fault_of_body(Codec(size), Message(kind, 0, 0, 0, 0, 0, body)) in (Fault.MESSAGE_LENGTH, None)


@SIZES
@given(
    st.sampled_from(RECORDED),
    st.lists(st.tuples(st.integers(0, 200), st.integers(0, 255)), max_size=4),
    st.integers(0, 12),
)
def test_mutated_packets_raise_one_error_only(
    size: int, data: bytes, changes: list[tuple[int, int]], cut: int
) -> None:
    """Real packets with bytes changed and cut off, their length right or wrong, in networks of both kinds."""
    mutant = bytearray(data)
    for place, value in changes:
        mutant[place % len(mutant)] = value
    received = bytes(mutant[: len(mutant) - cut])
    for each in (received, with_true_length(received)):
        assert fault_of(Codec(size), each) in (Fault.PACKET_LENGTH, Fault.MESSAGE_LENGTH, None)


@pytest.mark.parametrize("data", RECORDED[::20])
def test_what_is_cut_short_is_refused(data: bytes) -> None:
    """At every place; with the length set right, at every place but between messages."""
    ends = [4]
    for message in CODEC.decode_untrusted(data).messages:
        ends.append(ends[-1] + CODEC.header_bytes + len(message.body))
    for end in range(len(data)):
        with pytest.raises(OlsrError):
            CODEC.decode_untrusted(data[:end])
        if end not in ends[1:]:
            with pytest.raises(OlsrError):
                CODEC.decode_untrusted(with_true_length(data[:end]))
