"""Chapar: publish/subscribe for mobile ad hoc networks. The SDK."""

from chapar.errors import ChaparError, EventError, FilterError, WireError, WireReason
from chapar.event import Delivery, Event
from chapar.filter import Filter

__all__ = ["ChaparError", "Delivery", "Event", "EventError", "Filter", "FilterError", "WireError", "WireReason"]
