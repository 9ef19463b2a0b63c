"""EventStream: how does one object carry events and a result? (chapter 04)

It knows nothing about models. Two functions tell it what the end is.

>>> import asyncio
>>> stream = EventStream(lambda event: event == "end", lambda event: "the result")
>>> for event in ("a", "b", "end"):
...     stream.push(event)
>>> async def read():
...     return [event async for event in stream], await stream.result()
>>> asyncio.run(read())
(['a', 'b', 'end'], 'the result')
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Generator
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, NoReturn, TypeVar

from scripted_model.errors import NoResultError, NotAwaitedError, PlainForError

T = TypeVar("T")
R = TypeVar("R")

_NOTHING: Any = object()


class EventStream(Generic[T, R]):
    """Events that arrive one by one, and one result.

    `is_complete(event)` says whether this event is the last; `extract_result(event)` says what
    the result then is. The events stay: each `async for` is a reader with a cursor of its own,
    which starts at the first event and waits when it has read all there are.

    It can be built and filled with no event loop running. It is not for several threads.
    """

    def __init__(self, is_complete: Callable[[T], bool], extract_result: Callable[[T], R]) -> None:
        self.is_complete = is_complete
        self.extract_result = extract_result
        self._events: list[T] = []
        self._closed = False
        self._result: R = _NOTHING
        self._failure: tuple[BaseException, TracebackType | None] | None = None
        self._waiting: dict[asyncio.Future[None], None] = {}

    # The synchronous core: what a producer does.

    def push(self, event: T) -> None:
        """Append an event; a complete one closes the stream. Ignored after the close.

        When one of the two functions raises, the stream closes and `result()` raises the same.
        """
        if self._closed:
            return
        self._events.append(event)
        try:
            if self.is_complete(event):
                self._result = self.extract_result(event)
                self._closed = True
        except BaseException as error:
            self._failure = error, error.__traceback__
            self._closed = True
            if not isinstance(error, Exception):
                raise  # a KeyboardInterrupt, say, is not the stream's alone
        finally:
            if self._waiting:
                self._wake()

    def end(self, result: R = _NOTHING) -> None:
        """Close the stream. The first result counts; closing again changes nothing.

        Closed without any result, `result()` raises NoResultError.
        """
        if self._closed:
            return
        self._result = result
        self._closed = True
        self._wake()

    @property
    def events(self) -> tuple[T, ...]:
        """The events so far."""
        return tuple(self._events)

    @property
    def closed(self) -> bool:
        """Whether the stream is over: no event will follow, and `result()` does not wait."""
        return self._closed

    # The asynchronous shell: it only waits.

    def result(self) -> "PendingResult[R]":
        """Await this for the final value, as often and from as many tasks as you like.

        A failed model is a value too: nothing is raised for it. Raises NoResultError when the
        stream was closed without a result, or what `extract_result` raised.
        """
        return PendingResult(self._settled)

    def __aiter__(self) -> AsyncIterator[T]:
        """A new reader, from the first event."""
        return _Reader(self)

    def __iter__(self) -> NoReturn:
        raise PlainForError(
            "A stream is read with `async for event in stream:`, because its events arrive"
            " later; a plain `for`, or list(stream), cannot wait."
            " Those that have arrived already are in stream.events."
        )

    async def _settled(self) -> R:
        while not self._closed:
            await self._change()
        if self._failure is not None:
            error, traceback = self._failure
            raise error.with_traceback(traceback)
        if self._result is _NOTHING:
            raise NoResultError(
                "This stream was closed without a result: the producer called end() before any"
                " event that completes it. Push such an event, or call end(result)."
            )
        return self._result

    async def _change(self) -> None:
        """Wait for the next push or for the close; a waiter that gives up leaves no trace."""
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting[waiter] = None
        try:
            await waiter
        finally:
            self._waiting.pop(waiter, None)

    def _wake(self) -> None:
        waiting, self._waiting = self._waiting, {}
        for waiter in waiting:
            if not waiter.done() and not waiter.get_loop().is_closed():
                waiter.set_result(None)

    def __repr__(self) -> str:
        count = len(self._events)
        state = "closed" if self._closed else "open"
        return f"<{type(self).__name__}: {count} event{'s'[: count != 1]}, {state}>"


class _Reader(AsyncIterator[T]):
    """One reader: a stream and the number of the next event.

    A class rather than an async generator: a generator that is cancelled while it waits is
    finished, and its next event would be lost.
    """

    __slots__ = ("_next", "_stream")

    def __init__(self, stream: EventStream[T, Any]) -> None:
        self._stream = stream
        self._next = 0

    async def __anext__(self) -> T:
        stream = self._stream
        while self._next >= len(stream._events):
            if stream._closed:
                raise StopAsyncIteration
            await stream._change()
        event = stream._events[self._next]
        self._next += 1
        return event


class PendingResult(Coroutine[Any, Any, R]):
    """A result still to be awaited. Used as if it were the result, it says what is missing.

    It is a coroutine to asyncio (`create_task`, `wait_for`, `gather`, `asyncio.run` take it),
    except that it may be awaited again, and by several tasks.
    """

    __slots__ = ("_running", "_wait")
    __name__ = "EventStream.result"

    def __init__(self, wait: Callable[[], Coroutine[Any, Any, R]]) -> None:
        self._wait = wait
        self._running: dict[object, Coroutine[Any, Any, R]] = {}

    def __await__(self) -> Generator[Any, Any, R]:
        return self._wait().__await__()

    def send(self, value: Any) -> Any:
        return self._step(lambda coroutine: coroutine.send(value))

    def throw(self, *error: Any) -> Any:
        return self._step(lambda coroutine: coroutine.throw(*error))

    def _step(self, resume: Callable[[Coroutine[Any, Any, R]], Any]) -> Any:
        """Resume the coroutine of the task that asks; each task that awaits this has its own."""
        task = asyncio.current_task() if asyncio._get_running_loop() else None
        if task not in self._running:
            self._running[task] = self._wait()
        try:
            return resume(self._running[task])
        except BaseException:
            self._running.pop(task, None)
            raise

    def close(self) -> None:
        for coroutine in self._running.values():
            coroutine.close()

    if not TYPE_CHECKING:  # or a type checker finds every attribute here, and none wrong

        def __getattr__(self, name: str) -> NoReturn:
            self._missing_await(f"it has no attribute {name!r}")

    def _missing_await(self, used: str) -> NoReturn:
        raise NotAwaitedError(
            f"This is not the result yet, so {used}. The await is missing: write"
            " `message = await stream.result()`, then use `message`."
        )

    def __eq__(self, other: object) -> NoReturn:
        self._missing_await("it cannot be compared")

    def __iter__(self) -> NoReturn:
        self._missing_await("there is nothing in it to go through")

    def __aiter__(self) -> NoReturn:
        raise NotAwaitedError(
            "A result is one message, not a series of events. Read the events with"
            " `async for event in stream:`, without `.result()`."
        )

    def __getitem__(self, key: object) -> NoReturn:
        self._missing_await("it has no items")

    __hash__ = object.__hash__

    def __repr__(self) -> str:
        return "<a result still to be awaited: write `await stream.result()`>"
