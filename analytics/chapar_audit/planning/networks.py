"""`chapar-audit model`: the radio network of a battalion, and CAFES."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chapar_audit.models.cafes import Cafes
from chapar_audit.models.radio import SUBSCRIBERS, Radio
from chapar_audit.planning.answer import Answer, cheaper, listed, shown
from chapar_audit.planning.options import form, may, model, need, number, whole

if TYPE_CHECKING:
    import argparse

    from chapar_audit.planning.options import SubParsers


def add(models: SubParsers) -> None:
    """Add the sub-commands of this module."""
    _add_radio(models)
    _add_cafes(models)


def _add_radio(models: SubParsers) -> None:
    parser = model(
        models, "radio", _radio, "a squad that publishes in the radio network of a battalion",
        "  chapar-audit model radio --omega 6 --mu 1 --r 1/6\n"
        "  chapar-audit model radio --omega 6 --mu 1 --r 1/6 --form printed\n"
        "  chapar-audit model radio --omega 6 --mu 1 --r 1/6 --psi 110",
    )  # fmt: skip
    need(parser, "omega", "notifications per minute")
    need(parser, "mu", "1/mu is how many minutes a member subscribes")
    need(parser, "r", "refresh period of subscriptions, in minutes (inf for none)")
    may(parser, "q", "how much more often members near the squad subscribe (default: 1)", number, 1.0)
    may(parser, "psi", f"the traffic with so many of {SUBSCRIBERS} subscribed, on average", number, None)
    form(parser, "appendix C as printed, from which figures 3.3 to 3.6 follow")


def _radio(args: argparse.Namespace) -> Answer:
    radio = Radio(args.omega, args.mu, args.r, args.q)
    printed = args.form == "printed"
    point = radio.printed_break_even() if printed else radio.break_even()
    share = None if point is None else point / SUBSCRIBERS
    values: dict[str, object] = {"break_even": point, "share": share}
    if point is None or share is None:
        lines = ["flooding is never cheaper"]
    else:
        lines = [f"flooding is cheaper from {shown(point)} active subscribers, {share:.1%} of {SUBSCRIBERS}"]
    if args.psi is not None:
        lam = radio.lam(args.psi)
        ours = radio.printed_traffic(args.psi) if printed else radio.traffic(args.psi)
        x = radio.printed_x(args.psi) if printed else radio.x(args.psi)
        rows = [
            ("psi", args.psi, "active subscribers, on average"),
            ("lam", lam, "how often one near the squad subscribes"),
            ("x", x, "of 124 links in use"),
            ("A_sdt", ours.state_dependent, "notifications and refreshes"),
            ("A_t", ours.toggle, "subscriptions and unsubscriptions"),
            ("A_ibr", ours.identity, "identity-based routing in all"),
            ("A_f", ours.flooding, "flooding"),
        ]
        values |= {name: value for name, value, _ in rows}
        lines += [*listed(rows), cheaper(ours.identity, ours.flooding)]
    return Answer(values, lines)


def _add_cafes(models: SubParsers) -> None:
    parser = model(
        models, "cafes", _cafes, "flooding notifications or subscriptions in a multicast network of routers",
        "  chapar-audit model cafes --routers 5 --clients 5 --omega 1 --r 2 --lam 1/60 --mu 1 --gamma 1/30 --nu 1/30",
    )  # fmt: skip
    need(parser, "routers", "N: routers on the multicast network", whole)
    need(parser, "clients", "c: clients at each router", whole)
    need(parser, "omega", "notifications of an active publisher per unit of time")
    need(parser, "r", "refresh period of subscriptions (inf for none)")
    need(parser, "lam", "how often a client subscribes to another")
    need(parser, "mu", "1/mu is how long it stays subscribed")
    need(parser, "gamma", "how often a client becomes active as a publisher")
    need(parser, "nu", "1/nu is how long it publishes")
    form(parser, "the toggle rate without c, as in 4.2")


def _cafes(args: argparse.Namespace) -> Answer:
    ours = Cafes(args.routers, args.clients, args.omega, args.r, args.lam, args.mu, args.gamma, args.nu)
    flooded = ours.notification_flooding
    filtered = ours.printed_subscription_flooding if args.form == "printed" else ours.subscription_flooding
    rows = [
        ("A_NF", flooded, "flooding notifications"),
        ("A_SF", filtered, "flooding subscriptions, and sending the notifications that are wanted"),
        ("difference", flooded - filtered, "above 0 where flooding subscriptions is cheaper"),
    ]
    return Answer({name: value for name, value, _ in rows}, listed(rows))
