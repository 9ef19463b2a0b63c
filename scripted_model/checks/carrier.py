"""The contract of an event stream, clause by clause (chapter 04)."""

import asyncio
import functools
from collections.abc import Callable, Coroutine
from typing import Any

from scripted_model.checks.check import (
    LIMIT,
    Blank,
    Divergence,
    async_check,
    attempt,
    equal,
    in_words,
    need,
    shown,
    watched,
)
from scripted_model.checks.exercises import read

EVENT_STREAM: dict[str, Callable[[Any], Coroutine[Any, Any, None]]] = {}
"""What `check_event_stream` can test, by name, in the order in which chapter 04 builds it."""


def _clause(
    scenario: Callable[[Any], Coroutine[Any, Any, None]],
) -> Callable[[Any], Coroutine[Any, Any, None]]:
    EVENT_STREAM[scenario.__name__.strip("_").replace("_", " ")] = scenario
    return scenario


def _stream(cls: Any, *uses: str, last: str = "end") -> Any:
    made = attempt("building it", cls, lambda event: event == last, lambda event: "the result")
    for name in uses:
        need(getattr(made, name, None), f"{name}()")
    return made


def _pushed(cls: Any, *events: str) -> Any:
    stream = _stream(cls, "push", "__aiter__", last=events[-1])
    for event in events:
        attempt(f"push({event!r})", stream.push, event)
    return stream


@_clause
async def _one_reader(cls: Any) -> None:
    equal("the reader's events", await read(_pushed(cls, "a", "end")), ["a", "end"])


@_clause
async def _two_readers(cls: Any) -> None:
    readers = [aiter(stream) for stream in [_pushed(cls, "b", "over")] for _ in range(2)]
    equal("the first event of each", [await anext(reader) for reader in readers], ["b", "b"])
    equal("the second event of each", [await anext(reader) for reader in readers], ["over"] * 2)


@_clause
async def _late_reader(cls: Any) -> None:
    stream = _pushed(cls, "c", "d", "closed")
    await read(stream)
    equal("the events of a reader after the end", await read(stream), ["c", "d", "closed"])


@_clause
async def _waiting_reader(cls: Any) -> None:
    stream = _stream(cls, "push", "__aiter__", last="bye")
    reader = asyncio.ensure_future(read(stream))
    for event in ("e", "bye"):
        await asyncio.sleep(0)
        stream.push(event)
    equal("the events of a reader that waited", await reader, ["e", "bye"])


@_clause
async def _woken_for_nothing(cls: Any) -> None:
    stream = _stream(cls, "push", "__aiter__", last="ready")
    reader = aiter(stream)
    tasks = [asyncio.ensure_future(_next(reader)) for _ in range(2)]
    for event in ("f", "ready"):
        for _ in range(3):
            await asyncio.sleep(0)
        stream.push(event)
    got = sorted([await task for task in tasks])
    equal("the events of two tasks that wait at one reader", got, ["f", "ready"])


async def _next(reader: Any) -> Any:
    return await anext(reader)


@_clause
async def _cancelled_reader(cls: Any) -> None:
    stream = _stream(cls, "push", "__aiter__", last="finish")
    readers = [aiter(stream), aiter(stream)]
    tasks = [asyncio.ensure_future(_next(reader)) for reader in readers]
    await asyncio.sleep(0)
    tasks[0].cancel()
    stream.push("g")
    equal("the other reader, when one was cancelled", await tasks[1], "g")
    stream.push("finish")
    got = [await read(reader) for reader in readers]
    equal("what is left for the two readers, when one was cancelled", got,
          [["g", "finish"], ["finish"]])  # fmt: skip


@_clause
async def _result(cls: Any) -> None:
    stream = _stream(cls, "push", "result")
    waiting = asyncio.ensure_future(stream.result())
    await asyncio.sleep(0)
    stream.push("end")
    equal("result(), awaited before the end", await waiting, "the result")
    equal("result(), awaited after the end", await stream.result(), "the result")


@_clause
async def _time_out(cls: Any) -> None:
    stream = _stream(cls, "push", "__aiter__", last="last")
    reader = aiter(stream)
    try:
        async with asyncio.timeout(0):
            await anext(reader)
    except TimeoutError:
        stream.push("h")
        stream.push("last")
    got = await read(reader)
    equal("the events of a reader whose wait timed out", got, ["h", "last"])


@_clause
async def _no_result(cls: Any) -> None:
    stream = _stream(cls, "end", "result", "__aiter__")
    stream.end()
    equal("the events after end()", await read(stream), [])
    try:
        got = await stream.result()
    except Exception:
        return
    raise Divergence(f"after end() without a result, result() gave {shown(got)}; it should raise")


@_clause
async def _end_twice(cls: Any) -> None:
    stream = _stream(cls, "push", "end", "result", "__aiter__")
    stream.end("first")
    stream.end("second")
    stream.push("late")
    equal("the result after end('first') and end('second')", await stream.result(), "first")
    equal("the events pushed after end()", await read(stream), [])


@_clause
async def _end_wakes(cls: Any) -> None:
    stream = _stream(cls, "end", "result", "__aiter__")
    waiting = [asyncio.ensure_future(read(stream)), asyncio.ensure_future(stream.result())]
    await asyncio.sleep(0)
    stream.end("given")
    equal("a reader and an asker that waited for end('given')", [await w for w in waiting],
          [[], "given"])  # fmt: skip


@async_check
async def check_event_stream(cls: Any, *names: str) -> str:
    """`cls(is_complete, extract_result)` as a carrier: all of `EVENT_STREAM`, or those named."""
    need(cls)
    if unknown := [name for name in names if name not in EVENT_STREAM]:
        raise Divergence(f"no clause {unknown[0]!r}; there are: {', '.join(EVENT_STREAM)}")
    for name in names or EVENT_STREAM:
        try:
            await watched(functools.partial(EVENT_STREAM[name], cls), LIMIT)
        except (Blank, NotImplementedError):
            raise
        except Exception as error:
            raise Divergence(f"{name}: {in_words(error)}") from error
    return ", ".join(names or EVENT_STREAM)
