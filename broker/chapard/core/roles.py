"""Who is a broker: appointment, dismissal, and what happens to the tables in between (report 3.3.4, 3.3.6).

A node is appointed by the first rule of `appointment` that holds. What follows is a machine of four states:

    REGULAR       holds no tables but its own events
    BROKER        holds the tables and serves
    DISMISSED     serves no more, but keeps its tables for DTT in case it is appointed again
    CHECKING_OUT  DTT is over: it offers what it holds to a broker and waits until that one has it all

The report lets a node drop its tables once it has sent them (3.3.6); here it drops them once a broker confirmed.
"""

from __future__ import annotations

from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from chapard.core.station import Station


class Role(StrEnum):
    REGULAR = "regular"
    BROKER = "broker"
    DISMISSED = "dismissed"
    CHECKING_OUT = "checking_out"


class Why(StrEnum):
    """The rule that appointed a broker, or none."""

    ALONE = "alone"
    MPR = "mpr"
    MESH = "mesh"
    REPLICA = "replica"
    BRIDGE = "bridge"
    ORPHAN = "orphan"
    TREE = "tree"
    """`routing.mode`: on a tree of brokers, every node is one."""
    NONE = "none"


class Cause(StrEnum):
    """What moves the machine."""

    APPOINTED = "appointed"
    RELIEVED = "relieved"
    DTT_OVER = "dtt_over"
    CHECKED_OUT = "checked_out"


class Duty(StrEnum):
    """What the node has to do on a transition."""

    INHERIT = "inherit"
    KEEP_TABLES = "keep_tables"
    CHECK_OUT = "check_out"
    DROP_TABLES = "drop_tables"
    RESUME = "resume"


TRANSITIONS: Final = MappingProxyType(
    {
        (Role.REGULAR, Cause.APPOINTED): (Role.BROKER, Duty.INHERIT),
        (Role.BROKER, Cause.RELIEVED): (Role.DISMISSED, Duty.KEEP_TABLES),
        (Role.DISMISSED, Cause.APPOINTED): (Role.BROKER, Duty.RESUME),
        (Role.DISMISSED, Cause.DTT_OVER): (Role.CHECKING_OUT, Duty.CHECK_OUT),
        (Role.CHECKING_OUT, Cause.APPOINTED): (Role.BROKER, Duty.RESUME),
        (Role.CHECKING_OUT, Cause.CHECKED_OUT): (Role.REGULAR, Duty.DROP_TABLES),
    }
)
"""Every other pair of role and cause changes nothing."""


class Roles:
    """The role of one node. `consider` after every change of view or peers; `tick` when `deadline` has come."""

    def __init__(self, dismissal_time: float) -> None:
        self.role = Role.REGULAR
        self.why = Why.NONE
        self.deadline: float | None = None
        self._dismissal_time = dismissal_time

    @property
    def holds_tables(self) -> bool:
        return self.role is not Role.REGULAR

    def consider(self, why: Why, now: float) -> Duty | None:
        """Take the verdict of the appointment rules."""
        self.why = why
        return self._move(Cause.RELIEVED if why is Why.NONE else Cause.APPOINTED, now)

    def tick(self, now: float) -> Duty | None:
        if self.deadline is None or self.deadline > now:
            return None
        return self.dtt_over(now)

    def dtt_over(self, now: float) -> Duty | None:
        """Whoever is dismissed waits no longer: DTT has passed, or the node stops."""
        return self._move(Cause.DTT_OVER, now)

    def checked_out(self, now: float) -> Duty | None:
        return self._move(Cause.CHECKED_OUT, now)

    def _move(self, cause: Cause, now: float) -> Duty | None:
        to = TRANSITIONS.get((self.role, cause))
        if to is None:
            return None
        self.role, duty = to
        self.deadline = now + self._dismissal_time if self.role is Role.DISMISSED else None
        return duty


def appointment(station: Station, *, saves_power: bool) -> Why:
    """The rule of report 3.3.4 that makes this node a broker, or `Why.NONE`.

    A relay cannot decline: without it the broker network falls apart. Where nodes are elected, those that save power
    stand back as long as another can serve.

    To the report's rules one is added: who hears a node to which routing knows no way is a bridge between two parts of
    the network, and passes on between them what is kept, seconds before routing can appoint its relays there.
    """
    view = station.view
    if not view.neighbours:
        return Why.ALONE
    if station.selectors():
        return Why.MPR
    widest = station.widest()
    candidates = _candidates(station, saves_power=saves_power)
    if widest == 1 and not station.relays and station.index in candidates[: station.config.broker_min]:
        return Why.MESH
    if widest == 2 and len(station.relays) == 1:
        # (3.18): one MPR only, so the lowest other node is its replica.
        others = [node for node in candidates if node not in station.relays]
        if others[:1] == [station.index]:
            return Why.REPLICA
    return Why.BRIDGE if station.strangers() else Why.NONE


def _candidates(station: Station, *, saves_power: bool) -> list[int]:
    """Available nodes that may be elected, by index; all of them if every one saves power."""
    weak = {peer.index for peer in station.peers if peer.saves_power}
    if saves_power:
        weak.add(station.index)
    nodes = station.available.indexes()
    return [node for node in nodes if node not in weak] or nodes


def orphan_must_serve(station: Station) -> bool:
    """Whether a node that found no broker goes on serving itself: until it hears its relay, or one of a lower index.

    A relay is a broker by right, and stays one; among stand-ins the lowest remains.
    """
    return not any(peer.index < station.index or peer.index in station.relays for peer in station.adjoining_brokers())


def choose_broker(station: Station) -> int | None:
    """The broker for this node: itself, else the present one if it still serves, the nearest, a relay, the lowest."""
    if station.is_broker:
        return station.index
    brokers = [peer.index for peer in station.adjoining_brokers()]
    if station.broker in brokers and station.is_adjacent(station.broker):
        return station.broker
    return min(brokers, key=lambda b: (not station.is_adjacent(b), b not in station.relays, b), default=None)
