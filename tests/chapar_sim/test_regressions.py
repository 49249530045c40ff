"""Seeds that once found a bug in the core, each with what it found. They must stay quiet."""

from __future__ import annotations

import pytest

from chapar_sim.swarm import judge_seed

FOUND = {
    46: "a gap closed hop by hop, slower than the patience for it",
    136: "an event that a node made up by mutating frames was held against the core",
    75: "a full queue that refuses let later events of a publisher pass the refused one",
    168: "on a long lossy path every renewal of a lease was lost, and a standing home was forgotten",
    195: "an event that had gone hid that one before it was still missing",
    213: "the same as 75, through crashes",
    237: "a broker that restarted with an old delivered vector was taken to know what it had known before",
    450: "a mutated header made a receiver take all that its peer sent from then on for old",
    296: "a dismissed broker kept a deadline for homes it no longer serves",
    731: "a session forgot which events it had been given while they still lived",
    771: "what a full queue refused of a home's own copies was never offered again",
    519: "an event behind one that was held back for its predecessor was served before it",
}


@pytest.mark.parametrize("seed", FOUND, ids=str)
def test_a_seed_that_found_a_bug_finds_none(seed: int) -> None:
    """The scenario in which the bug showed breaks no promise any more."""
    outcome = judge_seed(seed)
    assert not outcome.violations, FOUND[seed]
