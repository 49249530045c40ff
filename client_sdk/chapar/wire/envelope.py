"""The envelope: version, kind and sender around the fields of a frame, and frames back to back in a datagram.

Frames become bytes and bytes become frames here and nowhere else. A frame is the msgpack array
`[VERSION, kind, sender, *fields]` in the one form our own encoder gives it: the shortest header for every value. So the
first three bytes of a frame say how many fields it has, its version and its kind, and what was decoded is what arrived:
encoding it again gives the same bytes.

Foreign bytes are taken apart in two ways. The quick one uses an idle unpacker that admits short lists only, so that
lengths that lie allocate next to nothing. What it cannot read goes the careful way: a walk over the bytes that builds
nothing comes first, and tells truncated from malformed; what is complete is then unpacked, in memory bounded by the
bytes there are, and every field checked by the table.

What it costs (CPython 3.11, quiet machine): LINK and EVENT with a body of 100 bytes 2.5 µs, 0.3 of them plain msgpack,
0.45 the check that the bytes are in their one form, 0.8 the checks of fields and the making of tuples. Every further
EVENT of the datagram takes 0.85 µs, a lone PUBLISH 1.3. To encode LINK and EVENT takes 0.9. `decode_untrusted` adds
0.15 to find its Decoder.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, NoReturn, cast

import msgpack

from chapar.errors import WireError, WireReason
from chapar.limits import DEFAULT_NODES, MAX_MESSAGE_BYTES, MAX_NODES, MAX_STRING_BYTES, MTU
from chapar.wire.fields import check_values
from chapar.wire.frames import (
    ALL_SPECS,
    FMT_RECORD,
    KINDS,
    MET_RECORD,
    SPECS,
    FmtRecord,
    Frame,
    InterestFrame,
    Kind,
    MetRecord,
    Record,
    Replay,
    Spec,
    Subscribe,
    Unsubscribe,
)
from chapar.wire.hot import hot_makers

if TYPE_CHECKING:
    from collections.abc import Mapping

    from chapar.wire.hot import Maker

VERSION: Final = 1
_HEADER_BYTES: Final = 3
_LEAST_ELEMENTS: Final = 3
_FIXARRAY_MAX: Final = 15
"""Elements of the longest array whose header is one byte."""
_NIL: Final = b"\xc0"
_SHORT_LIST: Final = 64
"""Elements of a list that the quick way reads: a bomb of nested arrays, 1024 at most, then costs half a megabyte."""
_SHORT_BYTES: Final = 4 * MTU
_SHORT: Final[Mapping[str, Any]] = {
    "use_list": False,
    "max_str_len": MAX_STRING_BYTES,
    "max_array_len": _SHORT_LIST,
    "max_map_len": 0,
    "max_ext_len": 0,
}

_WITH_FILTERS: Final = frozenset((Subscribe, Unsubscribe, Replay, InterestFrame))
"""Frames whose last field is a list of filters."""

# One packer serves all frames: it holds configuration and a buffer that is empty between calls.
_pack = msgpack.Packer().pack


def encode(frame: Frame) -> bytes:
    """The frame as it travels."""
    form = type(frame)
    fields = (*frame[:-1], _to_wire(frame[-1])) if form in _WITH_FILTERS else frame
    return cast("bytes", _pack((VERSION, KINDS[form], *fields)))


def encode_record(record: Record) -> bytes:
    """A record of a table, as RECORDS carries it."""
    if isinstance(record, FmtRecord):
        return cast("bytes", _pack((*record[:-1], _to_wire(record.filters))))
    return cast("bytes", _pack(record))


def _to_wire(filters: Any) -> list[list[Any]]:
    return [each.to_wire() for each in filters]


def decode_untrusted(datagram: bytes, *, nodes: int = DEFAULT_NODES) -> list[Frame]:
    """The frames of a datagram or of a reassembled message, all of one sender.

    Raises WireError, and nothing else, if anything in it is wrong: a datagram is taken whole or not at all.
    """
    return _decoder(nodes).frames_untrusted(datagram)


def decode_fmt_record_untrusted(data: bytes, nodes: int) -> FmtRecord:
    """One record of a RECORDS frame about the FMT. Raises WireError only."""
    return cast("FmtRecord", _decoder(nodes).record_untrusted(data, FMT_RECORD))


def decode_met_record_untrusted(data: bytes, nodes: int) -> MetRecord:
    """One record of a RECORDS frame about the MET. Raises WireError only."""
    return cast("MetRecord", _decoder(nodes).record_untrusted(data, MET_RECORD))


class Decoder:
    """Decodes for a network of `nodes` nodes; `decode_untrusted` and its like, for those who decode often.

    It keeps unpackers for the next datagram, because to make one costs more than to decode a datagram. Only those that
    have given back all they were fed are kept, so nothing is carried over from one datagram to another.
    """

    def __init__(self, nodes: int) -> None:
        assert 0 < nodes <= MAX_NODES, f"a network has 1 to {MAX_NODES} nodes"
        self._checks = {spec: tuple(rule(nodes) for rule in spec.rules) for spec in ALL_SPECS}
        by_table: dict[int, Maker] = {int(kind): self._frame for kind in SPECS}
        self._makers = {**by_table, **hot_makers(nodes, VERSION, self._frame)}
        self._idle: list[msgpack.Unpacker] = []

    def frames_untrusted(self, datagram: bytes) -> list[Frame]:
        frames = self._quickly(datagram)
        return self._carefully(datagram) if frames is None else frames

    def record_untrusted(self, data: bytes, spec: Spec) -> Record:
        array = _only_value(data)
        if type(array) is not tuple or len(array) != len(spec.rules):
            raise WireError(WireReason.SHAPE, "record")
        record: Record = self._checked(array, spec)
        if spec.finish is not None and encode_record(record) != data:
            raise WireError(WireReason.RANGE, "filter is not canonical")
        return record

    def _quickly(self, datagram: bytes) -> list[Frame] | None:
        """The frames, if all is well and no list is long. Whatever is not so, the careful way finds out why."""
        unpacker = self._idle.pop() if self._idle else _quick_unpacker()
        unpack = unpacker.unpack
        makers = self._makers
        arrays = []
        frames = []
        try:
            unpacker.feed(datagram)
            unpacker.feed(_NIL)  # what ends the loop, at a tenth of the cost of an exception
            while (array := unpack()) is not None:
                arrays.append(array)
                frames.append(makers[array[1]](array))
        except (WireError, ValueError, TypeError, LookupError, msgpack.UnpackException):
            return None
        # Packed together they have the header of a list in front, of one byte or three.
        if not frames or _pack(arrays)[1 if len(arrays) <= _FIXARRAY_MAX else 3 :] != datagram:
            return None
        self._idle.append(unpacker)
        sender = frames[0][0]
        for frame in frames:
            if frame[0] != sender:
                return None
        return frames

    def _carefully(self, datagram: bytes) -> list[Frame]:
        frames: list[Frame] = []
        for value in _take_apart(datagram):
            if frames and type(value) is not tuple:
                raise WireError(WireReason.TRAILING, "not a frame")
            frames.append(self._frame(value))
            if frames[-1].sender != frames[0].sender:
                raise WireError(WireReason.SENDER)
        return frames

    def _frame(self, array: Any) -> Frame:
        """The frame of an unpacked array, by the table."""
        spec = _spec_of(array)
        frame: Frame = self._checked(array[2:], spec)
        if spec.finish is not None and encode(frame) != _pack(array):
            raise WireError(WireReason.RANGE, "filter is not canonical")
        return frame

    def _checked(self, values: tuple[Any, ...], spec: Spec) -> Any:
        check_values(values, self._checks[spec])
        made = tuple.__new__(spec.form, values)
        return made if spec.finish is None else spec.finish(made)


@lru_cache(maxsize=16)
def _decoder(nodes: int) -> Decoder:
    return Decoder(nodes)


def check_message_untrusted(message: bytes, sender: int) -> None:
    """Raise WireError unless a reassembled message is one frame of `sender`, of a kind that may travel in pieces."""
    _walk(message, only_one=True)
    if message[2:3] in (bytes((Kind.FRAGMENT,)), bytes((Kind.LINK,))):
        raise WireError(WireReason.KIND, "frame of the link inside a message")
    if not message.startswith(_pack(sender), _HEADER_BYTES):
        raise WireError(WireReason.SENDER)


def _spec_of(array: Any) -> Spec:
    """The row of SPECS that the first elements of an array ask for."""
    if type(array) is not tuple or len(array) < _LEAST_ELEMENTS:
        raise WireError(WireReason.SHAPE, "not a frame")
    version, kind = array[:2]
    if type(version) is not int or version != VERSION:
        raise WireError(WireReason.VERSION)
    if type(kind) is not int or kind not in SPECS:
        raise WireError(WireReason.KIND)
    spec = SPECS[Kind(kind)]
    if len(array) != 2 + len(spec.rules):
        raise WireError(WireReason.SHAPE, f"{Kind(kind).name} of {len(array)} elements")
    return spec


def _quick_unpacker() -> msgpack.Unpacker:
    return msgpack.Unpacker(max_buffer_size=_SHORT_BYTES, **_SHORT)


def _only_value(data: bytes) -> Any:
    """The one value of `data`, quickly if no list in it is long."""
    try:
        value = msgpack.unpackb(data, **_SHORT)
        if _pack(value) == data:
            return value
    except ValueError:
        pass  # the careful way finds out why
    return _take_apart(data, only_one=True)[0]


def _take_apart(data: bytes, *, only_one: bool = False) -> list[Any]:
    """The values back to back in `data`, of which each is complete and in its shortest form."""
    _walk(data, only_one=only_one)
    # After the walk no length exceeds the bytes there are; what is too long for its field, the field's check refuses.
    unpacker = msgpack.Unpacker(
        use_list=False,
        max_buffer_size=MAX_MESSAGE_BYTES,
        strict_map_key=False,
        object_pairs_hook=_refuse_map,
        ext_hook=_refuse_extension,
    )
    unpacker.feed(data)
    try:
        values = list(unpacker)
    except UnicodeDecodeError:
        raise WireError(WireReason.UTF8) from None
    except ValueError as error:  # a timestamp, the one extension type that msgpack reads itself
        raise WireError(WireReason.TYPE, str(error)) from None
    try:
        packed = b"".join(map(_pack, values))
    except ValueError as error:
        raise WireError(WireReason.MALFORMED, str(error)) from None
    if packed != data:
        raise WireError(WireReason.MALFORMED, "not the shortest form")
    return values


def _walk(data: bytes, *, only_one: bool) -> None:
    """Make sure that `data` is complete, without building any of it: then no length in it lies."""
    if not data:
        raise WireError(WireReason.TRUNCATED, "empty")
    if len(data) > MAX_MESSAGE_BYTES:
        raise WireError(WireReason.OVERSIZED, f"{len(data)} bytes")
    walker = msgpack.Unpacker(max_buffer_size=MAX_MESSAGE_BYTES)
    walker.feed(data)
    try:
        walker.skip()
        if only_one and walker.tell() < len(data):
            raise WireError(WireReason.TRAILING)
        while walker.tell() < len(data):
            walker.skip()
    except msgpack.OutOfData:
        raise WireError(WireReason.TRUNCATED) from None
    except (msgpack.FormatError, msgpack.StackError) as error:
        raise WireError(WireReason.MALFORMED, type(error).__name__) from None


def _refuse_map(_pairs: object) -> NoReturn:
    raise WireError(WireReason.TYPE, "map")


def _refuse_extension(_code: int, _data: bytes) -> NoReturn:
    raise WireError(WireReason.TYPE, "extension type")
