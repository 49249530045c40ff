"""What is looked at of a run on a tree."""

from __future__ import annotations

from chapar_audit.jobs.clients import name_of
from chapar_audit.jobs.ids import element


def test_classes_of_filters_are_called_by_their_subject() -> None:
    """Where an event tells what it is; else by its hash, as types are."""
    subjects = {element("a"): "a"}
    assert name_of(element("a") + bytes(4), subjects) == "filters for a"
    assert name_of(bytes(8), subjects) == "filters for anything"
    assert name_of(b"\1\2\3\4" + b"\0\0\0\1", subjects) == "filters for subject 01020304 of type 00000001"
