"""Checkpoint: does a model that you wrote keep the contract of `Model`? (chapter 09)

>>> from scripted_model import ScriptedModel
>>> async def main():
...     return await checkpoint(ScriptedModel)
>>> found = asyncio.run(main())
>>> print(str(found).splitlines()[0])
passed: 14 of 14 behaviours
>>> found.passed
True
"""

import asyncio
import contextlib
import functools
import inspect
import json
import types
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, NamedTuple

from scripted_model.checks.check import (
    LIMIT,
    Blank,
    Check,
    Divergence,
    Pending,
    async_check,
    attempt,
    equal,
    in_words,
    is_blank,
    need,
    shown,
    watched,
)
from scripted_model.checks.traces import blocks, diverges, drift, field, final
from scripted_model.messages import (
    AgentContext,
    assistant_message,
    text,
    tool_call,
    user_message,
)
from scripted_model.partial import project
from scripted_model.turns import FailedTurn

QUIET = 0.2
"""Seconds without an event after which a stream is taken to be silent."""

TEXTS = ("先看", "第二轮", "第三轮")
ONE, TWO, THREE = (assistant_message([text(said)]) for said in TEXTS)
EMPTY = assistant_message([])
TWO_BLOCKS = assistant_message([text("先看"), text("再说")])
CALL = tool_call("c1", "read", {"path": "README.md"})
TOOL = assistant_message([text("先看"), CALL], "toolUse")
CALL_AMID = assistant_message([text("先看"), CALL, text("再说")], "toolUse")
FAILED = FailedTurn("error", "rate limited", "正在")
CANCELLED = FailedTurn("aborted", "cancelled", "正在")


class NotReached(Divergence):
    """A behaviour could not be looked at, because of the `needs`, which are others."""

    def __init__(self, why: str, *needs: str) -> None:
        super().__init__(why)
        self.needs = needs


# What a scenario is made of. None of it waits for an end that may never come.


def call(model: Any, context: AgentContext | None = None, **options: Any) -> Any:
    """Call the model; Divergence when what comes back is no stream."""
    context = context or AgentContext([user_message("请求一")])
    stream = attempt("stream()", functools.partial(model.stream, context, **options))
    if inspect.iscoroutine(stream):
        stream.close()
        raise Divergence("stream() gave back a coroutine: write `def stream`, not `async def`")
    if stream is None or stream is ...:
        raise Blank("stream() gives back None. Is a `return` missing?")
    if not hasattr(stream, "__aiter__"):
        raise Divergence(f"stream() gave back a {type(stream).__name__}, not a stream of events")
    return stream


def needed(function: Callable[..., Any], *args: Any) -> Any:
    """Call a function from here for a behaviour that is not about what it may find."""
    try:
        return function(*args)
    except Divergence as error:
        raise NotReached(str(error), "returns first") from error


def built(cls: Any, turns: list[Any]) -> Any:
    return needed(attempt, "building the model", cls, turns)


def first_call(cls: Any, *turns: Any) -> tuple[Any, Any]:
    """A new model and the stream of its first call."""
    model = built(cls, list(turns))
    return model, needed(call, model)


async def seen(stream: Any, quiet: float | None = None) -> list[Any]:
    """The events up to the terminal one, or up to where the stream falls silent."""
    reader, events = aiter(stream), list[Any]()
    while len(events) < 100 and not (events and final(events[-1]) is not None):
        try:
            async with asyncio.timeout(quiet or QUIET):
                events.append(await anext(reader))
        except (StopAsyncIteration, TimeoutError):
            break
    return events


async def arrived(stream: Any) -> list[Any]:
    """The same, with the deltas of a block as one: a model may cut its text as it likes."""
    events = list[Any]()
    for event in await seen(stream):
        before = events[-1] if events else None
        if field(event, "delta") is not None and _block(event) == _block(before):
            parts = {name: field(event, name) for name in ("type", "content_index", "partial")}
            delta = f"{field(before, 'delta')}{field(event, 'delta')}"
            events[-1] = types.SimpleNamespace(**parts, delta=delta)
        else:
            events.append(event)
    return events


def _block(event: Any) -> tuple[Any, ...]:
    """Which block a delta is of: with an index that stands still, the partial tells."""
    count = len(blocks(field(event, "partial")) or ())
    return field(event, "type"), field(event, "content_index"), count


def said(events: list[Any]) -> str:
    """The text of a call: of its final message or of its deltas, whichever is a turn's."""
    messages = [blocks(final(event)) or () for event in events]
    whole = "".join(b for message in messages for b in message if isinstance(b, str))
    deltas = "".join(field(event, "delta") or "" for event in events)
    return deltas if deltas in TEXTS and whole not in TEXTS else whole or deltas


def empty_at_the_return(stream: Any) -> None:
    """Divergence when a reader need not wait."""
    step = aiter(stream).__anext__().__await__()
    try:
        event = step.send(None)  # a reader that has to wait gives way here
    except StopIteration as there:
        event = there.value
        raise Divergence(f"{field(event, 'type')} was there when stream() returned") from None
    except StopAsyncIteration:
        raise Divergence("the stream was over when stream() returned") from None
    with contextlib.suppress(asyncio.CancelledError, StopIteration, StopAsyncIteration):
        step.throw(asyncio.CancelledError())


def going(events: list[Any]) -> list[Any]:
    """The events but the terminal one."""
    return [event for event in events if final(event) is None]


def bare(events: list[Any]) -> list[Any]:
    """What a trace is made of, without the partials, and without the terminal event."""
    names = ("type", "content_index", "delta")
    return [{name: field(event, name) for name in names} for event in going(events)]


def wrong_end(events: list[Any], turn: Any) -> str | None:
    """What is wrong with the terminal event of this turn, if there is one."""
    if not events or final(events[-1]) is None:
        return None
    told = diverges(events[-1:], list(project(turn))[-1:])
    return told and told.replace("event 0", "the last event")


def in_a_row(types: list[Any]) -> str:
    return " → ".join(map(str, types)) or "nothing"


def single_error(events: list[Any], reason: str, when: str = "") -> Any:
    """The message of the `error` that has to be the only event."""
    types = in_a_row([field(event, "type") for event in events])
    if types != "error":
        raise Divergence(f"{when}expected a single error event, got {types}")
    equal(f"{when}the reason", field(events[0], "reason"), reason)
    message = final(events[0])
    equal(f"{when}the stop reason of the message", field(message, "stop_reason"), reason)
    return message


# The behaviours, in the order of the chapters

Scenario = Callable[[Any], Coroutine[Any, Any, None]]


class Behaviour(NamedTuple):
    """A scenario, and the hint for a student whose model does not pass it."""

    scenario: Scenario
    hint: str


BEHAVIOURS: dict[str, Behaviour] = {}
"""The behaviours by name, in the order in which `checkpoint` tries them."""


def behaviour(name: str, hint: str) -> Callable[[Scenario], Scenario]:
    """Enter the scenario below into the behaviours."""

    def enter(scenario: Scenario) -> Scenario:
        BEHAVIOURS[name] = Behaviour(scenario, hint)
        return scenario

    return enter


@behaviour("returns first", "Inside stream() only schedule the playback, with loop.call_soon.")
async def returns_first(cls: Any) -> None:
    empty_at_the_return(call(built(cls, [ONE])))


@behaviour(
    "snapshot", "Append a snapshot to requests inside stream(): a copy, nested data included."
)
async def snapshot(cls: Any) -> None:
    model = built(cls, [ONE])
    context = AgentContext([user_message("请求一")], [{"name": "read", "limits": [1]}])
    stream = needed(call, model, context)
    if getattr(built(cls, [ONE]), "requests", None):
        raise Divergence("a new model has requests already: make the list in __init__")
    equal("the number of requests after a call", len(recorded(model)), 1)
    context.messages.append(user_message("事后追加"))
    field(context.tools[0], "limits").append(2)  # type: ignore[index]
    await arrived(stream)
    kept = recorded(model)[0]
    equal("requests[0].messages", list(field(kept, "messages") or ()), [user_message("请求一")])
    equal("requests[0].tools", field(kept, "tools"), [{"name": "read", "limits": [1]}])


def recorded(model: Any) -> Any:
    if not isinstance(requests := getattr(model, "requests", None), list | tuple):
        raise Divergence(f"model.requests is {shown(requests)}, not a list of what it saw")
    return requests


@behaviour("one turn a call", "Call number n gets turns[n]; each call moves the cursor by one.")
async def one_turn_a_call(cls: Any) -> None:
    turns = [ONE, TWO, THREE]
    model = built(cls, turns)
    equal("the text of the first call", said(await arrived(needed(call, model))), "先看")
    equal("the text of the second call", said(await arrived(call(model))), "第二轮")
    equal("the text of the third call", said(await arrived(call(model))), "第三轮")
    again = said(await arrived(call(built(cls, turns))))
    equal("the first call of another model of the same list", again, "先看")


@behaviour(
    "cursor at the call", "Take the turn and move the cursor inside stream(), before the return."
)
async def cursor_at_the_call(cls: Any) -> None:
    model, first = first_call(cls, ONE, TWO)
    second = call(model)
    got = [said(await arrived(stream)) for stream in (first, second)]
    if got[0] == got[1]:
        raise Divergence(f"two calls, made before either was played, both got {got[0]!r}")


@behaviour("trace", "A text is start, text_delta with the whole text, done with the message.")
async def trace(cls: Any) -> None:
    _, stream = first_call(cls, ONE)
    events = await arrived(stream)
    if told := diverges(bare(events), bare(list(project(ONE)))) or wrong_end(events, ONE):
        raise Divergence(told)
    _, stream = first_call(cls, TWO_BLOCKS)
    deltas = [field(e, "delta") for e in going(await arrived(stream)) if field(e, "delta")]
    if len(deltas) == 2:
        equal("the deltas of two text blocks", deltas, ["先看", "再说"])


@behaviour("content index", "content_index is the number of the block in the message, from 0.")
async def content_index(cls: Any) -> None:
    _, stream = first_call(cls, TWO_BLOCKS)
    deltas = [e for e in await arrived(stream) if field(e, "type") == "text_delta"]
    if len(deltas) < 2:
        raise Divergence(f"two text blocks gave {len(deltas)} text_delta")
    equal("the content indexes of two text blocks", [field(e, "content_index") for e in deltas],
          [0, 1])  # fmt: skip
    _, stream = first_call(cls, CALL_AMID)
    deltas = [e for e in await arrived(stream) if str(field(e, "type")).endswith("_delta")]
    if len(deltas) != 3:
        why = f"a text, a tool call and a text gave {len(deltas)} blocks with deltas"
        raise NotReached(why, "tool call", "trace")
    equal("the content indexes of a text, a tool call and a text",
          [field(e, "content_index") for e in deltas], [0, 1, 2])  # fmt: skip


async def partials(cls: Any, wrong: Callable[[str], bool]) -> None:
    """Each partial against the one that belongs there; `wrong` picks what is looked for."""
    _, stream = first_call(cls, TWO_BLOCKS)
    got, wanted = going(await arrived(stream)), going(list(project(TWO_BLOCKS)))
    if [field(e, "type") for e in got] != [e.type for e in wanted]:
        raise NotReached("the events are others", "trace", "content index", "one ending")
    states = [blocks(event.partial) for event in wanted]
    for index, event in enumerate(got):
        partial = blocks(field(event, "partial"))
        if partial != states[index] and wrong(how := drift(partial, index, states)):
            place = f"event {index} ({field(event, 'type')})"
            raise Divergence(f"{place}: expected the partial {states[index]}, got {partial}{how}")


@behaviour(
    "no future", "Give each event a partial of its own: a copy, which later blocks do not reach."
)
async def no_future(cls: Any) -> None:
    await partials(cls, lambda how: "future" in how)


@behaviour(
    "partial on time", "First add the block to the partial, then make the event with that partial."
)
async def on_time(cls: Any) -> None:
    await partials(cls, lambda how: "future" not in how)


@behaviour(
    "tool call", "A tool call is toolcall_delta, then toolcall_end; the earlier blocks stay."
)
async def tool(cls: Any) -> None:
    _, stream = first_call(cls, TOOL)
    events = await arrived(stream)
    parts = [e for e in events if str(field(e, "type")).startswith("toolcall")]
    equal("the events of a tool call", [field(e, "type") for e in parts],
          ["toolcall_delta", "toolcall_end"])  # fmt: skip
    first, last = (field(event, "content_index") for event in parts)
    if first != last:
        raise Divergence(f"toolcall_delta is at content index {first}, toolcall_end at {last}")
    raw = attempt("the delta as JSON", json.loads, field(parts[0], "delta"))
    equal("the delta as JSON", raw, CALL.arguments)
    asked = blocks({"content": [field(parts[1], "tool_call")]})
    equal("the tool_call of toolcall_end", asked, [(CALL.id, CALL.name, CALL.arguments)])
    for event, arguments in zip(parts, ({}, CALL.arguments), strict=True):
        got, wanted = blocks(field(event, "partial")), ["先看", (CALL.id, CALL.name, arguments)]
        if got != wanted:
            why = f"the partial of {field(event, 'type')}: expected {wanted}, got {got}"
            raise NotReached(why, "no future", "partial on time")
    if told := wrong_end(events, TOOL):
        raise NotReached(told, "trace")


@behaviour("one ending", "Push exactly one terminal event, last; it closes the stream.")
async def one_ending(cls: Any) -> None:
    for turn, what in ((ONE, ""), (EMPTY, "a message with no blocks: ")):
        _, stream = first_call(cls, turn)
        types = await until_over(stream, what)
        endings = [name for name in types if name in ("done", "error")]
        if endings != ["done"] or types[-1] != "done":
            raise Divergence(f"{what}expected one done, at the end; got {in_a_row(types)}")
        again = in_a_row([field(event, "type") for event in await seen(stream)])
        if again != in_a_row(types):
            raise Divergence(f"a second `async for` gets {again}, not {in_a_row(types)}")


async def until_over(stream: Any, what: str) -> list[str]:
    """The types of all events, those after the terminal one too."""
    reader, types = aiter(stream), list[str]()
    try:
        while len(types) < 100:
            async with asyncio.timeout(QUIET):
                types.append(str(field(await anext(reader), "type")))
    except StopAsyncIteration:
        return types
    except TimeoutError:
        raise Divergence(f"{what}after {in_a_row(types)} the stream is not over") from None
    raise Divergence(f"{len(types)} events came, and no end")


@behaviour("result", "The terminal event, or end(message), has to resolve result().")
async def result(cls: Any) -> None:
    _, stream = first_call(cls, ONE)
    for time in ("before reading", "again"):
        got = blocks(await settled(stream, "a text", "one ending"))
        if got != ["先看"]:
            why = f"the content of result(), {time}: expected ['先看'], got {shown(got)}"
            raise NotReached(why, "trace")
        await arrived(stream)


async def settled(stream: Any, what: str, *needs: str) -> Any:
    try:
        async with asyncio.timeout(QUIET):
            return await attempt("result()", stream.result)
    except TimeoutError:
        raise NotReached("result() does not resolve", *needs) from None
    except (Blank, Divergence, NotImplementedError):
        raise
    except Exception as error:
        raise Divergence(f"result() raised {type(error).__name__} for {what}") from error


@behaviour("exhaustion", "With no turn left push one error event; do not raise, do not repeat.")
async def exhaustion(cls: Any) -> None:
    model, first = first_call(cls, ONE)
    await arrived(first)
    for _ in range(3):
        stream = call(model)
        message = single_error(await arrived(stream), "error")
        if not field(message, "error_message"):
            raise Divergence("the error has no error_message that says what went wrong")
        await settled(stream, "a call with no turn left", "result", "one ending")


@behaviour(
    "failure", "A failed turn is a message too: push error, and let result() give the message."
)
async def failure(cls: Any) -> None:
    for turn in (FAILED, CANCELLED):
        _, stream = first_call(cls, turn)
        events = await arrived(stream)
        if not events or final(events[-1]) is None:
            raise NotReached("no terminal event came", "one ending")
        message = turn.message()
        trace = bare(events), bare(list(project(message)))
        if told := wrong_end(events, message) or diverges(*trace):
            raise NotReached(told, "trace")
        got = blocks(await settled(stream, "a failed turn", "result", "one ending"))
        equal("what result() says", got, ["正在"])


@behaviour(
    "pre-abort", "Take the turn first; in the callback look at signal.is_set() before all else."
)
async def pre_abort(cls: Any) -> None:
    model = built(cls, [ONE, TWO, THREE, ONE])
    signal = asyncio.Event()
    signal.set()
    try:
        stream = call(model, signal=signal)
    except Divergence:
        first_call(cls, ONE)  # is it the signal, or does no call work?
        raise
    single_error(await arrived(stream), "aborted")
    if len(getattr(model, "requests", "")) != 1:
        raise NotReached("the aborted call is not in requests", "snapshot")
    if (got := said(await arrived(call(model)))) != "第二轮":
        raise NotReached(f"the next call: expected the second turn, got {got!r}", "one turn a call")
    needed(empty_at_the_return, call(model, signal=signal))
    signal = asyncio.Event()
    stream = call(model, signal=signal)
    signal.set()
    single_error(await arrived(stream), "aborted", "signal set right after the call: ")


@dataclass(frozen=True)
class Row:
    """One behaviour: its state is "passed", "FAILED" or "not reached"."""

    name: str
    state: str
    why: str = ""


@dataclass(frozen=True, repr=False)
class Checkpoint(Check):
    """A `Check` with a row for each behaviour."""

    rows: tuple[Row, ...] = ()


def checkpoint(cls: Any, *names: str) -> Pending:
    """Await this: run `cls(turns)` through the behaviours, or those named, each on a new model.

    Shows a table, and a hint for the first behaviour that fails.
    """
    return Pending("checkpoint", functools.partial(_checkpoint, cls, names))


NO_CLASS = "pass the class itself, not an instance: checkpoint(MyModel)"
A_PACE = "no event came for {} seconds, and then one did. Is there a pace? Try it without."


async def paced(cls: Any) -> bool:
    """Whether a stream that seemed to be silent goes on after a while."""

    async def scenario() -> bool:
        _, stream = first_call(cls, ONE)
        return len(await seen(stream)) < len(await seen(stream, 5 * QUIET))

    try:
        return bool(await watched(scenario, LIMIT))
    except Exception:
        return False


async def _checkpoint(cls: Any, names: tuple[str, ...]) -> Checkpoint:
    instance = not isinstance(cls, type) and (hasattr(cls, "stream") or not callable(cls))
    if instance and not is_blank(cls):
        return Checkpoint(False, f"not quite: {NO_CLASS}")
    failed: dict[str, Exception] = {}
    names = names or tuple(BEHAVIOURS)
    for name in names:
        if endless := [other for other, error in failed.items() if "ran on for" in str(error)]:
            failed[name] = NotReached(f"after {endless[0]} nothing more was run", endless[0])
            continue
        try:
            await watched(functools.partial(BEHAVIOURS[name].scenario, need(cls)), LIMIT)
        except (Blank, NotImplementedError) as error:
            if not failed and name == names[0]:
                return Checkpoint(None, f"not yet: {error if str(error) else 'nothing to run.'}")
            failed[name] = Divergence(str(error) or "not written yet")
        except Exception as error:
            failed[name] = error
    if failed and "ran on for" not in "".join(map(str, failed.values())) and await paced(cls):
        return Checkpoint(False, f"not quite: {A_PACE.format(QUIET)}")
    rows = tuple(_row(name, failed) for name in names)
    return Checkpoint(not failed, _table(rows), rows)


def _row(name: str, failed: dict[str, Exception]) -> Row:
    if not (error := failed.get(name)):
        return Row(name, "passed")
    needs = error.needs if isinstance(error, NotReached) else ()
    waits = any(other in failed for other in needs if other != name)
    trace = failed.get("trace")
    if name != "trace" and trace and not isinstance(trace, NotReached):
        raised = _raised(error)  # no playback works, so none is seen
        waits = waits or (bool(raised) and raised == _raised(trace))
    return Row(name, "not reached" if waits else "FAILED", in_words(error))


def _raised(error: Exception) -> str:
    return in_words(error).partition("your code raised")[2]


def _table(rows: tuple[Row, ...]) -> str:
    wrong = [row for row in rows if row.state != "passed"]
    count = f"{len(rows) - len(wrong)} of {len(rows)} behaviours"
    table = [f"  {row.name:<20}{row.state}" for row in rows]
    if not wrong:
        return "\n".join([f"passed: {count}", *table])
    first = next((row for row in wrong if row.state == "FAILED"), wrong[0])
    told = [f"{first.name}: {first.why}", f"hint: {BEHAVIOURS[first.name].hint}"]
    return "\n".join([f"not quite: {count} passed", *table, *told])


@async_check
async def check_model(cls: Any, *names: str) -> str:
    """The named behaviours of `checkpoint`, told in one line: for a model half written."""
    found = await checkpoint(cls, *names)
    if found.passed is None:
        raise Blank(found.said.removeprefix("not yet: "))
    if not found.passed:
        raise Divergence("\n".join(found.said.removeprefix("not quite: ").splitlines()[-2:]))
    return ", ".join(row.name for row in found.rows)
