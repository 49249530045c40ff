"""Events for certain nodes, and answers to them.

    python client_sdk/examples/point_to_point.py

An event that names nodes with `to` goes to these and no others, where it is for whoever has subscribed to it. Here a
node orders something of itself, so that one daemon is enough to try it.
"""

# ruff: noqa: T201 - an example talks to whoever runs it

import asyncio
import sys

import chapar


async def worker(client: chapar.Client, ready: asyncio.Event) -> None:
    """Carries out one order, and answers the node that gave it."""
    async with client.subscribe(subject="order") as orders:
        ready.set()
        async for order in orders:
            assert order.sender is not None, "every event that was delivered has a sender"
            await client.publish(subject="done", to=[order.sender], payload=order.payload.upper())
            return


async def main() -> None:
    async with chapar.connect() as boss, chapar.connect() as hand:
        ready = asyncio.Event()
        work = asyncio.create_task(worker(hand, ready))
        await ready.wait()
        async with boss.subscribe(subject="done", sender=hand.node) as answers:
            # Several nodes may be named. With a lifetime it would also reach one that is away for a while.
            await boss.publish(subject="order", to=[hand.node], payload=b"two coffees")
            answer = await anext(answers)
            print(f"node {answer.sender} says: {answer.payload.decode()}")
        await work


if __name__ == "__main__":
    try:
        asyncio.run(main())
    except chapar.NoDaemonError as error:
        sys.exit(f"{error}")
