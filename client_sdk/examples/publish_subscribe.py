"""Publish and subscribe by content.

Start `chapard` in one terminal, then run this one in another:

    python client_sdk/examples/publish_subscribe.py

Publisher and subscriber are two clients here, as they would be on two nodes; on one machine they share its daemon.
"""

# ruff: noqa: T201 - an example talks to whoever runs it

import asyncio
import sys

import chapar

READINGS = (18.5, 21.5, 19.0, 23.0)


async def main() -> None:
    async with (
        chapar.connect() as sensor,
        chapar.connect() as listener,
        listener.subscribe(subject="temperature", where="celsius > 20") as events,
    ):
        # From here on, and until the block is left, every reading above 20 degrees comes to us.
        for celsius in READINGS:
            # Without a lifetime the event is real-time: for those who are there now. `publish` returns as soon as the
            # event is on its way.
            await sensor.publish(subject="temperature", attributes={"celsius": celsius}, payload=b"hall")

        warm = sum(celsius > 20 for celsius in READINGS)
        async for event in events:
            print(f"{event.attributes['celsius']} degrees in the {event.payload.decode()}, node {event.sender}")
            warm -= 1
            if not warm:
                break


if __name__ == "__main__":
    try:
        asyncio.run(main())
    except chapar.NoDaemonError as error:
        sys.exit(f"{error}")
