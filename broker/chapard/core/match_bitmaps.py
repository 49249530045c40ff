"""Filters as slots of bitmaps: all that an event matches, found by a few bitmap operations per attribute.

Every filter here has a *slot*, its bit in all bitmaps. The slots that constrain an attribute which the event lacks are
excluded by one bitmap, remembered for each set of names that events have (a *plan*). Each attribute that the event has
excludes the slots whose constraints its value violates (`match_values`). What is left matches, but for some in doubt,
which are compared with the event one by one.

Slots are kept without gaps: the last filter moves into the place of one that leaves. Bitmaps grow by an eighth, so
that adding is amortised, and shrink when three quarters are unused.

The answer is wanted as node vectors. If far more filters match than there are nodes, it is cheaper to ask for each
node whether a filter of it is among them, with a bitmap of the slots that each node holds.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from bitarray.util import any_and

from chapar.check import comparison_of, operand_of
from chapard.core.match_region import is_set, regions_of
from chapard.core.match_values import RangeIndex, SetIndex, blank, fit
from chapard.core.nodevector import NodeVector

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from bitarray import bitarray

    from chapar.check import Operand
    from chapar.constraint import Constraint, Op
    from chapar.value import Value
    from chapard.core.match_region import Cut, Region

FEWEST_SLOTS: Final = 64
"""Length of the shortest bitmaps: shorter ones would save nothing beside their own headers."""
FEW_LEFT: Final = 64
"""Slots of which one finds those in doubt sooner than one looks at everything in doubt."""
MAX_PLANS: Final = 32
"""Sets of names for which a plan is remembered; making one costs a bitmap operation for each name that is lacking."""
MATCHES_PER_NODE: Final = 4
"""Matches above which, for each node that holds any filter, nodes are asked for and not matches."""


Asked = tuple[Any, ...]
"""Name, comparison and operand of each constraint, in one flat tuple."""


def asked_by(constraints: Iterable[Constraint], shared: Callable[[str], str] = str) -> Asked:
    """What canonical constraints ask for, under names that filters may share."""
    return tuple(part for each in constraints for part in (shared(each.name), comparison_of(each), operand_of(each)))


class Entry:
    """A filter as the index knows it: what it asks for, who holds it, and where it is.

    There may be a hundred thousand of them, so they keep what they ask for as short as it can be said, and their
    regions are made again when they come into the bitmaps and when they leave them.
    """

    __slots__ = ("asked", "slot", "vector")

    def __init__(self, vector: NodeVector, asked: Asked) -> None:
        self.vector = vector
        self.asked = asked
        """What is asked for beyond what is known to hold where the entry is kept."""
        self.slot = -1
        """The entry's bit in the bitmaps, or -1 if it is not in them."""

    def admits(self, value_of: Callable[[str], Value | None]) -> bool:
        """Whether an event with these values, by name, is what is asked for."""
        parts = iter(self.asked)
        for name in parts:
            _, types, holds = next(parts)
            value = value_of(name)
            if value.__class__ not in types or not holds(value, next(parts)):
                return False
        return True

    def names(self) -> list[str]:
        """The names under which something is asked for."""
        return list(dict.fromkeys(self.asked[::3]))

    def regions(self) -> dict[str, Region]:
        """What is asked for under each name."""
        return regions_of(self._constraints())

    def region(self, name: str) -> Region:
        """What is asked for under this name."""
        return regions_of(each for each in self._constraints() if each[0] == name)[name]

    def _constraints(self) -> Iterator[tuple[str, Op, Operand]]:
        parts = iter(self.asked)
        for name, comparison, operand in zip(parts, parts, parts, strict=True):
            yield name, comparison.op, operand


class AttributeIndex:
    """The slots that constrain one attribute."""

    __slots__ = ("_region_of", "count", "members", "ranges", "sets")

    def __init__(self, capacity: int, region_of: Callable[[int], Region]) -> None:
        self._region_of = region_of
        self.count = 0
        self.members = blank(capacity)
        self.sets: SetIndex | None = None
        self.ranges: RangeIndex | None = None

    def add(self, slot: int, region: Region) -> None:
        self.count += 1
        self.members[slot] = 1
        if is_set(region):
            self.sets = self.sets or SetIndex(len(self.members))
            self.sets.add(slot, region)
        else:
            self.ranges = self.ranges or RangeIndex(len(self.members), self._region_of)
            self.ranges.add(slot, region)

    def remove(self, slot: int, region: Region) -> None:
        self.count -= 1
        self.members[slot] = 0
        if is_set(region):
            assert self.sets is not None, "the region was added"
            self.sets.remove(slot, region)
            if self.sets.is_empty():
                self.sets = None
        else:
            assert self.ranges is not None, "the region was added"
            self.ranges.remove(slot, region)
            if self.ranges.is_empty():
                self.ranges = None

    def resize(self, capacity: int) -> None:
        fit(self.members, capacity)
        for index in (self.sets, self.ranges):
            if index is not None:
                index.resize(capacity)


class Plan(NamedTuple):
    """How to look up events with the same names."""

    attributes: dict[str, AttributeIndex]
    """Those of the attributes in use that the events have."""
    lacking: bitarray
    """The slots that constrain another attribute, and those that are no entry's."""


class BitmapIndex:
    """Filters that constrain only attributes which have been opened for them."""

    __slots__ = ("_entries", "_holders", "_plans", "_vacant", "attributes")

    def __init__(self) -> None:
        self.attributes: dict[str, AttributeIndex] = {}
        """By name. Use `open` and `close`."""
        self._entries: list[Entry] = []
        """By slot."""
        self._vacant = ~blank(FEWEST_SLOTS)
        """The bits that are no entry's."""
        self._holders: dict[int, bitarray] = {}
        """The slots that each node holds."""
        self._plans: dict[tuple[str, ...], Plan] = {}
        """By the names that events have."""

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def capacity(self) -> int:
        return len(self._vacant)

    def open(self, name: str) -> None:
        """Let filters constrain `name`."""
        entries = self._entries
        self.attributes[name] = AttributeIndex(self.capacity, lambda slot: entries[slot].region(name))
        self._plans.clear()

    def close(self, name: str) -> None:
        """Forget `name`, which no entry constrains any more."""
        assert not self.attributes[name].count, "entries that constrain the name have gone"
        del self.attributes[name]
        self._plans.clear()

    def constraining(self, name: str) -> list[Entry]:
        """The entries that constrain `name`."""
        return [self._entries[slot] for slot in self.attributes[name].members.search(1)]

    def add(self, entry: Entry) -> None:
        slot = len(self._entries)
        if slot == self.capacity:
            self._resize(slot + slot // 8)
        self._entries.append(entry)
        self._vacant[slot] = 0
        self._occupy(entry, slot)

    def remove(self, entry: Entry) -> None:
        slot = entry.slot
        self._leave(entry)
        last = self._entries.pop()
        if last is not entry:
            self._leave(last)
            self._entries[slot] = last
            self._occupy(last, slot)
        for bits in self._shared():
            bits[len(self._entries)] = 1
        if self.capacity > FEWEST_SLOTS and len(self._entries) < self.capacity // 4:
            self._resize(max(FEWEST_SLOTS, self.capacity // 2))

    def hold(self, entry: Entry, node: int) -> None:
        """Note that `node` holds the entry."""
        if node not in self._holders:
            self._holders[node] = blank(self.capacity)
        self._holders[node][entry.slot] = 1

    def release(self, entry: Entry, node: int) -> None:
        """Note that `node` holds the entry no more."""
        bits = self._holders[node]
        bits[entry.slot] = 0
        if not bits.any():
            del self._holders[node]

    def match(self, values: Mapping[str, Value], positions: Mapping[str, Cut], found: list[NodeVector]) -> None:
        """Append to `found` node vectors whose union is that of all entries that admit the event.

        It is given twice, by name: as values, and as their positions.
        """
        plan = self._plans.get(tuple(positions)) or self._make_plan(tuple(positions))
        failed = plan.lacking.copy()
        doubts = []
        for name, attribute in plan.attributes.items():
            position = positions[name]
            if attribute.sets is not None:
                attribute.sets.exclude(position, failed)
            if attribute.ranges is not None:
                doubts.append(attribute.ranges.exclude(position, failed))
        left = list(islice(failed.search(0), FEW_LEFT))
        few = len(left) < FEW_LEFT
        entries, value_of = self._entries, values.get
        for doubt in doubts:
            for slot in doubt.intersection(left) if few else doubt:
                if not failed[slot] and not entries[slot].admits(value_of):
                    failed[slot] = 1
        self._collect(failed, left if few else None, found)

    def _collect(self, failed: bitarray, left: list[int] | None, found: list[NodeVector]) -> None:
        """Append the vectors of what has not failed; `left` names what had not failed before, if that was little."""
        entries = self._entries
        if left is not None:
            found += [entries[slot].vector for slot in left if not failed[slot]]
        elif failed.count(0) < MATCHES_PER_NODE * len(self._holders):
            found += [entries[slot].vector for slot in failed.search(0)]
        else:
            failed.invert()
            nodes = [node for node, slots in self._holders.items() if any_and(slots, failed)]
            found.append(NodeVector.of(nodes, len(entries[0].vector)))

    def _make_plan(self, names: tuple[str, ...]) -> Plan:
        present = {name: self.attributes[name] for name in names if name in self.attributes}
        lacking = self._vacant.copy()
        for name, attribute in self.attributes.items():
            if name not in present:
                lacking |= attribute.members
        if len(self._plans) >= MAX_PLANS:
            del self._plans[next(iter(self._plans))]
        plan = self._plans[names] = Plan(present, lacking)
        return plan

    def _occupy(self, entry: Entry, slot: int) -> None:
        entry.slot = slot
        regions = entry.regions()
        for name, region in regions.items():
            self.attributes[name].add(slot, region)
        for plan in self._plans.values():
            plan.lacking[slot] = not all(name in plan.attributes for name in regions)
        for node in entry.vector.indexes():
            self.hold(entry, node)

    def _leave(self, entry: Entry) -> None:
        for node in entry.vector.indexes():
            self.release(entry, node)
        for name, region in entry.regions().items():
            self.attributes[name].remove(entry.slot, region)
        entry.slot = -1

    def _shared(self) -> list[bitarray]:
        """The bitmaps in which the bits that are no entry's are set."""
        return [self._vacant, *(plan.lacking for plan in self._plans.values())]

    def _resize(self, capacity: int) -> None:
        for bits in self._shared():
            grown = capacity - len(bits)
            fit(bits, capacity)
            if grown > 0:
                bits[-grown:] = 1
        for bits in self._holders.values():
            fit(bits, capacity)
        for attribute in self.attributes.values():
            attribute.resize(capacity)
