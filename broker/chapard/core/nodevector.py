"""Node vectors: sets of nodes as bits, one bit per node index (report 3.3.2: NV, ANV, NNV, BNV, SNV, RNV).

A node vector is an immutable, hashable value of a fixed length, the number of nodes the network is configured for.
Bit i stands for the node with index i. All vectors of one network have the same length; operators on vectors of
different lengths raise ValueError. The complement `~` is within that length. A vector is true if any bit is set.
"""

from collections.abc import Iterable
from typing import Self

from bitarray import bitarray, frozenbitarray


class NodeVector(frozenbitarray):
    """An immutable set of node indexes; `len` is the number of bits, `v[i]` is 1 for a member and 0 for another.

    Make one with `of`, `empty` or `from_wire`. `&`, `|`, `^` and `~` give node vectors again.
    """

    __slots__ = ()

    def __new__(cls, bits: int | str | Iterable[int] = 0, /, endian: str = "little") -> Self:
        # Little endian whatever the source, so that the bytes are those of the wire; bitarray's default is big.
        return super().__new__(cls, bits, endian)  # type: ignore[call-arg]  # the stub knows __init__ only

    @classmethod
    def empty(cls, length: int) -> Self:
        return cls(length)

    @classmethod
    def of(cls, indexes: Iterable[int], length: int) -> Self:
        """The vector with these nodes; IndexError if one of them is not below `length`."""
        bits = bitarray(length, "little")
        for index in indexes:
            if index < 0:
                raise IndexError(f"node index {index} is negative")
            bits[index] = 1
        return cls(bits)

    @classmethod
    def from_wire(cls, data: bytes, length: int) -> Self:
        """The vector that `to_wire` gave as `data`; ValueError if it names a node that is not below `length`."""
        bits = bitarray(data, "little")
        excess = len(bits) - length
        if excess < 0:
            bits.extend(bitarray(-excess))
        elif excess > 0:
            if bits.find(1, length) >= 0:
                raise ValueError(f"node vector names a node beyond the {length} of this network")
            del bits[length:]
        return cls(bits)

    def to_wire(self) -> bytes:
        """The bytes that travel: bit i is bit i % 8 of byte i // 8, without the zero bytes at the end."""
        return self.tobytes().rstrip(b"\0")

    def indexes(self) -> list[int]:
        """The nodes of this vector, in ascending order."""
        return list(self.search(1))

    def with_(self, index: int) -> Self:
        """This vector and the node `index`."""
        return self._changed(index, 1)

    def without(self, index: int) -> Self:
        """This vector less the node `index`, whether or not it was there."""
        return self._changed(index, 0)

    def _changed(self, index: int, bit: int) -> Self:
        if index < 0:
            raise IndexError(f"node index {index} is negative")
        bits = bitarray(self)
        bits[index] = bit
        return type(self)(bits)

    # As with any immutable value, `a |= b` makes a new vector and gives it the name `a`.
    def __iand__(self, other: bitarray) -> Self:
        return self & other

    def __ior__(self, other: bitarray) -> Self:
        return self | other

    def __ixor__(self, other: bitarray) -> Self:
        return self ^ other

    def __bool__(self) -> bool:
        return self.any()

    def __repr__(self) -> str:
        return f"NodeVector.of({self.indexes()}, {len(self)})"
