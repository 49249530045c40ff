"""λ, μ and N from what clients did, and the model that they feed."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from chapar_audit.jobs.overlay import Overlay
from chapar_audit.jobs.populations import Local, estimated, on_ways, together, wanted_links
from chapar_audit.jobs.wishes import Span, Wish, wanted
from chapar_audit.models.population import Population
from chapar_audit.models.tree import m_ary, traffic

SECOND = 1_000_000
SPAN = Span(0, 4000 * SECOND, np.arange(1, 4000) * SECOND)
F = b"f" * 20


def turns(client: str, lam: float, mu: float, rng: Random) -> list[Wish]:
    """A source that is interested and not in turns."""
    found, time, begins = [], rng.expovariate(lam), True
    while time < 4000:
        found.append(Wish(int(time * SECOND), 7, client, F, begins))
        time += rng.expovariate(mu if begins else lam)
        begins = not begins
    return found


def test_clients_that_come_back_are_a_finite_population() -> None:
    """Three sources with λ = 0.2 and μ = 0.5: within 5 %."""
    rng = Random(1)
    wishes = [each for name in "abc" for each in turns(name, 0.2, 0.5, rng)]
    population = estimated(wanted(wishes)[F], SPAN)[7].population
    assert population is not None
    assert population.size == 3
    assert population.lam == pytest.approx(0.2, rel=0.05)
    assert population.mu == pytest.approx(0.5, rel=0.05)


def test_clients_that_do_not_come_back_are_any_number() -> None:
    """λ = 0.5 arrivals per second that stay for 2 s."""
    rng, time, wishes = Random(1), 0.0, []
    for number in range(2000):
        time += rng.expovariate(0.5)
        stay = rng.expovariate(0.5)
        wishes += [Wish(int(t * SECOND), 7, f"c{number}", F, t == time) for t in (time, time + stay)]
    population = estimated(wanted(wishes)[F], SPAN)[7].population
    assert population is not None
    assert population.size is None
    assert (population.lam, population.mu) == pytest.approx((0.5, 0.5), rel=0.07)


def test_clients_that_stay_are_no_population() -> None:
    """What they are interested in for how long is all that is known."""
    local = estimated(wanted([Wish(1000 * SECOND, 7, "c", F, True)])[F], SPAN)[7]  # noqa: FBT003
    assert local == Local(idle=0.25, toggles=1 / 4000, arrivals=1 / 4000, active=0.75)


def test_the_ways_of_one_publisher_are_the_general_tree() -> None:
    """x and the toggle traffic of the model are the sums over all links; with publishers anywhere, both ways count."""
    tree, population = m_ary(2, 3), Population(0.5, 1.0)
    local = Local(population.idle, population.toggles, 0.5, 0.5, population)
    crowds = dict.fromkeys((4, 5, 6, 7), local)
    links = tuple((above, broker) for broker, above in tree.above.items())
    model = traffic(tree, dict.fromkeys(crowds, population), 1.0, 1.0)
    use = on_ways(Overlay(links, "identity", 1.0, roots=(1,)), crowds)
    assert len(use) == 6
    assert sum(each.used for each in use.values()) == pytest.approx(model.state_dependent / 2)
    assert sum(each.toggles for each in use.values()) == pytest.approx(model.toggle)
    assert wanted_links(Overlay(links, "identity", 1.0), 1, together([crowds])) == pytest.approx(
        model.state_dependent / 2
    )
    both = on_ways(Overlay(links, "identity", 1.0), crowds)
    assert len(both) == 12
    assert both[4, 2] == pytest.approx(use[4, 2])
    assert both[2, 4].used == pytest.approx(1 - population.idle**3)


def test_who_wants_any_of_several_filters() -> None:
    """A broker is idle for both, or not."""
    one, other = {1: Local(0.5, 0, 0, 0), 2: Local(0.5, 0, 0, 0)}, {2: Local(0.25, 0, 0, 0)}
    assert together([one, other]) == {1: 0.5, 2: 0.125}
