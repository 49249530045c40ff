"""The golden vectors: fixed bytes, and what they mean or why they are refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from chapar.errors import WireError, WireReason
from chapar.event import Event
from chapar.filter import Filter
from chapar.wire import (
    Kind,
    Record,
    decode_fmt_record_untrusted,
    decode_met_record_untrusted,
    decode_untrusted,
    encode,
    encode_record,
    kind_of,
)
from chapar.wire.client import ClientKind, decode_messages_untrusted, decode_requests_untrusted
from chapar.wire.client import encode as encode_client

if TYPE_CHECKING:
    from collections.abc import Callable

FOLDER = Path(__file__).resolve().parents[2] / "vectors"
ALL = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(FOLDER.glob("*.json"))}
FILES = {name: content for name, content in ALL.items() if "client_port" not in content}
CLIENT_FILES = {name: content for name, content in ALL.items() if "client_port" in content}
DECODERS: dict[str, Callable[[bytes], list[Any]]] = {
    "requests": decode_requests_untrusted,
    "messages": decode_messages_untrusted,
}
RECORDS: dict[str, Callable[[bytes, int], Record]] = {
    "fmt_record": decode_fmt_record_untrusted,
    "met_record": decode_met_record_untrusted,
}


def cases(group: str, *, records: bool) -> list[Any]:
    return [
        pytest.param(content, case, id=f"{file}: {case['name']}")
        for file, content in FILES.items()
        for case in content[group]
        if ("record" in content) is records
    ]


def client_cases(group: str) -> list[Any]:
    return [
        pytest.param(DECODERS[content["client_port"]], case, id=f"{file}: {case['name']}")
        for file, content in CLIENT_FILES.items()
        for case in content[group]
    ]


def written(value: Any) -> Any:
    """A field as the vectors write it."""
    if isinstance(value, Filter):
        return str(value)
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, tuple):
        return [written(each) for each in value]
    return value


def written_fields(form: Any) -> dict[str, Any]:
    return {name: written(value) for name, value in form._asdict().items()}


@pytest.mark.parametrize(("content", "case"), cases("good", records=False))
def test_good_datagrams_mean_what_is_written(content: dict[str, Any], case: dict[str, Any]) -> None:
    """The bytes decode to the fields beside them, in that order, and the frames encode to the bytes."""
    datagram = bytes.fromhex(case["hex"])
    frames = decode_untrusted(datagram, nodes=content["nodes"])
    meant = [{"kind": kind_of(frame).name} | written_fields(frame) for frame in frames]
    assert [list(each.items()) for each in meant] == [list(each.items()) for each in case["frames"]]
    assert b"".join(map(encode, frames)) == datagram


@pytest.mark.parametrize(("content", "case"), cases("bad", records=False))
def test_bad_datagrams_are_refused_for_their_reason(content: dict[str, Any], case: dict[str, Any]) -> None:
    """The bytes violate the clause they are named after."""
    with pytest.raises(WireError) as refused:
        decode_untrusted(bytes.fromhex(case["hex"]), nodes=content["nodes"])
    assert refused.value.reason is WireReason(case["reason"])


@pytest.mark.parametrize(("content", "case"), cases("good", records=True))
def test_good_records_mean_what_is_written(content: dict[str, Any], case: dict[str, Any]) -> None:
    """The bytes decode to the fields beside them, in that order, and the record encodes to the bytes."""
    data = bytes.fromhex(case["hex"])
    record = RECORDS[content["record"]](data, content["nodes"])
    assert list(written_fields(record).items()) == list(case["fields"].items())
    assert encode_record(record) == data


@pytest.mark.parametrize(("content", "case"), cases("bad", records=True))
def test_bad_records_are_refused_for_their_reason(content: dict[str, Any], case: dict[str, Any]) -> None:
    """The bytes violate the clause they are named after."""
    with pytest.raises(WireError) as refused:
        RECORDS[content["record"]](bytes.fromhex(case["hex"]), content["nodes"])
    assert refused.value.reason is WireReason(case["reason"])


@pytest.mark.parametrize(("decode", "case"), client_cases("good"))
def test_good_words_of_the_client_port_mean_what_is_written(
    decode: Callable[[bytes], list[Any]], case: dict[str, Any]
) -> None:
    """The bytes decode to the fields beside them, in that order, and these encode to the bytes."""
    datagram = bytes.fromhex(case["hex"])
    items = decode(datagram)
    meant = [{"kind": ClientKind(item_kind(encode_client(item))).name} | written_fields(item) for item in items]
    assert [list(each.items()) for each in meant] == [list(each.items()) for each in case["frames"]]
    assert b"".join(map(encode_client, items)) == datagram


def item_kind(encoded: bytes) -> int:
    """The kind stands behind the array's header and the version, in one byte."""
    return encoded[2]


@pytest.mark.parametrize(("decode", "case"), client_cases("bad"))
def test_bad_words_of_the_client_port_are_refused_for_their_reason(
    decode: Callable[[bytes], list[Any]], case: dict[str, Any]
) -> None:
    """The bytes violate the clause they are named after."""
    with pytest.raises(WireError) as refused:
        decode(bytes.fromhex(case["hex"]))
    assert refused.value.reason is WireReason(case["reason"])


def test_every_kind_of_the_client_port_has_vectors() -> None:
    """Each request and message is shown."""
    shown = {frame["kind"] for content in CLIENT_FILES.values() for case in content["good"] for frame in case["frames"]}
    assert shown == {kind.name for kind in ClientKind}
    assert {content["client_port"] for content in CLIENT_FILES.values()} == set(DECODERS)
    bad = [case for content in CLIENT_FILES.values() for case in content["bad"]]
    assert all(case["name"].startswith(f"{case['reason']}: ") for case in bad)


def test_bodies_in_good_vectors_are_events() -> None:
    """The layout of a body is shown as it is: every one that a good vector holds can be read."""
    bodies: list[str] = []
    for content in ALL.values():
        for case in content["good"]:
            for frame in case.get("frames") or [case["fields"]]:
                bodies += [frame["body"]] if "body" in frame else frame.get("bodies", [])
    assert len(bodies) > 10
    for body in map(bytes.fromhex, bodies):
        assert Event.decode_untrusted(body).encode() == body


def test_every_kind_has_vectors() -> None:
    """Each kind of frame and record is shown, good and bad; each good file shows its own kind."""
    assert {content["kind"] for content in FILES.values() if "kind" in content} == {kind.name for kind in Kind}
    assert {content["record"] for content in FILES.values() if "record" in content} == set(RECORDS)
    assert all(content["good"] and content["bad"] for content in FILES.values())
    for content in FILES.values():
        if "kind" in content:
            assert {frame["kind"] for case in content["good"] for frame in case["frames"]} == {content["kind"]}


def test_every_reason_has_vectors() -> None:
    """For each reason there are bytes that are refused for it, and a name begins with the reason."""
    bad = [case for content in FILES.values() for case in content["bad"]]
    assert {case["reason"] for case in bad} == {reason.value for reason in WireReason}
    assert all(case["name"].startswith(f"{case['reason']}: ") for case in bad)
