"""The network as daemons recorded it, moment by moment: their next hops, and who is a broker."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from pyspark.sql import functions as f

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from chapar_audit.recorded import Recorded

MOST_ROUTES: Final = 2_000_000
"""Rows that are looked at one by one."""
BROKER: Final = "broker"


class Step(NamedTuple):
    """One node's next hop to a destination from this time on; None, if there is none any more."""

    ts_us: int
    node: int
    destination: int
    next_hop: int | None


class Turn(NamedTuple):
    """A node becomes a broker, or is one no more."""

    ts_us: int
    node: int
    is_broker: bool


class Network:
    """To be asked about one time after the other."""

    def __init__(self, steps: Iterable[Step], turns: Iterable[Turn], daemons: Iterable[int]) -> None:
        self.next_hops: dict[int, dict[int, int]] = {}
        """By node and destination. A next hop without a daemon is skipped: what is for the destination goes there."""
        self.brokers: set[int] = set()
        self._daemons = frozenset(daemons)
        self._steps = sorted(steps, key=lambda each: each.ts_us)
        self._turns = sorted(turns, key=lambda each: each.ts_us)
        self._step = self._turn = 0

    def until(self, ts_us: int) -> None:
        """Take in everything up to this time."""
        while self._step < len(self._steps) and self._steps[self._step].ts_us <= ts_us:
            _, node, destination, next_hop = self._steps[self._step]
            of_node = self.next_hops.setdefault(node, {})
            if next_hop is None:
                of_node.pop(destination, None)
            else:
                of_node[destination] = next_hop if next_hop in self._daemons else destination
            self._step += 1
        while self._turn < len(self._turns) and self._turns[self._turn].ts_us <= ts_us:
            _, node, is_broker = self._turns[self._turn]
            (self.brokers.add if is_broker else self.brokers.discard)(node)
            self._turn += 1


def network(recorded: Recorded, destinations: Sequence[int]) -> Network | None:
    """As far as it leads to these destinations; None if that is too much."""
    routes = recorded.tables["routes"].where(f.col("destination").isin(*destinations))
    rows = routes.select("ts_us", "node", "destination", "next_hop").limit(MOST_ROUTES + 1).collect()
    if len(rows) > MOST_ROUTES:
        return None
    roles = recorded.tables["roles"].select("ts_us", "node", (f.col("role") == BROKER).alias("is_broker"))
    return Network((Step(*row) for row in rows), (Turn(*row) for row in roles.collect()), recorded.settings)
