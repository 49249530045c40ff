"""One daemon in virtual time: its life, its disk and its clock."""

from __future__ import annotations

from typing import Any

from chapar.event import event_id
from chapar_olsr.view import RouteView
from chapar_sim.clock import Clock
from chapar_sim.daemon import LOCAL_START, Daemon
from chapar_sim.scenario import NodeSpec
from chapar_sim.trace import Trace
from chapard.core.config import Config
from chapard.core.effects import Drop, Effect, Loss, Reason, Save, Transmit
from chapard.core.nodevector import NodeVector
from fake_core import FakeCore


class Host:
    """The surroundings of one daemon."""

    def __init__(self) -> None:
        self.sent: list[tuple[int, int | None, bytes]] = []
        self.changes: list[bool] = []
        self.seen = RouteView(1)

    def send(self, source: int, to: int | None, payload: bytes) -> None:
        self.sent.append((source, to, payload))

    def answer(self, client: str, message: object) -> None:
        """Clients are another test's matter."""

    def view(self, node: int) -> RouteView:
        assert node == 1
        return self.seen

    def daemon_changed(self, node: int, *, up: bool) -> None:
        assert node == 1
        self.changes.append(up)


class Script(FakeCore):
    """A core that says what it is told to, and remembers what it was told."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.rng_says = arguments[3].random()
        self.times: list[float] = []
        self.datagrams: list[bytes] = []

    def say(self, *effects: Effect) -> None:
        self._effects += effects

    def datagram_received(self, data: bytes, source: int, now: float) -> None:  # noqa: ARG002 - the core's interface
        self.times.append(now)
        self.datagrams.append(data)


class Bench:
    """A daemon on a bench."""

    def __init__(self, **spec: Any) -> None:
        self.clock, self.host, self.trace = Clock(), Host(), Trace()
        self.cores: list[Script] = []
        self.daemon = Daemon(
            NodeSpec(index=1, **spec), Config(), 5, self._make, self.clock, self.host, self.trace, None
        )
        self.daemon.start()

    def _make(self, *arguments: Any) -> Script:
        self.cores.append(Script(*arguments))
        return self.cores[-1]

    @property
    def core(self) -> Script:
        return self.cores[-1]

    def poke(self) -> None:
        """Let the daemon drain its core."""
        self.daemon.datagram_received(b"poke", 2)


def test_what_was_saved_is_there_after_a_crash_unless_the_disk_is_wiped() -> None:
    """A new core gets what the old one saved and did not forget; with a wiped disk it gets nothing."""
    bench = Bench()
    assert bench.core.saved == {}
    bench.core.say(Save("a", b"1"), Save("b", b"2"), Save("a", None), Save("c", b"3"))
    bench.poke()
    bench.daemon.crash(disk=True)
    bench.daemon.start()
    assert bench.core.saved == {"b": b"2", "c": b"3"}
    bench.daemon.crash(disk=False)
    bench.daemon.start()
    assert bench.core.saved == {}
    assert [(row.up, row.disk) for row in bench.trace.nodes] == [
        (True, True),
        (False, True),
        (True, True),
        (False, False),
        (True, False),
    ]
    assert bench.host.changes == [True, False, True, False, True]


def test_incarnations_rise_with_and_without_the_disk() -> None:
    """Two restarts within a second count up; after a wiped disk the clock makes the next one larger."""
    bench = Bench()
    for seconds, disk in ((0.1, True), (0.1, True), (20, False)):
        bench.clock.run_until(bench.clock.now + seconds)
        bench.daemon.crash(disk=disk)
        bench.daemon.start()
    assert [core.incarnation - LOCAL_START for core in bench.cores] == [0, 1, 2, 20]
    assert len({core.rng_says for core in bench.cores}) == 4


def test_a_core_knows_its_own_clock_only_and_that_never_goes_back() -> None:
    """Offset, drift and a jump ahead show in every time the core sees."""
    bench = Bench(clock_offset=100, clock_drift=0.5)
    for _ in range(3):
        bench.clock.run_until(bench.clock.now + 10)
        bench.poke()
    bench.daemon.skew(50)
    bench.poke()
    assert [round(time - LOCAL_START, 3) for time in bench.core.times] == [115, 130, 145, 195]


def test_a_jump_of_the_clock_makes_timers_due() -> None:
    """A deadline that the jump passed is met at once."""
    bench = Bench()
    bench.clock.run_until(0.001)
    bench.daemon.skew(100)
    bench.clock.run_until(0.002)
    assert len(bench.host.sent) == 1


def test_a_daemon_that_hangs_finds_everything_when_it_wakes() -> None:
    """Datagrams wait in the socket and timers are late; nothing is seen meanwhile."""
    bench = Bench()
    bench.daemon.pause()
    bench.daemon.datagram_received(b"one", 2)
    bench.daemon.datagram_received(b"two", 2)
    bench.clock.run_until(60)
    assert (bench.core.datagrams, bench.host.sent) == ([], [])
    bench.daemon.resume()
    bench.clock.run_until(60.001)
    assert bench.core.datagrams == [b"one", b"two"]
    assert len(bench.host.sent) == 1


def test_a_daemon_that_is_down_hears_nothing() -> None:
    """Neither datagrams nor timers reach a core that is gone."""
    bench = Bench()
    bench.daemon.crash(disk=True)
    bench.poke()
    bench.clock.run_until(100)
    assert (bench.core.datagrams, bench.host.sent, bench.daemon.is_up, bench.daemon.snapshot()) == ([], [], False, None)


def test_a_daemon_that_stops_is_driven_until_its_core_is_done() -> None:
    """Then it is down, with its disk."""
    bench = Bench()
    bench.daemon.stop()
    assert not bench.daemon.is_up
    assert (bench.trace.nodes[-1].up, bench.trace.nodes[-1].disk) == (False, True)


def test_a_view_that_says_nothing_new_is_not_handed_on() -> None:
    """The core hears of the first view and of every other one once."""
    bench = Bench()
    bench.daemon.route_changed()
    bench.host.seen = RouteView(1, frozenset({2}))
    bench.daemon.route_changed()
    bench.daemon.route_changed()
    assert bench.core.views == [RouteView(1), RouteView(1, frozenset({2}))]


def test_losses_and_drops_are_recorded() -> None:
    """A loss with its homes; a drop by its reason, and as a loss of this node if it names an event."""
    bench = Bench()
    known = event_id(3, 1, 1)
    bench.core.say(
        Loss(known, NodeVector.of([4, 6], 256), Reason.HOP_DEAD),
        Drop(Reason.QUEUE_FULL, None, "client", known),
        Drop(Reason.DUPLICATE, 2, None, known),
        Drop(Reason.MALFORMED, 2, None, None),
        Transmit(7, b"datagram"),
    )
    bench.poke()
    assert [(row.homes, row.reason) for row in bench.trace.losses] == [((4, 6), "hop_dead"), ((1,), "queue_full")]
    assert bench.trace.drops == {(1, "queue_full"): 1, (1, "duplicate"): 1, (1, "malformed"): 1}
    assert bench.host.sent == [(1, 7, b"datagram")]
