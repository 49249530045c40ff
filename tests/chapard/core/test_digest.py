"""Digests: equal tables have equal digests, and a difference is found without listing the table."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from chapar.limits import U64_MAX
from chapar.wire import BUCKETS, DIGEST_WIDTH
from chapard.core.digest import DigestTree, bucket_of, hash63

keys = st.integers(0, 60).map(lambda n: n.to_bytes(2, "big"))
stamps = st.integers(0, U64_MAX)
records = st.tuples(keys, stamps, st.integers(0, 2**32 - 1))
steps = st.lists(st.one_of(records, keys), max_size=60)
Record = tuple[bytes, int, int]
Table = dict[bytes, tuple[int, int]]


def grown(table: Table) -> DigestTree:
    """A tree over exactly these records, from nothing."""
    tree = DigestTree()
    for key, (stamp, content) in table.items():
        tree.set(key, stamp, content)
    return tree


def differing(one: DigestTree, two: DigestTree) -> list[int]:
    """The buckets that two brokers find to differ, level by level, as they do over the air."""
    groups = [group for group, (a, b) in enumerate(zip(one.groups(), two.groups(), strict=True)) if a != b]
    return [
        DIGEST_WIDTH * group + place
        for group in groups
        for place, (a, b) in enumerate(zip(one.buckets(group), two.buckets(group), strict=True))
        if a != b
    ]


@given(steps)
def test_a_tree_equals_one_made_from_scratch(steps: list[Record | bytes]) -> None:
    """After any sets and discards the tree is the one that the records alone determine, in any order."""
    tree = DigestTree()
    table: Table = {}
    for step in steps:
        if isinstance(step, tuple):
            key, stamp, content = step
            tree.set(key, stamp, content)
            table[key] = (stamp, content)
        else:
            tree.discard(step)
            table.pop(step, None)
    fresh = grown(dict(reversed(table.items())))
    assert (tree.root, tree.groups()) == (fresh.root, fresh.groups())
    assert [tree.buckets(group) for group in range(DIGEST_WIDTH)] == [fresh.buckets(g) for g in range(DIGEST_WIDTH)]
    assert len(tree) == len(table)
    assert list(tree.all_entries().items()) == sorted((key, stamp) for key, (stamp, _) in table.items())
    for key in (n.to_bytes(2, "big") for n in range(61)):
        assert (key in tree) == (key in table)
        assert tree.stamp(key) == table.get(key, (0, 0))[0]


@given(st.lists(records), st.lists(records))
def test_differing_buckets_hold_every_difference(some: list[Record], more: list[Record]) -> None:
    """Comparing groups, then buckets, finds all records that differ in key, stamp or content, and no other bucket."""
    one_table: Table = {key: (stamp, content) for key, stamp, content in some}
    two_table = one_table | {key: (stamp, content) for key, stamp, content in more}
    one, two = grown(one_table), grown(two_table)
    changed = {key for key in two_table if one_table.get(key) != two_table[key]}
    buckets = differing(one, two)
    assert buckets == sorted({bucket_of(key) for key in changed})
    assert (one.root == two.root) == (not changed)
    listed = two.entries(buckets)
    assert changed <= listed.keys()
    assert list(listed) == sorted(listed)
    assert all(bucket_of(key) in buckets for key in listed)


def test_a_difference_costs_the_same_in_a_large_table() -> None:
    """In a table of ten thousand records one missing record leads to one bucket, which lists about ten."""
    table: Table = {n.to_bytes(10, "big"): (n, 0) for n in range(10_000)}
    whole, lacking = grown(table), grown(table)
    lacking.discard((5000).to_bytes(10, "big"))
    buckets = differing(whole, lacking)
    assert buckets == [bucket_of((5000).to_bytes(10, "big"))]
    assert len(whole.entries(buckets)) < 30
    filled = [len(whole.entries([bucket])) for bucket in range(BUCKETS)]
    assert min(filled) > 0
    assert max(filled) < 30


def test_a_key_that_is_not_held_has_stamp_0() -> None:
    """What a broker lacks it asks for with stamp 0; discarding it changes nothing."""
    tree = grown({b"\0\1": (7, 0)})
    before = tree.root
    tree.discard(b"\0\2")
    assert tree.stamp(b"\0\2") == 0
    assert b"\0\2" not in tree
    assert tree.root == before
    tree.discard(b"\0\1")
    assert (tree.root, len(tree), tree.all_entries()) == (0, 0, {})


@given(st.binary(), records)
def test_digests_fit_their_fields_on_the_wire(data: bytes, record: Record) -> None:
    """Roots and hashes have 63 bits, digests of groups and buckets 32, whatever the stamp and content."""
    tree = grown({record[0]: record[1:]})
    assert 0 <= hash63(data) <= U64_MAX
    assert 0 <= tree.root <= U64_MAX
    group = bucket_of(record[0]) // DIGEST_WIDTH
    assert all(0 <= digest < 2**32 for digest in (*tree.groups(), *tree.buckets(group)))
    assert tree.buckets(group)[bucket_of(record[0]) % DIGEST_WIDTH] == tree.root % 2**32


def test_digests_are_fixed() -> None:
    """Nodes of any release compute the same digests: these are on the wire."""
    tree = grown({b"\0\1": (7, 9)})
    assert (bucket_of(b"\0\1"), hash63(b"chapar")) == (704, 8376225867389600912)
    assert tree.root == 6259094175225604606
