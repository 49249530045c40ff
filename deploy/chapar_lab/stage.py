"""The clients of one node, as a process in its network namespace: `python -m chapar_lab.stage SCENARIO --node 3`.

It says `"ready"` in a line once everything is loaded, waits for a line with the time at which the scenario starts (of
the monotonic clock, which all processes share), acts, and ends when its input does. A line `down` tells it that
somebody has ended the daemon. What its clients did and saw are the lines of its output (`chapar_lab.rows`).
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from typing import TYPE_CHECKING, Final

from chapar_lab.actor import LOOK_EVERY, Actor, WallClock
from chapar_lab.rows import to_line
from chapar_sim.scenario import ScenarioError, load
from chapar_sim.workload import cast_of, enact, relays_of, services_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from chapar_lab.rows import Row
    from chapar_sim.scenario import Scenario

READY: Final = "ready"
DOWN: Final = "down"


def main(arguments: Sequence[str] | None = None) -> int:
    """Act; 0 when the scenario is over, 2 if there is nothing to act."""
    parser = argparse.ArgumentParser(prog="chapar_lab.stage", description="Acts out the clients of one node.")
    parser.add_argument("scenario", metavar="SCENARIO.toml")
    parser.add_argument("--node", type=int, required=True, help="whose clients")
    parser.add_argument("--seed", type=int, required=True, help="of all chance")
    options = parser.parse_args(arguments)
    try:
        scenario = load(options.scenario)
    except ScenarioError as error:
        sys.stderr.write(f"chapar-lab: {error}\n")
        return 2
    asyncio.run(_act(scenario, options.node, options.seed))
    return 0


async def _act(scenario: Scenario, node: int, seed: int) -> None:
    orders = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(orders), sys.stdin)
    sys.stdout.write(json.dumps(READY) + "\n")
    sys.stdout.flush()
    start = await orders.readline()
    if not start:
        return
    clock = WallClock(float(start))
    sleeps = {role.name: bool(role.spec.presence.schedule or role.spec.presence.on) for role in cast_of(scenario, seed)}
    services, relays = services_of(scenario, seed, clock), relays_of(scenario, seed)
    async with asyncio.TaskGroup() as tasks:

        def make(name: str, home: int) -> Actor:
            keep, service, relay = sleeps[name], services.get(name), relays[name]
            return Actor(name, home, None, clock, _tell, tasks, keep=keep, service=service, relay=relay)

        actors = enact(scenario, seed, clock, make, node=node)
        looking = tasks.create_task(_look(list(actors.values())))
        while order := await orders.readline():
            if order.decode().strip() == DOWN:
                for actor in actors.values():
                    actor.daemon_down()
        looking.cancel()
        await asyncio.gather(*(actor.end() for actor in actors.values()))


async def _look(actors: list[Actor]) -> None:
    """Note when clients are connected and when they are not."""
    while True:
        for actor in actors:
            actor.look()
        await asyncio.sleep(LOOK_EVERY)


def _tell(row: Row) -> None:
    sys.stdout.write(to_line(row))
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
