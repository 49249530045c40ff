"""The clients of random scenarios: who publishes, who subscribes to what, and who is there when."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from chapar_sim.draw import Entry, Sketch

SUBJECTS: Final = ("alarm", "alarm.fire", "position", "order")
FILTERS: Final = (
    'subject = "alarm"',
    'subject = "position"',
    'subject = "position" and level > 4',
    'subject starts with "alarm"',
    'subject in ("order", "position")',
    "level >= 7",
    "level < 7 and level > 1",
    'type = "t1"',
    'group = "crew"',
    "*",
)
"""Filters that overlap, cover and miss each other."""


def add_clients(sketch: Sketch) -> None:
    """Some publishers and more subscribers, on nodes of their own or shared."""
    rng, hosts = sketch.rng, sketch.hosts()
    if sketch.theme == "courier":
        _add_courier_clients(sketch)
        return
    for number in range(rng.randint(1, min(4, len(hosts)))):
        streams = [_stream(sketch) for _ in range(rng.randint(1, 2))]
        client: Entry = {"name": f"p{number}", "node": rng.choice(hosts), "publish": streams}
        sketch.clients.append(client | _presence(sketch, 0.85))
    for number in range(rng.randint(2, max(2, min(8, len(hosts))))):
        asked = [_subscription(sketch) for _ in range(rng.randint(1, 3))]
        client = {"name": f"s{number}", "node": rng.choice(hosts), "subscribe": asked}
        sketch.clients.append(client | _presence(sketch, 0.6))


def _add_courier_clients(sketch: Sketch) -> None:
    """The publisher that will be gone says what some of those it never met want to know."""
    rng, publisher = sketch.rng, sketch.nodes - 1
    kept: Entry = rng.choice(({"lifetime": 600.0}, {"persistent": True}))
    said: Entry = {"rate": 0.3, "start": 1.0, "stop": 20.0, "subject": "alarm", **kept}
    sketch.clients.append({"name": "lost", "node": publisher, "publish": [said]})
    for number in range(rng.randint(1, 3)):
        wish: Entry = {"filter": rng.choice(('subject = "alarm"', "*")), "start": sketch.between(0, 20)}
        sketch.clients.append({"name": f"w{number}", "node": rng.randint(1, publisher - 1), "subscribe": [wish]})
    asked = [_subscription(sketch) for _ in range(2)]
    sketch.clients.append({"name": "s", "node": rng.randint(1, sketch.nodes), "subscribe": asked})
    sketch.clients.append({"name": "p", "node": rng.randint(1, publisher - 1), "publish": [_stream(sketch)]})


def _stream(sketch: Sketch) -> Entry:
    """Publications of one kind: some two dozen of them."""
    rng = sketch.rng
    stream: Entry = {"subject": rng.choice(SUBJECTS), "attributes": {"level": {"between": [0, 9]}}}
    stream |= {"rate": round(rng.uniform(0.1, 0.8), 2)} if sketch.chance(0.7) else {"every": sketch.between(1, 6)}
    start = sketch.between(0, sketch.active / 3)
    stream |= {"start": start, "stop": round(rng.uniform(start + 10, sketch.active), 2)}
    stream["payload"] = [0, 1500] if sketch.chance(0.15) else [0, 100]
    if sketch.chance(0.3):
        stream["type"] = rng.choice(("t1", "t2"))
    if "groups" in sketch.config and sketch.chance(0.5):
        stream["group"] = "crew"
    kind = rng.random()
    if kind < 0.45:
        stream["lifetime"] = rng.choice((5.0, 20.0, 60.0, 300.0, 600.0))
    elif kind < 0.6:
        stream["persistent"] = True
    if sketch.chance(0.15):
        hosts = sketch.hosts()
        stream["to"] = sorted(rng.sample(hosts, rng.randint(1, min(3, len(hosts)))))
    return stream


def _subscription(sketch: Sketch) -> Entry:
    """One filter: standing, for a while, or coming and going."""
    rng = sketch.rng
    text = f"sender = {rng.choice(sketch.hosts())}" if sketch.chance(0.1) else rng.choice(FILTERS)
    wish: Entry = {"filter": text, "start": 0.0 if sketch.chance(0.5) else sketch.between(0, sketch.active * 0.7)}
    kind = rng.random()
    if kind < 0.3:
        wish |= {"hold": sketch.between(5, 25), "gap": sketch.between(3, 20)}
    elif kind < 0.5:
        wish["stop"] = round(rng.uniform(wish["start"] + 2, sketch.active), 2)
    return wish


def _presence(sketch: Sketch, always: float) -> Entry:
    """ON all the time, with this probability, or coming and going."""
    if sketch.chance(always):
        return {}
    return {"presence": {"on": sketch.between(4, 30), "off": sketch.between(2, 25)}}
