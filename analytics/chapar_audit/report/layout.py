"""Where the nodes of a network are drawn: distances on paper follow distances in hops (stress majorisation)."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

ROUNDS: Final = 200
ENOUGH: Final = 1e-4
"""Relative gain of a round below which it is good enough."""
APART: Final = 2.0
"""Hops by which parts of a network that is in pieces are kept apart, beyond the longest way within one."""


def layout(nodes: Sequence[int], links: Iterable[tuple[int, int]]) -> Mapping[int, tuple[float, float]]:
    """A position for each node, the same each time."""
    if len(nodes) < 2:
        return dict.fromkeys(nodes, (0.0, 0.0))
    hops = _hops(nodes, links)
    places = _spread(hops)
    weights = 1 / np.maximum(hops, 1.0) ** 2
    np.fill_diagonal(weights, 0)
    laplacian = np.diag(weights.sum(axis=1)) - weights
    inverse = np.linalg.pinv(laplacian)
    before = np.inf
    for _ in range(ROUNDS):
        apart = _distances(places)
        stress = float((weights * (apart - hops) ** 2).sum())
        if before - stress < ENOUGH * stress:
            break
        before = stress
        ratio = np.divide(weights * hops, apart, out=np.zeros_like(apart), where=apart > 0)
        places = inverse @ (np.diag(ratio.sum(axis=1)) - ratio) @ places
    places = _turned(places, hops == 1)
    return {node: (float(x), float(y)) for node, (x, y) in zip(nodes, places, strict=True)}


def _hops(nodes: Sequence[int], links: Iterable[tuple[int, int]]) -> NDArray[np.float64]:
    near: dict[int, set[int]] = {node: set() for node in nodes}
    for a, b in links:
        if a in near and b in near:
            near[a].add(b)
            near[b].add(a)
    index = {node: place for place, node in enumerate(nodes)}
    hops = np.full((len(nodes), len(nodes)), np.inf)
    for start in nodes:
        row, todo = hops[index[start]], deque([start])
        row[index[start]] = 0
        while todo:
            here = todo.popleft()
            for there in sorted(near[here]):
                if np.isinf(row[index[there]]):
                    row[index[there]] = row[index[here]] + 1
                    todo.append(there)
    far = np.isinf(hops)
    hops[far] = hops[~far].max() + APART
    return hops


def _spread(hops: NDArray[np.float64]) -> NDArray[np.float64]:
    """A first placement: the two directions in which the network is longest (classical scaling)."""
    count = len(hops)
    centre = np.eye(count) - 1 / count
    values, vectors = np.linalg.eigh(-0.5 * centre @ hops**2 @ centre)
    places: NDArray[np.float64] = vectors[:, [-1, -2]] * np.sqrt(np.maximum(values[[-1, -2]], 0))
    places *= np.where(places[np.abs(places).argmax(axis=0), [0, 1]] < 0, -1, 1)  # which way round is arbitrary
    angles = 2.4 * np.arange(count)  # no two nodes on one spot, or they would never part
    return places + 0.05 * np.column_stack([np.cos(angles), np.sin(angles)])


def _distances(places: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(np.sqrt(((places[:, None, :] - places[None, :, :]) ** 2).sum(axis=2)))


def _turned(places: NDArray[np.float64], near: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Turned so that links lie level or upright if they can, wider than high, the first node at the upper left."""
    towards = places[:, None, :] - places[None, :, :]
    ways = (towards[..., 0] + 1j * towards[..., 1])[near]
    turn = np.exp(-0.25j * np.angle((ways**4).sum())) if len(ways) else 1.0
    at = (places[:, 0] + 1j * places[:, 1] - places.mean(axis=0) @ np.array([1, 1j])) * turn
    if np.ptp(at.real) < np.ptp(at.imag) * 0.999:
        at = at * 1j
    across, down = (1 if at[0].real <= 0 else -1), (1 if at[0].imag >= 0 else -1)
    return np.column_stack([at.real * across, at.imag * down])
