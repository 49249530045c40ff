"""What role a node has, which broker it has chosen, and what a change of either obliges it to (report 3.3.4, 3.3.6).

An appointed broker serves at once and asks one adjoining broker for the tables (inheritance). A dismissed one keeps
them for a while, offers an adjoining broker what that one lacks (check-out), and drops them. A node that finds no
broker serves itself. A node that stops checks out first, and its last word is BYE.
"""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

from chapar.wire import Bye, Table
from chapard.core.effects import RoleRow
from chapard.core.power import Power
from chapard.core.roles import Duty, Role, Roles, Why, appointment, choose_broker, orphan_must_serve

if TYPE_CHECKING:
    from chapard.core.brokerage import Brokerage
    from chapard.core.checkout import CheckOut
    from chapard.core.fmt import FMT
    from chapard.core.integrity import Integrity
    from chapard.core.links import Links
    from chapard.core.memorised import Memorised
    from chapard.core.outlet import Outlet
    from chapard.core.station import Station
    from chapard.core.takeover import Takeover
    from chapard.core.trickle import Trickle

STOP_PERIODS = 4
"""Sync retries a node that stops waits for its tables to be taken over."""


class Office:
    """The role of one node. `reconsider` whenever view, peers or power have changed."""

    def __init__(
        self,
        station: Station,
        links: Links,
        outlet: Outlet,
        fmt: FMT,
        memorised: Memorised,
        brokerage: Brokerage,
        integrity: Integrity,
        checkout: CheckOut,
        takeover: Takeover,
        trickle: Trickle,
        now: float,
    ) -> None:
        self.roles = Roles(station.config.dismissal_time)
        self._station = station
        self._config = station.config
        self._links = links
        self._outlet = outlet
        self._fmt = fmt
        self._memorised = memorised
        self._brokerage = brokerage
        self._integrity = integrity
        self._checkout = checkout
        self._takeover = takeover
        self._trickle = trickle
        self._brokerless_since: float | None = now
        self.is_stopping = False
        self._stop_by: float | None = None

    @property
    def is_stopped(self) -> bool:
        """Whether nothing is left to do after `stop`."""
        return self.is_stopping and self._stop_by is None

    def stop(self, now: float) -> None:
        """Lay down the office: no broker from now on, and the tables go to those who stay."""
        self.is_stopping = True
        self._stop_by = now + STOP_PERIODS * self._config.sync_retry
        self.reconsider(now)
        self._duty(self.roles.dtt_over(now), now)

    def tick(self, now: float) -> None:
        """Do whatever is due."""
        self._duty(self.roles.tick(now), now)
        if self._checkout.deadline is not None and self._checkout.deadline <= now:
            self._checkout.start(now)
        if self._orphan_at() <= now:
            self.reconsider(now)

    def next_deadline(self) -> float:
        times = (self.roles.deadline, self._checkout.deadline, self._orphan_at(), self._stop_by)
        return min(time for time in times if time is not None)

    def reconsider(self, now: float) -> None:
        """View or peers have changed: which role, and which broker?"""
        saves_power = self._station.power is not Power.FULL
        why = Why.NONE if self.is_stopping else appointment(self._station, saves_power=saves_power)
        if why is Why.NONE and not self.is_stopping and self._serves_itself(now):
            why = Why.ORPHAN
        role_before, why_before = self.roles.role, self.roles.why
        duty = self.roles.consider(why, now)
        self._station.is_broker = self.roles.role is Role.BROKER
        if (self.roles.role, self.roles.why) != (role_before, why_before):
            self._outlet.emit(RoleRow(self.roles.role, self.roles.why))
        if self.roles.role is not role_before:
            self._trickle.prompt(now)
        self._choose_broker(now)
        self._duty(duty, now)

    def _serves_itself(self, now: float) -> bool:
        """Whether this node is its own broker for want of another."""
        if self.roles.role is Role.BROKER and self.roles.why is Why.ORPHAN:
            return orphan_must_serve(self._station)
        return self._orphan_at() <= now

    def _orphan_at(self) -> float:
        """When a node without a broker stops looking for one."""
        return inf if self._brokerless_since is None else self._brokerless_since + self._config.orphan_patience

    def _choose_broker(self, now: float) -> None:
        broker = choose_broker(self._station)
        if broker is None and self._brokerless_since is None:
            self._brokerless_since = now
        elif broker is not None:
            self._brokerless_since = None
        if broker != self._station.broker:
            self._station.broker = broker
            self._trickle.prompt(now)
            self._memorised.broker_changed(now)
            if self._checkout.deadline is not None:
                self._checkout.start(now)

    def _duty(self, duty: Duty | None, now: float) -> None:
        """What a change of role obliges to."""
        match duty:
            case Duty.INHERIT | Duty.RESUME:
                self._checkout.cancel()
                self._brokerage.hear_self(now)
                self._inherit(now, at_once=duty is Duty.INHERIT)
                self._brokerage.serve(now)
            case Duty.CHECK_OUT:
                self._outlet.emit(RoleRow(self.roles.role, self.roles.why))
                self._checkout.start(now)
                self.after_checkout(now)
            case Duty.DROP_TABLES:
                self._outlet.emit(RoleRow(self.roles.role, self.roles.why))
                self._checkout.cancel()
                self._brokerage.enter_held(now)
                self._fmt.clear()
                self._memorised.drop_tables()

    def _inherit(self, now: float, *, at_once: bool) -> None:
        """Ask one adjoining broker for the tables; with the others, and after a short dismissal, digests will tell.

        Who wants what must be known at once in any case.
        """
        strangers = self._station.strangers()
        brokers = sorted(self._station.adjoining_brokers(), key=lambda peer: peer.index in strangers)
        for place, peer in enumerate(brokers):
            if place == 0:
                self._takeover.begin(peer, now)
                self._integrity.inherit_from(peer, now, Table if at_once else (Table.FMT,))
            if place > 0 or not at_once:
                self._integrity.noticed(peer, now, is_new=False)

    def after_checkout(self, now: float) -> None:
        if self.roles.role is Role.CHECKING_OUT and self._checkout.is_done:
            self._duty(self.roles.checked_out(now), now)
        self.leave_if_done(now)

    def leave_if_done(self, now: float) -> None:
        """The last word of a node that stops: when its tables are safe, or there is nobody to have them."""
        if self._stop_by is None:
            return
        if not self.roles.holds_tables or not self._station.adjoining_brokers() or self._stop_by <= now:
            self._stop_by = None
            self._links.send_loose(None, Bye(self._station.index))
