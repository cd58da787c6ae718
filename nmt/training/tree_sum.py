"""Sums in a fixed order: the result has the same bits, whichever thread or process adds, and whenever."""

from collections.abc import Callable
from threading import Lock
from typing import Generic, TypeVar

Value = TypeVar("Value")
Node = tuple[int, int]  # level above the parts, number within the level


class TreeSum(Generic[Value]):
    """The sum of the values of `parts` parts: neighbours in pairs, then neighbouring sums in pairs, and so on.

    If the neighbour's value is there, a thread adds its own value to it; otherwise it leaves its value for the
    neighbour. So no thread waits, and few values are in memory at a time. `add` returns the sum of two values, which
    must be the same in either order (as for floating-point numbers); it may reuse the memory of both.
    """

    def __init__(self, parts: int, add: Callable[[Value, Value], Value]) -> None:
        self.parts = parts
        self.add = add
        self.waiting: dict[Node, Value] = {}
        self.lock = Lock()

    def put(self, value: Value, number: int, level: int = 0) -> None:
        """Takes the value of one part (level 0), or a sum that another process computed for this node."""
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
        """The sums that are left to be added, in order of their nodes.

        Once every part is there, two sums are left, or the value of a single part. While parts are missing, these are
        the sums that wait for them.
        """
        return dict(sorted(self.waiting.items()))


def nodes_left(parts: int, there: range) -> list[Node]:
    """The nodes whose sums are left once the parts in `there` have been put."""
    tree: TreeSum[int] = TreeSum(parts, int.__add__)
    for part in there:
        tree.put(1, part)
    return list(tree.left())
