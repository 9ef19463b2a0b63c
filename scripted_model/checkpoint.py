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
    need,
    shown,
    watched,
)
from scripted_model.checks.traces import blocks, diverges, drift, field, final
from scripted_model.messages import (
    AgentContext,
    assistant_message,
    text,
    text_of,
    tool_call,
    user_message,
)
from scripted_model.partial import project
from scripted_model.turns import FailedTurn

QUIET = 0.2
"""Seconds without an event after which a stream is taken to be silent."""

ONE, TWO, THREE = (assistant_message([text(said)]) for said in ("先看", "第二轮", "第三轮"))
TWO_BLOCKS = assistant_message([text("先看"), text("再说")])
CALL = tool_call("c1", "read", {"path": "README.md"})
TOOL = assistant_message([text("先看"), CALL], "toolUse")
FAILED = FailedTurn("error", "rate limited", "正在")


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


def first_call(cls: Any, *turns: Any) -> tuple[Any, Any]:
    """A new model and the stream of its first call, for behaviours that are not about these."""
    try:
        model = attempt("building the model", cls, list(turns))
        return model, call(model)
    except Divergence as error:
        raise NotReached(str(error), "returns first") from error


async def arrived(stream: Any) -> list[Any]:
    """The events up to the terminal one, or up to where the stream falls silent."""
    reader, events = aiter(stream), list[Any]()
    while len(events) < 100 and not (events and final(events[-1]) is not None):
        try:
            async with asyncio.timeout(QUIET):
                events.append(await anext(reader))
        except (StopAsyncIteration, TimeoutError):
            break
    return events


def said(events: list[Any]) -> str:
    """The text of a call: of its final message, else of its deltas."""
    for event in events:
        if (message := final(event)) is not None:
            return "".join(b for b in blocks(message) or () if isinstance(b, str))
    return "".join(field(event, "delta") or "" for event in events)


def going(events: list[Any]) -> list[Any]:
    """The events but the terminal one."""
    return [event for event in events if final(event) is None]


def single_error(events: list[Any], reason: str) -> Any:
    """The message of the `error` that has to be the only event."""
    types = " → ".join(str(field(event, "type")) for event in events) or "nothing"
    if types != "error":
        raise Divergence(f"expected a single error event, got {types}")
    equal("the reason", field(events[0], "reason"), reason)
    return final(events[0])


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
    model = attempt("building the model", cls, [ONE])
    stream = call(model)
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


@behaviour(
    "snapshot", "Append a snapshot to requests inside stream(): a copy, nested data included."
)
async def snapshot(cls: Any) -> None:
    model = attempt("building the model", cls, [ONE])
    context = AgentContext([user_message("请求一")], [{"name": "read", "limits": [1]}])
    try:
        stream = call(model, context)
    except Divergence as error:
        raise NotReached(str(error), "returns first") from error
    equal("the number of requests after a call", len(recorded(model)), 1)
    context.messages.append(user_message("事后追加"))
    field(context.tools[0], "limits").append(2)  # type: ignore[index]
    await arrived(stream)
    seen = recorded(model)[0]
    equal("requests[0].messages", list(field(seen, "messages") or ()), [user_message("请求一")])
    equal("requests[0].tools", field(seen, "tools"), [{"name": "read", "limits": [1]}])


def recorded(model: Any) -> Any:
    if not isinstance(requests := getattr(model, "requests", None), list | tuple):
        raise Divergence(f"model.requests is {shown(requests)}, not a list of what it saw")
    return requests


@behaviour("one turn a call", "Call number n gets turns[n]; each call moves the cursor by one.")
async def one_turn_a_call(cls: Any) -> None:
    model, stream = first_call(cls, ONE, TWO, THREE)
    equal("the text of the first call", said(await arrived(stream)), "先看")
    equal("the text of the second call", said(await arrived(call(model))), "第二轮")
    equal("the text of the third call", said(await arrived(call(model))), "第三轮")


@behaviour(
    "cursor at the call", "Take the turn and move the cursor inside stream(), before the return."
)
async def cursor_at_the_call(cls: Any) -> None:
    model, first = first_call(cls, ONE, TWO)
    second = call(model)
    got = [said(await arrived(stream)) for stream in (first, second)]
    if got[0] == got[1]:
        raise Divergence(f"two calls, made before either was played, both got {got[0]!r}")


@behaviour("trace", "A text block is start, then text_delta with the whole text.")
async def trace(cls: Any) -> None:
    _, stream = first_call(cls, ONE)
    names = ("type", "content_index", "delta")
    bare = [
        [{name: field(event, name) for name in names} for event in going(events)]
        for events in (await arrived(stream), list(project(ONE)))
    ]
    if told := diverges(*bare):
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


async def partials(cls: Any, wrong: Callable[[str], bool]) -> None:
    """Each partial against the one that belongs there; `wrong` picks what is looked for."""
    _, stream = first_call(cls, TWO_BLOCKS)
    got, wanted = going(await arrived(stream)), going(list(project(TWO_BLOCKS)))
    if [field(e, "type") for e in got] != [e.type for e in wanted]:
        raise NotReached("the events are others", "trace", "content index", "one ending")
    states = [blocks(event.partial) for event in wanted]
    for index, event in enumerate(got):
        seen = blocks(field(event, "partial"))
        if seen != states[index] and wrong(how := drift(seen, index, states)):
            place = f"event {index} ({field(event, 'type')})"
            raise Divergence(f"{place}: expected the partial {states[index]}, got {seen}{how}")


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
    parts = [e for e in await arrived(stream) if str(field(e, "type")).startswith("toolcall")]
    equal("the events of a tool call", [field(e, "type") for e in parts],
          ["toolcall_delta", "toolcall_end"])  # fmt: skip
    first, last = (field(event, "content_index") for event in parts)
    if first != last:
        raise Divergence(f"toolcall_delta is at content index {first}, toolcall_end at {last}")
    raw = attempt("the delta as JSON", json.loads, field(parts[0], "delta"))
    equal("the delta as JSON", raw, CALL.arguments)
    asked = field(parts[1], "tool_call")
    equal("the arguments of toolcall_end", field(asked, "arguments"), CALL.arguments)
    for event, arguments in zip(parts, ({}, CALL.arguments), strict=True):
        got, wanted = blocks(field(event, "partial")), ["先看", (CALL.id, CALL.name, arguments)]
        if got != wanted:
            why = f"the partial of {field(event, 'type')}: expected {wanted}, got {got}"
            raise NotReached(why, "no future", "partial on time")


@behaviour("one ending", "Push exactly one terminal event, last; it closes the stream.")
async def one_ending(cls: Any) -> None:
    _, stream = first_call(cls, ONE)
    reader, types = aiter(stream), list[str]()
    try:
        while len(types) < 100:
            async with asyncio.timeout(QUIET):
                types.append(str(field(await anext(reader), "type")))
        raise Divergence(f"{len(types)} events came, and no end")
    except StopAsyncIteration:
        endings = [name for name in types if name in ("done", "error")]
        if endings != ["done"] or types[-1] != "done":
            raise Divergence(f"expected one done, at the end; got {' → '.join(types)}") from None
    except TimeoutError:
        raise Divergence(f"after {' → '.join(types) or 'nothing'} the stream is not over") from None


@behaviour("result", "The terminal event, or end(message), has to resolve result().")
async def result(cls: Any) -> None:
    _, stream = first_call(cls, ONE)
    for time in ("before reading", "again"):
        equal(f"the content of result(), {time}", blocks(await settled(stream, "one ending")),
              ["先看"])  # fmt: skip
        await arrived(stream)


async def settled(stream: Any, *needs: str) -> Any:
    try:
        async with asyncio.timeout(QUIET):
            return await attempt("result()", stream.result)
    except TimeoutError:
        raise NotReached("result() does not resolve", *needs) from None


@behaviour("exhaustion", "With no turn left push one error event; do not raise, do not repeat.")
async def exhaustion(cls: Any) -> None:
    model, first = first_call(cls, ONE)
    await arrived(first)
    for _ in range(2):
        message = single_error(await arrived(call(model)), "error")
        if not field(message, "error_message"):
            raise Divergence("the error has no error_message that says what went wrong")


@behaviour(
    "failure", "A failed turn is a message too: push error, and let result() give the message."
)
async def failure(cls: Any) -> None:
    _, stream = first_call(cls, FAILED)
    events = await arrived(stream)
    if not events or final(events[-1]) is None:
        raise NotReached("no terminal event came", "one ending")
    equal("the last event", field(events[-1], "type"), "error")
    equal("the text of the failed message", blocks(final(events[-1])), ["正在"])
    equal("its error_message", field(final(events[-1]), "error_message"), "rate limited")
    try:
        message = await settled(stream, "result", "one ending")
    except NotReached:
        raise
    except Exception as error:
        raise Divergence(f"result() raised {type(error).__name__} for a failed turn") from error
    equal("what result() says", text_of(message), "正在")


@behaviour(
    "pre-abort", "Take the turn first; in the callback look at signal.is_set() before all else."
)
async def pre_abort(cls: Any) -> None:
    model = attempt("building the model", cls, [ONE, TWO])
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


async def _checkpoint(cls: Any, names: tuple[str, ...]) -> Checkpoint:
    failed: dict[str, Exception] = {}
    names = names or tuple(BEHAVIOURS)
    for name in names:
        try:
            await watched(functools.partial(BEHAVIOURS[name].scenario, need(cls)), LIMIT)
        except (Blank, NotImplementedError) as error:
            if not failed and name == names[0]:
                return Checkpoint(None, f"not yet: {error if str(error) else 'nothing to run.'}")
            failed[name] = Divergence(str(error) or "not written yet")
        except Exception as error:
            failed[name] = error
    rows = tuple(_row(name, failed) for name in names)
    return Checkpoint(not failed, _table(rows), rows)


def _row(name: str, failed: dict[str, Exception]) -> Row:
    if not (error := failed.get(name)):
        return Row(name, "passed")
    waits = isinstance(error, NotReached) and any(other in failed for other in error.needs)
    if name != "trace" and "trace" in failed and (raised := _raised(error)):
        waits = waits or raised == _raised(failed["trace"])  # no playback works, so none is seen
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
        raise Divergence("\n".join(found.said.splitlines()[-2:]))
    return ", ".join(row.name for row in found.rows)
