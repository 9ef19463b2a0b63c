"""Cursor: which turn does this call get? (chapter 01)

>>> cursor = Cursor(["first", "second"])
>>> cursor.take(), cursor.take(), cursor.take()
('first', 'second', None)
"""

from collections.abc import Iterable
from typing import Generic, TypeVar

T = TypeVar("T")


class Cursor(Generic[T]):
    """A list of turns and the number of the next one.

    It owns its list, so two cursors over the same turns do not share a position, and it never
    goes back: past the last turn there is None, every time. It does not raise and does not
    repeat; what "no turn left" means is for the model to say.
    """

    def __init__(self, turns: Iterable[T]) -> None:
        self._turns = tuple(turns)
        self.position = 0

    @property
    def left(self) -> tuple[T, ...]:
        """The turns that nobody has taken yet."""
        return self._turns[self.position :]

    def take(self) -> T | None:
        """The next turn, and one step on; None when there is none left."""
        if self.position >= len(self._turns):
            return None
        turn = self._turns[self.position]
        self.position += 1
        return turn

    def __len__(self) -> int:
        return len(self._turns)

    def __repr__(self) -> str:
        return f"<Cursor at {self.position} of {len(self)}>"
