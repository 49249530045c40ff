"""The matcher: from an event to the union of the node vectors of all filters that it matches.

This is the lookup of report 3.3.1 (FMT: filter id → SNV), with exact comparison in place of `FID & EID == FID`, which
accepts a wrong event now and then (report, appendix B), and with constraints that no hash can decide. No filter that
cannot match is visited; no loop runs over all filters.

1. *Equality.* A filter's *mask* is the tuple of names for which it admits one value only. Filters of the same mask are
   in one dict, keyed by those values. An event is looked up once in the dict of each mask whose names it has.
2. *Content.* Filters with the same mask and values make a *group*. What they ask for beyond equality is decided one by
   one while they are few, and then by the group's `ContentIndex`: bitmaps per attribute, short lists for rare ones.
3. *Many masks.* All masks of header elements may be in use (there are 16), and MAX_MASKS others. A filter whose mask is
   one too many goes under the header elements of it; its other equalities are then content.
4. A filter that no event matches (`x < 1 and x > 2`) is kept, but indexed nowhere.

Equal filters of several nodes are one entry with one node vector. Adding and removing touch only the entry's own
places; whatever is built from entries goes when they go.

Cost of a lookup, medians over distinct events on a busy machine of two cores (`tests/benchmarks/bench_matcher.py`
measures the first two rows, the first odd one and the equalities under 20 names):

| 100 000 filters                                              | µs     | evaluating each, times as long |
|--------------------------------------------------------------|--------|--------------------------------|
| one to five equalities, 31 masks; 2 to 3 times 100 filters'  | 10–16  |                                |
| two or three ranges, prefixes, sets; 2.5 times 10 000's      | 45–65  | 1500–3600                      |
| `x > i` for every i                                          | 90     | 1100                           |
| `x != i` for every i                                         | 100    | 700                            |
| `n_i exists`, a name for each filter, 60 names in the event  | 150    | 500                            |
| one to five equalities under 20 names, 60 names              | 75, 200| 2800, 1300                     |
| one equality in 100 000 wordings                             | 40     | 4600                           |
| three ranges under any of 1000 names, events of 60 at random | 10 000 | 14                             |

The last row is the worst known: with so many popular names, an event with a set of names not seen before costs a bitmap
operation for each name that it lacks. Sets of 256 values cost about a millisecond to add or remove. Adding is
otherwise some 20–200 µs; now and then it moves many entries at once, and then takes up to a second.

Memory of a filter among 100 000, itself included: 360 bytes with a subject of its own, 490 with a bound on an attribute
besides, 600 with two, and up to 720 where bitmaps serve it. What is made of a filter is made again when it leaves.
"""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final

from bitarray import bitarray
from bitarray.util import any_and

from chapar.constraint import Op
from chapar.value import HEADER
from chapard.core.match_bitmaps import Entry, asked_by
from chapard.core.match_group import Group
from chapard.core.match_region import element_of, only_element, position_of, regions_of
from chapard.core.nodevector import NodeVector

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from chapar.event import Event
    from chapar.filter import Filter
    from chapar.value import Value
    from chapard.core.match_bitmaps import Asked
    from chapard.core.match_content import ContentIndex
    from chapard.core.match_region import Element, Region

    Getter = Callable[[Mapping[str, Element]], Any]
    Groups = dict[Any, Entry | Group]

MAX_MASKS: Final = 64
"""Masks with other than header names: each costs a dict lookup for events that have its names."""
MAX_PLANS: Final = 256
"""Sets of names of events for which the masks that apply are remembered."""
MAX_NAMES: Final = 1024
"""Names that filters share; when there are more, those that come later share theirs."""


class Mask:
    """Names for which filters ask for one value, and those filters by their values."""

    __slots__ = ("getter", "groups", "names")

    def __init__(self, names: tuple[str, ...]) -> None:
        self.names = names
        self.getter: Getter = itemgetter(*names) if names else _no_value
        """From elements by name to a key of the groups."""
        self.groups: Groups = {}
        """A filter that is alone with its values stands for its group."""


def _no_value(_elements: Mapping[str, Element]) -> tuple[()]:
    return ()


class MatcherEntry(Entry):
    """A filter of the matcher."""

    __slots__ = ("mask",)

    def __init__(self, vector: NodeVector, asked: Asked, mask: Mask | None) -> None:
        super().__init__(vector, asked)
        self.mask = mask
        """None if no event can match."""


class Matcher:
    """Filters and the nodes, with indexes below `length`, that hold them. `len` counts distinct filters."""

    def __init__(self, length: int = 256) -> None:
        self._empty = NodeVector.empty(length)
        self._singles: dict[int, NodeVector] = {}
        self._entries: dict[Filter, MatcherEntry] = {}
        self._masks: dict[tuple[str, ...], Mask] = {}
        self._attribute_masks = 0
        """How many of the masks have names other than header elements."""
        self._plans: dict[tuple[str, ...], list[tuple[Getter, Groups]]] = {}
        """What to look events up in, by the names they have."""
        self._gone = 0
        """How many filters have gone since dicts were last copied."""
        self._names: dict[str, str] = {}
        """Names of attributes, by themselves: filters that came over the network have each their own string."""
        self._latest: tuple[Event, NodeVector] | None = None
        """The event looked up last, and what was found: the head of many that differ in their payload alone."""

    def __len__(self) -> int:
        return len(self._entries)

    def filters(self) -> list[Filter]:
        """The distinct filters, in the order in which they came."""
        return list(self._entries)

    def sizes(self) -> dict[str, tuple[int, int]]:
        """What is kept beside the filters, and how much of it can be."""
        return {"masks": (self._attribute_masks, MAX_MASKS), "plans": (len(self._plans), MAX_PLANS)}

    def vector(self, filter_: Filter) -> NodeVector:
        """The nodes that hold the filter."""
        entry = self._entries.get(filter_)
        return self._empty if entry is None else entry.vector

    def add(self, filter_: Filter, node: int) -> None:
        """Let `node` hold the filter; nothing happens if it already does."""
        single = self._single(node)
        self._latest = None
        entry = self._entries.get(filter_)
        if entry is None:
            self._entries[filter_] = self._index(filter_, single)
        elif not entry.vector[node]:
            entry.vector |= single
            if entry.slot >= 0:
                self._index_of(filter_, entry).hold(entry, node)

    def remove(self, filter_: Filter, node: int) -> bool:
        """Let `node` hold the filter no more; tell whether it did."""
        self._latest = None
        entry = self._entries.get(filter_)
        if entry is None or not any_and(entry.vector, self._single(node)):
            return False
        rest = entry.vector.without(node)
        if not rest:
            del self._entries[filter_]
            self._unindex(filter_, entry)
            self._gone += 1
            if self._gone > len(self._entries) + MAX_PLANS:
                self._compact()
            return True
        if entry.slot >= 0:
            self._index_of(filter_, entry).release(entry, node)
        entry.vector = rest
        return True

    def match(self, event: Event) -> NodeVector:
        """The nodes that hold a filter which the event matches."""
        if self._latest is not None and self._latest[0] is event:
            return self._latest[1]
        found = self._find(event)
        self._latest = (event, found)
        return found

    def _find(self, event: Event) -> NodeVector:
        values: dict[str, Value] = dict(event.attributes.items())
        for name in HEADER:
            value = event.value(name)
            if value is not None:
                values[name] = value
        elements: Mapping[str, Element] = values
        if bool in map(type, values.values()):
            elements = {name: element_of(value) for name, value in values.items()}
        found: list[NodeVector] = []
        value_of, positions = values.get, None
        for getter, groups in self._plan(elements):
            held = groups.get(getter(elements))
            if held is None:
                continue
            if not isinstance(held, Group):
                if not held.asked or held.admits(value_of):
                    found.append(held.vector)
                continue
            if held.exact is not None:
                found.append(held.exact.vector)
            if held.few:
                found += [entry.vector for entry in held.few if entry.admits(value_of)]
            if held.index is not None:
                positions = positions or {name: position_of(element) for name, element in elements.items()}
                held.index.match(values, positions, found)
        return self._union(found)

    def _plan(self, elements: Mapping[str, Element]) -> Sequence[tuple[Getter, Groups]]:
        """What to look an event up in: the masks whose names it has."""
        names = tuple(elements)
        plan = self._plans.get(names)
        if plan is None:
            if len(self._plans) >= MAX_PLANS:
                self._plans.clear()
            present = frozenset(names)
            plan = [(mask.getter, mask.groups) for mask in self._masks.values() if present.issuperset(mask.names)]
            self._plans[names] = plan
        return plan

    def _union(self, found: list[NodeVector]) -> NodeVector:
        if len(found) < 2:
            return found[0] if found else self._empty
        nodes = bitarray(len(self._empty), "little")
        for vector in found:
            nodes |= vector
        return self._empty | nodes

    def _single(self, node: int) -> NodeVector:
        """The vector of one node, which all filters that only this node holds share."""
        if node not in self._singles:
            self._singles[node] = self._empty.with_(node)
        return self._singles[node]

    def _index(self, filter_: Filter, vector: NodeVector) -> MatcherEntry:
        constraints = filter_.constraints
        regions = regions_of(constraints)
        if not all(regions.values()):
            return MatcherEntry(vector, (), None)
        wanted = _wanted(regions)
        mask = self._mask(tuple(wanted))
        key = mask.getter(wanted)
        held = mask.groups.get(key)
        # One filter can say in other words what another says (`x = 5`, `x >= 5 and x <= 5`). All but the first keep an
        # equality as content, where any number of them costs little.
        known = mask.names[1:] if _has_exact(held) and len(regions) == len(mask.names) else mask.names
        asked = asked_by((each for each in constraints if each.name not in known), self._shared)
        entry = MatcherEntry(vector, asked, mask)
        if held is None:
            mask.groups[key] = entry
            return entry
        if not isinstance(held, Group):
            first, held = held, Group()
            held.add(first)
            mask.groups[key] = held
        held.add(entry)
        return entry

    def _shared(self, name: str) -> str:
        """The name as other filters have it."""
        if len(self._names) >= MAX_NAMES:
            self._names.clear()
        return self._names.setdefault(name, name)

    def _unindex(self, filter_: Filter, entry: MatcherEntry) -> None:
        mask = entry.mask
        if mask is None:
            return
        key = _key(filter_, mask)
        held = mask.groups[key]
        if isinstance(held, Group):
            held.remove(entry)
            left = held.entries()
            if left is None or len(left) > 1:
                return
            if left:
                (mask.groups[key],) = left
                return
        del mask.groups[key]
        if not mask.groups:
            del self._masks[mask.names]
            self._attribute_masks -= not _is_header(mask.names)
            self._plans.clear()

    def _index_of(self, filter_: Filter, entry: MatcherEntry) -> ContentIndex:
        """The content index in whose bitmaps the entry has a slot."""
        assert entry.mask is not None, "some event matches an entry with a slot"
        group = entry.mask.groups[_key(filter_, entry.mask)]
        assert isinstance(group, Group), "an entry that is alone has no slot"
        assert group.index is not None, "so has one of a few"
        return group.index

    def _compact(self) -> None:
        """Copy the dicts: they never give memory back by themselves. As many filters have gone as are left, or more."""
        self._gone = 0
        self._entries = dict(self._entries)
        self._plans.clear()
        for mask in self._masks.values():
            mask.groups = dict(mask.groups)
            for group in mask.groups.values():
                if isinstance(group, Group) and group.index is not None:
                    group.index.compact()

    def _mask(self, names: tuple[str, ...]) -> Mask:
        """The mask for filters that ask for equality under `names`: that one, or its header elements."""
        mask = self._masks.get(names)
        if mask is not None:
            return mask
        if not _is_header(names):
            if self._attribute_masks >= MAX_MASKS:
                return self._mask(tuple(name for name in names if name in HEADER))
            self._attribute_masks += 1
        mask = self._masks[names] = Mask(names)
        self._plans.clear()
        return mask


def _is_header(names: tuple[str, ...]) -> bool:
    return all(name in HEADER for name in names)


def _wanted(regions: Mapping[str, Region]) -> dict[str, Element]:
    """The only element of each region that has one only."""
    return {name: only for name, region in regions.items() if (only := only_element(region)) is not None}


def _key(filter_: Filter, mask: Mask) -> Any:
    """The key of a filter, which some event matches, among the groups of its mask."""
    constraints = filter_.constraints
    wanted = {name: element_of(value) for name, op, value in constraints if op is Op.EQ}  # type: ignore[arg-type]  # a value
    if not wanted.keys() >= set(mask.names):
        wanted = _wanted(regions_of(constraints))
    return mask.getter(wanted)


def _has_exact(held: Entry | Group | None) -> bool:
    """Whether one of these filters asks for nothing else."""
    return held is not None and (held.exact is not None if isinstance(held, Group) else not held.asked)
