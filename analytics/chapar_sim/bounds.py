"""The times the design promises, in one place: every checker takes its patience from here and nowhere else.

Each is an upper bound for a network that stopped changing, as a function of the protocol's periods, the diameter of the
network, the delay of its routing and the loss on its links. A run that needs longer has broken the promise; a promise
that needs longer is changed here, in the open.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from chapard.core.config import Config

RARE: Final = 1e-5
"""Probability that is taken for never: a message is bound to arrive within so many tries that all fail with it."""
MOST_FAR_LOSS: Final = 0.6
"""Loss over several hops beyond which links of a tree come and go."""
OVERLAY_REFRESHES: Final = 3
"""Refresh periods after which all that stands over the links of a tree is right again, whatever was in the tables."""
OVERLAY_REFRESHES_OF_AUTO: Final = 65
"""The same where whole classes may be flooded: interest in them is refreshed more rarely, at the worst after 64."""
TRANSIT_SLACK: Final = 1.0
"""Seconds per hop by which an event may outlive its lifetime: that travels as remaining time, transit not counted."""


def tries(loss: float) -> int:
    """Attempts of which one arrives over what loses so much, as surely as anything here is sure."""
    if loss <= 0:
        return 1
    return max(2, math.ceil(math.log(RARE) / math.log(min(loss, 0.9))))


def olsr_convergence(hello_interval: float, tc_interval: float, *, nodes: int, loss: float) -> float:
    """Until the OLSR agents of a network that stands still know it, and no longer believe what was before.

    A new link counts after three HELLOs (RFC 3626, 14) and is symmetric with the next; one more tells those two hops
    away, and one the chosen relays; up to one interval passes before the first. A link that is gone is given up sooner
    (18.3). What a TC says is believed for three intervals, and the next one may be as long in coming; each relay
    holds it back for up to a quarter of a HELLO interval (3.4.1). What is lost on its way is said again.
    """
    again = tries(1 - (1 - loss) ** (nodes - 1)) if loss > 0 else 0
    return (7 + again) * hello_interval + (4 + again) * tc_interval + nodes * hello_interval / 4


@dataclass(frozen=True, slots=True)
class Bounds:
    """The promised times, in seconds, for one configuration over one kind of network."""

    config: Config
    convergence: float = 0.0
    """The longest time routing takes to tell a node of a change."""
    loss: float = 0.0
    """The highest loss on any link, 0..1."""
    delay: float = 0.0
    """The longest a datagram is on its way over one link."""
    drift: float = 0.0
    """The largest error of a clock's rate."""
    jumps: float = 0.0
    """All jumps of clocks together, in seconds: an event that met every such clock has lost that much of its life."""
    pauses: float = 0.0
    """All pauses of daemons together, in seconds: a frame may have waited that long to be looked at."""

    def tries(self) -> int:
        """Attempts of which one arrives over any link."""
        return tries(self.loss)

    def session(self) -> float:
        """Between a client and the daemon of its node: until a request is taken, or a waiting event is handed over."""
        return 1.0 + 2 * self.config.session_retry

    def drain(self) -> float:
        """How long a client must be ON for all that waits in its queue to reach it."""
        windows = math.ceil(self.config.session_queue / self.config.session_window)
        return 2 * self.session() + 0.01 * min(windows, 100)

    def local(self) -> float:
        """Until a client of the publisher's own node has an event in its queue, whatever the network does."""
        return self.session() + self.config.order_patience

    def roles(self) -> float:
        """Until every node has the role that the network gives it: routing, then beacons to tell the neighbours."""
        return self.convergence + 2 * self.config.beacon_min + self.config.orphan_patience

    def hop(self) -> float:
        """Until what one broker holds is held by its adjacent broker: a beacon, then an exchange with repetitions."""
        repairs = math.ceil(self.tries() / 4) if self.loss > 0 else 0
        return self.config.beacon_min + self.config.sync_delay + 8 * self.delay + repairs * self.config.sync_retry

    def silence(self) -> float:
        """How long, in bad luck, nothing is heard from a neighbour that is there: some refresh periods."""
        return self.config.refresh_period * math.ceil(self.tries() / 3)

    def spread(self, diameter: int) -> float:
        """Until every broker of a network in which all have their roles holds what a home of it has to say."""
        return self.silence() + (diameter + 1) * self.hop()

    def settle(self, diameter: int) -> float:
        """Until every broker of an unchanged network holds what any of them, or a publisher's home, held."""
        return self.roles() + self.spread(diameter)

    def check_out(self) -> float:
        """Until a dismissed broker has handed over what only it held."""
        return self.config.dismissal_time + self.tries() * self.config.sync_retry + self.silence()

    def deliver(self, diameter: int) -> float:
        """Until a home has what its chosen broker can serve it, once all brokers hold the event."""
        serving = self.config.serve_retry * self.tries() + self.config.order_patience + self.config.delivered_delay
        return self.silence() + self.hop() + serving + self.crossing(diameter)

    def crossing(self, diameter: int) -> float:
        """Until an event has crossed the network hop by hop, each loss repaired."""
        repairs = math.ceil(self.tries() / 3) if self.loss > 0 else 0
        return (diameter + 1) * (repairs * 2 * self.config.retry_first + self.delay)

    def table_refreshes(self, diameter: int) -> int:
        """Refresh periods after the last fault within which every broker's tables equal the homes' truth."""
        return math.ceil(self.settle(diameter) / self.config.refresh_period) + 1

    def tables(self, diameter: int) -> float:
        """The same in seconds."""
        return self.table_refreshes(diameter) * self.config.refresh_period

    def lease(self) -> float:
        """Until filters of a home nobody hears of are gone everywhere: a lease, then leases while routing sees it."""
        leases = 1 + max(1, math.ceil(self.convergence / self.config.subscription_lease))
        return leases * self.config.subscription_lease * (1 + self.drift) + 2 * self.config.refresh_period

    # On a tree of brokers, whose links may span as many hops as the network has

    def overlay_up(self, diameter: int) -> float:
        """Until the links of the tree in an unchanged network are up, and what was said before it is void."""
        beacons = self.config.refresh_period * math.ceil(tries(self._far_loss(diameter)) / 3)
        given_up = self.config.hop_patience + self.config.sync_retry
        return self.convergence + given_up + beacons + 2 * self.overlay_crossing(1, diameter)

    def overlay_recovery(self) -> float:
        """Until what stands over the links of the tree is right again after corruption; what follows takes a spread."""
        routing = self.config.routing
        periods = OVERLAY_REFRESHES_OF_AUTO if routing.algorithm == "auto" else OVERLAY_REFRESHES
        return periods * routing.refresh_period * (1 + self.drift)

    def overlay_spread(self, brokers: int, diameter: int) -> float:
        """Until what a client wants is known, and what matches is there, in a region of so many brokers."""
        gathered = brokers * self.config.routing.merge_delay
        return 1.0 + 3 * gathered + 4 * self.overlay_crossing(brokers, diameter) + self.config.serve_retry

    def overlay_crossing(self, brokers: int, diameter: int) -> float:
        """Until an event has crossed a region of so many brokers, each loss repaired."""
        loss = self._far_loss(diameter)
        if loss > MOST_FAR_LOSS:
            return math.inf
        repairs = tries(loss) if loss > 0 else 0
        return brokers * (repairs * self.config.retry_max + diameter * self.delay)

    def _far_loss(self, diameter: int) -> float:
        """The loss over so many hops, which nobody repairs on the way."""
        return 1 - (1 - self.loss) ** diameter

    def shortest_life(self, lifetime: float) -> float:
        """How long an event is kept at least, whatever clocks it meets."""
        return lifetime * (1 - self.drift) - self.jumps

    def longest_life(self, lifetime: float, hops: int) -> float:
        """How long after its home took it an event may still be handed to an application."""
        return lifetime * (1 + self.drift) + (hops + 1) * (TRANSIT_SLACK + self.delay) + self.pauses + self.session()
