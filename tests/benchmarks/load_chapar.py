"""Load on a chapard through the SDK, as an application would use it: one publisher or one subscriber."""

from __future__ import annotations

import asyncio

import chapar
from benchmarks.load import TOPIC, Task, counter, rhythm, stamped, timer
from benchmarks.tally import Tally


async def publish(address: str, tally: Tally, *, rate: int) -> None:
    async with chapar.connect(address) as client:
        tally.connected()
        for count, pause in rhythm(tally, rate):
            if count:
                payload = stamped()
                for _ in range(count):
                    await client.publish(subject=TOPIC, payload=payload)
            if pause:
                await asyncio.sleep(pause)


async def subscribe(address: str, tally: Tally, *, subscriber: int, rate: int) -> None:
    came, arrived = timer(tally, subscriber), counter(tally, subscriber)
    async with chapar.connect(address) as client, client.subscribe(subject=TOPIC) as events:
        tally.subscribed(subscriber)
        if rate:
            async for event in events:
                came(event.payload)
        else:
            async for _ in events:
                arrived()


async def main(work: Task) -> None:
    address, tally = f"127.0.0.1:{work.port}", Tally(work.tally)
    if work.subscriber is None:
        await publish(address, tally, rate=work.rate)
    else:
        await subscribe(address, tally, subscriber=work.subscriber, rate=work.rate)


if __name__ == "__main__":
    asyncio.run(main(Task.parse()))
