"""Which turn does this call get? (chapter 01)"""

from scripted_model import Cursor


def test_turns_come_one_by_one_and_never_again() -> None:
    """Past the last turn there is nothing, every time; nothing is repeated."""
    cursor = Cursor(["a", "b"])
    assert [cursor.take() for _ in range(4)] == ["a", "b", None, None]
    assert (cursor.position, cursor.left) == (2, ())


def test_two_cursors_do_not_share_a_position() -> None:
    """Each cursor has its own list, even over one iterator or a list that changes."""
    turns = ["a", "b"]
    one, other = Cursor(turns), Cursor(iter(turns))
    turns.clear()
    assert (one.take(), other.take(), one.take(), other.take()) == ("a", "a", "b", "b")


def test_the_repr_says_where_it_stands() -> None:
    """Position and length, no address."""
    cursor = Cursor("ab")
    cursor.take()
    assert repr(cursor) == "<Cursor at 1 of 2>"
