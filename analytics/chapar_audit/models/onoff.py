"""A queue whose server is there for T_ON and away for T_OFF, on average: what waits for an intermittent subscriber.

G. Bouloukakis, N. Georgantas, A. Kattepur, V. Issarny, Timeliness Evaluation of Intermittent Mobile Connectivity over
Pub/Sub Systems (2017). Arrivals are Poisson; service, ON and OFF periods are exponential; a service that is cut off
goes on in the next ON period. Equation 3 of the paper prints its two rates swapped.
"""

from __future__ import annotations

from dataclasses import dataclass

from chapar_audit.models.conditions import above_zero, at_least, require

MOST_LEVELS = 1_000_000


@dataclass(frozen=True, slots=True)
class OnOff:
    """A station that serves an event in `d`, when it is there. One that is never away (off = 0) is an M/M/1 queue."""

    d: float
    on: float = 1.0
    off: float = 0.0

    def __post_init__(self) -> None:
        above_zero("D", self.d)
        above_zero("T_ON", self.on)
        at_least("T_OFF", self.off)

    @property
    def slowdown(self) -> float:
        """By how much being away stretches service: (T_ON + T_OFF)/T_ON."""
        return (self.on + self.off) / self.on

    @property
    def fastest(self) -> float:
        """The arrival rate that it can not reach."""
        return 1 / (self.d * self.slowdown)

    def utilisation(self, lam: float) -> float:
        """lam D (T_ON + T_OFF)/T_ON; below 1, or the queue grows for ever."""
        at_least("lambda", lam)
        load = lam * self.d * self.slowdown
        require(
            load < 1,
            f"unstable: lambda D (T_ON + T_OFF)/T_ON = {load:.4g} must be below 1, so lambda below {self.fastest:.6g}",
        )
        return load

    def response_time(self, lam: float) -> float:
        """From arrival to the end of service, on average (theorem 2).

        Exact, as the classical M/M/1 queue with breakdowns; not so for other services: with a deterministic one the
        value differs much.
        """
        away = self.off**2 / (self.on + self.off)
        return (away + self.d * self.slowdown) / (1 - self.utilisation(lam))

    def effective_demand(self, lam: float, others: float) -> float:
        """D_eff: the demand at which lam alone would wait as it does beside the rate `others` (15, 16)."""
        total = self.response_time(lam + others)
        away = self.off**2 / (self.on + self.off)
        return (total - away) / (self.slowdown * (1 + lam * total))

    def queue_lengths(self, lam: float, tail: float = 1e-9, most: int = MOST_LEVELS) -> list[tuple[float, float]]:
        """P(n events, ON) and P(n events, OFF) for n from 0, until at most the share `tail` is missing, or n is `most`.

        What arrives at n events and what leaves n + 1 is in balance, and so is OFF with n events.
        """
        load = self.utilisation(lam)
        if self.off == 0:
            levels = [((1 - load), 0.0)]
            missing = load
            while missing > tail and len(levels) <= most:
                levels.append((levels[-1][0] * load, 0.0))
                missing *= load
            return levels
        coming, leaving = 1 / self.off, 1 / self.on
        on = self.on / (self.on + self.off) - lam * self.d  # the server is idle while ON for the rest of its ON time
        off = leaving * on / (lam + coming)
        levels, missing = [(on, off)], 1 - on - off
        while missing > tail and len(levels) <= most:
            on = lam * self.d * (on + off)
            off = (lam * off + leaving * on) / (lam + coming)
            levels.append((on, off))
            missing -= on + off
        return levels
