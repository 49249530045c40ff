"""`chapar-audit model`: the size of the filter mapping table, false matches, Bloom filters."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chapar_audit.models import table
from chapar_audit.planning.answer import Answer, listed
from chapar_audit.planning.options import may, model, need, whole

if TYPE_CHECKING:
    import argparse

    from chapar_audit.planning.options import SubParsers


def add(models: SubParsers) -> None:
    """Add the sub-commands of this module."""
    fmt = model(
        models, "fmt", _fmt, "the size of Chapar's filter mapping table",
        "  chapar-audit model fmt --filters 100 --nodes 40 --elements 5 --bits 16",
    )  # fmt: skip
    need(fmt, "filters", "filters in the table", whole)
    need(fmt, "nodes", "nodes of the network", whole)
    need(fmt, "elements", "elements of a filter", whole)
    need(fmt, "bits", "bits of an element", whole)
    match = model(
        models, "false-match", _false_match, "how often the & of two hashes takes different elements for a match",
        "  chapar-audit model false-match --bits 16\n  chapar-audit model false-match --bits 16 --elements 5",
    )  # fmt: skip
    need(match, "bits", "bits of an element", whole)
    may(match, "elements", "elements that the filter specifies, all different from the event's (default: 1)", whole, 1)
    bloom = model(
        models, "bloom", _bloom, "how often a Bloom filter claims what it does not hold",
        "  chapar-audit model bloom --ratio 8 --k 5",
    )  # fmt: skip
    need(bloom, "ratio", "bits of the filter for each element in it")
    may(bloom, "k", "hash functions (default: the best number)", whole, None)


def _fmt(args: argparse.Namespace) -> Answer:
    bits = table.fmt_bits(args.filters, args.nodes, args.elements, args.bits)
    size = -(-bits // 8)
    return Answer({"bits": bits, "bytes": size}, [f"{size} bytes ({bits} bits)"])


def _false_match(args: argparse.Namespace) -> Answer:
    rows = [
        ("false_match", table.false_match(args.bits), "of an element, which may be unspecified or equal"),
        (
            "specified",
            table.false_match_of_specified(args.bits, args.elements),
            f"of {args.elements} specified, all different",
        ),
        ("equality", table.equality_false_match(args.bits), "of an element, if hashes were compared for equality"),
    ]
    return Answer({name: value for name, value, _ in rows}, listed(rows))


def _bloom(args: argparse.Namespace) -> Answer:
    best = table.bloom_best_k(args.ratio)
    k = max(1, round(best)) if args.k is None else args.k
    rate = table.bloom_false_positive(args.ratio, k)
    lines = [f"{rate:.4%} false positives with k = {k}; best is k = {best:.3f}"]
    return Answer({"false_positive": rate, "k": k, "best_k": best}, lines)
