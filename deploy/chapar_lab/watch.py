"""What is seen of a running daemon from outside, now and then: when its routes changed, and what it lost.

A page tells the state of now, so what happened in between has happened at some time since the look before: changes of
routes are noted at both ends of that time, and losses as long ago as the daemon says.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from chapar.event import event_id
from chapar.filter import Filter
from chapar_sim.trace import RecordedLoss, Reroute, Snapshot

if TYPE_CHECKING:
    from collections.abc import Mapping

    from chapar_lab.node import Node
    from chapar_sim.trace import Trace


class Watch:
    """Looks at one node."""

    def __init__(self, node: Node, trace: Trace) -> None:
        self._node = node
        self._trace = trace
        self._life = 0
        self._routes = 0
        self._looked = 0.0
        self._losses = 0
        self.is_broker: bool | None = None
        """When it last answered."""
        self.broker: int | None = None

    async def look(self, now: float) -> None:
        """Ask the daemon, and enter into the trace what is new. `now` is the time of the run."""
        status = await self._node.status()
        if status is None:
            return
        self.is_broker = status["role"]["role"] == "broker"
        self.broker = status["role"]["broker"]
        life, routes = status["node"]["incarnation"], status["routes"]["version"]
        if life != self._life:
            self._losses = 0
        elif routes != self._routes:
            self._trace.reroutes += [Reroute(self._looked, self._node.index), Reroute(now, self._node.index)]
        self._life, self._routes, self._looked = life, routes, now
        if sum(status["losses"].values()) or status["drops"]:
            await self._look_at_losses(now)

    async def _look_at_losses(self, now: float) -> None:
        page = await self._node.status("losses")
        if page is not None and page["total"] > self._losses:
            new = [each for each in page["losses"] if each["number"] > self._losses]
            self._trace.losses += [_loss(now, self._node.index, each) for each in reversed(new)]
            self._losses = page["total"]

    async def snapshot(self, now: float) -> Snapshot | None:
        """Its tables, and into the trace what this life of it has dropped; None if it does not run."""
        status = await self._node.status()
        fmt, met = await self._node.status("fmt"), await self._node.status("met")
        if status is None or fmt is None or met is None:
            return None
        for reason, count in status["drops"].items():
            self._trace.drops[self._node.index, reason] += count
        self._trace.messages.update(status.get("routing", {}).get("sent", {}))
        return Snapshot(
            now,
            self._node.index,
            status["role"]["role"] == "broker",
            {home["home"]: frozenset(map(Filter.parse, home["filters"])) for home in fmt["homes"]},
            {event_id(*map(int, each["id"].split("."))): frozenset(each["delivered"]) for each in met["events"]},
            {name: (used, limit) for name, (used, limit) in status["sizes"].items()},
        )


def in_order(trace: Trace) -> None:
    """Sort what was noted node by node."""
    trace.reroutes.sort(key=lambda row: row.t)
    trace.losses.sort(key=lambda row: row.t)


def _loss(now: float, node: int, loss: Mapping[str, Any]) -> RecordedLoss:
    event = event_id(*map(int, loss["id"].split(".")))
    return RecordedLoss(max(0.0, now - loss["seconds_ago"]), node, event, tuple(loss["homes"]), loss["reason"])

