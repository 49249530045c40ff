"""Events on lines."""

from __future__ import annotations

import base64
import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chapar.cli.event_text import columns, escaped, id_text, json_line, payload_line
from chapar.cli.notation import attribute
from chapar.event import Event, event_id
from strategies.values import events


def test_an_event_is_three_columns() -> None:
    """Subject, attributes by name after type and group, payload; tabs between them."""
    event = Event(subject="temp", type="reading", attributes={"room": "lab 2", "celsius": 21.5}, payload=b"hello")
    assert columns(event) == b'temp\ttype="reading" celsius=21.5 room="lab 2"\thello\n'
    assert columns(Event()) == b"-\t\t\n"


@pytest.mark.parametrize(
    ("payload", "text"),
    [
        (b"plain text", "plain text"),
        ("größer".encode(), "größer"),
        (b"two\nlines\ttab\r", "two\\nlines\\ttab\\r"),
        (b"\x00\xff\\xff", "\\u0000\\xff\\\\xff"),
        (b"\x1b[2J", "\\u001b[2J"),
        ("\u202e\U000e0001".encode(), "\\u202e\\U000e0001"),
    ],
)
def test_a_payload_that_is_no_plain_text_is_escaped(payload: bytes, text: str) -> None:
    """Nothing breaks the line or moves a terminal's cursor, and escapes are told from text that looks like them."""
    assert columns(Event(subject="s", payload=payload)).decode() == f"s\t\t{text}\n"


@pytest.mark.parametrize("subject", [None, "-", "", '"-"', "a\tb", "a\\tb", "-x", "a b"])
def test_subjects_are_told_apart(subject: str | None) -> None:
    """No two of the awkward ones look the same."""
    others = [None, "-", "", '"-"', "a\tb", "a\\tb", "-x", "a b"]
    others.remove(subject)
    assert columns(Event(subject=subject)) not in [columns(Event(subject=other)) for other in others]


def unescaped(text: str) -> bytes:
    """What `escaped` made, undone: independent of how it does it."""
    pattern = r"\\x([0-9a-f]{2})|\\u([0-9a-f]{4})|\\U([0-9a-f]{8})|\\(.)"
    plain, parts, place = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\"}, [], 0
    for match in re.finditer(pattern, text):
        parts.append(text[place : match.start()].encode())
        byte, short, long, named = match.groups()
        character = plain[named] if named else chr(int(short or long or byte, 16))
        parts.append(bytes([int(byte, 16)]) if byte else character.encode())
        place = match.end()
    return b"".join((*parts, text[place:].encode()))


@given(st.one_of(st.binary(max_size=30), st.text(max_size=20).map(str.encode)))
def test_a_payload_can_be_read_back(payload: bytes) -> None:
    """From the escaped text alone, whatever the bytes."""
    text = escaped(payload.decode("utf-8", "surrogateescape"))
    assert text.isprintable()
    assert unescaped(text) == payload


@given(events(stamped=True))
def test_a_line_is_three_printable_columns(event: Event) -> None:
    """For every event; and its attributes are what `chapar pub --attr` takes."""
    line = columns(event).decode()
    assert line.endswith("\n")
    subject, _, payload = line[:-1].split("\t")
    assert subject.isprintable()
    assert unescaped(payload) == event.payload
    one = [Event(attributes={name: value}) for name, value in event.attributes.items()]
    shown = [columns(each).decode().split("\t")[1] for each in one]
    assert dict(map(attribute, shown)) == event.attributes


@given(events(stamped=True))
def test_json_tells_everything(event: Event) -> None:
    """One line of ASCII; the event can be made again from it."""
    line = json_line(event)
    assert line.isascii()
    assert line.index(b"\n") == len(line) - 1
    told = json.loads(line)
    text = told["payload"]
    payload = base64.b64decode(text) if told["encoding"] == "base64" else text.encode()
    assert told["delivery"] == event.delivery.label
    origin, incarnation, sequence = map(int, told["id"].split("."))
    again = Event(
        subject=told["subject"],
        type=told["type"],
        group=told["group"],
        attributes=told["attributes"],
        payload=payload,
        to=told["to"],
        lifetime=told["lifetime"] or 0,
        persistent=told["delivery"] == "persistent",
    ).accepted(id=event_id(origin, incarnation, sequence), chain=event.chain)
    assert again == event
    assert told["sender"] == event.sender == origin


def test_json_says_how_the_payload_is_written() -> None:
    """Text as text, other bytes in base64."""
    told = [json.loads(json_line(Event(payload=payload))) for payload in (b"hello", b"\xff")]
    assert [(each["payload"], each["encoding"]) for each in told] == [("hello", "utf-8"), ("/w==", "base64")]
    assert told[0]["id"] is None


def test_a_payload_line_is_the_payload() -> None:
    """As it is, newlines within it and all."""
    assert payload_line(Event(payload=b"a\n\xff")) == b"a\n\xff\n"


def test_an_id_names_its_origin_first() -> None:
    """Origin, incarnation, sequence."""
    assert id_text(event_id(7, 1234, 5)) == "7.1234.5"
