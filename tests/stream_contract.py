"""What any event stream has to keep: one small scene for each rule.

The scenes take a stream class, so that the tests can run them on the package's stream, where
they pass, and on naive ones, where the scene that is about the flaw fails.
"""

import asyncio
from collections.abc import Callable, Iterable
from typing import Any

Scene = Callable[[Callable[..., Any]], None]
SCENES: dict[str, Scene] = {}


def scene(function: Scene) -> Scene:
    SCENES[function.__name__] = function
    return function


def letters(cls: Callable[..., Any], pushed: Iterable[str] = ()) -> Any:
    """A stream of letters that "z" completes, with the result "result of z"."""
    stream = cls(lambda event: event == "z", lambda event: f"result of {event}")
    for event in pushed:
        stream.push(event)
    return stream


async def read(stream: Any) -> list[Any]:
    async with asyncio.timeout(1):
        return [event async for event in stream]


async def result_of(stream: Any) -> Any:
    async with asyncio.timeout(1):
        return await stream.result()


async def turn_the_loop(times: int = 3) -> None:
    """Let everything that is ready run; nothing here waits for time to pass."""
    for _ in range(times):
        await asyncio.sleep(0)


async def give_up(awaitable: Any) -> None:
    """Wait for `awaitable` until it waits itself, then cancel it, as a time-out does."""
    task = asyncio.ensure_future(awaitable)
    await turn_the_loop()
    assert not task.done(), "there was nothing to wait for"
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert task.cancelled()


@scene
def a_complete_event_is_delivered_and_resolves_the_result(cls: Any) -> None:
    async def play() -> None:
        stream = letters(cls, "abz")
        assert await read(stream) == ["a", "b", "z"]
        assert await result_of(stream) == "result of z"

    asyncio.run(play())


@scene
def a_reader_waits_for_events_that_come_later(cls: Any) -> None:
    async def play() -> None:
        stream = letters(cls, "a")
        reader = asyncio.create_task(read(stream))
        await turn_the_loop()
        stream.push("b")
        await turn_the_loop()
        stream.push("z")
        assert await reader == ["a", "b", "z"]

    asyncio.run(play())


@scene
def two_readers_see_every_event_each(cls: Any) -> None:
    async def play() -> None:
        stream = letters(cls)
        readers = [asyncio.create_task(read(stream)) for _ in range(2)]
        await turn_the_loop()
        for event in "abz":
            stream.push(event)
        assert await asyncio.gather(*readers) == [["a", "b", "z"]] * 2

    asyncio.run(play())


@scene
def a_late_reader_sees_the_whole_trace(cls: Any) -> None:
    async def play() -> None:
        stream = letters(cls, "abz")
        assert await read(stream) == ["a", "b", "z"]
        assert await read(stream) == ["a", "b", "z"]

    asyncio.run(play())


@scene
def a_reader_that_stops_half_way_takes_nothing_from_others(cls: Any) -> None:
    async def play() -> None:
        stream = letters(cls, "abz")
        async for event in stream:
            if event == "b":
                break
        assert await read(stream) == ["a", "b", "z"]

    asyncio.run(play())


@scene
def a_reader_that_times_out_loses_no_event(cls: Any) -> None:
    async def play() -> None:
        stream = letters(cls, "a")
        reader = aiter(stream)
        assert await anext(reader) == "a"
        await give_up(anext(reader))
        stream.push("b")
        stream.push("z")
        assert [event async for event in reader] == ["b", "z"]

    asyncio.run(play())


@scene
def a_reader_that_times_out_breaks_no_other_reader(cls: Any) -> None:
    async def play() -> None:
        stream = letters(cls)
        other = asyncio.create_task(read(stream))
        await give_up(anext(aiter(stream)))
        stream.push("z")
        assert await other == ["z"]

    asyncio.run(play())


@scene
def a_push_may_come_between_the_time_out_and_the_reader_that_hears_of_it(cls: Any) -> None:
    async def play() -> None:
        stream = letters(cls)
        reader, other = aiter(stream), asyncio.create_task(read(stream))
        waiting = asyncio.ensure_future(anext(reader))
        await turn_the_loop()
        waiting.cancel()
        stream.push("a")
        stream.push("z")
        await asyncio.gather(waiting, return_exceptions=True)
        assert [event async for event in reader] == ["a", "z"]
        assert await other == ["a", "z"]

    asyncio.run(play())


@scene
def a_timed_out_result_can_be_awaited_again(cls: Any) -> None:
    async def play() -> None:
        stream = letters(cls)
        other = asyncio.create_task(result_of(stream))
        await give_up(stream.result())
        stream.push("z")
        assert await other == "result of z"
        assert await result_of(stream) == "result of z"

    asyncio.run(play())


@scene
def the_result_needs_no_reader_and_can_be_awaited_by_many(cls: Any) -> None:
    async def play() -> None:
        stream = letters(cls)
        waiting = [asyncio.create_task(result_of(stream)) for _ in range(3)]
        await turn_the_loop()
        stream.push("z")
        assert await asyncio.gather(*waiting) == ["result of z"] * 3
        assert await result_of(stream) == "result of z"

    asyncio.run(play())


@scene
def pushes_after_the_close_are_ignored(cls: Any) -> None:
    async def play() -> None:
        stream = letters(cls, "azbz")
        assert await read(stream) == ["a", "z"]
        assert await result_of(stream) == "result of z"

    asyncio.run(play())


@scene
def end_wakes_readers_and_resolves_the_result(cls: Any) -> None:
    async def play() -> None:
        stream = letters(cls, "a")
        reader = asyncio.create_task(read(stream))
        waiting = asyncio.create_task(result_of(stream))
        await turn_the_loop()
        stream.end("given")
        assert await reader == ["a"]
        assert await waiting == "given"

    asyncio.run(play())


@scene
def the_first_result_counts(cls: Any) -> None:
    async def play() -> None:
        stream = letters(cls, "z")
        stream.end("second")
        assert await result_of(stream) == "result of z"
        stream = letters(cls)
        stream.end("first")
        stream.end("second")
        assert await result_of(stream) == "first"

    asyncio.run(play())


@scene
def none_is_a_result_too(cls: Any) -> None:
    async def play() -> None:
        stream = letters(cls)
        stream.end(None)
        assert await result_of(stream) is None

    asyncio.run(play())


async def _raises_every_time(stream: Any, words: str) -> None:
    for _ in range(2):
        [outcome] = await asyncio.gather(result_of(stream), return_exceptions=True)
        assert isinstance(outcome, Exception), f"result() gave {outcome!r}"
        assert words in str(outcome), f"result() raised {outcome!r}"


@scene
def a_stream_closed_without_a_result_says_so_every_time(cls: Any) -> None:
    async def play() -> None:
        stream = letters(cls, "a")
        stream.end()
        assert await read(stream) == ["a"]
        await _raises_every_time(stream, "closed without a result")

    asyncio.run(play())


@scene
def an_extract_result_that_raises_makes_result_raise_the_same(cls: Any) -> None:
    async def play() -> None:
        stream = cls(lambda event: event == "z", lambda event: 1 // 0)
        waiting = asyncio.create_task(_raises_every_time(stream, "division"))
        await turn_the_loop()
        stream.push("z")
        await waiting
        await _raises_every_time(stream, "division")
        assert await read(stream) == ["z"]

    asyncio.run(play())


@scene
def an_is_complete_that_raises_leaves_nobody_waiting(cls: Any) -> None:
    async def play() -> None:
        stream = cls(lambda event: 1 // 0, lambda event: event)
        reader = asyncio.create_task(read(stream))
        await turn_the_loop()
        stream.push("a")
        assert await reader == ["a"]
        await _raises_every_time(stream, "division")

    asyncio.run(play())


@scene
def a_stream_is_built_and_filled_outside_any_loop(cls: Any) -> None:
    stream = letters(cls, "abz")
    assert asyncio.run(read(stream)) == ["a", "b", "z"]
    assert asyncio.run(result_of(stream)) == "result of z"


@scene
def a_stream_outlives_the_loop_that_waited_for_it(cls: Any) -> None:
    stream = letters(cls)

    async def wait_in_vain() -> None:
        await give_up(stream.result())
        await give_up(anext(aiter(stream)))

    asyncio.run(wait_in_vain())
    stream.push("z")
    assert asyncio.run(read(stream)) == ["z"]
    assert asyncio.run(result_of(stream)) == "result of z"


@scene
def a_waiter_whose_loop_is_gone_does_not_stop_the_producer(cls: Any) -> None:
    stream = letters(cls)
    waiting = anext(aiter(stream))

    async def wait_once() -> None:
        # As a task does, but nothing is left to complain when the loop goes.
        waiting.send(None).add_done_callback(print)

    asyncio.run(wait_once())
    stream.push("z")
    waiting.close()
    assert asyncio.run(read(stream)) == ["z"]
