"""Asking a routing daemon again and again: often while its answers change, less often while they do not.

olsrd keeps an answer for a second, so nobody is asked more often than that.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable

    from chapar_olsr.view import RouteView

FASTEST: Final = 1.0
SLOWEST: Final = 2.0
"""Seconds between two rounds of questions: the usual interval of HELLO messages is two."""
CALMING: Final = 1.25
"""By what the wait grows with each round that brought nothing new."""


async def polled(ask: Callable[[], Awaitable[RouteView]]) -> AsyncGenerator[RouteView, None]:
    """What `ask` answers, each time. Whatever it raises ends this."""
    wait = FASTEST
    last: RouteView | None = None
    while True:
        view = await ask()
        yield view
        wait = FASTEST if view != last else min(wait * CALMING, SLOWEST)
        last = view
        await asyncio.sleep(wait)
