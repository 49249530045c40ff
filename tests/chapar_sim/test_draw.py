"""Random scenarios."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib

import pytest

from chapar_sim.case import bounds_of
from chapar_sim.draw import draw, scenario_of
from chapar_sim.ip import TTL
from chapar_sim.scenario import Scenario
from chapar_sim.themes import THEMES
from chapar_sim.tomltext import dumps

SEEDS = range(120)


def test_a_scenario_can_be_saved_and_read_again() -> None:
    """What a seed draws is a scenario file, value by value."""
    for seed in SEEDS:
        assert Scenario.from_dict(tomllib.loads(dumps(draw(seed))), f"seed {seed}") == scenario_of(seed)


def test_the_draw_does_not_depend_on_the_hash_seed() -> None:
    """Two processes with different hash seeds draw the same scenarios."""
    program = "from chapar_sim.draw import draw; print([draw(seed) for seed in range(40)])"
    texts = set()
    for hash_seed in ("1", "2"):
        env = {**os.environ, "PYTHONHASHSEED": hash_seed}
        command = [sys.executable, "-c", program]
        texts.add(subprocess.run(command, env=env, capture_output=True, check=True).stdout)  # noqa: S603 - our own program
    assert len(texts) == 1


def test_every_theme_has_its_turn() -> None:
    """A dozen seeds in a row have every theme: a fault that one of them reveals shows soon."""
    assert {scenario_of(seed).about for seed in range(7, 19)} == {theme.__name__ for theme in THEMES}


@pytest.mark.parametrize(
    "is_drawn",
    [
        pytest.param(lambda s: s.radio.loss == 0, id="no loss"),
        pytest.param(lambda s: s.radio.loss > 0.1, id="heavy loss"),
        pytest.param(lambda s: not s.routes.mprs, id="no MPRs known"),
        pytest.param(lambda s: s.routes.convergence[1] == 0, id="instant routes"),
        pytest.param(lambda s: s.topology.one_way, id="one-way links"),
        pytest.param(lambda s: any(not node.chapard for node in s.nodes), id="nodes without chapard"),
        pytest.param(lambda s: not s.daemon_config().hop_ack, id="fire and forget"),
        pytest.param(lambda s: s.daemon_config().session_queue < 20, id="small queues"),
        pytest.param(lambda s: any(f.kind == "crash" and not f.disk for f in s.faults), id="lost disks"),
        pytest.param(lambda s: any(p.to for c in s.clients for p in c.publish), id="addressed events"),
        pytest.param(lambda s: any(p.persistent for c in s.clients for p in c.publish), id="persistent events"),
        pytest.param(lambda s: any(w.hold for c in s.clients for w in c.subscribe), id="brief subscriptions"),
        pytest.param(lambda s: any(c.presence.on for c in s.clients), id="brief clients"),
    ],
)  # fmt: skip
def test_variety(is_drawn: object) -> None:
    """Each kind of network, fault and workload is drawn now and then, and none always."""
    assert callable(is_drawn)
    drawn = [bool(is_drawn(scenario_of(seed))) for seed in SEEDS]
    assert 0 < sum(drawn) < len(SEEDS)


def test_the_quiet_time_lets_every_promise_fall_due() -> None:
    """The end is quiet for as long as the stated bounds ask, whatever is left of the network."""
    for seed in SEEDS:
        scenario = scenario_of(seed)
        bounds = bounds_of(scenario)
        assert scenario.settle >= bounds.tables(1)
        assert scenario.settle >= bounds.settle(1) + bounds.check_out() + bounds.deliver(1)
        assert all(max(fault.at, fault.until or 0) <= scenario.active + 0.01 for fault in scenario.faults)


def test_fire_and_forget_is_drawn_without_loss() -> None:
    """Without acknowledgements nothing is promised on lossy links, so such scenarios would prove nothing."""
    for seed in SEEDS:
        scenario = scenario_of(seed)
        assert scenario.daemon_config().hop_ack or scenario.radio.loss == 0


def test_a_routing_loop_does_not_multiply_packets_beyond_bounds() -> None:
    """What comes twice at every hop is a few hundred packets when its time to live is over, not millions."""
    assert all((1 + scenario_of(seed).radio.duplicate) ** TTL < 1000 for seed in SEEDS)
