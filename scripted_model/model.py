"""Model: the one method through which an agent talks to a language model (chapter 06).

An agent that is written against `Model` runs on a real model and on a scripted one alike.
"""

from collections.abc import AsyncIterator, Awaitable
from typing import Protocol

from scripted_model.events import ModelEvent
from scripted_model.messages import AgentContext, AssistantMessage


class AbortSignal(Protocol):
    """Anything that can say whether it was set: an `asyncio.Event`, a `threading.Event`."""

    def is_set(self) -> bool: ...


class ModelStream(Protocol):
    """The events of one call, and the message they end in."""

    def __aiter__(self) -> AsyncIterator[ModelEvent]: ...

    def result(self) -> Awaitable[AssistantMessage]: ...


class Model(Protocol):
    """A streaming language model. `stream` returns at once; the events come later."""

    def stream(
        self, context: AgentContext, *, signal: AbortSignal | None = None
    ) -> ModelStream: ...
