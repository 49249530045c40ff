"""Load on a mosquitto broker through paho, the MQTT client that Python programs use: one publisher or one subscriber.

As paho's own examples do it: the publisher beside the client's network thread, the subscriber in its loop.
"""

from __future__ import annotations

import socket
import time
from typing import TYPE_CHECKING

from paho.mqtt.client import Client
from paho.mqtt.enums import CallbackAPIVersion

from benchmarks.load import TOPIC, Task, counter, rhythm, stamped, timer
from benchmarks.tally import Tally

if TYPE_CHECKING:
    from paho.mqtt.client import MQTTMessage

PATIENCE = 10.0
"""Seconds for a connection to stand."""


def connected(port: int) -> Client:
    """A client that delays nothing, and limits what is in flight as little as the run's window does."""
    client = Client(CallbackAPIVersion.VERSION2)
    client.max_inflight_messages_set(0)
    client.connect("127.0.0.1", port)
    sock = client.socket()
    assert isinstance(sock, socket.socket), "connected, without TLS"
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return client


def publish(port: int, tally: Tally, *, qos: int, rate: int) -> None:
    client = connected(port)
    client.loop_start()
    deadline = time.monotonic() + PATIENCE
    while not client.is_connected() and time.monotonic() < deadline:
        time.sleep(0.01)
    tally.connected()
    for count, pause in rhythm(tally, rate):
        if count:
            payload = stamped()
            for _ in range(count):
                client.publish(TOPIC, payload, qos)
        if pause:
            time.sleep(pause)


def subscribe(port: int, tally: Tally, *, subscriber: int, qos: int, rate: int) -> None:
    client = connected(port)
    came, arrived = timer(tally, subscriber), counter(tally, subscriber)

    def on_timed(_client: Client, _data: object, message: MQTTMessage) -> None:
        came(bytes(message.payload))

    def on_counted(_client: Client, _data: object, _message: MQTTMessage) -> None:
        arrived()

    client.on_message = on_timed if rate else on_counted
    client.on_subscribe = lambda *_: tally.subscribed(subscriber)
    client.subscribe(TOPIC, qos)
    client.loop_forever()


def main(work: Task) -> None:
    tally = Tally(work.tally)
    if work.subscriber is None:
        publish(work.port, tally, qos=work.qos, rate=work.rate)
    else:
        subscribe(work.port, tally, subscriber=work.subscriber, qos=work.qos, rate=work.rate)


if __name__ == "__main__":
    main(Task.parse())
