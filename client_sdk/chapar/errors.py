"""Every error Chapar raises, and whose mistake each one is.

    ChaparError
    ├── EventError    (ValueError)       our caller built an event that cannot exist
    ├── FilterError   (ValueError)       our caller wrote a filter that means nothing
    ├── AddressError  (ValueError)       our caller named a daemon that cannot be
    ├── NoDaemonError (ConnectionError)  no daemon answers
    ├── RefusedError                     the daemon said no, and why
    │   ├── ConnectRefusedError          … to the session
    │   ├── PublishRefusedError          … to an event
    │   └── SubscribeRefusedError        … to a subscription
    ├── EventLostError                   an event did not reach the network, or nobody can know
    ├── ClosedError                      the client is not connected (any more)
    │   └── SessionTakenError            … because another connection uses its name
    └── WireError                        a peer sent bytes that are not the protocol

All but the last carry one line for a person: what went wrong and what to do. The last one is counted under its `reason`
and the bytes are dropped; nobody is there to read a sentence.
"""

from __future__ import annotations

from enum import StrEnum


class ChaparError(Exception):
    """Base of all errors raised by Chapar."""


class EventError(ChaparError, ValueError):
    """Misuse: this event cannot exist."""


class FilterError(ChaparError, ValueError):
    """Misuse: this filter means nothing."""


class AddressError(ChaparError, ValueError):
    """Misuse: no daemon can be at this address."""


class NoDaemonError(ChaparError, ConnectionError):
    """No daemon answers at `address`."""

    def __init__(self, address: str) -> None:
        super().__init__(f"no daemon answers at {address}: start chapard there, or name another with CHAPAR_DAEMON")
        self.address = address


class RefusedError(ChaparError):
    """The daemon said no; `reason` is its own sentence."""

    what = "the daemon refuses"

    def __init__(self, reason: str) -> None:
        super().__init__(f"{self.what}: {reason}")
        self.reason = reason


class ConnectRefusedError(RefusedError):
    """The daemon does not open this session."""

    what = "the daemon refuses the session"


class PublishRefusedError(RefusedError):
    """The daemon does not take this event."""

    what = "the event was refused"


class SubscribeRefusedError(RefusedError):
    """The daemon does not take this subscription."""

    what = "the subscription was refused"


class EventLostError(ChaparError):
    """Events that no daemon has, or of which nobody can know: publish them again if a repetition does no harm."""


class ClosedError(ChaparError):
    """The client is not open: it was never opened, or has been closed."""


class SessionTakenError(ClosedError):
    """Another connection has opened the session of this name."""

    def __init__(self, client: str) -> None:
        super().__init__(f"another connection uses the name {client}: give each client a client_id of its own")
        self.client = client


class WireReason(StrEnum):
    """Why foreign bytes were refused: the label of a counter, so the set is small and fixed."""

    TRUNCATED = "truncated"
    OVERSIZED = "oversized"
    MALFORMED = "malformed"
    """Not msgpack at all."""
    VERSION = "version"
    KIND = "kind"
    SHAPE = "shape"
    """Wrong number of fields."""
    TYPE = "type"
    RANGE = "range"
    """Right type, forbidden value."""
    TRAILING = "trailing"
    UTF8 = "utf8"
    SENDER = "sender"
    """Frames of one datagram that name different senders."""


class WireError(ChaparError):
    """A peer's bytes are not the protocol. `reason` says how; `detail` is for whoever debugs that peer."""

    def __init__(self, reason: WireReason, detail: str = "") -> None:
        super().__init__(f"{reason}: {detail}" if detail else str(reason))
        self.reason = reason
        self.detail = detail
