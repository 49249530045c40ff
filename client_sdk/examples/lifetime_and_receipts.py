"""Events that wait for those who are away, and how to know where they have got to.

    python client_sdk/examples/lifetime_and_receipts.py

The rover subscribes and goes away. What is published meanwhile waits at its node, within its lifetime, and is there
when a client of the same name comes back, be it after a restart of the program or of the daemon.
"""

# ruff: noqa: T201 - an example talks to whoever runs it

import asyncio
import sys

import chapar


async def main() -> None:
    # A client with a name that leaves stays subscribed.
    async with chapar.connect(client_id="rover-3") as rover, rover.subscribe(subject="waypoint"):
        print("the rover has subscribed, and drives into a tunnel")

    async with chapar.connect() as base:
        # Kept for a minute; persistent=True would keep it until everyone has it.
        receipt = await base.publish(subject="waypoint", attributes={"lat": 52.1, "lon": 5.2}, lifetime=60)

        # The receipt says when the daemon of this node has the event on its disk, and under which id.
        try:
            event_id = await receipt.accepted(timeout=5)
        except chapar.PublishRefusedError as error:
            sys.exit(f"the daemon said no: {error.reason}")
        print(f"accepted as {event_id.hex()}")

        # How far has it got? Asks the network, as often as you like.
        wanted, confirmed = await receipt.confirmed(timeout=5)
        print(f"{confirmed} of {wanted} nodes have confirmed it")

    async with chapar.connect(client_id="rover-3") as rover, rover.subscribe(subject="waypoint") as events:
        event = await anext(events)
        print(f"the rover is back, and goes to {event.attributes['lat']}, {event.attributes['lon']}")


if __name__ == "__main__":
    try:
        asyncio.run(main())
    except chapar.NoDaemonError as error:
        sys.exit(f"{error}")
