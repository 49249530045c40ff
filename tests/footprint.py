"""How much memory an object holds on to, for tests that claim that it is given back."""

from __future__ import annotations

import gc
import sys
from types import BuiltinFunctionType, FunctionType, ModuleType


def bytes_reached(root: object) -> int:
    """The memory of all that can be reached from `root`, but for types and code."""
    seen: dict[int, object] = {}
    waiting = [root]
    while waiting:
        each = waiting.pop()
        if id(each) not in seen and not isinstance(each, (type, ModuleType, FunctionType, BuiltinFunctionType)):
            seen[id(each)] = each
            waiting.extend(gc.get_referents(each))
    return sum(map(sys.getsizeof, seen.values()))
