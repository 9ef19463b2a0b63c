"""What a beginner gets to read when something is used wrongly: words that tell the fix."""

import asyncio
import gc
import inspect
import threading
import warnings
from typing import Any

import pytest

from scripted_model import (
    AgentContext,
    ContentError,
    EventStream,
    NoRunningLoopError,
    NotAwaitedError,
    PlainForError,
    ScriptedModel,
    UnhandledEventError,
    assistant_message,
    text,
    text_of,
    user_message,
)


def model() -> ScriptedModel:
    return ScriptedModel([assistant_message([text("先看")])])


def context() -> AgentContext:
    return AgentContext([user_message("请求一")])


def filled() -> EventStream[str, str]:
    stream: EventStream[str, str] = EventStream(lambda event: True, lambda event: event)
    stream.push("end")
    return stream


def test_stream_without_a_running_loop() -> None:
    """The message gives the way out for a script, and nothing was used up."""
    scripted = model()
    with pytest.raises(NoRunningLoopError, match=r"asyncio\.run\(main\(\)\)"):
        scripted.stream(context())
    assert (scripted.remaining, scripted.requests) == (1, [])


def test_stream_from_another_thread() -> None:
    """A thread without a loop of its own hears the same."""
    caught: list[BaseException] = []

    def call() -> None:
        try:
            model().stream(context())
        except NoRunningLoopError as error:
            caught.append(error)

    thread = threading.Thread(target=call)
    thread.start()
    thread.join()
    assert "needs a running event loop" in str(caught[0])


def test_for_instead_of_async_for() -> None:
    """Plain `for` and list() are answered with the right way to read."""
    for read in (list, tuple, sorted):
        with pytest.raises(PlainForError, match="async for event in stream"):
            read(filled())
    with pytest.raises(PlainForError, match=r"stream\.events"):
        for _ in filled():
            pass


def test_printing_a_result_without_await() -> None:
    """The repr says what to write, and nothing complains later."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        said = f"{filled().result()} {filled().result()!r}"
        gc.collect()
    assert said == " ".join(["<a result still to be awaited: write `await stream.result()`>"] * 2)


USES: dict[str, Any] = {
    "comparing": lambda result: result == "end",
    "comparing, unequal": lambda result: result != "end",
    "taking an attribute": lambda result: result.stop_reason,
    "comparing it with a message": lambda result: result == assistant_message([text("先看")]),
}


@pytest.mark.parametrize("use", USES.values(), ids=USES.keys())
def test_using_a_result_without_await(use: Any) -> None:
    """Comparing it or taking an attribute says that the await is missing."""
    with pytest.raises(NotAwaitedError, match=r"message = await stream\.result\(\)"):
        use(filled().result())


@pytest.mark.parametrize("use", [list, dict, lambda result: result[0]])
def test_going_through_a_result_without_await(use: Any) -> None:
    """Iterating or indexing says the same."""
    with pytest.raises(NotAwaitedError, match="The await is missing"):
        use(filled().result())


def test_async_for_over_a_result() -> None:
    """A result is one message; the words lead to the events."""

    async def play() -> None:
        async for _ in filled().result():
            pass

    with pytest.raises(NotAwaitedError, match=r"without `\.result\(\)`"):
        asyncio.run(play())


def test_a_stream_is_not_awaitable() -> None:
    """Code that awaits whatever can be awaited goes on with the stream itself."""
    assert not inspect.isawaitable(filled())


def test_text_of_a_result_without_await() -> None:
    """A helper that gets the pending result names it."""
    with pytest.raises(ContentError, match=r"write `await stream\.result\(\)`"):
        text_of(filled().result())


def test_a_pending_result_can_still_be_asked_what_it_is() -> None:
    """hasattr, hash and isinstance work, as tools and notebooks rely on."""
    result = filled().result()
    assert not hasattr(result, "_repr_html_")
    assert isinstance(hash(result), int)
    assert asyncio.run(result) == "end"


def test_asyncio_can_describe_a_task_that_awaits_a_result() -> None:
    """asyncio asks a coroutine whether it is true when it prints its task."""

    async def play() -> str:
        task = asyncio.create_task(filled().result())
        said = repr(task)
        await task
        return said

    assert "EventStream.result" in asyncio.run(play())


def test_a_result_that_is_closed_unstarted_leaves_no_warning() -> None:
    """Dropping or closing one says nothing."""
    filled().result().close()


def test_asking_a_stream_of_messages_for_an_early_result() -> None:
    """An event that ends nothing has no result: the words name it."""

    async def play() -> None:
        stream = model().stream(context())
        events = [event async for event in stream]
        with pytest.raises(UnhandledEventError, match="Unhandled stream event"):
            stream.extract_result(events[0])

    asyncio.run(play())
