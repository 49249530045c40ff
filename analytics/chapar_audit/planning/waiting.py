"""`chapar-audit model`: an ON/OFF queue, and a path of queues from a publisher to a subscriber."""

from __future__ import annotations

import math
import os
from typing import TYPE_CHECKING

from chapar_audit.models import path as way
from chapar_audit.models.conditions import ImpossibleInputError, require
from chapar_audit.models.onoff import OnOff
from chapar_audit.planning.answer import Answer, columns, listed, shown
from chapar_audit.planning.options import may, model, need, number, numbers, whole

if TYPE_CHECKING:
    import argparse

    from chapar_audit.planning.options import SubParsers


def add(models: SubParsers) -> None:
    """Add the sub-commands of this module."""
    _add_onoff(models)
    _add_path(models)


def _add_onoff(models: SubParsers) -> None:
    parser = model(
        models, "onoff", _onoff, "how long events wait for a subscriber that is there on and off",
        "  chapar-audit model onoff --lam 1 --d .125 --on 20 --off 20",
    )  # fmt: skip
    need(parser, "lam", "events per second")
    need(parser, "d", "seconds to serve one, on average")
    need(parser, "on", "seconds that the subscriber is there, on average")
    need(parser, "off", "seconds that it is away, on average (0: never)")


def _onoff(args: argparse.Namespace) -> Answer:
    station = OnOff(args.d, args.on, args.off)
    time = station.response_time(args.lam)
    rows = [
        ("response_time", time, "seconds from arrival to the end of service, on average"),
        ("utilisation", station.utilisation(args.lam), "of the time that the subscriber is there"),
        ("queue_length", args.lam * time, "events in the queue, on average"),
        ("lambda_max", station.fastest, "events per second from which the queue grows for ever"),
    ]
    return Answer({name: value for name, value, _ in rows}, listed(rows))


def _add_path(models: SubParsers) -> None:
    parser = model(
        models, "path", _path, "how long events take from a publisher to a subscriber over brokers (algorithm 1)",
        "  chapar-audit model path --lam 1 --d .0625 --publisher 109,121.5 --subscriber 146.3,96 --brokers 3\n"
        "  chapar-audit model path --lam 2 --d .0625 --publisher 1,1 --subscriber 1.5,1.5 --brokers 3 --tandem",
    )  # fmt: skip
    need(parser, "lam", "events per second")
    need(parser, "d", "seconds to serve one at each stop, on average")
    for end in ("publisher", "subscriber"):
        about = "seconds that it is there and away, on average (1,0: always there)"
        parser.add_argument(f"--{end}", required=True, type=numbers, metavar="ON,OFF", help=about)
    need(parser, "brokers", "how many brokers are on the path", whole)
    may(parser, "others", "events per second of others, at each broker (default: 0)", number, 0.0)
    parser.add_argument("--tandem", action="store_true", help="solve the chain of queues too; it takes some seconds")


def _path(args: argparse.Namespace) -> Answer:
    ends = []
    for name in ("publisher", "subscriber"):
        periods = getattr(args, name)
        require(len(periods) == 2, f"--{name}: write ON,OFF, as in 20,20")
        ends.append(OnOff(args.d, *periods))
    path = way.stops(ends[0], ends[1], args.brokers, args.d, args.others)
    poisson = way.response_times(path, args.lam)
    total = math.fsum(poisson)
    names = [stop.name for stop in path]
    values: dict[str, object] = {
        "response_time": total,
        "stops": [{"stop": name, "response_time": time} for name, time in zip(names, poisson, strict=True)],
    }
    if not args.tandem:
        table = columns(("stop", "seconds"), [*zip(names, poisson, strict=True), ("in all", total)])
        return Answer(values, table)
    bursty = _tandem(path, args.lam)
    exact = math.fsum(bursty)
    values["tandem_response_time"] = exact
    values["tandem_stops"] = [{"stop": name, "response_time": time} for name, time in zip(names, bursty, strict=True)]
    rows = [*zip(names, poisson, bursty, strict=True), ("in all", total, exact)]
    says = f"events come in bursts, which algorithm 1 neglects: {shown(exact)} s rather than {shown(total)} s"
    return Answer(values, [*columns(("stop", "algorithm 1", "tandem"), rows), says])


def _tandem(path: tuple[way.Stop, ...], lam: float) -> list[float]:
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # for small matrices, more threads wait for each other
    try:
        from chapar_audit.models.tandem import response_times  # noqa: PLC0415 - numpy is for this alone
    except ModuleNotFoundError:
        raise ImpossibleInputError("--tandem needs numpy: pip install 'chapar[analytics]'") from None
    return response_times(path, lam)
