"""An event on one line: for a person and line tools (three columns between tabs), as JSON, or its payload alone.

The line of columns can be read back without a doubt: what is not printable is escaped, a backslash too, bytes that are
no UTF-8 are `\\xNN`, string values stand in quotes. `\\t` and `\\n` never occur but as separators.
"""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, Any, Final

from chapar.event_id import split_id
from chapar.filter_text import value_text

if TYPE_CHECKING:
    from chapar.event import Event
    from chapar.event_id import EventId

ABSENT: Final = "-"
"""The subject of an event without one."""
_ESCAPES: Final = {"\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}
_UNDECODED: Final = range(0xDC80, 0xDD00)
"""What `surrogateescape` makes of bytes that are no UTF-8; no text holds these code points."""


def id_text(event_id: EventId) -> str:
    """An event id as people see it: origin, incarnation and sequence."""
    return ".".join(map(str, split_id(event_id)))


def escaped(text: str) -> str:
    """Text that a terminal shows as it is and that stays on its line."""
    if text.isprintable() and "\\" not in text:
        return text
    return "".join(map(_escaped_character, text))


def _escaped_character(character: str) -> str:
    if character.isprintable() and character != "\\":
        return character
    code = ord(character)
    if code in _UNDECODED:
        return f"\\x{code - _UNDECODED.start + 0x80:02x}"
    return _ESCAPES.get(character) or (f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}")


def columns(event: Event) -> bytes:
    """Subject, attributes (header elements first) and payload, between tabs."""
    header = [(name, event.value(name)) for name in ("type", "group")]
    named = [(name, value) for name, value in (*header, *event.attributes.items()) if value is not None]
    attributes = " ".join(f"{name}={value_text(value)}" for name, value in named)
    payload = escaped(event.payload.decode("utf-8", "surrogateescape"))
    return f"{_subject(event.subject)}\t{attributes}\t{payload}\n".encode()


def _subject(subject: str | None) -> str:
    if subject is None:
        return ABSENT
    plain = subject.isprintable() and "\\" not in subject and not subject.startswith('"')
    return subject if plain and subject not in ("", ABSENT) else value_text(subject)


def json_line(event: Event) -> bytes:
    """Everything about the event as one JSON object; `encoding` says how the payload is written."""
    try:
        payload, encoding = event.payload.decode(), "utf-8"
    except UnicodeDecodeError:
        payload, encoding = base64.b64encode(event.payload).decode(), "base64"
    shown: dict[str, Any] = {
        "id": id_text(event.id) if event.id is not None else None,
        "sender": event.sender,
        "subject": event.subject,
        "type": event.type,
        "group": event.group,
        "attributes": dict(event.attributes),
        "delivery": event.delivery.label,
        "lifetime": event.lifetime_ms / 1000 or None,
        "to": list(event.to),
        "payload": payload,
        "encoding": encoding,
    }
    return json.dumps(shown).encode() + b"\n"


def payload_line(event: Event) -> bytes:
    """The payload as it is."""
    return event.payload + b"\n"
