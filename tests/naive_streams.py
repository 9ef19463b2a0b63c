"""Event streams as one writes them first. Each has a flaw that has been shipped somewhere."""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

from scripted_model import EventStream


class GeneratorReaders(EventStream[Any, Any]):
    """Readers are async generators: a cancelled one is finished."""

    async def __aiter__(self) -> AsyncIterator[Any]:
        reader = super().__aiter__()
        async for event in reader:
            yield event


class OneQueue:
    """All readers take from one queue, and the result is one future."""

    def __init__(self, is_complete: Callable[[Any], bool], extract: Callable[[Any], Any]) -> None:
        self.is_complete, self.extract = is_complete, extract
        self.queue: asyncio.Queue[Any] = asyncio.Queue()
        self.future = asyncio.get_running_loop().create_future()

    def push(self, event: Any) -> None:
        self.queue.put_nowait((event,))
        if self.is_complete(event):
            self.end(self.extract(event))

    def end(self, result: Any = None) -> None:
        self.queue.put_nowait(None)
        self.future.set_result(result)

    def result(self) -> Any:
        return self.future

    async def __aiter__(self) -> AsyncIterator[Any]:
        while item := await self.queue.get():
            yield item[0]


class ForgetfulEnd(EventStream[Any, Any]):
    """`end` without a result closes nothing, and does not wake anybody."""

    def end(self, *result: Any) -> None:
        if result:
            super().end(*result)


class LastResultWins(EventStream[Any, Any]):
    """Neither `push` nor `end` asks whether the stream is over already."""

    def push(self, event: Any) -> None:
        self._closed = False
        super().push(event)

    def end(self, *result: Any) -> None:
        self._closed = False
        super().end(*result)


class OneCursor(EventStream[Any, Any]):
    """One cursor for all readers."""

    def __aiter__(self) -> AsyncIterator[Any]:
        if not hasattr(self, "reader"):
            self.reader = super().__aiter__()
        return self.reader


class NoneMeansNothing(EventStream[Any, Any]):
    """None stands for "no result yet"."""

    def end(self, result: Any = None) -> None:
        if result is not None:
            super().end(result)


class UnguardedFunctions(EventStream[Any, Any]):
    """What the two functions raise goes to the producer, and the stream stays open."""

    def push(self, event: Any) -> None:
        self.is_complete(event) and self.extract_result(event)
        super().push(event)


class WakesWithoutLooking(EventStream[Any, Any]):
    """Wakes every waiter, whether or not it still waits and its loop still runs."""

    def _wake(self) -> None:
        waiting, self._waiting = self._waiting, []
        for waiter in waiting:
            waiter.set_result(None)
