"""Card: what one step of a stream looks like, as HTML and as text.

Pure functions of the events and an index, so a step back costs nothing. They look only at the
names of fields: the student's own event objects, and plain dicts in the JSON form, work too.

What is new in a message is found by comparing it with the message of the event before, not by
believing the event. So where two events share one message, the card shows that nothing changed.

The HTML stands alone: styles are inline, because JupyterLab takes <style>, <svg> and <script> out
of a notebook that it does not trust. The text of others is escaped and never taken as HTML.
"""

import html
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from scripted_model.errors import ScriptedModelError
from scripted_model.look import EDGE, EVENTS, PANEL
from scripted_model.messages import Value
from scripted_model.wire import to_dict

ROOM = 1200
"""How many characters of one text a card shows, unless told otherwise."""
ROWS = 8
"""How many events a card lists, the current one last."""
BLOCKS = 6
"""How many content blocks a card shows, the last ones, besides the one that the event names."""
FILM = 24
"""How many events a film shows; the middle of a longer one is left out, and it says so."""


class NotEventsError(ScriptedModelError, TypeError):
    """Something that is no stream of events was to be shown: the message tells the fix."""


# Reading: an event is anything with a type, and perhaps a message


def events_of(source: Any) -> tuple[Any, ...]:
    """The events that a stream has now, or those of an iterable; NotEventsError otherwise.

    >>> events_of([{"type": "start"}])
    ({'type': 'start'},)
    >>> events_of("start")
    Traceback (most recent call last):
    scripted_model.show.card.NotEventsError: A stream or a list of events is wanted, not \
the str 'start'.
    """
    events = getattr(source, "events", source)
    events = events() if callable(events) else events
    what = f"the {type(source).__name__} {_short(repr(source), 60)}"
    if isinstance(events, str | bytes | Mapping) or not isinstance(events, Iterable):
        if hasattr(source, "__aiter__"):
            raise NotEventsError(
                f"{what} has no `events` to look at. Collect them first:"
                " events = [event async for event in stream]"
            )
        raise NotEventsError(f"A stream or a list of events is wanted, not {what}.")
    events = tuple(events)
    for number, event in enumerate(events, start=1):
        check_event(event, number)
    return events


def check_event(event: Any, number: int) -> None:
    """Raise NotEventsError for what cannot be shown as an event."""
    if not isinstance(kind_of(event), str):
        raise NotEventsError(
            f"Event {number} is the {type(event).__name__} {_short(repr(event), 60)}, which"
            " has no `type` (or `status`) that says what happened."
        )


def field(value: Any, *names: str) -> Any:
    """The first of these fields that an object, or a dict, has; else None."""
    for name in names:
        found = value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)
        if found is not None:
            return found
    return None


def kind_of(event: Any) -> Any:
    return event if isinstance(event, str) else field(event, "type", "status")


def message_of(event: Any) -> Any:
    """The message as it stands after this event, where the event has one."""
    return field(event, "partial", "message", "error", "payload")


def _content(event: Any) -> Sequence[Any]:
    content = field(message_of(event), "content")
    if isinstance(content, str):
        return ({"type": "text", "text": content},)
    return content if isinstance(content, Sequence) else ()


@dataclass(frozen=True)
class Block:
    """A content block: what it is, its text before this event, and what this event added."""

    index: int
    what: str
    old: str
    new: str
    mono: bool
    fresh: bool


def blocks_at(events: Sequence[Any], index: int) -> list[Block]:
    """The last blocks of the message after event `index`, with the one that the event names;
    and in each what was not there before the event."""
    before = _content(events[index - 1]) if index else ()
    content = _content(events[index])
    shown = set(range(max(0, len(content) - BLOCKS), len(content)))
    named = field(events[index], "content_index", "contentIndex")
    if named in range(len(content)):
        shown.add(named)
    seen = []
    for at in sorted(shown):
        what, said, mono = _read(content[at], at, events, index)
        if at >= len(before):
            fresh = index > 0 or kind_of(events[0]) in _DELTAS
            old, new = ("", said) if fresh else (said, "")
        else:
            fresh = False
            was_what, was, _ = _read(before[at], at, events, index - 1)
            same = was_what == what and said.startswith(was)
            old, new = (was, said[len(was) :]) if same else ("", said)
        seen.append(Block(at, what, old, new, mono, fresh))
    return seen


_DELTAS = ("text_delta", "toolcall_delta", "toolcall_end")


def _read(block: Any, at: int, events: Sequence[Any], index: int) -> tuple[str, str, bool]:
    """What a block is, its text, and whether that is code."""
    name = field(block, "name")
    if name is None:
        said = field(block, "text")
        if isinstance(said, str):
            return "text", said, False
        return str(field(block, "type") or "block"), _as_json(block), True
    what = f"tool call {name}, id {field(block, 'id')}"
    raw = field(block, "raw_arguments", "rawArguments")
    if raw is not None and _is_open(at, events, index):
        return f"{what}: raw JSON, not finished", str(raw), True
    return f"{what}: arguments, finished", _as_json(field(block, "arguments")), True


def _is_open(at: int, events: Sequence[Any], index: int) -> bool:
    """Whether no event up to this one has finished the tool call at this content index."""
    if kind_of(events[index]) in ("done", "completed"):
        return False
    return not any(
        kind_of(e) == "toolcall_end" and (field(e, "content_index", "contentIndex") or 0) == at
        for e in events[: index + 1]
    )


def ending_of(event: Any) -> str | None:
    """How the stream ended with this event; None when it goes on."""
    kind = kind_of(event)
    if kind not in ("done", "error", "completed", "failed"):
        return None
    message = message_of(event)
    reason = field(event, "reason") or field(message, "stop_reason", "stopReason")
    why = field(message, "error_message", "errorMessage")
    if why is None and isinstance(message, str | Exception):
        why = message
    return f"{kind}" + (f", reason: {reason}" if reason else "") + (f": {why}" if why else "")


def _as_json(value: Any, room: int | None = None) -> str:
    try:
        return json.dumps(_plain(value, room), ensure_ascii=False, indent=2, default=repr)
    except (TypeError, ValueError, RecursionError):
        return _short(repr(value), room or ROOM)


def _plain(value: Any, room: int | None) -> Any:
    """Any value as plain data; strings and lists cut to `room`."""
    if isinstance(value, Value):
        return _plain(to_dict(value), room)
    if isinstance(value, Mapping):
        return {str(key): _plain(item, room) for key, item in value.items()}
    if isinstance(value, list | tuple):
        most = len(value) if room is None else 1 + room // 40
        rest = [f"… {len(value) - most} more"] if len(value) > most else []
        return [_plain(item, room) for item in value[:most]] + rest
    if isinstance(value, str):
        return value if room is None else _short(value, room)
    if hasattr(value, "__dict__"):
        kind = {"type": value.type} if isinstance(getattr(value, "type", None), str) else {}
        return _plain(kind | vars(value), room)
    return value


# Text that is safe to show

_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\uffff\ud800-\udfff]"
)


def visible(said: str) -> str:
    """Control characters as escapes. (What joins emoji, and marks direction, is left alone.)

    >>> visible("a\\x1bb")
    'a\\\\x1bb'
    """
    return _HIDDEN.sub(lambda found: found[0].encode("unicode_escape").decode(), said)


def _short(said: str, room: int) -> str:
    """`said`, the middle left out where it is longer than `room`."""
    if len(said) <= room:
        return said
    head, tail = room // 2, room - room // 2
    return f"{said[:head]}…[{len(said) - room:,} characters]…{said[-tail:]}"


def _safe(said: Any) -> str:
    return html.escape(visible(str(said)))


def _line(said: str, room: int) -> str:
    """`said` on one line, cut; the indents of JSON go."""
    if len(said) > 10 * room:  # a long text is not worth a search through all of it
        return _line(_short(said, room), 2 * room)
    said = re.sub(r"(?<=[{\[])\n *|\n *(?=[}\]])", "", said)
    return visible(_short(re.sub(r"\n *", " ", said), room))


# The card

_MONO = "font-family:var(--jp-code-font-family,ui-monospace,monospace);font-size:.92em"
_NEW = (
    "background:rgba(0,158,115,.25);font-weight:700;"
    "text-decoration:underline solid #009E73 3px;text-underline-offset:4px"
)
_TAG = "border:2px solid #009E73;border-radius:4px;padding:0 6px;font-weight:700;white-space:nowrap"
_SAID = (
    "max-height:12em;overflow:auto;display:flex;flex-direction:column-reverse;"
    "white-space:pre-wrap;overflow-wrap:anywhere"
)
_SMALL = "font-size:.85em;opacity:.8"


def _chip(kind: str) -> str:
    sign, colour = _look(kind)
    return (
        f'<b style="background:{colour};color:#fff;border-radius:4px;display:inline-block;'
        f'min-width:1.5em;line-height:1.35;text-align:center" aria-hidden="true">{sign}</b>'
    )


def _look(kind: str) -> tuple[str, str]:
    same = {"completed": "done", "failed": "error"}.get(kind, kind)
    return EVENTS.get(same, ("·", "#555555"))


def card_html(events: Sequence[Any], index: int, *, room: int = ROOM, live: bool = False) -> str:
    """One step as HTML: the event, the events so far, and the message as it stands.

    events: a sequence, as `events_of` gives it. index: from 0. room: characters shown of one text.
    live: nobody knows yet how many events there will be.

    >>> "event 1 of 1" in card_html([{"type": "start"}], 0)
    True
    """
    if not events:
        return f'<div style="{PANEL}">No event yet: the stream is still empty.</div>'
    event = events[index]
    kind = kind_of(event)
    total = "" if live else f" of {len(events):,}"
    at = field(event, "content_index", "contentIndex")
    place = "" if at is None else f' <span style="{_SMALL}">at content index {_safe(at)}</span>'
    ending = ending_of(event)
    as_json = _short(_as_json(event, room), 3 * room)
    blocks = blocks_at(events, index)
    each = max(room // 4, room // max(1, len(blocks)))
    message = "".join(_block_html(block, each) for block in blocks)
    left_out = len(_content(event)) - len(blocks)
    if left_out > 0:
        message = f'<div style="{_SMALL}">… {left_out} earlier blocks</div>{message}'
    if not message:
        says = "No content yet." if field(message_of(event), "content") is not None else (
            "This event carries no message."
        )  # fmt: skip
        message = f'<div style="{_SMALL}">{says}</div>'
    if ending:
        sign, colour = _look(kind)
        message += (
            f'<div style="border:3px solid {colour};border-radius:6px;padding:4px 10px;'
            f'margin-top:8px;font-weight:700;white-space:pre-wrap;overflow-wrap:anywhere">'
            f"{sign} <bdi>{_safe(_short(ending, room))}</bdi></div>"
        )
    elif not any(b.new or b.fresh for b in blocks) and kind in _DELTAS:
        message += f'<div style="{_SMALL}">Nothing in the message changed.</div>'
    return (
        f'<div style="{PANEL}" role="group" aria-label="event {index + 1}{total}">'
        f'<div style="font-size:1.15em">event <b>{index + 1:,}</b>{total}, just happened:'
        f" {_chip(kind)} <b>{_safe(_short(kind, 60))}</b>{place}</div>"
        '<div style="display:flex;flex-wrap:wrap;gap:8px 24px;margin-top:8px;'
        f'min-height:{1.5 * min(ROWS, len(events)) + 1.5:.1f}em">'
        f'<div style="flex:1 1 270px;min-width:0"><div style="{_SMALL}">events so far</div>'
        f"{_rows_html(events, index)}</div>"
        f'<div style="flex:2 1 380px;min-width:0"><div style="{_SMALL}">the message after this'
        f" event</div>{message}</div></div>"
        f'<details style="margin-top:8px"><summary style="cursor:pointer">this event as JSON'
        f'</summary><pre style="{_MONO};white-space:pre-wrap;overflow-wrap:anywhere;'
        f'max-height:20em;overflow:auto;margin:0">{_safe(as_json)}</pre>'
        "</details></div>"
    )


def _rows_html(events: Sequence[Any], index: int) -> str:
    first = max(0, index + 1 - ROWS)
    rows = f'<div style="{_SMALL}">… {first:,} earlier</div>' if first else ""
    mark = ' aria-current="step"'
    for at in range(first, index + 1):
        kind, now = kind_of(events[at]), at == index
        rows += (
            f'<div{mark if now else ""} style="white-space:nowrap;overflow:hidden;'
            f'text-overflow:ellipsis;font-weight:{700 if now else 400}">'
            f"{'▶' if now else '&ensp;'} {at + 1} {_chip(kind)} {_safe(_short(kind, 30))}"
            f" <bdi>{_safe(_line(_delta(events[at]), 24))}</bdi></div>"
        )
    return rows


def _delta(event: Any) -> str:
    delta = field(event, "delta")
    return "" if delta is None else str(delta)


def _block_html(block: Block, room: int) -> str:
    tag = "new block" if block.fresh else "changed" if block.new and not block.old else "grew"
    tag = f' <span style="{_TAG}">{tag}</span>' if block.fresh or block.new else ""
    old = block.old
    if len(old) > room:
        cut = f'<small style="opacity:.8">[… {len(old) - room:,} characters before] </small>'
        old = cut + _safe(old[-room:])
    else:
        old = _safe(old)
    new = f'<ins style="{_NEW}">{_safe(_short(block.new, room))}</ins>' if block.new else ""
    return (
        f'<div style="border:2px solid {EDGE};border-radius:6px;padding:4px 10px;margin-top:4px">'
        f'<div style="{_SMALL}"><b>[{block.index}]</b> {_safe(_short(block.what, 120))}{tag}</div>'
        f'<div style="{_SAID}"><div dir="auto" style="{_MONO if block.mono else ""}">'
        f"{old}{new}</div></div></div>"
    )


def card_text(events: Sequence[Any], index: int, *, room: int = 200) -> str:
    """The same step as text; what was just added stands between « and ».

    >>> print(card_text([{"type": "start", "partial": {"content": []}}], 0))
    event 1 of 1, just happened: start
      no content yet
    """
    if not events:
        return "No event yet: the stream is still empty."
    event = events[index]
    lines = [f"event {index + 1} of {len(events)}, just happened: {_line(kind_of(event), 60)}"]
    for block in blocks_at(events, index):
        old, new = _line(block.old, room), _line(block.new, room)
        added = f"«{new}»" if block.new or block.fresh else ""
        lines.append(f"  [{block.index}] {_line(block.what, 60)}: {old}{added}")
    if ending := ending_of(event):
        lines.append(f"  {_look(kind_of(event))[0]} {_line(ending, room)}")
    elif len(lines) == 1:
        lines.append("  no content yet")
    return "\n".join(lines)


def failure_html(error: BaseException) -> str:
    """What a view shows when reading its stream failed."""
    return (
        '<div style="border:3px solid #B00020;border-radius:6px;padding:4px 10px;font-size:18px;'
        'white-space:pre-wrap;overflow-wrap:anywhere"><b>✗ reading stopped</b>'
        f" <bdi>{_safe(_short(f'{type(error).__name__}: {error}', ROOM))}</bdi></div>"
    )


# The film: all steps at once, for where nothing can be clicked


def _steps(events: Sequence[Any]) -> Iterable[int | None]:
    """The indexes that a film shows; None where some are left out."""
    if len(events) <= FILM:
        return range(len(events))
    half = FILM // 2
    return [*range(half), None, *range(len(events) - half, len(events))]


def _stand(events: Sequence[Any], index: int, room: int) -> str:
    """The message after an event, or how it ended, on one line."""
    if ending := ending_of(events[index]):
        return _line(ending, room)
    shown = []
    for block in blocks_at(events, index):
        said = block.old + block.new
        name = "" if block.what == "text" else block.what.split(",")[0] + " "
        shown.append(f"[{block.index}] {name}{_line(said, room)}")
    return "  ".join(shown)


def film_text(events: Sequence[Any]) -> str:
    """Every event on a line, with the message after it: the same on every run.

    >>> print(film_text([{"type": "start"}, {"type": "done", "reason": "stop"}]))
    2 events
    1 ○ start
    2 ✓ done            done, reason: stop
    """
    lines = [f"{len(events)} event{'s'[: len(events) != 1]}"]
    width = len(str(len(events)))
    for at in _steps(events):
        if at is None:
            lines.append(f"{'…':>{width}}   {len(events) - FILM} events are not shown")
            continue
        kind = kind_of(events[at])
        step = f"{at + 1:>{width}} {_look(kind)[0]} {_line(kind, 30):15} {_stand(events, at, 60)}"
        lines.append(step.rstrip())
    return "\n".join(lines)


def film_html(events: Sequence[Any]) -> str:
    """The same as a table, for GitHub and for a notebook that is not trusted."""
    cell = 'style="text-align:left;vertical-align:top;padding:2px 10px"'
    narrow = cell[:-1] + ';white-space:nowrap"'
    wrap = cell[:-1] + ';white-space:pre-wrap;overflow-wrap:anywhere"'
    rows = ""
    for at in _steps(events):
        if at is None:
            rows += f'<tr><td {cell}>…</td><td colspan="2" {cell}>{len(events) - FILM} events are'
            rows += " not shown</td></tr>"
            continue
        kind = kind_of(events[at])
        sign = _look(kind)[0]
        rows += f"<tr><td {cell}>{at + 1}</td><td {narrow}>{sign} {_safe(_line(kind, 30))}</td>"
        rows += f'<td {wrap} dir="auto">{_film_cell(events, at)}</td></tr>'
    if not events:
        return card_html(events, 0)
    head = "".join(
        f'<th scope="col" {cell}>{name}</th>' for name in ("", "event", "message after it")
    )
    return (
        f'<table style="font-size:16px;border-collapse:collapse"><thead><tr>{head}</tr></thead>'
        f"<tbody>{rows}</tbody></table>"
    )


def _film_cell(events: Sequence[Any], index: int) -> str:
    shown = []
    for block in blocks_at(events, index):
        new = f"<ins><b>{_safe(_line(block.new, 80))}</b></ins>" if block.new else ""
        what = "" if block.what == "text" else f"{_safe(_line(block.what, 80))} "
        shown.append(f"[{block.index}] {what}{_safe(_line(block.old, 80))}{new}")
    if ending := ending_of(events[index]):
        shown.append(f"<b>{_safe(_line(ending, 120))}</b>")
    return "<br>".join(shown)
