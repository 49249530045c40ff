"""What the tests of netlink do inside a namespace: `python netlink_work.py watch|table`.

watch     writes every view of the kernel source as a line of JSON
table     keeps the kernel's routes as each line of JSON wants them, looking each time at what the kernel has, then
          says "done"; ends with the input
"""

from __future__ import annotations

import asyncio
import json
import sys

from chapar_olsr.kernel import KernelSource
from chapar_olsr.route_table import RouteTable
from chapar_olsr.source import Identity


def index_of(address: str) -> int | None:
    for prefix in ("10.66.0.", "fd66::"):
        if address.startswith(prefix) and address.removeprefix(prefix).isdecimal():
            return int(address.removeprefix(prefix))
    return None


def say(value: object) -> None:
    sys.stdout.write(json.dumps(value) + "\n")
    sys.stdout.flush()


async def watch(index: int) -> None:
    source = KernelSource(Identity(index, f"10.66.0.{index}", index_of))
    async for view in source.views():
        say({str(node): list(route) for node, route in view.routes.items()})


async def table() -> None:
    routes = RouteTable(look_every=0.0)
    await routes.open()
    say("open")
    while line := await asyncio.to_thread(sys.stdin.readline):
        await routes.update({to: (way[0], way[1], way[2]) for to, way in json.loads(line).items()})
        say("done")
    await routes.close()


if __name__ == "__main__":
    try:
        import uvloop

        uvloop.run(watch(int(sys.argv[2])) if sys.argv[1] == "watch" else table())
    except KeyboardInterrupt:
        pass
