"""`chapar-audit model`: static, tree, advertisements, covering and transient traffic."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from chapar_audit.models import covering as covers
from chapar_audit.models import static as still
from chapar_audit.models import transient as waves
from chapar_audit.models.advertisements import Publisher, advertised
from chapar_audit.models.conditions import ImpossibleInputError, for_each, require
from chapar_audit.models.population import Population
from chapar_audit.models.tree import Tree, from_usage, leaves, m_ary, rooted, usage
from chapar_audit.planning.answer import Answer, cheaper, columns, listed
from chapar_audit.planning.options import form, may, model, need, number, numbers, whole, wholes

if TYPE_CHECKING:
    import argparse

    from chapar_audit.models.tree import Usage
    from chapar_audit.planning.options import SubParsers


def add(models: SubParsers) -> None:
    """Add the sub-commands of this module."""
    _add_static(models)
    _add_tree(models)
    _add_advertisements(models)
    _add_covering(models)
    _add_transient(models)


def _add_static(models: SubParsers) -> None:
    parser = model(
        models, "static", _static, "one notification in an m-ary tree with subscribers at its leaves",
        "  chapar-audit model static --m 3 --k 4 --subscribers 8",
    )  # fmt: skip
    need(parser, "m", "children of each broker", whole)
    need(parser, "k", "levels of the tree", whole)
    need(parser, "subscribers", "how many of the leaves have a subscriber", whole)


def _static(args: argparse.Namespace) -> Answer:
    curves = {"best": still.best, "worst": still.worst, "homogeneous": still.homogeneous}
    costs = {name: cost(args.m, args.k, args.subscribers) for name, cost in curves.items()}
    points = {name: still.break_even(args.m, args.k, cost) for name, cost in curves.items()}
    flooding = still.flooding(args.m, args.k)
    count = still.end_brokers(args.m, args.k)
    rows: list[list[object]] = [[name, costs[name], points[name]] for name in curves]
    return Answer(
        {**costs, "flooding": flooding, "break_even": points, "end_brokers": count, "links": flooding},
        [
            f"{args.subscribers} subscribers at {count} end-brokers, {flooding} links: messages for one notification",
            *columns(("placement", "A_ibr", "break-even S"), [*rows, ["flooding", flooding, ""]]),
        ],
    )


def _tree_options(parser: argparse.ArgumentParser) -> None:
    may(parser, "m", "children of each broker of an m-ary tree; subscribers are at its leaves", whole, None)
    may(parser, "k", "levels of the m-ary tree", whole, None)
    may(parser, "edges", "links of any other tree, as 1-2,2-3; subscribers are at all brokers", str, None)
    may(parser, "publisher", "the publisher's broker (default: the lowest number)", whole, None)
    need(parser, "lam", "how often subscribers come: one value, or one for each broker, ascending", numbers)
    need(parser, "mu", "1/mu is how long they stay", numbers)
    may(parser, "population", "how many there are at a broker (default: infinitely many)", wholes, None)
    form(parser, "the toggle rate without the number of subscribers, as 2.3.5 has it")


class _Place(NamedTuple):
    """A tree with its subscribers, as asked for."""

    tree: Tree
    where: tuple[int, ...]
    who: dict[int, Population]
    printed: bool
    used: Usage

    def toggles(self, broker: int) -> float:
        return self.who[broker].printed_toggles if self.printed else self.who[broker].toggles

    @property
    def toggle(self) -> float:
        """A_t."""
        return sum(self.used.d[broker] * self.toggles(broker) for broker in self.where)


def _place(args: argparse.Namespace) -> _Place:
    shaped = args.m is not None or args.k is not None
    require(shaped != (args.edges is not None), "give the tree either as --m and --k or as --edges")
    if shaped:
        require(args.m is not None and args.k is not None, "an m-ary tree needs both --m and --k")
        require(args.publisher in {None, 1}, "the publisher of an m-ary tree is at its root; use --edges for another")
        tree = m_ary(args.m, args.k)
        where = leaves(tree)
    else:
        edges = _edges(args.edges)
        lowest = min(min(edge) for edge in edges)
        tree = rooted(edges, lowest if args.publisher is None else args.publisher)
        where = tuple(sorted(tree.brokers))
    lam, mu = for_each("lam", args.lam, len(where)), for_each("mu", args.mu, len(where))
    sizes = [None] * len(where) if args.population is None else for_each("population", args.population, len(where))
    who = {
        broker: Population(rate, leaving, None if size is None else int(size))
        for broker, rate, leaving, size in zip(where, lam, mu, sizes, strict=True)
    }
    used = usage(tree, {broker: each.idle for broker, each in who.items()})
    return _Place(tree, where, who, args.form == "printed", used)


def _edges(text: str) -> list[tuple[int, int]]:
    edges = []
    for each in text.split(","):
        a, _, b = each.partition("-")
        if not (a.strip().isdecimal() and b.strip().isdecimal()):
            raise ImpossibleInputError(f"edge {each!r}: write two broker numbers, as in 1-2,2-3")
        edges.append((int(a), int(b)))
    return edges


def _add_tree(models: SubParsers) -> None:
    parser = model(
        models, "tree", _tree, "subscribers that come and go in any tree of brokers",
        "  chapar-audit model tree --m 2 --k 4 --lam .5 --mu 1 --omega 2 --r 1\n"
        "  chapar-audit model tree --m 2 --k 4 --lam .05 --mu 1 --population 8 --omega 2 --r 1\n"
        "  chapar-audit model tree --edges 1-2,2-3,2-4,4-5 --publisher 1 --lam .3,.1,.5,.05,.2 --mu 1 \\\n"
        "      --population 2,3,1,4,2",
    )  # fmt: skip
    _tree_options(parser)
    may(parser, "omega", "notifications per unit of time", number, None)
    may(parser, "r", "refresh period of subscriptions (inf for none)", number, None)


def _tree(args: argparse.Namespace) -> Answer:
    require((args.omega is None) == (args.r is None), "--omega and --r go together; --r inf is for no refreshes")
    place = _place(args)
    uniform = args.edges is None and {len(args.lam), len(args.mu), len(args.population or (0,))} == {1}
    each = [(place.who[b].idle, place.toggles(b), place.used.d[b]) for b in place.where]
    per_broker = each[0] if uniform else tuple(map(list, zip(*each, strict=True)))
    values: dict[str, object] = dict(zip(("p0", "t_r", "d"), per_broker, strict=True))
    values |= {"x": place.used.x, "A_t": place.toggle, "links": place.tree.links}
    lines = []
    if uniform:
        rows = [
            ("p0", each[0][0], "share of time without an active subscriber, at each end-broker"),
            ("t_r", each[0][1], "toggles of each end-broker"),
            ("d", each[0][2], "links that a toggle crosses"),
        ]
    else:
        values["brokers"] = list(place.where)
        cells = [[str(broker), *row] for broker, row in zip(place.where, each, strict=True)]
        lines = columns(("broker", "p0", "t_r", "d"), cells)
        rows = []
    rows.append(("x", place.used.x, f"of {place.tree.links} links in use, on average"))
    rows.append(("A_t", place.toggle, "subscriptions and unsubscriptions"))
    if args.omega is not None:
        all_of_it = from_usage(place.used.x, place.toggle, args.omega, args.r, place.tree.links)
        values |= {"A_sdt": all_of_it.state_dependent, "A_ibr": all_of_it.identity, "A_f": float(all_of_it.flooding)}
        rows.append(("A_sdt", all_of_it.state_dependent, "notifications and refreshes"))
        rows.append(("A_ibr", all_of_it.identity, "identity-based routing in all"))
        rows.append(("A_f", float(all_of_it.flooding), "flooding"))
        return Answer(values, [*lines, *listed(rows), cheaper(all_of_it.identity, all_of_it.flooding)])
    return Answer(values, [*lines, *listed(rows)])


def _add_advertisements(models: SubParsers) -> None:
    parser = model(
        models, "advertisements", _advertisements, "a publisher that comes and goes, and advertises",
        "  chapar-audit model advertisements --m 2 --k 4 --lam .05 --mu 1 --population 8 \\\n"
        "      --gamma .2 --nu .1 --omega 2 --r 1 --ra 5",
    )  # fmt: skip
    _tree_options(parser)
    need(parser, "gamma", "how often the publisher comes while it is away")
    need(parser, "nu", "1/nu is how long it stays")
    need(parser, "omega", "notifications per unit of time while it is there")
    need(parser, "r", "refresh period of subscriptions (inf for none)")
    need(parser, "ra", "refresh period of advertisements (inf for none)")
    parser.add_argument("--withdraw", action="store_true", help="unadvertising withdraws subscriptions with messages")


def _advertisements(args: argparse.Namespace) -> Answer:
    place = _place(args)
    publisher = Publisher(args.gamma, args.nu, args.omega, args.r, args.ra)
    ours = advertised(
        publisher, place.used.x, place.toggle, place.tree.links, unadvertising_withdraws=args.withdraw
    )  # fmt: skip
    again = 0.0 if place.printed else ours.resubscribing
    toggle = ours.printed_toggle + again
    identity = ours.state_dependent + toggle
    values = {
        "present": publisher.present, "x": place.used.x, "A_sdt": ours.state_dependent, "A_ta": ours.advertising,
        "resubscribing": again, "A_t": toggle, "A_ibr": identity, "A_f": ours.flooding,
    }  # fmt: skip
    about = (
        "share of time with the publisher there", f"of {place.tree.links} links in use while it is there",
        "notifications and refreshes", "advertisements and unadvertisements",
        "subscriptions into standing interest, when it comes", "all that toggles send", "identity-based routing in all",
        "flooding",
    )  # fmt: skip
    rows = [(name, value, meaning) for (name, value), meaning in zip(values.items(), about, strict=True)]
    return Answer(values, [*listed(rows), cheaper(identity, ours.flooding)])


def _add_covering(models: SubParsers) -> None:
    parser = model(
        models, "covering", _covering, "one link, with a filter F that covers another, G",
        "  chapar-audit model covering --lam-g .8 --mu-g 1 --lam-f .3 --mu-f .6 --omega 2 --z-g .2 --z-h .3 --r .5",
    )  # fmt: skip
    for each in ("g", "f"):
        need(parser, f"lam-{each}", f"how often subscribers of {each.upper()} come")
        need(parser, f"mu-{each}", "1/mu is how long they stay")
    need(parser, "omega", "notifications per unit of time")
    need(parser, "z-g", "share of the notifications that match G, and so F")
    need(parser, "z-h", "share that match F alone")
    need(parser, "r", "refresh period of subscriptions (inf for none)")
    parser.add_argument("--implicit", action="store_true", help="a covered G is dropped without a message")
    form(parser, "A_t as in 2.48, without what G costs when F comes and goes")


def _covering(args: argparse.Namespace) -> Answer:
    ours = covers.covered(
        Population(args.lam_g, args.mu_g),
        Population(args.lam_f, args.mu_f),
        covers.Notifications(args.omega, args.z_g, args.z_h, args.r),
        covered_is_withdrawn=not args.implicit,
    )
    toggle = ours.printed_toggle if args.form == "printed" else ours.toggle
    total = ours.state_dependent + toggle
    rows = [
        ("A_sdt", ours.state_dependent, "notifications and refreshes"),
        ("A_t", toggle, "subscriptions and unsubscriptions"),
        ("A_cbr", total, "covering-based routing in all"),
        ("A_ibr", ours.identity, "identity-based routing: the same without covering"),
        ("A_f", ours.flooding, "flooding"),
    ]
    return Answer({name: value for name, value, _ in rows}, listed(rows))


def _add_transient(models: SubParsers) -> None:
    parser = model(
        models, "transient", _transient, "subscribers that come in waves, at rate c + b sin(at)",
        "  chapar-audit model transient --m 3 --k 5 --a 1 --b 5 --c 5 --mu 5 --omega 1 --r 1 --time 25",
    )  # fmt: skip
    need(parser, "m", "children of each broker", whole)
    need(parser, "k", "levels of the tree", whole)
    need(parser, "a", "frequency of the waves, 2 pi/period")
    need(parser, "b", "how far the rate swings, at most c")
    need(parser, "c", "the rate at which subscribers come, on average, at each leaf")
    need(parser, "mu", "1/mu is how long they stay")
    need(parser, "omega", "notifications per unit of time")
    need(parser, "r", "refresh period of subscriptions (inf for none)")
    need(parser, "time", "how long")
    may(parser, "rho0", "active subscribers per leaf at the beginning (default: c/mu)", number, None)
    form(parser, "the toggle rate 2 lam(t) p0(t)")


def _transient(args: argparse.Namespace) -> Answer:
    grove = waves.Grove(args.m, args.k, args.omega, args.r)
    cost = waves.printed_identity if args.form == "printed" else waves.identity
    wave, calm = (waves.Wave(args.a, b, args.c, args.mu, args.rho0) for b in (args.b, 0.0))
    moving, steady = cost(grove, wave, args.time), cost(grove, calm, args.time)
    flooding = float(waves.flooding(grove, args.time))
    rows = [
        ("A_ibr", moving, "identity-based routing"),
        ("A_ibr_constant", steady, "the same if subscribers came at rate c all the time"),
        ("difference", moving - steady, "what the waves cost"),
        ("A_f", flooding, "flooding"),
        ("rho", wave.rho(args.time), "active subscribers per leaf at the end"),
    ]
    lines = [f"messages in a time of {args.time:g}", *listed(rows), cheaper(moving, flooding)]
    return Answer({name: value for name, value, _ in rows}, lines)
