"""How a network is run: where interest and events go. `routing.mode` chooses among the strategies.

    replicated      every broker knows who wants what (`chapar`)
    overlay.broker  interest and events follow the links of a tree of brokers (`tree`)

A strategy is told what changes, and answers with frames to the links and effects to the outlet. It keeps the memorised
events, and makes the home that serves its clients from them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from random import Random

    from chapar.wire import Beacon, Frame
    from chapard.core.fmt import FMT
    from chapard.core.home import Home
    from chapard.core.links import Links
    from chapard.core.met import MET
    from chapard.core.outlet import Outlet
    from chapard.core.peers import Peer
    from chapard.core.roles import Role, Why
    from chapard.core.station import Station
    from chapard.core.store import Store
    from chapard.core.trickle import Trickle

Handlers = dict[type[Any], "Callable[[Any, float], None]"]


class Parts(NamedTuple):
    """What all strategies work with."""

    station: Station
    links: Links
    outlet: Outlet
    store: Store
    trickle: Trickle
    rng: Random


class Strategy(Protocol):
    """One way to run a network."""

    @property
    def home(self) -> Home: ...
    @property
    def met(self) -> MET: ...

    @property
    def fmt(self) -> FMT:
        """Who wants what, home by home, as far as this strategy keeps it so."""

    @property
    def role(self) -> Role: ...
    @property
    def why(self) -> Why: ...

    def sizes(self) -> dict[str, tuple[int, int]]:
        """Its bounded tables: how much is used, and the limit."""

    # What happens

    def handlers(self) -> Handlers:
        """The frames it takes, and what acts on each kind."""

    def restore(self, saved: Mapping[str, bytes], now: float) -> None:
        """Take up what was saved before a restart; the home has done so."""

    def reconsider(self, now: float) -> None:
        """Routes, peers or power have changed."""

    def contact(self, peer: int, now: float) -> None:
        """A peer, or a new incarnation of one: what an earlier one was told does not count any more."""

    def hear(self, beacon: Beacon, before: Peer | None, now: float) -> None:
        """A peer has said how it stands; `before` is what was known of it."""

    def hand_over(self, now: float) -> None:
        """What the home has for others goes on its way."""

    def take_back(self, peer: int, frame: Frame, now: float, *, is_dead: bool) -> None:
        """A frame comes back unconfirmed, as the peer is dead or no longer next."""

    def saved(self, number: int, now: float) -> None:
        """What was saved up to this mark is on the disk."""

    def stop(self, now: float) -> None:
        """Begin to leave; `is_stopped` tells when that is done."""

    @property
    def is_stopped(self) -> bool: ...

    # Time

    def beacon(self, acks: tuple[tuple[int, int, int], ...], now: float) -> Beacon:
        """What this node has to say of itself now."""

    def beacon_targets(self, now: float) -> list[int | None]:
        """Who must get it: all in range (None), and nodes that no broadcast reaches."""

    def tick(self, now: float) -> None:
        """Do whatever is due."""

    def settle(self, now: float) -> None:
        """The end of a round: finish what can be finished now."""

    def next_deadline(self) -> float | None: ...
