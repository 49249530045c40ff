"""Limits of the protocol, each with its unit and its reason. What the network can fill is bounded by one of these."""

from __future__ import annotations

from typing import Final

MAX_NODES: Final = 4096
"""Nodes in one mesh: the longest node vector is then 512 bytes, which still leaves room in a datagram."""
DEFAULT_NODES: Final = 256
"""Nodes in one mesh unless configured: a /24 prefix, 32 bytes of node vector."""
MAX_VECTOR_BYTES: Final = MAX_NODES // 8
"""Bytes of a node vector on the wire."""

MTU: Final = 1400
"""Bytes of UDP payload we fill: Ethernet's 1500 less IPv6 (40) and UDP (8) headers, and slack for tunnels."""
LINK_ROOM: Final = 40
"""Bytes of a datagram kept free for the LINK frame that numbers it."""
HOP_LIMIT: Final = 64
"""Hops an event may travel; no mesh is that wide, so only a loop ends here."""

U32_MAX: Final = 2**32 - 1
U64_MAX: Final = 2**63 - 1
"""Largest count on the wire: it stays positive in the signed 64-bit columns of the datasets."""
INT64_MIN: Final = -(2**63)
INT64_MAX: Final = 2**63 - 1
"""Range of integer attribute values: what msgpack and Parquet both carry."""

EVENT_ID_BYTES: Final = 10
"""Origin index (2), incarnation (4), sequence (4), big endian."""
MAX_EVENT_BYTES: Final = 60 * 1024
"""Bytes of an encoded event: one datagram between a client and its daemon; larger things are several events."""
STAMP_BYTES: Final = 32
"""Bytes by which an event may still grow when its home stamps id and chain; a publisher must leave them free."""
MAX_MESSAGE_BYTES: Final = 512 * 1024
"""Bytes of one reassembled frame: a batch of table records."""

CLIENT_MTU: Final = 16 * 1024
"""Bytes of a datagram that a client and its daemon fill: loopback carries four times as much in one piece."""
MAX_CLIENT_DATAGRAM: Final = 65_507
"""Bytes of the longest datagram that UDP carries over IPv4."""
MAX_CLIENT_NAME: Final = 128
"""Characters of a client's name."""
MAX_REASON: Final = 512
"""Characters of the sentence that says why a request was refused."""

MAX_STRING: Final = 1024
"""Characters of subject, type, group or a string value."""
MAX_STRING_BYTES: Final = 4 * MAX_STRING
"""The same in UTF-8 bytes."""
MAX_NAME: Final = 64
"""Characters of an attribute's name."""
MAX_ATTRIBUTES: Final = 64
"""Attributes of one event."""
MAX_DESTINATIONS: Final = 1024
"""Nodes one event can be addressed to by name; to reach more, let them subscribe."""
MAX_LIFETIME_MS: Final = 10 * 366 * 24 * 3600 * 1000
"""Milliseconds an event may ask to be kept: ten years; what must outlive that is persistent."""

MAX_CONSTRAINTS: Final = 32
"""Constraints of one filter."""
MAX_SET_VALUES: Final = 256
"""Values of one `in (…)`."""
MAX_FILTER_BYTES: Final = 16 * 1024
"""Bytes of an encoded filter: any event a filter can ask for fits into MAX_EVENT_BYTES."""
MAX_FILTERS_PER_FRAME: Final = 8192
"""Filters of one home, which travel as one set."""
MAX_MISSING: Final = 64
"""Sequence numbers asked for by one NACK."""

assert DEFAULT_NODES <= MAX_NODES < 2**16, "a node index travels in 16 bits, and 65535 means no broker"
assert MAX_VECTOR_BYTES + LINK_ROOM < MTU, "an event's node vector fits into its first datagram"
assert MTU <= 1500 - 40 - 8, "a datagram is not fragmented by IP"
assert MAX_EVENT_BYTES + 2 * MTU < MAX_CLIENT_DATAGRAM, "every event fits into a datagram of its own"
assert MAX_EVENT_BYTES + MAX_VECTOR_BYTES < MAX_MESSAGE_BYTES, "every event fits into a message"
assert MAX_FILTER_BYTES < MAX_EVENT_BYTES < MAX_MESSAGE_BYTES, "every filter fits into a message"
assert MAX_CONSTRAINTS <= MAX_ATTRIBUTES, "an event can satisfy every constraint of a filter"
assert STAMP_BYTES >= EVENT_ID_BYTES + 2 + 9, "room for the id with its header, and for the largest chain number"
assert MAX_LIFETIME_MS <= U64_MAX, "a remaining lifetime is a count"
