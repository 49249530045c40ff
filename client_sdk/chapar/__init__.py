"""Chapar: publish/subscribe for mobile ad hoc networks. The SDK.

    async with chapar.connect(client_id="rover-3") as client:
        await client.publish(subject="position", attributes={"lat": 52.1, "lon": 5.2}, payload=b"...", lifetime=60)
        async with client.subscribe(subject="position", where="lat > 52") as events:
            async for event in events:
                print(event.attributes)

`chapar.sync.connect` is the same for programs without an event loop.
"""

from chapar import sync
from chapar.client import Client, connect
from chapar.errors import (
    AddressError,
    ChaparError,
    ClosedError,
    ConnectRefusedError,
    EventError,
    EventLostError,
    FilterError,
    NoDaemonError,
    PublishRefusedError,
    RefusedError,
    SessionTakenError,
    SubscribeRefusedError,
    WireError,
    WireReason,
)
from chapar.event import Delivery, Event
from chapar.filter import Filter
from chapar.receipt import Confirmations, Receipt
from chapar.subscription import Subscription

__all__ = [
    "AddressError",
    "ChaparError",
    "Client",
    "ClosedError",
    "Confirmations",
    "ConnectRefusedError",
    "Delivery",
    "Event",
    "EventError",
    "EventLostError",
    "Filter",
    "FilterError",
    "NoDaemonError",
    "PublishRefusedError",
    "Receipt",
    "RefusedError",
    "SessionTakenError",
    "SubscribeRefusedError",
    "Subscription",
    "WireError",
    "WireReason",
    "connect",
    "sync",
]
