"""The one thing a benchmark hands back: a measured figure beside the goal it is held to."""

from typing import NamedTuple


class Figure(NamedTuple):
    """One row of the table; `met` is None for a figure that is shown for information and has no goal.

    A goal is best a ratio of two things measured in the same run: values change with the machine, ratios hardly.
    """

    name: str
    value: float
    unit: str
    goal: str
    met: bool | None
