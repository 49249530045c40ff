"""Link sensing (RFC 3626, section 7) with hysteresis (section 14): whose interfaces can be heard, and hear us.

A link is made by the first HELLO. It is *asymmetric* while we hear the other end, and *symmetric* while the other end
also says that it hears us. With hysteresis it counts only after its quality has risen above a threshold, and is *lost*
when it falls below another; quality rises with each packet received and falls with each one missed, known by a gap in
the packet sequence numbers or by silence.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from math import inf
from typing import TYPE_CHECKING, Final

from chapar_olsr.agent import sequence
from chapar_olsr.agent.messages import LinkType

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chapar_olsr.agent.config import AgentConfig

HYST_SCALING: Final = 0.5
HYST_HIGH: Final = 0.8
HYST_LOW: Final = 0.3
"""RFC 3626, 18.9."""
LQ_SCALING: Final = 0.1
"""How fast the measured quality of a link follows its losses: half of a change is seen after seven packets."""
MAX_LINKS: Final = 512
"""Neighbour interfaces: more than any radio serves, less than anyone could fill our memory with."""
MAX_GAP: Final = 16
"""Missing packets that one gap counts for; a node that restarts jumps by any number."""


class Heard(Enum):
    """What came of a HELLO for its link."""

    NEW = "new"
    KNOWN = "known"
    FULL = "full"


@dataclass(slots=True)
class Link:
    """One link tuple (RFC 3626, 4.2.1). Times are when something ceases to hold."""

    local: int
    remote: int
    neighbour: int
    """Main address of the node at the other end."""
    symmetric_until: float = -inf
    heard_until: float = -inf
    until: float = -inf
    lost_until: float = -inf
    is_pending: bool = False
    quality: float = 0.0
    """What part of the other end's packets arrives here."""
    neighbour_quality: float = 0.0
    """What part of ours arrives there, as it says in an LQ_HELLO."""
    last_packet: int | None = None
    silence_at: float = inf
    """When the next HELLO is overdue, which counts as a packet missed."""
    hello_interval: float = 0.0

    def is_symmetric(self, now: float) -> bool:
        """RFC 3626, 14: neither lost nor pending, and heard both ways."""
        return self.symmetric_until > now and self.lost_until <= now and not self.is_pending

    def link_type(self, now: float) -> LinkType | None:
        """What a HELLO says of it (RFC 3626, 6.2 and 14.1); None: nothing."""
        if self.lost_until > now:
            return LinkType.LOST
        if self.is_pending:
            return None
        if self.symmetric_until > now:
            return LinkType.SYMMETRIC
        return LinkType.ASYMMETRIC if self.heard_until > now else LinkType.LOST


class LinkSet:
    """The links of one node, by local and remote interface address."""

    def __init__(self, config: AgentConfig) -> None:
        self._config = config
        self._links: dict[tuple[int, int], Link] = {}

    def __iter__(self) -> Iterator[Link]:
        return iter(self._links.values())

    def __len__(self) -> int:
        return len(self._links)

    def get(self, local: int, remote: int) -> Link | None:
        return self._links.get((local, remote))

    def packet_received(self, local: int, remote: int, number: int, now: float) -> None:
        """A packet of a known link has come (RFC 3626, 14.3)."""
        link = self._links.get((local, remote))
        if link is None:
            return
        if link.last_packet is not None:
            if link.last_packet == number:  # heard twice
                return
            for _ in range(min(sequence.gap(number, link.last_packet), MAX_GAP)):
                self._missed(link, now)
        link.last_packet = number
        self._arrived(link, now)

    def hello_received(
        self,
        local: int,
        remote: int,
        neighbour: int,
        *,
        says: LinkType | None,
        validity: float,
        interval: float,
        packet: int,
        now: float,
    ) -> Heard:
        """A HELLO has come in (7.1.1). `says` is what it declares of the link to us, None if it names us not."""
        link = self._links.get((local, remote))
        heard = Heard.KNOWN
        if link is None:
            if len(self._links) >= MAX_LINKS:
                return Heard.FULL
            link = self._new(local, remote, neighbour, packet)
            heard = Heard.NEW
        link.neighbour = neighbour
        link.heard_until = now + validity
        if says is LinkType.LOST:
            link.symmetric_until = -inf
        elif says in (LinkType.SYMMETRIC, LinkType.ASYMMETRIC):
            link.symmetric_until = now + validity
        # The hold time lets the loss be told to the other end (7.1.1).
        link.until = max(link.until, link.heard_until, link.symmetric_until + self._config.neighbour_hold)
        link.hello_interval = interval
        # Half an interval of grace: the other end jitters its HELLOs.
        link.silence_at = now + 1.5 * interval if interval > 0 else inf
        return heard

    def tick(self, now: float) -> list[Link]:
        """Count silence, and forget links that are over; returns these."""
        for link in self._links.values():
            while link.silence_at <= now:
                link.silence_at += max(link.hello_interval, self._config.hello_interval / 8)
                self._missed(link, now)
        over = [link for link in self._links.values() if link.until <= now]
        for link in over:
            del self._links[link.local, link.remote]
        return over

    def deadline(self, now: float) -> float:
        """When anything about a link changes by itself. Asked with every packet, so this is one plain loop."""
        earliest = inf
        for link in self._links.values():
            if link.until < earliest:
                earliest = link.until
            for time in (link.symmetric_until, link.heard_until, link.lost_until, link.silence_at):
                if now < time < earliest:
                    earliest = time
        return earliest

    # Quality

    def _new(self, local: int, remote: int, neighbour: int, packet: int) -> Link:
        link = self._links[local, remote] = Link(local, remote, neighbour, last_packet=packet)
        link.is_pending = self._uses_hysteresis
        link.quality = HYST_SCALING if self._uses_hysteresis else 1.0
        return link

    @property
    def _uses_hysteresis(self) -> bool:
        return self._config.hysteresis and not self._config.link_quality

    @property
    def _scaling(self) -> float:
        return LQ_SCALING if self._config.link_quality else HYST_SCALING

    def _arrived(self, link: Link, now: float) -> None:
        link.quality = (1 - self._scaling) * link.quality + self._scaling
        self._judge(link, now)

    def _missed(self, link: Link, now: float) -> None:
        link.quality = (1 - self._scaling) * link.quality
        self._judge(link, now)

    def _judge(self, link: Link, now: float) -> None:
        """RFC 3626, 14.2."""
        if not self._uses_hysteresis:
            return
        if link.quality > HYST_HIGH:
            link.is_pending = False
            link.lost_until = -inf
        elif link.quality < HYST_LOW and not link.is_pending:
            link.is_pending = True
            link.lost_until = min(link.until, now + self._config.neighbour_hold)
