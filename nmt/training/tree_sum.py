"""Sums in a fixed order: neither who adds nor the moment changes a bit."""

from collections.abc import Callable
from threading import Lock
from typing import Generic, TypeVar

Value = TypeVar("Value")
Node = tuple[int, int]  # level above the parts, number in it


class TreeSum(Generic[Value]):
    """The sum of the values of `parts` parts: neighbours in pairs, then neighbouring sums in pairs, and so on.

    A thread that has a value adds it to its neighbour's if that is there, and leaves it otherwise: nobody waits, and
    few values are alive at a time. `add` returns the sum of two values, the same in either order (as of two
    floating-point numbers), and may reuse both.
    """

    def __init__(self, parts: int, add: Callable[[Value, Value], Value]) -> None:
        self.parts = parts
        self.add = add
        self.waiting: dict[Node, Value] = {}
        self.lock = Lock()

    def put(self, value: Value, number: int, level: int = 0) -> None:
        """Takes the value of one part, or a sum that another process left at this node."""
        while (2 << level) < self.parts:
            if (number ^ 1) << level >= self.parts:  # no neighbour: the sum moves up as it is
                level, number = level + 1, number >> 1
                continue
            with self.lock:
                other = self.waiting.pop((level, number ^ 1), None)
                if other is None:
                    self.waiting[level, number] = value
                    return
            value = self.add(value, other)
            level, number = level + 1, number >> 1
        self.waiting[level, number] = value

    def left(self) -> dict[Node, Value]:
        """What is left to be added: two values or the one of a single part, once every part is there.

        Of some of the parts, the sums that lack the others, in order.
        """
        return dict(sorted(self.waiting.items()))


def nodes_left(parts: int, there: range) -> list[Node]:
    """Where the sums lie that are left of these of the parts."""
    tree: TreeSum[int] = TreeSum(parts, int.__add__)
    for part in there:
        tree.put(1, part)
    return list(tree.left())
