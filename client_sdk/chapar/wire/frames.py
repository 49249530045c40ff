"""The frames: what each kind carries, and what a receiver accepts in each field.

A frame class is a NamedTuple: its first field is the sender's index, the others are the fields of its kind in the order
of the wire. `SPECS` says, kind by kind, which values a field may have; it is the only place that does, and golden
vectors beside the tests show every row of it. Node vectors are bytes as they travel: bit i of the network is bit i % 8
of byte i // 8, trimmed to the last byte that is not zero. An event's body travels as its publisher's home encoded it,
and only its id is looked at on the way.

A flag that has no name here is ignored, so that a later release can add hints; everything else unknown is refused.
"""

from __future__ import annotations

from enum import IntEnum, IntFlag
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from chapar.errors import WireError, WireReason
from chapar.filter import Filter
from chapar.limits import (
    EVENT_ID_BYTES,
    HOP_LIMIT,
    MAX_CLIENT_NAME,
    MAX_EVENT_BYTES,
    MAX_FILTERS_PER_FRAME,
    MAX_MESSAGE_BYTES,
    MAX_MISSING,
    MAX_NODES,
    U32_MAX,
    U64_MAX,
)
from chapar.wire import fields
from chapar.wire.fields import uint

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from chapar.event import EventId
    from chapar.wire.fields import Rule

DIGEST_WIDTH: Final = 32
"""Digests of one DIGESTS frame: a table is 32 groups of 32 buckets."""
BUCKETS: Final = DIGEST_WIDTH * DIGEST_WIDTH
MAX_ENTRIES: Final = MAX_FILTERS_PER_FRAME
"""Entries of one list in a frame."""
MAX_FRAGMENTS: Final = 4096
"""Fragments of one message."""
MIN_CHUNK_BYTES: Final = MAX_MESSAGE_BYTES // MAX_FRAGMENTS
"""Bytes of every fragment but the last: what is kept of a message is then mostly the message, not our bookkeeping."""
MAX_CHUNK_BYTES: Final = 65507
"""Bytes of one fragment: what an IPv4 datagram can carry."""


class Kind(IntEnum):
    """The second element of every frame."""

    BEACON = 1
    SUBSCRIBE = 2
    UNSUBSCRIBE = 3
    PUBLISH = 4
    EVENT = 5
    STORE = 6
    DELIVERED = 7
    ACK = 8
    NACK = 9
    LINK = 10
    FRAGMENT = 11
    DIGESTS = 12
    LISTING = 13
    WANT = 14
    RECORDS = 15
    LEASE = 16
    REPLAY = 17
    BYE = 18
    BRIEF = 19
    INTEREST = 20
    MEET = 21


class BeaconFlag(IntFlag):
    """What a node says about itself in its beacon."""

    BROKER = 1
    LOW_POWER = 2
    CRITICAL_POWER = 4
    SOLICIT = 16
    """I have neighbours whose beacon I have not heard: answer me."""
    TREE = 32
    """I route on a tree of brokers; a peer that does otherwise is of another network."""


class SyncFlag(IntFlag):
    """How an exchange of tables is meant."""

    OFFER_ONLY = 1
    """Check-out: take what you lack, I want nothing."""
    REPLY = 2
    WHOLE = 4
    """A listing of every key the sender has: what is not in it, it lacks."""


class Word(IntEnum):
    """What an INTEREST says of its filters."""

    SUBSCRIBE = 0
    UNSUBSCRIBE = 1
    REFRESH = 2
    ADVERTISE = 3
    UNADVERTISE = 4
    READVERTISE = 5
    """The refresh of an advertisement."""


class Table(IntEnum):
    """Which table an exchange is about."""

    FMT = 0
    MET = 1


class Beacon(NamedTuple):
    """Discovery, lease refresh and step (a) of the integrity check in one frame."""

    sender: int
    incarnation: int
    flags: int
    broker: int
    version: int
    digest: int
    neighbours: bytes
    relays: bytes
    """Our multipoint relays where we select them ourselves; empty where the routing daemon announces them."""
    fmt_count: int
    fmt_digest: int
    met_count: int
    met_digest: int
    acks: tuple[tuple[int, int, int], ...]
    """(peer, epoch, cumulative) of every link this node hears."""


class Subscribe(NamedTuple):
    """Filters that a home adds to its version `base`, which gives `version`; base 0: this is the whole set."""

    sender: int
    home: int
    version: int
    base: int
    filters: tuple[Filter, ...]


class Unsubscribe(NamedTuple):
    """Filters that a home takes from its version `base`, which gives `version`."""

    sender: int
    home: int
    version: int
    base: int
    filters: tuple[Filter, ...]


class Publish(NamedTuple):
    """An event on its way from its home to the home's broker."""

    sender: int
    body: bytes
    behind: int = 0
    """How many events earlier the real-time one before it was published; 0 if none is known."""


class EventFrame(NamedTuple):
    """An event on its multicast tree, with the residual node vector (report 3.3.3)."""

    sender: int
    hops: int
    attempt: int
    remaining_ms: int
    """What is left of a memorised event's lifetime; 0 for real-time and persistent events."""
    behind: int
    """How many events of its publisher earlier one went to all the homes of this one; 0 if none is known."""
    rnv: bytes
    body: bytes


class Store(NamedTuple):
    """A memorised event flooded to all brokers; remaining_ms is 0 if it is persistent."""

    sender: int
    remaining_ms: int
    delivered: bytes
    body: bytes


class Delivered(NamedTuple):
    """Which homes have which events."""

    sender: int
    entries: tuple[tuple[EventId, bytes], ...]


class Ack(NamedTuple):
    """All datagrams of this epoch of the link up to `cumulative` have arrived; in epoch 0, this head is known."""

    sender: int
    epoch: int
    cumulative: int


class Nack(NamedTuple):
    """These datagrams of this epoch have not arrived, all up to `cumulative` have. In epoch 0: heads not known."""

    sender: int
    epoch: int
    cumulative: int
    missing: tuple[int, ...]


class Link(NamedTuple):
    """Header of a sequenced datagram; the sender can still repeat the `behind` numbers before this one."""

    sender: int
    epoch: int
    seq: int
    behind: int
    ack_epoch: int
    ack: int


class Fragment(NamedTuple):
    """Piece `index` of the `count` pieces of an encoded frame too large for a datagram."""

    sender: int
    message: int
    index: int  # type: ignore[assignment]  # the wire's word; nobody asks a frame for tuple's method
    count: int  # type: ignore[assignment]  # as above
    chunk: bytes


class Digests(NamedTuple):
    """Level 0: digests of the 32 groups of a table. Level 1: of the 32 buckets of one group."""

    sender: int
    table: int
    level: int
    group: int
    count: int  # type: ignore[assignment]  # as above
    digests: tuple[int, ...]
    flags: int


class Listing(NamedTuple):
    """All keys in these buckets with their stamps; without buckets, the keys named and no others."""

    sender: int
    table: int
    buckets: tuple[int, ...]
    entries: tuple[tuple[bytes, int], ...]
    flags: int


class Want(NamedTuple):
    """Send me what you hold of these keys beyond the stamps I hold (0: nothing)."""

    sender: int
    table: int
    keys: tuple[bytes, ...]
    stamps: tuple[int, ...]


class Records(NamedTuple):
    """Records of a table, each encoded by `encode_record`."""

    sender: int
    table: int
    records: tuple[bytes, ...]
    flags: int


class Lease(NamedTuple):
    """The homes that a broker serves."""

    sender: int
    broker: int
    number: int
    homes: bytes


class Replay(NamedTuple):
    """Notify me of the memorised events that match these filters."""

    sender: int
    filters: tuple[Filter, ...]


class Bye(NamedTuple):
    """This node stops now."""

    sender: int


class Brief(NamedTuple):
    """A PUBLISH or EVENT like an earlier one between the same two nodes, of which only this is different."""

    sender: int
    head: int
    """What both ends have derived from the earlier one."""
    sequence: int
    """Of the event's id."""
    payload: bytes


class InterestFrame(NamedTuple):
    """Interest that stands, or does not stand any more, behind its sender: one interest message for each filter."""

    sender: int
    word: int
    subscribers: tuple[tuple[int, str], ...]
    """With simple routing, whose filter each is: home and name of the client. Else empty."""
    filters: tuple[Filter, ...]


class Meet(NamedTuple):
    """A link of the tree begins: what was said over it before is void, and what follows counts."""

    sender: int
    number: int
    """Of this beginning, as the sender counts; of its next life, another."""
    answer: int
    """The number of the other end's MEET that this answers, or 0."""


class FmtRecord(NamedTuple):
    """One home's filters, as brokers hand them to each other."""

    home: int
    version: int
    age_ms: int
    filters: tuple[Filter, ...]


class MetRecord(NamedTuple):
    """One memorised event, as brokers hand it to each other; remaining_ms is 0 if it is persistent."""

    remaining_ms: int
    delivered: bytes
    body: bytes


Frame: TypeAlias = (
    Beacon | Subscribe | Unsubscribe | Publish | EventFrame | Store | Delivered | Ack | Nack
    | Link | Fragment | Digests | Listing | Want | Records | Lease | Replay | Bye | Brief | InterestFrame | Meet
)  # fmt: skip
Record: TypeAlias = FmtRecord | MetRecord


class Spec(NamedTuple):
    """What a receiver accepts as one class of frame or record."""

    form: type[Any]
    rules: tuple[Rule, ...]
    finish: Callable[[Any], Any] | None = None
    """Checks what no field can know alone, and returns the frame, its filters parsed."""


def _filters_parsed(form: Any) -> Any:
    return form._replace(filters=tuple(map(Filter.from_wire_untrusted, form.filters)))


def _interest(frame: InterestFrame) -> InterestFrame:
    if frame.subscribers and len(frame.subscribers) != len(frame.filters):
        raise WireError(WireReason.SHAPE, "as many subscribers as filters, or none")
    parsed: InterestFrame = _filters_parsed(frame)
    return parsed


def _fragment_within_count(frame: Fragment) -> Fragment:
    if frame.index >= frame.count:
        raise WireError(WireReason.RANGE, "fragment index beyond the count")
    if len(frame.chunk) < MIN_CHUNK_BYTES and frame.index + 1 < frame.count:
        raise WireError(WireReason.RANGE, "small fragment that is not the last")
    return frame


def _group_at_its_level(frame: Digests) -> Digests:
    if frame.level == 0 and frame.group != 0:
        raise WireError(WireReason.RANGE, "group at level 0")
    return frame


def _keys_of_table(table: int, keys: tuple[bytes, ...]) -> None:
    size = EVENT_ID_BYTES if table == Table.MET else fields.HOME_KEY_BYTES
    if any(len(key) != size for key in keys):
        raise WireError(WireReason.RANGE, "key of another table")


def _listing_keys(frame: Listing) -> Listing:
    _keys_of_table(frame.table, tuple(key for key, _ in frame.entries))
    return frame


def _want_keys(frame: Want) -> Want:
    _keys_of_table(frame.table, frame.keys)
    if len(frame.keys) != len(frame.stamps):
        raise WireError(WireReason.SHAPE, "as many stamps as keys")
    return frame


U8: Final = uint(255)
U16: Final = uint(2**16 - 1)
U32: Final = uint(U32_MAX)
U64: Final = uint(U64_MAX)
TABLE: Final = uint(len(Table) - 1)
INDEX: Final = fields.index
VECTOR: Final = fields.vector
BODY: Final = fields.body
FILTERS: Final = fields.many(fields.anything, MAX_FILTERS_PER_FRAME)
CLIENT: Final = fields.name(MAX_CLIENT_NAME)
SUBSCRIBERS: Final = fields.many(fields.row(INDEX, CLIENT), MAX_FILTERS_PER_FRAME)
ACKS: Final = fields.many(fields.row(INDEX, U32, U32), MAX_NODES)
DELIVERIES: Final = fields.many(fields.row(fields.event_id, VECTOR), MAX_ENTRIES)
DIGESTS: Final = fields.exactly(DIGEST_WIDTH, U32)
LISTED: Final = fields.many(fields.row(fields.key, U64), MAX_ENTRIES)

SPECS: Final[Mapping[Kind, Spec]] = {
    Kind.BEACON: Spec(Beacon, (INDEX, U32, U8, fields.broker, U64, U32, VECTOR, VECTOR, U32, U64, U32, U64, ACKS)),
    Kind.SUBSCRIBE: Spec(Subscribe, (INDEX, INDEX, U64, U64, FILTERS), _filters_parsed),
    Kind.UNSUBSCRIBE: Spec(Unsubscribe, (INDEX, INDEX, U64, U64, FILTERS), _filters_parsed),
    Kind.PUBLISH: Spec(Publish, (INDEX, BODY, U8)),
    Kind.EVENT: Spec(EventFrame, (INDEX, uint(HOP_LIMIT), U8, U64, U8, VECTOR, BODY)),
    Kind.STORE: Spec(Store, (INDEX, U64, VECTOR, BODY)),
    Kind.DELIVERED: Spec(Delivered, (INDEX, DELIVERIES)),
    Kind.ACK: Spec(Ack, (INDEX, U32, U32)),
    Kind.NACK: Spec(Nack, (INDEX, U32, U32, fields.many(U32, MAX_MISSING))),
    Kind.LINK: Spec(Link, (INDEX, U32, U32, U32, U32, U32)),
    Kind.FRAGMENT: Spec(
        Fragment,
        (INDEX, U32, uint(MAX_FRAGMENTS - 1), uint(MAX_FRAGMENTS), fields.blob(MAX_CHUNK_BYTES)),
        _fragment_within_count,
    ),
    Kind.DIGESTS: Spec(
        Digests, (INDEX, TABLE, uint(1), uint(DIGEST_WIDTH - 1), U32, DIGESTS, U8), _group_at_its_level
    ),
    Kind.LISTING: Spec(Listing, (INDEX, TABLE, fields.many(uint(BUCKETS - 1), BUCKETS), LISTED, U8), _listing_keys),
    Kind.WANT: Spec(
        Want, (INDEX, TABLE, fields.many(fields.key, MAX_ENTRIES), fields.many(U64, MAX_ENTRIES)), _want_keys
    ),
    Kind.RECORDS: Spec(Records, (INDEX, TABLE, fields.many(fields.blob(MAX_MESSAGE_BYTES), MAX_ENTRIES), U8)),
    Kind.LEASE: Spec(Lease, (INDEX, INDEX, U64, VECTOR)),
    Kind.REPLAY: Spec(Replay, (INDEX, FILTERS), _filters_parsed),
    Kind.BYE: Spec(Bye, (INDEX,)),
    Kind.BRIEF: Spec(Brief, (INDEX, U16, U32, fields.blob(MAX_EVENT_BYTES, least=0))),
    Kind.INTEREST: Spec(InterestFrame, (INDEX, uint(len(Word) - 1), SUBSCRIBERS, FILTERS), _interest),
    Kind.MEET: Spec(Meet, (INDEX, U64, U64)),
}
FMT_RECORD: Final = Spec(FmtRecord, (INDEX, U64, U64, FILTERS), _filters_parsed)
MET_RECORD: Final = Spec(MetRecord, (U64, VECTOR, BODY))
ALL_SPECS: Final = (*SPECS.values(), FMT_RECORD, MET_RECORD)

KINDS: Final[Mapping[type[Any], Kind]] = {spec.form: kind for kind, spec in SPECS.items()}


def kind_of(frame: Frame) -> Kind:
    return KINDS[type(frame)]


assert set(SPECS) == set(Kind), "every kind has a row"
assert all(len(spec.rules) == len(spec.form._fields) for spec in ALL_SPECS), "every field has a rule"
