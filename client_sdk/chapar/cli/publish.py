"""`chapar pub`: one event, or one for each line of standard input."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypedDict

from chapar.cli import stopping, streams
from chapar.cli.event_text import id_text
from chapar.cli.exits import PATIENCE, Exit, Failure
from chapar.client import connect
from chapar.errors import EventLostError, PublishRefusedError
from chapar.event import Delivery, Event
from chapar.limits import MAX_EVENT_BYTES

if TYPE_CHECKING:
    import argparse
    from typing import BinaryIO

    from chapar.client import Client
    from chapar.receipt import Receipt
    from chapar.value import Value

STDIN: Final = 0
RECEIPT_PATIENCE: Final = 5.0
"""Seconds for the daemon to take a single event, on its disk where that is asked for; streams wait without end."""
UNSETTLED: Final = 4096
"""Lines published whose receipts nobody has looked at; more are not read before these are settled."""
ASK_EVERY: Final = 0.2
"""Seconds between questions whether an event has arrived everywhere."""
SHOWN_FAILURES: Final = 10
"""Lines that failed of which standard error tells; the rest is counted."""


class Fields(TypedDict):
    """All of an event but the payload."""

    subject: str
    attributes: dict[str, Value]
    type: str | None
    group: str | None
    lifetime: float
    persistent: bool
    to: list[int]


def run(args: argparse.Namespace) -> Exit:
    """Publish what is asked for. Raises Failure and the SDK's errors."""
    fields = fields_of(args)
    if args.wait_confirmed is not None and args.stdin_lines:
        raise Failure(Exit.USAGE, "--wait-confirmed waits for one event: leave it out with --stdin-lines")
    event = Event(**fields, payload=b"" if args.stdin_lines else _payload(args))
    event.encode()
    if args.wait_confirmed is not None and event.delivery is Delivery.REALTIME:
        raise Failure(Exit.USAGE, "nobody confirms a real-time event: add --lifetime or --persistent")
    return stopping.run(_lines(args, fields) if args.stdin_lines else _single(args, event))


def fields_of(args: argparse.Namespace) -> Fields:
    """The fields that the arguments ask for. Raises Failure for an attribute given twice."""
    attributes: dict[str, Value] = {}
    for name, value in args.attr:
        if name in attributes:
            raise Failure(Exit.USAGE, f"attribute {name} is given twice: an event holds one value of each")
        attributes[name] = value
    return Fields(
        subject=args.subject,
        attributes=attributes,
        type=args.type,
        group=args.group,
        lifetime=args.lifetime,
        persistent=args.persistent,
        to=args.to,
    )


def _payload(args: argparse.Namespace) -> bytes:
    if args.message is not None:
        text: str = args.message
        return text.encode("utf-8", "surrogateescape")
    if args.file is None:
        return b""
    try:
        if args.file == "-":
            return _bounded(sys.stdin.buffer, "standard input")
        with Path(args.file).open("rb") as file:
            return _bounded(file, args.file)
    except OSError as error:
        raise Failure(Exit.USAGE, f"cannot read {args.file}: {error.strerror}") from None


def _bounded(file: BinaryIO, name: str) -> bytes:
    data = file.read(MAX_EVENT_BYTES + 1)
    if len(data) > MAX_EVENT_BYTES:
        raise Failure(Exit.USAGE, f"{name} does not fit into an event of {MAX_EVENT_BYTES} bytes: send it in parts")
    return data


async def _single(args: argparse.Namespace, event: Event) -> Exit:
    async with connect(args.address, timeout=PATIENCE) as client:
        receipt = await client.publish(event)
        try:
            event_id = id_text(await receipt.accepted(timeout=RECEIPT_PATIENCE))
        except TimeoutError:
            line = f"the daemon has not taken the event within {RECEIPT_PATIENCE:g} s: see chapar status"
            raise Failure(Exit.NO_DAEMON, line) from None
        shown: dict[str, Any] = {"id": event_id}
        if args.wait_confirmed is not None:
            shown |= await _confirmed(receipt, args.wait_confirmed)
        await _tell(args, shown)
    return Exit.DONE


async def _confirmed(receipt: Receipt, patience: float) -> dict[str, int]:
    """Ask until all homes that are to have the event have it."""
    wanted = confirmed = 0
    try:
        async with asyncio.timeout(patience):
            while not wanted or confirmed < wanted:
                wanted, confirmed = await receipt.confirmed()
                if not wanted or confirmed < wanted:
                    await asyncio.sleep(ASK_EVERY)
    except TimeoutError:
        state = f"{confirmed} of {wanted} homes have it" if wanted else "no home asks for it"
        raise Failure(Exit.FAILED, f"not confirmed in time: {state}; it is still kept, see chapar met") from None
    return {"wanted": wanted, "confirmed": confirmed}


async def _tell(args: argparse.Namespace, shown: dict[str, Any]) -> None:
    if args.json or args.verbose:
        line = json.dumps(shown) if args.json else shown["id"]
        await streams.write(stopping.STDOUT, f"{line}\n".encode())


async def _lines(args: argparse.Namespace, fields: Fields) -> Exit:
    async with connect(args.address, timeout=PATIENCE) as client:
        receipts: asyncio.Queue[Receipt | None] = asyncio.Queue(UNSETTLED)
        feeding = asyncio.create_task(_feed(client, fields, receipts))
        settling = asyncio.create_task(_settle(args, receipts))
        try:
            await asyncio.wait({feeding, settling}, return_when=asyncio.FIRST_EXCEPTION)
            failed = await settling if feeding.done() and not feeding.exception() else 0
            await feeding
        finally:
            feeding.cancel()
            settling.cancel()
            await asyncio.gather(feeding, settling, return_exceptions=True)
    if failed:
        raise Failure(Exit.FAILED, f"{failed} of the lines did not become an event")
    return Exit.DONE


async def _feed(client: Client, fields: Fields, receipts: asyncio.Queue[Receipt | None]) -> None:
    """Publish each line. While the daemon does not keep up, neither publish nor the queue lets more in."""
    try:
        async for line in streams.lines(STDIN, MAX_EVENT_BYTES):
            await receipts.put(await client.publish(**fields, payload=line))
    except streams.LineTooLong as error:
        line_text = f"line {error.number} does not fit into an event of {MAX_EVENT_BYTES} bytes: send it in parts"
        raise Failure(Exit.USAGE, line_text) from None
    await receipts.put(None)


async def _settle(args: argparse.Namespace, receipts: asyncio.Queue[Receipt | None]) -> int:
    """See to every receipt, in order; returns how many lines did not become an event. One that failed stops nothing."""
    number = failed = 0
    while (receipt := await receipts.get()) is not None:
        number += 1
        try:
            event_id = id_text(await receipt)
        except (PublishRefusedError, EventLostError) as error:
            failed += 1
            if failed <= SHOWN_FAILURES:
                sys.stderr.write(f"chapar pub: line {number}: {error}\n")
        else:
            await _tell(args, {"id": event_id})
    return failed
