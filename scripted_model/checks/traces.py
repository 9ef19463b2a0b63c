"""Traces: the first event that is not as expected, in words."""

from collections.abc import Callable, Sequence
from itertools import zip_longest
from typing import Any

from scripted_model.checks.check import Divergence, attempt, check, need, shown
from scripted_model.checks.predictions import words_of


def field(thing: Any, name: str) -> Any:
    """`thing.name`, or `thing["name"]` for a dict; None if there is no such thing."""
    return thing.get(name) if isinstance(thing, dict) else getattr(thing, name, None)


def blocks(message: Any) -> Any:
    """What a message says: its texts, and the id, name and arguments of its tool calls."""
    content = field(message, "content")
    if not isinstance(content, list | tuple):
        return content
    tool = ("id", "name", "arguments")
    return [
        block if isinstance(block, str) else
        tuple(field(block, name) for name in tool) if field(block, "text") is None else
        field(block, "text") for block in content
    ]  # fmt: skip


def final(event: Any) -> Any:
    """The message of a terminal event, None for any other."""
    return field(event, {"done": "message", "error": "error"}.get(field(event, "type"), ""))


def _place(event: Any) -> str:
    index = field(event, "content_index")
    if field(event, "type") is None:
        return f"{shown(event)}, which has no type"
    return f"{field(event, 'type')}{'' if index is None else f' at content index {index}'}"


def diverges(events: Sequence[Any], expected: Sequence[Any]) -> str | None:
    """The first event that is not as expected, in words; an expected string is a type only."""
    states = [blocks(field(event, "partial")) for event in expected]
    for index, (got, want) in enumerate(zip_longest(events, expected)):
        by_type = isinstance(want, str)
        wanted = "no event" if want is None else want if by_type else _place(want)
        place = "no event" if got is None else field(got, "type") if by_type else _place(got)
        if place != wanted:
            return f"event {index}: expected {wanted}, got {place}"
        for name, read in _PARTS.items():
            if not by_type and (part := read(want)) is not None and read(got) != part:
                said = f"event {index} ({field(got, 'type')}): expected the {name}"
                hint = drift(read(got), index, states) if name == "partial" else ""
                return f"{said} {shown(part)}, got {shown(read(got))}{hint}"
    return None


_PARTS: dict[str, Callable[[Any], Any]] = {
    "delta": lambda event: field(event, "delta"),
    "partial": lambda event: blocks(field(event, "partial")),
    "tool call": lambda event: blocks({"content": [c]}) if (c := field(event, "tool_call")) else c,
    "reason": lambda event: field(event, "reason"),
    "message": lambda event: blocks(final(event)),
    "stop reason": lambda event: field(final(event), "stop_reason"),
    "error message": lambda event: field(final(event), "error_message"),
}


def drift(got: Any, index: int, states: Sequence[Any]) -> str:
    """Whether a partial shows what belongs to a later event, or to an earlier one."""
    if not isinstance(got, list):
        return ": there is no message in it"
    if got not in states or states[index] == got:
        return ""
    late = states.index(got) < index
    return ": it is late, and misses this event" if late else ": it shows the future"


@check
def check_trace(events: Any, expected: Sequence[Any]) -> str:
    """Compare events with the expected ones, or with their types alone.

    >>> check_trace(["start"], ["start", "done"])
    not quite: event 1: expected done, got no event
    """
    events = words_of(events) if isinstance(need(events), str) else events
    events = [{"type": e} if isinstance(e, str) else e for e in attempt("the events", list, events)]
    if told := diverges(events, expected):
        raise Divergence(told)
    return compared(expected)


def compared(*traces: Sequence[Any]) -> str:
    """What `diverges` looks at, no more."""
    events = [event for trace in traces for event in trace]
    by_type = any(isinstance(event, str) for event in events)
    parts = "types" if by_type else "type, content index, delta, partial, ending"
    return f"{count(len(events), 'event')}: {parts}"


def count(number: int, what: str) -> str:
    return f"{number} {what}{'s'[: number != 1]}"
