"""Simple routing: every subscription is sent, and every unsubscription (1.4.2).

That is identity-based routing of interests that name their subscribers: no two of them are equal.
"""

from __future__ import annotations

from chapard.core.overlay.identity import Identity


class Simple(Identity):
    pass
