"""Interest messages as they travel: what a broker has to tell, as frames that share datagrams, and back."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from chapar.wire import InterestFrame, Word
from chapard.core.overlay.interest import Change, Topic

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from chapard.core.overlay.interest import Tell

PER_FRAME: Final = 16
"""Interest messages of one frame: with filters of some size still less than a datagram."""
_WORDS: Final[Mapping[tuple[Topic, Change], Word]] = MappingProxyType(
    {
        (Topic.SUBSCRIPTIONS, Change.SUBSCRIBE): Word.SUBSCRIBE,
        (Topic.SUBSCRIPTIONS, Change.UNSUBSCRIBE): Word.UNSUBSCRIBE,
        (Topic.SUBSCRIPTIONS, Change.REFRESH): Word.REFRESH,
        (Topic.ADVERTISEMENTS, Change.ADVERTISE): Word.ADVERTISE,
        (Topic.ADVERTISEMENTS, Change.UNADVERTISE): Word.UNADVERTISE,
        (Topic.ADVERTISEMENTS, Change.REFRESH): Word.READVERTISE,
    }
)
_MEANINGS: Final[Mapping[int, tuple[Topic, Change]]] = MappingProxyType(
    {int(word): meaning for meaning, word in _WORDS.items()}
)


def packed(sender: int, tells: Iterable[Tell]) -> Iterator[tuple[int, InterestFrame]]:
    """The frames that say all this, each with its link, and on each link in the order in which it is to be said."""
    for link, said in _by_link(tells).items():
        start = 0
        while start < len(said):
            first, end = said[start], start + 1
            while end < len(said) and end - start < PER_FRAME and _is_alike(said[end], first):
                end += 1
            interests = [each.interest for each in said[start:end]]
            subscribers = tuple((who.home, who.client) for _, who in interests if who is not None)
            word = int(_WORDS[first.topic, first.change])
            yield link, InterestFrame(sender, word, subscribers, tuple(filter_ for filter_, _ in interests))
            start = end


def meaning(word: int) -> tuple[Topic, Change]:
    """What the word of a frame says of which table."""
    return _MEANINGS[word]


def _by_link(tells: Iterable[Tell]) -> dict[int, list[Tell]]:
    found: dict[int, list[Tell]] = {}
    for tell in tells:
        found.setdefault(tell.link, []).append(tell)
    return found


def _is_alike(one: Tell, other: Tell) -> bool:
    """Whether two messages fit into one frame."""
    alike = (one.topic, one.change) == (other.topic, other.change)
    return alike and (one.interest.subscriber is None) == (other.interest.subscriber is None)
