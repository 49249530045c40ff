"""The parameters of an OLSR agent, with RFC 3626's own values (section 18) as defaults."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from chapar_olsr import mpr

HOLD_INTERVALS: Final = 3
"""Intervals after which what was not heard again is gone (RFC 3626, 18.3)."""
DUPLICATE_HOLD: Final = 30.0
"""Seconds for which a message is remembered, so that it is neither read nor relayed twice."""
SHORTEST_INTERVAL: Final = 0.0625
"""Seconds: what a Vtime can say, and the least that makes sense on a radio."""
LONGEST_INTERVAL: Final = 600.0
"""Seconds: three of them fit a Vtime."""
ALL_NEIGHBOURS: Final = 2
"""The most that a TC can name (RFC 3626, 15.1)."""
IPV4_BYTES: Final = 4
IPV6_BYTES: Final = 16


class ConfigError(ValueError):
    """A parameter that cannot work; the message is one line that names it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentConfig:
    """How one agent behaves. Times are seconds. Making one checks it."""

    address_bytes: int = IPV4_BYTES
    hello_interval: float = 2.0
    tc_interval: float = 5.0
    mid_interval: float = 5.0
    """Only a node with several interfaces has MID messages to send."""
    willingness: int = mpr.DEFAULT
    """To relay for others: 0 never, 7 always."""
    tc_redundancy: int = 1
    """What a TC names (RFC 3626, 15): 0 those who chose us, 1 also whom we chose, 2 all neighbours. The RFC's own,
    0, is enough for its routes and cheapest; but olsrd routes over a link only if both ends name it. With
    `link_quality` it is always 2."""
    hysteresis: bool = False
    """Whether a link must prove itself before it counts, and is given up when two HELLOs in a row are lost (RFC 3626,
    14), instead of three. That shields applications that cannot bear loss from bad links. A broker repairs losses, and
    bears a link that comes and goes worse: of the 12 links of a grid of nine, at 10 % loss each way, hysteresis gives
    one up every 8 s, and without it one goes every 80 s. With `link_quality` the quality does that."""
    link_quality: bool = False
    """Speak olsrd's LQ_HELLO and LQ_TC and prefer links that lose little. All nodes of a network must agree on it."""
    mtu: int = 1280
    """Bytes of an IP packet that carries a packet of ours; 1280 fits every link that IPv6 may use."""

    def __post_init__(self) -> None:
        if self.address_bytes not in (IPV4_BYTES, IPV6_BYTES):
            raise ConfigError(f"address_bytes: want 4 or 16, got {self.address_bytes}")
        for name in ("hello_interval", "tc_interval", "mid_interval"):
            value = getattr(self, name)
            if not SHORTEST_INTERVAL <= value <= LONGEST_INTERVAL:
                raise ConfigError(f"{name}: want {SHORTEST_INTERVAL} to {LONGEST_INTERVAL:g} seconds, got {value:g}")
        if not mpr.NEVER <= self.willingness <= mpr.ALWAYS:
            raise ConfigError(f"willingness: want {mpr.NEVER} to {mpr.ALWAYS}, got {self.willingness}")
        if not 0 <= self.tc_redundancy <= ALL_NEIGHBOURS:
            raise ConfigError(f"tc_redundancy: want 0 to {ALL_NEIGHBOURS}, got {self.tc_redundancy}")
        if not 576 <= self.mtu <= 65535:
            raise ConfigError(f"mtu: want 576 to 65535, got {self.mtu}")

    @property
    def neighbour_hold(self) -> float:
        """How long a neighbour stays one without being heard."""
        return HOLD_INTERVALS * self.hello_interval

    @property
    def topology_hold(self) -> float:
        """How long others believe what a TC says."""
        return HOLD_INTERVALS * self.tc_interval

    @property
    def mid_hold(self) -> float:
        return HOLD_INTERVALS * self.mid_interval

    @property
    def max_jitter(self) -> float:
        """The most by which a message is sent early or late, so that neighbours do not speak in step."""
        return self.hello_interval / 4

    @property
    def packet_bytes(self) -> int:
        """Room for OLSR in one IP packet: less the headers of IP and UDP."""
        return self.mtu - (28 if self.address_bytes == IPV4_BYTES else 48)
