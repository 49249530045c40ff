"""What an event costs on the air, held: on grids, from one corner to the three others, 200 events at 10 per second."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from chapar_sim.cost import cost_of
from chapar_sim.outcome import outcomes
from chapar_sim.scenario import Scenario
from chapar_sim.world import World

if TYPE_CHECKING:
    from chapar_sim.cost import Cost
    from chapar_sim.trace import Trace


def run(side: int = 3, seed: int = 1, start: float = 10.0, **tables: Any) -> tuple[Trace, Cost]:
    """The grid with so many nodes a side; `tables` are further tables of the scenario."""
    corners = [side, side * side - side + 1, side * side]
    stream = {"subject": "sample", "payload": 64, "every": 0.1, "start": start, "count": 200}
    scenario = Scenario.from_dict(
        {
            "nodes": side * side,
            "duration": start + 80,
            "settle": 40,
            "topology": {"kind": "grid", "columns": side},
            "client": [
                {"name": "corner", "node": 1, "publish": [stream]},
                {"name": "listener", "nodes": corners, "subscribe": [{"filter": 'subject = "sample"'}]},
            ],
            **tables,
        }
    )
    trace = World(scenario, seed=seed).run()
    return trace, cost_of(trace, scenario, outcomes(trace))


@pytest.mark.parametrize(("side", "transmissions"), [(3, 6.0), (5, 12.0)])
@pytest.mark.parametrize("source", ["ideal", "olsr"])
def test_no_tree_has_fewer_transmissions(side: int, transmissions: float, source: str) -> None:
    """Without loss an event takes exactly the transmissions that no unicast tree can do without."""
    _, cost = run(side, start=30.0, routes={"source": source})
    assert cost.transmissions == cost.fewest_unicast == transmissions
    assert cost.is_exact


def latencies(trace: Trace) -> list[float]:
    """Seconds from publication to delivery, in order, of a run in which everybody got everything once."""
    found = outcomes(trace)
    assert all(set(each.got) == set(each.wanted) for each in found)
    assert len(trace.delivered) == sum(len(each.wanted) for each in found)
    return sorted(t - each.published.t for each in found for t in each.got.values())


@pytest.mark.parametrize("seed", range(1, 25))
def test_a_tenth_of_all_datagrams_lost_costs_little(seed: int) -> None:
    """On every link, both ways: each event reaches each of the three once, 95 of 100 within 130 ms."""
    trace, cost = run(seed=seed, radio={"loss": 0.1})
    delays = latencies(trace)
    assert len(delays) == 600
    assert delays[len(delays) * 95 // 100] <= 0.13
    assert cost.bytes is not None
    assert cost.bytes <= 1020


@pytest.mark.parametrize("seed", range(1, 6))
def test_nothing_is_lost_to_routes_that_come_and_go(seed: int) -> None:
    """OLSR agents on the same lossy medium give up links that work: what they take back serves for a while."""
    trace, _ = run(seed=seed, start=30.0, radio={"loss": 0.1}, routes={"source": "olsr"})
    assert len(latencies(trace)) == 600


@pytest.mark.parametrize("seed", [17, 52, 69, 74, 79, 86, 236])
def test_what_another_way_overtook_comes_all_the_same(seed: int) -> None:
    """Events that sat in a link's repair while their successors, or these under another root, went another way."""
    trace, _ = run(seed=seed, radio={"loss": 0.1}, routes={"source": "olsr"})
    assert len(latencies(trace)) == 600


@pytest.mark.parametrize(("hop_ack", "most"), [(True, 830), (False, 740)])
def test_bytes_of_an_event(most: int, *, hop_ack: bool) -> None:
    """Everything that chapard sends from the first publication to the last delivery, headers included."""
    _, cost = run(config={"hop_ack": hop_ack})
    assert cost.bytes is not None
    assert cost.bytes <= most


def test_silence_costs_little() -> None:
    """Nine daemons with nothing to do."""
    _, cost = run()
    assert cost.idle_bytes is not None
    assert cost.idle_bytes <= 80
