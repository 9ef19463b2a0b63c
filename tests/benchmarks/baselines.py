"""What the kit is measured against: each the shortest honest version of another way."""

import asyncio
import copy
from collections import deque
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Any

from scripted_model import assistant_message, text, to_dict

DELTA = "看"  # one code point: what `characters` cuts a text into


class BareStream:
    """The least that carries events from a callback to one `async for`: a queue and a future.

    One reader, no result, no partial; nothing can be read again. None ends it.
    """

    def __init__(self) -> None:
        self._events: deque[object] = deque()
        self._more: asyncio.Future[None] | None = None

    def push(self, event: object) -> None:
        self._events.append(event)
        if self._more is not None and not self._more.done():
            self._more.set_result(None)

    def __aiter__(self) -> AsyncIterator[object]:
        return self

    async def __anext__(self) -> object:
        while not self._events:
            self._more = asyncio.get_running_loop().create_future()
            await self._more
        event = self._events.popleft()
        if event is None:
            raise StopAsyncIteration
        return event


async def _streamed(produce: Callable[[BareStream], None]) -> list[object]:
    stream = BareStream()
    asyncio.get_running_loop().call_soon(produce, stream)
    return [event async for event in stream]


async def bare(n: int) -> list[object]:
    """No partial at all: an event says its type, its block and its delta, and no more."""

    def produce(stream: BareStream) -> None:
        for delta in DELTA * n:
            stream.push(("text_delta", 0, delta))
        stream.push(None)

    return await _streamed(produce)


async def deep_copies(n: int) -> list[object]:
    """The safe and plain way to a partial: one mutable message (ours, in its JSON form), copied
    for each event."""

    def produce(stream: BareStream) -> None:
        message = to_dict(assistant_message([text("")]))
        for delta in DELTA * n:
            message["content"][0]["text"] += delta
            stream.push(("text_delta", 0, delta, copy.deepcopy(message)))
        stream.push(None)

    return await _streamed(produce)


async def function_model(n: int) -> list[object]:
    """The peer: pydantic-ai's FunctionModel, asked at each event for the message so far."""
    from pydantic_ai.direct import model_request_stream
    from pydantic_ai.messages import ModelRequest
    from pydantic_ai.models.function import FunctionModel

    async def say(messages: Any, info: Any) -> AsyncIterator[str]:
        for delta in DELTA * n:
            yield delta

    model, request = FunctionModel(stream_function=say), ModelRequest.user_text_prompt("请求一")
    async with model_request_stream(model, [request]) as stream:
        return [(event, stream.get()) async for event in stream]


async def snapshots(copied: Callable[[list[Any]], object], calls: int, every: int) -> object:
    """A context of plain dicts that grows by two messages a call, copied at each `every`th call.
    The copies are kept, and nothing is played."""
    context: list[Any] = []
    requests = []
    for call in range(calls):
        context.append({"role": "user", "content": [{"type": "text", "text": f"请求{call}"}]})
        if call % every == 0:
            requests.append(copied(context))
        context.append({"role": "assistant", "content": [{"type": "text", "text": "好"}]})
    return requests


@dataclass(frozen=True, slots=True)
class DataclassDelta:
    """`TextDelta` as a frozen dataclass."""

    content_index: int
    delta: str
    partial: object


@dataclass(frozen=True, slots=True)
class DataclassMessage:
    """`AssistantMessage` as a frozen dataclass, which does not check its content as ours does."""

    content: tuple[object, ...]
    provider: str = "scripted"
    model: str = "scripted-v1"
    usage: object = None
    stop_reason: str = "stop"
    error_message: str | None = None
    timestamp: int = 0
    api: str | None = None
