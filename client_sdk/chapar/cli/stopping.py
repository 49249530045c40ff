"""Running something until it is done or told to stop, with time to say goodbye to the daemon in either case."""

from __future__ import annotations

import asyncio
import signal
from typing import TYPE_CHECKING, Final

from chapar.cli.exits import Exit
from chapar.cli.streams import watch_reader

if TYPE_CHECKING:
    from collections.abc import Coroutine

STDOUT: Final = 1
_SIGNALS: Final = {signal.SIGINT: Exit.INTERRUPTED, signal.SIGTERM: Exit.TERMINATED}


def run(work: Coroutine[None, None, Exit]) -> Exit:
    """Run `work`. Ctrl-C and SIGTERM cancel it, and so does the loss of whoever reads our output and has had enough."""
    return asyncio.run(_until_stopped(work))


async def _until_stopped(work: Coroutine[None, None, Exit]) -> Exit:
    loop = asyncio.get_running_loop()
    task = asyncio.create_task(work)
    codes: list[Exit] = []

    def stop(code: Exit) -> None:
        codes.append(code)
        task.cancel()

    for number, code in _SIGNALS.items():
        loop.add_signal_handler(number, stop, code)
    watch_reader(STDOUT, lambda: stop(Exit.DONE))
    try:
        return await task
    except BrokenPipeError:
        return Exit.DONE
    except asyncio.CancelledError:
        if not codes:
            raise
        return codes[0]
