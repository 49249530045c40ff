"""How often a routing daemon is asked."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from itertools import pairwise

import pytest

from chapar_olsr.faults import Fault
from chapar_olsr.polling import polled
from chapar_olsr.source import SourceError
from chapar_olsr.view import RouteView
from virtual_loop import run


def test_once_a_second_while_things_change_and_every_two_while_nothing_does() -> None:
    """A daemon keeps an answer for a second: to ask more often would only keep it busy."""
    times: list[float] = []

    async def ask() -> RouteView:
        times.append(asyncio.get_running_loop().time())
        return RouteView(1, neighbours=frozenset({2} if len(times) <= 12 else {2, 3}))

    async def work() -> None:
        async with aclosing(polled(ask)) as views:
            async for view in views:
                if len(times) == 14:
                    assert view.neighbours == {2, 3}
                    break

    run(work())
    gaps = [after - before for before, after in pairwise(times)]
    assert min(gaps) == pytest.approx(1.0)
    assert max(gaps) == pytest.approx(2.0)
    assert gaps[10] == pytest.approx(2.0), "nothing has changed for long"
    assert gaps[12] == pytest.approx(1.0), "something has"


def test_a_failure_is_the_callers() -> None:
    """Whoever follows the views decides when to ask again."""

    async def ask() -> RouteView:
        raise SourceError("gone", Fault.UNREACHABLE)

    async def work() -> None:
        with pytest.raises(SourceError, match="gone"):
            await anext(polled(ask))

    run(work())
