"""What a node says about itself: discovery, lease refresh and step (a) of the integrity check in one small frame."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chapar.wire import NO_BROKER, Beacon, BeaconFlag
from chapard.core.nodevector import NodeVector
from chapard.core.power import FLAG

if TYPE_CHECKING:
    from chapard.core.fmt import FMT
    from chapard.core.interests import Interests
    from chapard.core.met import MET
    from chapard.core.power import Power
    from chapard.core.station import Station


def compose(
    station: Station,
    interests: Interests,
    fmt: FMT,
    met: MET,
    *,
    power: Power,
    acks: tuple[tuple[int, int, int], ...],
    now: float,
) -> Beacon:
    """The beacon of this moment. Digests of the tables are a broker's to state; relays, where routing states none."""
    flags = FLAG[power]
    flags |= BeaconFlag.BROKER if station.is_broker else 0
    flags |= BeaconFlag.SOLICIT if station.is_looking(now) else 0
    nodes = station.config.nodes
    neighbours = NodeVector.of((node for node in station.view.neighbours if node < nodes), nodes)
    relays = station.relays if station.view.mprs is None else ()
    return Beacon(
        sender=station.index,
        incarnation=station.incarnation,
        flags=int(flags),
        broker=NO_BROKER if station.broker is None else station.broker,
        version=interests.version,
        digest=interests.digest,
        neighbours=neighbours.to_wire(),
        relays=NodeVector.of((node for node in relays if node < nodes), nodes).to_wire(),
        fmt_count=len(fmt) if station.is_broker else 0,
        fmt_digest=fmt.tree.root if station.is_broker else 0,
        met_count=len(met) if station.is_broker else 0,
        met_digest=met.tree.root if station.is_broker else 0,
        acks=acks,
    )
