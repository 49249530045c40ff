"""`chapar sub`: events as they come, one line each."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING

from chapar.cli import stopping, streams
from chapar.cli.event_text import columns, json_line, payload_line
from chapar.cli.exits import PATIENCE, Exit, Failure
from chapar.cli.units import seconds_text
from chapar.client import connect
from chapar.filter import Filter

if TYPE_CHECKING:
    import argparse
    from collections.abc import AsyncIterator

    from chapar.event import Event


def run(args: argparse.Namespace) -> Exit:
    """Print events until there were enough. Raises Failure and the SDK's errors."""
    asked = Filter(subject=args.subject, type=args.type, sender=args.sender, group=args.group, where=args.where)
    if not asked.satisfiable:
        raise Failure(Exit.USAGE, f"no event can match {asked}: its constraints exclude each other")
    return stopping.run(_listen(args, asked))


async def _listen(args: argparse.Namespace, asked: Filter) -> Exit:
    async with (
        connect(args.address, client_id=args.client_id, timeout=PATIENCE) as client,
        client.subscribe(filter=asked, keep=args.client_id is not None) as events,
    ):
        if sys.stderr.isatty():
            sys.stderr.write(f"listening for {asked} (Ctrl-C ends)\n")
        return await _print(args, events)


async def _print(args: argparse.Namespace, events: AsyncIterator[Event]) -> Exit:
    form = json_line if args.json else payload_line if args.payload else columns
    loop = asyncio.get_running_loop()
    deadline = None if args.timeout is None else loop.time() + args.timeout
    count = 0
    while count != args.count:
        try:
            # Only the wait is cut off, never a line half written.
            async with asyncio.timeout_at(deadline):
                event = await anext(events)
        except TimeoutError:
            return _timed_out(args, count)
        await streams.write(stopping.STDOUT, form(event))
        count += 1
    return Exit.DONE


def _timed_out(args: argparse.Namespace, count: int) -> Exit:
    if args.count is None and count:
        return Exit.DONE
    wanted = f"{count} of {args.count} events" if args.count else "no event"
    raise Failure(Exit.FAILED, f"{wanted} within {seconds_text(args.timeout)}")
