"""Checksums of interfaces; that they are computed from then on, the tests of the medium show on real ones."""

from __future__ import annotations

import pytest

from chapar_lab.offload import checksums_off


def test_an_interface_that_is_not_there_is_an_error() -> None:
    """Of the system's."""
    with pytest.raises(OSError, match=r"No such device|not permitted"):
        checksums_off("chapar-none")
