"""Messages on their way out."""

from __future__ import annotations

from math import inf
from random import Random

from chapar_olsr.agent.codec import Codec
from chapar_olsr.agent.config import AgentConfig
from chapar_olsr.agent.messages import Message
from chapar_olsr.agent.outbox import MAX_WAITING, Outbox, Send

CODEC = Codec(4)
CONFIG = AgentConfig()


def outbox(*interfaces: int) -> Outbox:
    return Outbox(CONFIG, CODEC, interfaces or (1,), Random(1))


def message(number: int, size: int = 4) -> Message:
    return Message(200, 0, 9, 255, 0, number, bytes(size))


def numbers(send: Send) -> list[int]:
    return [each.sequence for each in CODEC.decode_untrusted(send.data).messages]


def test_what_is_relayed_waits_for_a_moment_and_leaves_on_every_interface() -> None:
    """RFC 3626, 3.4.1: within the largest jitter."""
    box = outbox(1, 2)
    box.relay(message(5), now=10.0)
    assert box.drain() == []
    assert 10.0 <= box.deadline <= 10.0 + CONFIG.max_jitter
    box.tick(box.deadline)
    sends = box.drain()
    assert [send.interface for send in sends] == [1, 2]
    assert [numbers(send) for send in sends] == [[5], [5]]
    assert box.deadline == inf


def test_what_waits_goes_along_with_what_is_said() -> None:
    """One packet instead of two; our own message first."""
    box = outbox()
    box.relay(message(5), now=0.0)
    box.say(1, [message(6)])
    (send,) = box.drain()
    assert numbers(send) == [6, 5]
    box.tick(1000.0)
    assert box.drain() == []


def test_packets_of_an_interface_are_numbered_without_gaps() -> None:
    """3.3; each interface counts for itself."""
    box = outbox(1, 2)
    for each in (1, 1, 2, 1):
        box.say(each, [message(0)])
    sent = [(send.interface, CODEC.decode_untrusted(send.data).sequence) for send in box.drain()]
    ones = [number for interface, number in sent if interface == 1]
    assert [(number - ones[0]) % 65536 for number in ones] == [0, 1, 2]


def test_a_packet_is_no_larger_than_the_link_carries() -> None:
    """What does not fit one packet goes into the next, in order."""
    box = outbox()
    for number in range(20):
        box.relay(message(number, size=200), now=0.0)
    box.tick(CONFIG.max_jitter)
    sends = box.drain()
    assert len(sends) > 1
    assert all(len(send.data) <= CONFIG.packet_bytes for send in sends)
    assert [number for send in sends for number in numbers(send)] == list(range(20))


def test_what_waits_is_bounded() -> None:
    """One more is refused, and the caller is told."""
    box = outbox()
    assert all(box.relay(message(number % 65536), now=0.0) for number in range(MAX_WAITING))
    assert not box.relay(message(0), now=0.0)
