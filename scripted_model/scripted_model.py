"""ScriptedModel: a language model that plays prepared turns (chapters 06 to 08).

A test double: no network, no key, no randomness. An executable specification too: the script
says what the model will do, and the trace is the same on every run and every machine.

>>> import asyncio
>>> from scripted_model.messages import assistant_message, text, text_of, user_message
>>> async def main():
...     model = ScriptedModel([assistant_message([text("先看")])])
...     stream = model.stream(AgentContext([user_message("请求一")]))
...     print(" → ".join([event.type async for event in stream]))
...     print(text_of(await stream.result()))
>>> asyncio.run(main())
start → text_delta → done
先看
"""

import asyncio
import math
from collections.abc import Iterable, Iterator
from typing import Literal

from msgspec.structs import replace

from scripted_model.cursor import Cursor
from scripted_model.errors import (
    ContextError,
    NoRunningLoopError,
    ScriptError,
    UnplayedTurnsError,
)
from scripted_model.events import AssistantMessageEventStream, Done, Error, ModelEvent
from scripted_model.messages import AgentContext, AssistantMessage
from scripted_model.model import AbortSignal
from scripted_model.partial import Chunk, as_message, project, whole
from scripted_model.snapshot import snapshot
from scripted_model.turns import FailedTurn, ScriptedTurn, checked_script

ABORTED = "Request was aborted"
EXHAUSTED = "ScriptedModel 没有更多响应"  # "has no more responses"


class ScriptedModel:
    """Plays one turn a call, in order, and records what it was called with.

    turns: assistant messages, or `FailedTurn`s.
    chunk: how a text, or the JSON text of a tool call's arguments, is cut into deltas: a
        function from a string to strings that concatenate to it (`characters`, `words`, or
        your own). By default each is one delta.
    pace: seconds between two events; 0 plays a turn in one go.

    Whatever a turn says, and when there is no turn left, a call ends in exactly one `done` or
    `error` event, and its `result()` is a message. The model never runs a tool and never
    appends to the context: that is the agent's part.

    Raises ScriptError when the script cannot be played, naming the turn's index.
    """

    def __init__(
        self, turns: Iterable[ScriptedTurn], *, chunk: Chunk = whole, pace: float = 0
    ) -> None:
        if not callable(chunk):
            raise ScriptError("chunk is a function from a string to strings, such as `words`.")
        if isinstance(pace, bool) or not isinstance(pace, int | float) or not 0 <= pace < math.inf:
            raise ScriptError(f"pace is a number of seconds, 0 or more, not {pace!r}.")
        self._cursor = Cursor(checked_script(turns))
        self._chunk = chunk
        self._pace = pace
        self.requests: list[AgentContext] = []
        """What the model saw: a snapshot of the context for each call so far."""

    @property
    def remaining(self) -> int:
        """How many turns no call has taken yet."""
        return len(self._cursor) - self._cursor.position

    def assert_complete(self) -> None:
        """Raise UnplayedTurnsError if some turns were never asked for."""
        if left := self._cursor.left:
            raise UnplayedTurnsError(
                f"{self._cursor.position} of {len(self._cursor)} turns were played,"
                f" {len(left)} were not; the next one would be {left[0]!r}."
            )

    def stream(
        self, context: AgentContext, *, signal: AbortSignal | None = None
    ) -> AssistantMessageEventStream:
        """Call the model. The stream comes back at once, and empty: its events are produced
        when the event loop next gets its turn.

        context: recorded in `requests` as it is now.
        signal: anything with `is_set()`. Set before playback begins, the call ends in `error`
            with reason "aborted"; its turn is used up all the same. Set later, it ends a paced
            stream within a hundredth of a second, with what was said so far.

        Raises NoRunningLoopError outside a running event loop, and ContextError for a context
        or a signal of the wrong type.
        """
        loop = _running_loop()
        if isinstance(signal, type) or not (signal is None or hasattr(signal, "is_set")):
            raise ContextError("signal is something with is_set(), such as asyncio.Event().")
        stream = AssistantMessageEventStream()
        self.requests.append(snapshot(context))
        turn = self._cursor.take()
        events = _events(turn, self._chunk)
        loop.call_soon(_Playback(stream, events, self._pace, signal).play)
        return stream

    def __repr__(self) -> str:
        turns, calls = len(self._cursor), len(self.requests)
        return (
            f"<ScriptedModel: {self._cursor.position} of {turns} turn{'s'[: turns != 1]} played,"
            f" {calls} request{'s'[: calls != 1]}>"
        )


def _running_loop() -> asyncio.AbstractEventLoop:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        raise NoRunningLoopError(
            "stream() needs a running event loop, which will play the events."
            " In a notebook, call it in a cell of its own, not from another thread."
            " In a script, put the call into `async def main():` and write asyncio.run(main())."
        ) from None


def _failed(
    reason: Literal["error", "aborted"], why: str, so_far: AssistantMessage | None = None
) -> Error:
    message = AssistantMessage(()) if so_far is None else as_message(so_far)
    return Error(reason, replace(message, stop_reason=reason, error_message=why))


def _events(turn: ScriptedTurn | None, chunk: Chunk) -> Iterator[ModelEvent]:
    """The events of a call that nobody aborts."""
    if turn is None:
        yield _failed("error", EXHAUSTED)
    else:
        yield from project(turn.message() if isinstance(turn, FailedTurn) else turn, chunk)


GLANCE = 0.01
"""Seconds between two looks at the signal while a paced stream waits."""


class _Playback:
    """Pushes the events of a call into its stream: all in one go, or `pace` seconds apart.

    It lives only in the loop's own queues. A loop that is closed drops it, without a word
    where a pending task would complain; the stream then ends as aborted, so that no result
    stays open.
    """

    def __init__(
        self,
        stream: AssistantMessageEventStream,
        events: Iterator[ModelEvent],
        pace: float,
        signal: AbortSignal | None,
    ) -> None:
        self._stream = stream
        self._events = events
        self._pace = pace
        self._signal = signal
        self._loop = asyncio.get_running_loop()
        self._due = 0.0

    def play(self) -> None:
        """The scheduled callback: nothing of a turn is produced before this runs."""
        try:
            self._play()
        except Exception as error:
            self._fail("error", f"This turn cannot be played: {str(error) or type(error).__name__}")
        except BaseException:
            self._fail("aborted", ABORTED)
            raise

    def _play(self) -> None:
        if self._signal is not None and self._signal.is_set():
            return self._fail("aborted", ABORTED)
        if self._loop.time() < self._due:
            return self._wait()
        for event in self._events:
            self._stream.push(event)
            if self._pace and not self._stream.closed:
                self._due = self._loop.time() + self._pace
                return self._wait()

    def _wait(self) -> None:
        left = max(self._due - self._loop.time(), 0)
        self._loop.call_later(left if self._signal is None else min(left, GLANCE), self.play)

    def _fail(self, reason: Literal["error", "aborted"], why: str) -> None:
        """End the stream with what was said so far; no change if it is over."""
        so_far = None
        for event in self._stream.events[-1:]:
            so_far = None if isinstance(event, Done | Error) else event.partial
        self._stream.push(_failed(reason, why, so_far))

    def __del__(self) -> None:
        if not self._stream.closed:
            self._fail("aborted", ABORTED)
