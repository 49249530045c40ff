"""Load on a mosquitto broker through its own C library, called with ctypes: one publisher or one subscriber.

No thread of the library runs: `mosquitto_publish` then writes to the socket at once, and a subscriber's callback only
counts. The broker is not worse off than with other clients (a few runs each, on a busy machine): at QoS 0 it took
6.4–7.6 µs of processor time per message, 7.6–8.3 with the same clients written in C, 7.3 with the library's own network
thread; at QoS 1 that thread made it 17 instead of 16 µs, and 30 000 instead of 52 000 messages per second.
"""

from __future__ import annotations

import ctypes
import time
from contextlib import contextmanager
from ctypes import CFUNCTYPE, POINTER, c_bool, c_char_p, c_int, c_uint, c_void_p
from typing import TYPE_CHECKING, Any, Final

from benchmarks.load import PAYLOAD, STAMP, TOPIC, Task, counter, rhythm, stamped, timer
from benchmarks.tally import Tally

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

LIBRARY: Final = "libmosquitto.so.1"
KEEP_ALIVE: Final = 600
NO_LIMIT: Final = 0
TCP_NODELAY: Final = 11
"""Number of the library's option."""
FOREVER: Final = -1
SOME: Final = 100
"""Subscriptions sent before their confirmations are looked at."""
PATIENCE: Final = 30.0
"""Seconds for many subscriptions to be confirmed."""


class Message(ctypes.Structure):
    """`struct mosquitto_message`."""

    _fields_ = (
        ("mid", c_int),
        ("topic", c_char_p),
        ("payload", c_void_p),
        ("payloadlen", c_int),
        ("qos", c_int),
        ("retain", c_bool),
    )


ON_SUBSCRIBE: Final = CFUNCTYPE(None, c_void_p, c_void_p, c_int, c_int, c_void_p)
ON_MESSAGE: Final = CFUNCTYPE(None, c_void_p, c_void_p, POINTER(Message))
ON_ANY_MESSAGE: Final = CFUNCTYPE(None, c_void_p, c_void_p, c_void_p)
"""For a callback that does not look at the message."""

SIGNATURES: Final = {
    "connect": (c_void_p, c_char_p, c_int, c_int),
    "publish": (c_void_p, c_void_p, c_char_p, c_int, c_char_p, c_int, c_bool),
    "subscribe": (c_void_p, c_void_p, c_char_p, c_int),
    "destroy": (c_void_p,),
    "loop": (c_void_p, c_int, c_int),
    "loop_read": (c_void_p, c_int),
    "loop_write": (c_void_p, c_int),
    "loop_forever": (c_void_p, c_int, c_int),
    "int_option": (c_void_p, c_int, c_int),
    "max_inflight_messages_set": (c_void_p, c_uint),
    "subscribe_callback_set": (c_void_p, ON_SUBSCRIBE),
    "message_callback_set": (c_void_p, c_void_p),
}


def library() -> Any:
    """The library, ready for calls. Raises OSError where it is not installed."""
    mosquitto = ctypes.CDLL(LIBRARY)
    mosquitto.mosquitto_new.argtypes = (c_char_p, c_bool, c_void_p)
    mosquitto.mosquitto_new.restype = c_void_p
    for name, signature in SIGNATURES.items():
        getattr(mosquitto, f"mosquitto_{name}").argtypes = signature
    mosquitto.mosquitto_lib_init()
    return mosquitto


def connected(mosquitto: Any, port: int) -> int:
    """A client that delays nothing, and limits what is in flight as little as the run's window does."""
    client: int = mosquitto.mosquitto_new(None, True, None)  # noqa: FBT003 - the library's own: a clean session
    mosquitto.mosquitto_int_option(client, TCP_NODELAY, 1)
    mosquitto.mosquitto_max_inflight_messages_set(client, NO_LIMIT)
    error = mosquitto.mosquitto_connect(client, b"127.0.0.1", port, KEEP_ALIVE)
    assert error == 0, f"mosquitto_connect: error {error}"
    return client


def publish(mosquitto: Any, port: int, tally: Tally, *, qos: int, rate: int) -> None:
    client = connected(mosquitto, port)
    topic, send = TOPIC.encode(), mosquitto.mosquitto_publish
    mosquitto.mosquitto_loop(client, 1000, 1)  # CONNACK
    tally.connected()

    def serve() -> None:
        """Take confirmations, and write what the socket did not take."""
        mosquitto.mosquitto_loop_read(client, 1)
        mosquitto.mosquitto_loop_write(client, 1)

    for count, pause in rhythm(tally, rate):
        if count:
            payload = stamped()
            for _ in range(count):
                send(client, None, topic, PAYLOAD, payload, qos, False)  # noqa: FBT003 - the library's own: retain
        if pause or qos:
            serve()
        if pause:
            time.sleep(pause)


def subscribe(mosquitto: Any, port: int, tally: Tally, *, subscriber: int, qos: int, rate: int) -> None:
    client = connected(mosquitto, port)
    came = timer(tally, subscriber)
    arrived = counter(tally, subscriber)

    def on_subscribe(_client: int, _object: int, _mid: int, _count: int, _granted: int) -> None:
        tally.subscribed(subscriber)

    def on_timed(_client: int, _object: int, message: Any) -> None:
        came(ctypes.string_at(message.contents.payload, STAMP))

    def on_counted(_client: int, _object: int, _message: int) -> None:
        arrived()

    subscribed = ON_SUBSCRIBE(on_subscribe)
    handler: Callable[..., None] = ON_MESSAGE(on_timed) if rate else ON_ANY_MESSAGE(on_counted)
    mosquitto.mosquitto_subscribe_callback_set(client, subscribed)
    mosquitto.mosquitto_message_callback_set(client, ctypes.cast(handler, c_void_p))  # type: ignore[arg-type]  # it is a function pointer
    mosquitto.mosquitto_subscribe(client, None, TOPIC.encode(), qos)
    mosquitto.mosquitto_loop_forever(client, FOREVER, 1)


@contextmanager
def held(port: int, topics: Iterable[str]) -> Iterator[None]:
    """One client subscribes to all of these, and holds them for as long as the block lasts."""
    mosquitto = library()
    client = connected(mosquitto, port)
    confirmed = asked = 0

    def on_subscribe(_client: int, _object: int, _mid: int, _count: int, _granted: int) -> None:
        nonlocal confirmed
        confirmed += 1

    subscribed = ON_SUBSCRIBE(on_subscribe)
    mosquitto.mosquitto_subscribe_callback_set(client, subscribed)
    for asked, topic in enumerate(topics, start=1):
        mosquitto.mosquitto_subscribe(client, None, topic.encode(), 0)
        if asked % SOME == 0:
            mosquitto.mosquitto_loop(client, 0, SOME)
    deadline = time.monotonic() + PATIENCE
    while confirmed < asked and time.monotonic() < deadline:
        mosquitto.mosquitto_loop(client, 100, SOME)
    assert confirmed == asked, f"{confirmed} of {asked} subscriptions confirmed"
    try:
        yield
    finally:
        mosquitto.mosquitto_destroy(client)


def main(work: Task) -> None:
    mosquitto, tally = library(), Tally(work.tally)
    if work.subscriber is None:
        publish(mosquitto, work.port, tally, qos=work.qos, rate=work.rate)
    else:
        subscribe(mosquitto, work.port, tally, subscriber=work.subscriber, qos=work.qos, rate=work.rate)


if __name__ == "__main__":
    main(Task.parse())
