"""Who may publish to a group (report 2.2.3): the home checks its client, every broker the publisher's home."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chapard.core.effects import Reason

if TYPE_CHECKING:
    from chapar.event import Event
    from chapard.core.config import Config
    from chapard.core.outlet import Outlet


def is_member(config: Config, outlet: Outlet, event: Event, origin: int) -> bool:
    """Whether the home of a publisher may publish to the event's group; if not, that is counted."""
    group = config.groups.get(event.group) if event.group is not None else None
    if group is None or origin in group.nodes:
        return True
    outlet.drop(Reason.NOT_MEMBER, peer=origin, event_id=event.id)
    return False
