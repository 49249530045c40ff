"""Telling: interest messages keep their meaning and their order on the wire."""

from __future__ import annotations

from random import Random

import pytest

from chapar import Filter
from chapar.wire import InterestFrame, Word, decode_untrusted, encode
from chapard.core.overlay.filter_class import class_of, whole
from chapard.core.overlay.interest import Change, Interest, Subscriber, Tell, Topic
from chapard.core.overlay.telling import PER_FRAME, meaning, packed

SAYABLE = [
    (topic, change)
    for topic, changes in {
        Topic.SUBSCRIPTIONS: (Change.SUBSCRIBE, Change.UNSUBSCRIBE, Change.REFRESH),
        Topic.ADVERTISEMENTS: (Change.ADVERTISE, Change.UNADVERTISE, Change.REFRESH),
    }.items()
    for change in changes
]


def unpacked(link: int, frame: InterestFrame) -> list[Tell]:
    topic, change = meaning(frame.word)
    whose: list[Subscriber | None] = [Subscriber(*each) for each in frame.subscribers]
    whose = whose or [None] * len(frame.filters)
    return [Tell(link, topic, change, Interest(*each)) for each in zip(frame.filters, whose, strict=True)]


@pytest.mark.parametrize("word", list(Word))
def test_every_word_means_one_thing(word: Word) -> None:
    """A topic and a change each, and all that can be said has a word."""
    assert meaning(word) in SAYABLE
    assert len({meaning(each) for each in Word}) == len(SAYABLE) == len(Word)


@pytest.mark.parametrize("seed", range(20))
def test_what_is_packed_comes_out_as_it_went_in(seed: int) -> None:
    """On each link, over the wire, every message in its place, with its subscriber if it has one, or a whole class."""
    rng = Random(seed)
    tells = []
    for number in range(60):
        topic, change = rng.choice(SAYABLE[: rng.randint(1, 6)])
        interest = Interest(Filter(subject=f"s{number}"), Subscriber(3, f"c{number}") if rng.random() < 0.2 else None)
        if rng.random() < 0.2:
            interest = whole(class_of(interest.filter))
        tells.append(Tell(rng.choice((1, 2)), topic, change, interest))
    arrived = []
    for link, frame in packed(7, tells):
        [decoded] = decode_untrusted(encode(frame))
        assert isinstance(decoded, InterestFrame)
        arrived += unpacked(link, decoded)
    for link in (1, 2):
        assert [each for each in arrived if each.link == link] == [each for each in tells if each.link == link]


def test_refreshes_share_frames() -> None:
    """So many in one, and what is left in another."""
    filters = [Filter(subject=f"s{number}") for number in range(PER_FRAME + 3)]
    tells = [Tell(1, Topic.SUBSCRIPTIONS, Change.REFRESH, Interest(each)) for each in filters]
    assert [len(frame.filters) for _, frame in packed(7, tells)] == [PER_FRAME, 3]
