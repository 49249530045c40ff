"""Who speaks for which client, what leaves for it and when, and that nobody can fill the port."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import pytest

from chapar.filter import Filter
from chapar.session import (
    Acknowledge,
    Close,
    Closed,
    Deliver,
    Open,
    Ping,
    Pong,
    Receipt,
    Refused,
    Subscribe,
    Subscribed,
)
from chapar.wire.client import datagrams, decode_messages_untrusted
from chapard.clients import (
    ADDRESSES_PER_SESSION,
    BAD_NAME,
    HELD_PER_CLIENT,
    NOT_OPEN,
    REFUSALS_PER_TURN,
    TAKEN_OVER,
    ClientPort,
)
from chapard.transport import Traffic

if TYPE_CHECKING:
    from chapar.event import EventId
    from chapar.session import Message, Request
    from chapard.transport import Address

SESSIONS = 4
ONE: Address = ("127.0.0.1", 5001)
TWO: Address = ("127.0.0.1", 5002)
ID = cast("EventId", bytes(10))


class Wire:
    """A transport that keeps what it is given."""

    def __init__(self) -> None:
        self.address: Address = ("127.0.0.1", 7700)
        self.traffic = Traffic()
        self.sent: list[tuple[bytes, Address]] = []

    def send(self, data: bytes, address: Address) -> None:
        self.sent.append((data, address))

    def kernel_drops(self) -> int:
        return 0

    def close(self) -> None:
        pass


class Desk:
    """A client port, what it was asked, and what it has sent."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, Request]] = []
        self.turns = 0
        self.wire = Wire()
        self.port = ClientPort(
            lambda client, request: self.asked.append((client, request)), self._wake, self._wake, SESSIONS
        )
        self.port.transports.append(self.wire)

    def _wake(self) -> None:
        self.turns += 1

    def say(self, address: Address, *requests: Request) -> None:
        for datagram in datagrams(requests):
            self.port.received(datagram, address)

    def flush(self) -> list[tuple[Address, list[Message]]]:
        self.port.flush()
        sent, self.wire.sent = self.wire.sent, []
        return [(address, decode_messages_untrusted(data)) for data, address in sent]


def opened(client: str) -> Open:
    return Open(client, 0, 1, lasting=True)


def test_requests_carry_the_name_that_the_address_opened() -> None:
    """After Open, every request from that address is that client's."""
    desk = Desk()
    desk.say(ONE, opened("a"), Ping())
    desk.say(TWO, opened("b"))
    desk.say(ONE, Subscribe(1, Filter(subject="x")))
    assert desk.asked == [
        ("a", opened("a")),
        ("a", Ping()),
        ("b", opened("b")),
        ("a", Subscribe(1, Filter(subject="x"))),
    ]


def test_answers_leave_packed_once_per_turn() -> None:
    """All that was answered to one client in a turn is one datagram, in order, to its address; then nothing is left."""
    desk = Desk()
    desk.say(ONE, opened("a"))
    desk.say(TWO, opened("b"))
    desk.port.answer("a", Subscribed(1))
    desk.port.answer("b", Pong())
    desk.port.answer("a", Deliver(1, 1, 0, (b"body",)))
    assert desk.flush() == [(ONE, [Subscribed(1), Deliver(1, 1, 0, (b"body",))]), (TWO, [Pong()])]
    assert desk.flush() == []


def test_an_address_that_has_not_opened_is_refused_in_a_turn() -> None:
    """It is told to open, whatever it asked for; nothing is asked in anybody's name."""
    desk = Desk()
    desk.say(ONE, Ping(), Acknowledge(1, 1))
    assert desk.turns == 1
    assert desk.flush() == [(ONE, [Refused(0, NOT_OPEN)])]
    assert desk.asked == []


def test_a_second_open_takes_the_session_over() -> None:
    """Answers go to the new address at once; the old one is told when it asks, until it opens again itself."""
    desk = Desk()
    desk.say(ONE, opened("a"))
    desk.say(TWO, opened("a"))
    desk.port.answer("a", Pong())
    assert desk.flush() == [(TWO, [Pong()])]
    desk.say(ONE, Ping())
    assert desk.flush() == [(ONE, [Refused(0, TAKEN_OVER)])]
    desk.say(ONE, opened("a"))
    desk.say(ONE, Ping())
    assert desk.asked[-1] == ("a", Ping())
    desk.say(TWO, Ping())
    assert desk.flush() == [(TWO, [Refused(0, TAKEN_OVER)])]


def test_an_address_can_change_its_name() -> None:
    """An Open of another name from the same address leaves the old name without one."""
    desk = Desk()
    desk.say(ONE, opened("a"))
    desk.say(ONE, opened("b"))
    desk.port.answer("a", Pong())
    desk.port.answer("b", Pong())
    assert desk.flush() == [(ONE, [Pong()])]
    assert desk.port.unanswered == 1


def test_foreign_bytes_are_counted_and_not_answered() -> None:
    """Whatever is not the protocol moves one counter."""
    desk = Desk()
    for data in (b"", b"\xc1", b"GET / HTTP/1.1", bytes(2000)):
        desk.port.received(data, ONE)
    assert desk.port.malformed == 4
    assert desk.flush() == []


@pytest.mark.parametrize("name", ["", "a/b", "x" * 129, "tab\t"])
def test_an_open_with_a_bad_name_is_told_so(name: str) -> None:
    """Though no session and no binding comes of it."""
    desk = Desk()
    desk.say(ONE, opened(name))
    assert desk.flush() == [(ONE, [Refused(0, BAD_NAME)])]
    assert desk.asked == []


def test_refusals_are_bounded_per_turn() -> None:
    """A flood from many addresses gets a few answers a turn; the next turn has room again."""
    desk = Desk()
    for port in range(1000):
        desk.say(("127.0.0.1", port), Ping())
    assert len(desk.flush()) == REFUSALS_PER_TURN
    assert desk.port.unanswered == 1000 - REFUSALS_PER_TURN
    desk.say(ONE, Ping())
    assert len(desk.flush()) == 1


def test_names_without_a_session_give_way_first() -> None:
    """However many names are opened, sessions that are ON keep their addresses, and the table stays bounded."""
    desk = Desk()
    desk.say(ONE, opened("on"))
    desk.port.session_changed("on", is_on=True)
    for number in range(100):
        desk.say(("127.0.0.1", 10_000 + number), opened(f"refused-{number}"))
    for name in ("on", "refused-0", "refused-99"):
        desk.port.answer(name, Pong())
    assert [address for address, _ in desk.flush()] == [ONE, ("127.0.0.1", 10_099)]
    reached = 0
    for number in range(100):
        desk.port.answer(f"refused-{number}", Pong())
    reached = len(desk.flush())
    assert reached == ADDRESSES_PER_SESSION * SESSIONS - 1


def test_a_closed_session_still_hears_a_repeated_close() -> None:
    """The answer to Close may be lost: the address speaks for its client until somebody needs the room."""
    desk = Desk()
    desk.say(ONE, opened("a"))
    desk.port.session_changed("a", is_on=True)
    desk.say(ONE, Close())
    desk.port.session_changed("a", is_on=False)
    desk.say(ONE, Close())
    assert desk.asked[-2:] == [("a", Close()), ("a", Close())]
    for number in range(ADDRESSES_PER_SESSION * SESSIONS):
        desk.say(("127.0.0.1", 10_000 + number), opened(f"b-{number}"))
    desk.say(ONE, Close())
    assert desk.flush() == [(ONE, [Refused(0, NOT_OPEN)])]


def test_after_the_goodbye_nobody_is_heard() -> None:
    """What clients still ask is counted and gets no answer."""
    desk = Desk()
    desk.say(ONE, opened("a"))
    desk.port.is_closed = True
    desk.say(ONE, Ping())
    desk.say(TWO, opened("b"))
    assert desk.asked == [("a", opened("a"))]
    assert desk.port.unanswered == 2
    assert desk.flush() == []


def test_an_answer_waits_for_its_batch() -> None:
    """Nothing held leaves before its batch, or a later one, is on the disk; the order is kept."""
    desk = Desk()
    desk.say(ONE, opened("a"))
    desk.port.hold(1, [("a", Receipt(1, ID, 1))])
    desk.port.hold(2, [("a", Receipt(2, ID, 1)), ("a", Closed())])
    desk.port.hold(3, [("a", Receipt(3, ID, 1))])
    assert desk.flush() == []
    desk.port.release(2)
    assert desk.flush() == [(ONE, [Receipt(1, ID, 1), Receipt(2, ID, 1), Closed()])]
    assert desk.port.held == 1
    desk.port.release(3)
    assert desk.flush() == [(ONE, [Receipt(3, ID, 1)])]
    assert desk.port.held == 0


def test_repetitions_of_what_waits_do_not_pile_up() -> None:
    """While the disk takes nothing, a client that asks again and again gets each answer once, when it can leave."""
    desk = Desk()
    desk.say(ONE, opened("a"))
    for batch in range(1, 1000):
        desk.port.hold(batch, [("a", Receipt(1, ID, 1)), ("a", Deliver(1, 5, 4, (b"body",)))])
    assert desk.port.held == 2
    desk.port.release(1000)
    assert desk.flush() == [(ONE, [Receipt(1, ID, 1), Deliver(1, 5, 4, (b"body",))])]
    desk.port.hold(1001, [("a", Receipt(1, ID, 1))])
    desk.port.release(1001)
    assert desk.flush() == [(ONE, [Receipt(1, ID, 1)])]


def test_what_waits_is_bounded_per_client() -> None:
    """One client cannot fill the memory with answers that wait, nor keep another's out."""
    desk = Desk()
    desk.say(ONE, opened("a"))
    desk.say(TWO, opened("b"))
    for number in range(2 * HELD_PER_CLIENT):
        desk.port.hold(number + 1, [("a", Receipt(number, ID, 1))])
    desk.port.hold(10 * HELD_PER_CLIENT, [("b", Receipt(1, ID, 1))])
    assert desk.port.held == HELD_PER_CLIENT + 1
    assert desk.port.unanswered == HELD_PER_CLIENT
    desk.port.release(10 * HELD_PER_CLIENT)
    sent = desk.flush()
    assert sum(len(messages) for address, messages in sent if address == ONE) == HELD_PER_CLIENT
    assert [messages for address, messages in sent if address == TWO] == [[Receipt(1, ID, 1)]]
