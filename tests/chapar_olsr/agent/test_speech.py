"""What an agent says of itself."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from chapar_olsr.agent import speech
from chapar_olsr.agent.codec import Codec
from chapar_olsr.agent.linkset import Link
from chapar_olsr.agent.messages import Hello, LinkType, NeighbourType
from chapar_olsr.agent.neighbourhood import Neighbourhood

HERE, ELSEWHERE = 1, 2
LATER = 100.0
Said = set[tuple[int, int, int]]


def hellos(links: list[Link], hood: Neighbourhood, room: int = 1000, *, with_quality: bool = False) -> list[Hello]:
    return speech.hellos(
        HERE, links, hood, willingness=3, interval=5, room=room, address_bytes=4, with_quality=with_quality, now=0.0
    )


def said(made: list[Hello]) -> Said:
    return {(group.link, group.neighbour, each) for hello in made for group in hello.groups for each in group.addresses}


def test_a_hello_tells_each_link_with_its_kind() -> None:
    """RFC 3626, 6.2: symmetric, asymmetric and lost links of this interface, with relays marked."""
    hood = Neighbourhood(HERE)
    hood.settle(frozenset({20, 21}), 0.0)
    hood.reached(20, {99: 1.0}, LATER)
    hood.settle(frozenset({20, 21}), 0.0)
    links = [
        Link(HERE, 20, 20, symmetric_until=LATER, heard_until=LATER),
        Link(HERE, 21, 21, symmetric_until=LATER, heard_until=LATER),
        Link(HERE, 22, 22, heard_until=LATER),
        Link(HERE, 23, 23, lost_until=LATER),
        Link(HERE, 24, 24, heard_until=LATER, is_pending=True),
    ]
    assert said(hellos(links, hood)) == {
        (LinkType.SYMMETRIC, NeighbourType.MPR, 20),
        (LinkType.SYMMETRIC, NeighbourType.SYMMETRIC, 21),
        (LinkType.ASYMMETRIC, NeighbourType.NOT, 22),
        (LinkType.LOST, NeighbourType.NOT, 23),
    }


def test_neighbours_on_other_interfaces_are_named_without_a_link() -> None:
    """6.2: by main address, so that those who hear this interface know of them."""
    hood = Neighbourhood(HERE)
    hood.settle(frozenset({20}), 0.0)
    links = [Link(ELSEWHERE, 220, 20, symmetric_until=LATER, heard_until=LATER)]
    assert said(hellos(links, hood)) == {(LinkType.UNSPECIFIED, NeighbourType.SYMMETRIC, 20)}


def test_neighbours_on_other_interfaces_are_named_with_the_quality_of_their_best_link() -> None:
    """olsrd takes nobody for a relay whose links have none: what comes from beyond would not be relayed to it."""
    hood = Neighbourhood(HERE)
    hood.settle(frozenset({20}), 0.0)
    links = [
        Link(ELSEWHERE, 220, 20, symmetric_until=LATER, heard_until=LATER, quality=0.8, neighbour_quality=0.4),
        Link(ELSEWHERE + 1, 221, 20, symmetric_until=LATER, heard_until=LATER, quality=0.2, neighbour_quality=0.2),
        Link(ELSEWHERE + 2, 222, 20, heard_until=LATER, quality=1.0),
    ]
    (hello,) = hellos(links, hood, with_quality=True)
    assert [group.qualities for group in hello.groups] == [(bytes((204, 102, 0, 0)),)]


def test_a_node_that_hears_nobody_still_says_hello() -> None:
    """Or nobody would ever hear of it."""
    assert hellos([], Neighbourhood(HERE)) == [Hello(5, 3, ())]


@given(st.integers(0, 120), st.integers(24, 200), st.booleans())
def test_a_large_neighbourhood_is_told_in_messages_that_fit(count: int, room: int, with_quality: bool) -> None:  # noqa: FBT001 - drawn
    """Nothing is left out, nothing is said twice, and no message is larger than its room."""
    links = [
        Link(HERE, 100 + n, 100 + n, heard_until=LATER, symmetric_until=LATER if n % 2 else 0.0) for n in range(count)
    ]
    made = hellos(links, Neighbourhood(HERE), room, with_quality=with_quality)
    assert len(said(made)) == count
    assert sum(len(group.addresses) for hello in made for group in hello.groups) == count
    for hello in made:
        _, body = Codec(4).encode_body(hello)
        assert len(body) - 4 <= room


@given(st.sets(st.integers(0, 5000), max_size=100), st.integers(8, 100))
def test_a_large_tc_is_told_in_parts(neighbours: set[int], room: int) -> None:
    """All parts have one number, and together they name everyone; without neighbours there is one that is empty."""
    made = speech.tcs(7, dict.fromkeys(neighbours, b"\0\0\0\0"), room=room, address_bytes=4, with_quality=False)
    assert {tc.ansn for tc in made} == {7}
    assert [each for tc in made for each in tc.neighbours] == sorted(neighbours)
    assert all(4 * len(tc.neighbours) <= room for tc in made)


def test_parts_of_an_lq_tc_say_where_they_begin_and_end() -> None:
    """olsrd reads each part alone: within its borders, who is not named is gone. Open ends are 255."""
    made = speech.tcs(7, dict.fromkeys((1, 2, 3, 7, 8), b"\0\0\0\0"), room=16, address_bytes=4, with_quality=True)
    assert [(tc.neighbours, tc.border) for tc in made] == [
        ((1, 2), (255, 1)), ((3, 7), (1, 4)), ((8,), (4, 255)),
    ]  # fmt: skip


def test_quality_is_told_in_255ths() -> None:
    """As olsrd writes it: what we hear, what they hear."""
    assert speech.quality_bytes(Link(HERE, 2, 2, quality=1.0, neighbour_quality=0.2)) == b"\xff\x33\0\0"
    assert speech.quality_bytes(None) == b"\0\0\0\0"


def test_a_node_with_one_interface_has_no_mid() -> None:
    """5.2."""
    assert speech.mids([], room=100, address_bytes=4) == []
    assert [mid.aliases for mid in speech.mids([5, 6, 7], room=8, address_bytes=4)] == [(5, 6), (7,)]
