"""An honest model, as a student writes it in chapter 09, and a zoo of broken ones.

`ZOO` names, for each broken model, the behaviours of the checkpoint that it fails (the first is
the one that the hint is about), those that cannot be reached because of it, and words that the
student is shown.
"""

import asyncio
import copy
import json
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, ClassVar

from msgspec import structs

from scripted_model import (
    AgentContext,
    AssistantMessageEventStream,
    Done,
    Error,
    FailedTurn,
    Start,
    TextContent,
    TextDelta,
    ToolCallDelta,
    ToolCallEnd,
    assistant_message,
    text,
    tool_call,
)


class HonestModel:
    def __init__(self, turns: Any) -> None:
        self.turns = list(turns)
        self.cursor = 0
        self.requests: list[Any] = []

    def stream(self, context: Any, *, signal: Any = None) -> Any:
        stream = AssistantMessageEventStream()
        self.requests.append(self.see(context))
        turn = self.take()
        asyncio.get_running_loop().call_soon(self.play, stream, turn, signal)
        return stream

    def see(self, context: Any) -> Any:
        return copy.deepcopy(context)

    def take(self) -> Any:
        if self.cursor >= len(self.turns):
            return None
        self.cursor += 1
        return self.turns[self.cursor - 1]

    def play(self, stream: Any, turn: Any, signal: Any) -> None:
        if signal is not None and signal.is_set():
            turn = FailedTurn("aborted", "Request was aborted")
            stream.push(Error("aborted", turn.message()))
        elif turn is None:
            turn = FailedTurn("error", "no more responses")
            stream.push(Error("error", turn.message()))
        else:
            message = turn.message() if isinstance(turn, FailedTurn) else turn
            for event in self.events(message):
                stream.push(event)

    def events(self, message: Any) -> Iterator[Any]:
        said: list[Any] = []
        yield Start(assistant_message(said))
        for index, block in enumerate(message.content):
            if isinstance(block, TextContent):
                said.append(block)
                yield TextDelta(index, block.text, assistant_message(said))
            else:
                raw = json.dumps(block.arguments)
                said.append(tool_call(block.id, block.name, {}, raw))
                yield ToolCallDelta(index, raw, assistant_message(said))
                said[-1] = block
                yield ToolCallEnd(index, block, assistant_message(said))
        failed = message.stop_reason in ("error", "aborted")
        yield (Error if failed else Done)(message.stop_reason, message)


class OwnStream:
    """A stream of a student's own, without the package's: a list, and a result in a future."""

    def __init__(self) -> None:
        self.items: list[Any] = []
        self.arrival = asyncio.Event()
        self.final = asyncio.get_running_loop().create_future()

    def push(self, event: Any) -> None:
        self.items.append(event)
        self.arrival.set()
        if event.type in ("done", "error") and not self.final.done():
            self.final.set_result(event.message if event.type == "done" else event.error)

    async def __aiter__(self) -> Any:
        at = 0
        while True:
            while at < len(self.items):
                at += 1
                yield self.items[at - 1]
            if self.final.done():
                return
            self.arrival.clear()
            await self.arrival.wait()

    async def result(self) -> Any:
        return await asyncio.shield(self.final)


class HonestWithOwnStream(HonestModel):
    def stream(self, context: Any, *, signal: Any = None) -> Any:
        self.requests.append(self.see(context))
        stream = OwnStream()
        asyncio.get_running_loop().call_soon(self.play, stream, self.take(), signal)
        return stream


class HonestWithTask(HonestModel):
    """Plays in a task, one event a pass of the loop."""

    def play(self, stream: Any, turn: Any, signal: Any) -> None:
        held = AssistantMessageEventStream()
        super().play(held, turn, signal)
        self.task = asyncio.create_task(self.pass_on(held, stream))

    async def pass_on(self, held: Any, stream: Any) -> None:
        async for event in held:
            await asyncio.sleep(0)
            stream.push(event)


class ReferenceInsteadOfSnapshot(HonestModel):
    def see(self, context: Any) -> Any:
        return context


class ShallowSnapshot(HonestModel):
    def see(self, context: Any) -> Any:
        return AgentContext(list(context.messages), context.tools)


class SnapshotInTheCallback(HonestModel):
    def stream(self, context: Any, *, signal: Any = None) -> Any:
        stream, turn = AssistantMessageEventStream(), self.take()

        def later() -> None:
            self.requests.append(self.see(context))
            self.play(stream, turn, signal)

        asyncio.get_running_loop().call_soon(later)
        return stream


class CursorMovedInTheCallback(HonestModel):
    def take(self) -> Any:
        return self.turns[self.cursor] if self.cursor < len(self.turns) else None

    def play(self, stream: Any, turn: Any, signal: Any) -> None:
        self.cursor += 1
        super().play(stream, turn, signal)


class CursorThatStands(HonestModel):
    def take(self) -> Any:
        return self.turns[self.cursor]


class LastTurnFirst(HonestModel):
    def take(self) -> Any:
        return self.turns.pop() if self.turns else None


class PushedBeforeTheReturn(HonestModel):
    def stream(self, context: Any, *, signal: Any = None) -> Any:
        stream = AssistantMessageEventStream()
        self.requests.append(self.see(context))
        self.play(stream, self.take(), signal)
        return stream


class AsyncStreamMethod(HonestModel):
    async def stream(self, context: Any, *, signal: Any = None) -> Any:
        return super().stream(context, signal=signal)


class SharedPartial(HonestModel):
    def events(self, message: Any) -> Iterator[Any]:
        shared = SimpleNamespace(content=[])
        for event in super().events(message):
            if event.type in ("done", "error"):
                yield event
            else:
                shared.content[:] = event.partial.content
                fields = {name: getattr(event, name) for name in event.__struct_fields__}
                yield SimpleNamespace(**{**fields, "type": event.type, "partial": shared})


class PartialIsTheFinalMessage(HonestModel):
    def events(self, message: Any) -> Iterator[Any]:
        for event in super().events(message):
            yield with_partial(event, message)


class PartialOneEventLate(HonestModel):
    def events(self, message: Any) -> Iterator[Any]:
        before = assistant_message([])
        for event in super().events(message):
            yield with_partial(event, before)
            before = getattr(event, "partial", before)


def with_partial(event: Any, partial: Any) -> Any:
    match event:
        case Start():
            return Start(partial)
        case TextDelta():
            return TextDelta(event.content_index, event.delta, partial)
        case _:
            return event


class NoStart(HonestModel):
    def events(self, message: Any) -> Iterator[Any]:
        return (event for event in super().events(message) if event.type != "start")


class WrongDelta(HonestModel):
    def events(self, message: Any) -> Iterator[Any]:
        for event in super().events(message):
            yield TextDelta(0, event.delta[:1], event.partial) if is_delta(event, 0) else event


class DeltaRepeatsTheTextSoFar(HonestModel):
    def events(self, message: Any) -> Iterator[Any]:
        for event in super().events(message):
            if event.type == "text_delta":
                so_far = "".join(block.text for block in event.partial.content)
                yield TextDelta(event.content_index, so_far, event.partial)
            else:
                yield event


class ContentIndexAlwaysZero(HonestModel):
    def events(self, message: Any) -> Iterator[Any]:
        for event in super().events(message):
            yield TextDelta(0, event.delta, event.partial) if is_delta(event, 1) else event


def is_delta(event: Any, index: int) -> bool:
    return bool(event.type == "text_delta" and event.content_index == index)


class NoToolCallEnd(HonestModel):
    def events(self, message: Any) -> Iterator[Any]:
        return (event for event in super().events(message) if event.type != "toolcall_end")


class ToolCallEndAtTheNextIndex(HonestModel):
    def events(self, message: Any) -> Iterator[Any]:
        for event in super().events(message):
            if event.type == "toolcall_end":
                yield ToolCallEnd(event.content_index + 1, event.tool_call, event.partial)
            else:
                yield event


class ToolCallForgetsTheText(HonestModel):
    def events(self, message: Any) -> Iterator[Any]:
        for event in super().events(message):
            if event.type == "toolcall_end":
                call = assistant_message([event.tool_call])
                yield ToolCallEnd(event.content_index, event.tool_call, call)
            else:
                yield event


class ToolCallFinishedTooEarly(HonestModel):
    def events(self, message: Any) -> Iterator[Any]:
        for event in super().events(message):
            if event.type == "toolcall_delta":
                yield ToolCallDelta(event.content_index, event.delta, message)
            else:
                yield event


class TextOnly(HonestModel):
    def events(self, message: Any) -> Iterator[Any]:
        for block in message.content:
            _ = block.text
        yield from super().events(message)


class EndWithoutTerminalEvent(HonestModel):
    def play(self, stream: Any, turn: Any, signal: Any) -> None:
        if signal is None and getattr(turn, "stop_reason", "") == "stop":
            for event in list(self.events(turn))[:-1]:
                stream.push(event)
            stream.end(turn)
        else:
            super().play(stream, turn, signal)


class NeverEnds(HonestModel):
    def events(self, message: Any) -> Iterator[Any]:
        return (event for event in super().events(message) if event.type != "done")


class KeepsOnPushing(OwnStream):
    async def __aiter__(self) -> Any:
        async for event in super().__aiter__():
            yield event
        yield self.items[-1]


class TwoTerminalEvents(HonestModel):
    def stream(self, context: Any, *, signal: Any = None) -> Any:
        self.requests.append(self.see(context))
        stream = KeepsOnPushing()
        asyncio.get_running_loop().call_soon(self.play, stream, self.take(), signal)
        return stream


class SilentResult(AssistantMessageEventStream):
    def result(self) -> Any:
        return asyncio.Event().wait()


class ResultNeverResolves(HonestModel):
    def stream(self, context: Any, *, signal: Any = None) -> Any:
        self.requests.append(self.see(context))
        stream = SilentResult()
        asyncio.get_running_loop().call_soon(self.play, stream, self.take(), signal)
        return stream


class RaisesForErrors(AssistantMessageEventStream):
    async def result(self) -> Any:
        message = await super().result()
        if message.error_message:
            raise RuntimeError(message.error_message)
        return message


class ErrorRejected(HonestModel):
    def stream(self, context: Any, *, signal: Any = None) -> Any:
        self.requests.append(self.see(context))
        stream = RaisesForErrors()
        asyncio.get_running_loop().call_soon(self.play, stream, self.take(), signal)
        return stream


class FailureLosesItsText(HonestModel):
    def play(self, stream: Any, turn: Any, signal: Any) -> None:
        if isinstance(turn, FailedTurn):
            turn = FailedTurn(turn.stop_reason, turn.error_message)
        super().play(stream, turn, signal)


class RaisesOnExhaustion(HonestModel):
    def take(self) -> Any:
        self.cursor += 1
        return self.turns[self.cursor - 1]


class RaisesInTheCallbackOnExhaustion(HonestModel):
    def play(self, stream: Any, turn: Any, signal: Any) -> None:
        if turn is None:
            turn = self.turns[self.cursor]
        super().play(stream, turn, signal)


class RepeatsTheLastTurn(HonestModel):
    def take(self) -> Any:
        return super().take() or self.turns[-1]


class PreAbortIgnored(HonestModel):
    def play(self, stream: Any, turn: Any, signal: Any) -> None:
        super().play(stream, turn, None)


class PreAbortUsesNoTurn(HonestModel):
    def stream(self, context: Any, *, signal: Any = None) -> Any:
        before = self.cursor
        stream = super().stream(context, signal=signal)
        if signal is not None and signal.is_set():
            self.cursor = before
        return stream


class PreAbortNotRecorded(HonestModel):
    def stream(self, context: Any, *, signal: Any = None) -> Any:
        stream = super().stream(context, signal=signal)
        if signal is not None and signal.is_set():
            self.requests.pop()
        return stream


class NoSignal(HonestModel):
    def stream(self, context: Any) -> Any:
        return super().stream(context)


NO_PARTIALS = ("no future", "partial on time")


class WrongFinalMessage(HonestModel):
    """Right for one block; the message of several has lost all but its texts."""

    def events(self, message: Any) -> Iterator[Any]:
        for event in super().events(message):
            if isinstance(event, Done) and len(message.content) > 1:
                yield Done(event.reason, assistant_message([text("先看")], event.reason))
            else:
                yield event


class WrongDoneText(HonestModel):
    def events(self, message: Any) -> Iterator[Any]:
        for event in super().events(message):
            wrong = assistant_message([text("something else")])
            yield Done("stop", wrong) if isinstance(event, Done) else event


class AlwaysStops(HonestModel):
    def events(self, message: Any) -> Iterator[Any]:
        for event in super().events(message):
            yield Done("stop", event.message) if isinstance(event, Done) else event


class WrongCallId(HonestModel):
    def events(self, message: Any) -> Iterator[Any]:
        for event in super().events(message):
            if isinstance(event, ToolCallEnd):
                call = tool_call("c2", event.tool_call.name, event.tool_call.arguments)
                yield ToolCallEnd(event.content_index, call, event.partial)
            else:
                yield event


class ContentIndexUpToOne(HonestModel):
    def events(self, message: Any) -> Iterator[Any]:
        for event in super().events(message):
            if hasattr(event, "content_index"):
                yield structs.replace(event, content_index=min(1, event.content_index))
            else:
                yield event


class EmptyNeverEnds(HonestModel):
    def events(self, message: Any) -> Iterator[Any]:
        return super().events(message) if message.content else iter(())


class ExhaustedWithStop(HonestModel):
    def play(self, stream: Any, turn: Any, signal: Any) -> None:
        if turn is None:
            stream.push(Error("error", assistant_message([], error_message="no more")))
        else:
            super().play(stream, turn, signal)


class RaisesWithoutATurn(AssistantMessageEventStream):
    async def result(self) -> Any:
        message = await super().result()
        if message.error_message == "no more responses":
            raise RuntimeError(message.error_message)
        return message


class ExhaustionRejected(HonestModel):
    def stream(self, context: Any, *, signal: Any = None) -> Any:
        self.requests.append(self.see(context))
        stream = RaisesWithoutATurn()
        asyncio.get_running_loop().call_soon(self.play, stream, self.take(), signal)
        return stream


class BeginsAgainLater(HonestModel):
    """After two exhausted calls it plays from the first turn again."""

    def take(self) -> Any:
        self.calls = getattr(self, "calls", 0) + 1
        return self.turns[0] if self.calls == len(self.turns) + 3 else super().take()


class FailsWithoutDeltas(HonestModel):
    def play(self, stream: Any, turn: Any, signal: Any) -> None:
        if isinstance(turn, FailedTurn):
            stream.push(Error(turn.stop_reason, turn.message()))
        else:
            super().play(stream, turn, signal)


class AbortedIsAnError(HonestModel):
    def play(self, stream: Any, turn: Any, signal: Any) -> None:
        if isinstance(turn, FailedTurn):
            turn = FailedTurn("error", turn.error_message, turn.partial_text)
        super().play(stream, turn, signal)


class SignalSeenAtTheCallOnly(HonestModel):
    def stream(self, context: Any, *, signal: Any = None) -> Any:
        return super().stream(context, signal=Frozen(signal is not None and signal.is_set()))


class Frozen:
    def __init__(self, set_then: bool) -> None:
        self.set_then = set_then

    def is_set(self) -> bool:
        return self.set_then


class AbortedBeforeTheReturn(HonestModel):
    def stream(self, context: Any, *, signal: Any = None) -> Any:
        stream = super().stream(context, signal=signal)
        if signal is not None and signal.is_set():
            aborted = FailedTurn("aborted", "Request was aborted")
            stream.push(Error("aborted", aborted.message()))
        return stream


class OneReader(AssistantMessageEventStream):
    def __aiter__(self) -> Any:
        if not hasattr(self, "reader"):
            self.reader = super().__aiter__()
        return self.reader


class ReadersShare(HonestModel):
    def stream(self, context: Any, *, signal: Any = None) -> Any:
        self.requests.append(self.see(context))
        stream = OneReader()
        asyncio.get_running_loop().call_soon(self.play, stream, self.take(), signal)
        return stream


class PopsTheCallersList(HonestModel):
    def __init__(self, turns: Any) -> None:
        super().__init__(turns)
        self.turns = turns

    def take(self) -> Any:
        return self.turns.pop(0) if self.turns else None


class SharedRequests(HonestModel):
    ALL: ClassVar[list[Any]] = []

    def __init__(self, turns: Any) -> None:
        super().__init__(turns)
        self.ALL.clear()
        self.requests = self.ALL


ZOO: dict[type, tuple[tuple[str, ...], tuple[str, ...], str]] = {
    PushedBeforeTheReturn: (
        ("returns first",),
        ("pre-abort",),
        "start was there when stream() returned",
    ),
    ReferenceInsteadOfSnapshot: (("snapshot",), (), "requests[0].messages: expected"),
    ShallowSnapshot: (("snapshot",), (), "requests[0].tools: expected"),
    SnapshotInTheCallback: (("snapshot",), (), "after a call: expected 1, got 0"),
    CursorMovedInTheCallback: (("cursor at the call",), (), "both got '先看'"),
    LastTurnFirst: (("one turn a call",), ("pre-abort",), "expected '先看', got '第三轮'"),
    CursorThatStands: (
        ("one turn a call", "cursor at the call", "exhaustion"),
        ("pre-abort",),
        "the second call: expected '第二轮', got '先看'",
    ),
    NoStart: (("trace",), (*NO_PARTIALS, "failure"), "event 0: expected start, got text_delta"),
    WrongDelta: (
        ("trace",),
        ("failure",),
        "event 1 (text_delta): expected the delta '先看', got '先'",
    ),
    DeltaRepeatsTheTextSoFar: (("trace",), ("content index",), "got ['先看', '先看再说']"),
    ContentIndexAlwaysZero: (("content index",), (), "expected [0, 1], got [0, 0]"),
    SharedPartial: (("no future",), ("tool call",), "event 0 (start): expected the partial []"),
    PartialIsTheFinalMessage: (("no future",), (), "it shows the future"),
    PartialOneEventLate: (("partial on time",), (), "it is late, and misses this event"),
    NoToolCallEnd: (("tool call",), (), "got ['toolcall_delta']"),
    ToolCallEndAtTheNextIndex: (("tool call",), (), "index 1, toolcall_end at 2"),
    ToolCallForgetsTheText: (
        ("tool call",),
        (),
        "the partial of toolcall_end: expected ['先看', (",
    ),
    ToolCallFinishedTooEarly: (
        ("tool call",),
        (),
        "toolcall_delta: expected ['先看', ('c1', 'read', {})]",
    ),
    TextOnly: (
        ("tool call",),
        ("content index",),
        "AttributeError: 'ToolCall' object has no attribute 'text'",
    ),
    EndWithoutTerminalEvent: (("one ending",), (), "got start → text_delta"),
    NeverEnds: (("one ending",), ("result",), "after start → text_delta the stream is not over"),
    TwoTerminalEvents: (("one ending",), (), "got start → text_delta → done → done"),
    ResultNeverResolves: (("result",), ("exhaustion", "failure"), "result() does not resolve"),
    RaisesOnExhaustion: (("exhaustion",), (), "stream(): your code raised IndexError"),
    RaisesInTheCallbackOnExhaustion: (("exhaustion",), (), "got nothing; your code raised"),
    RepeatsTheLastTurn: (("exhaustion",), (), "error event, got start → text_delta → done"),
    ErrorRejected: (
        ("exhaustion", "failure"),
        (),
        "result() raised RuntimeError for a call with no",
    ),
    FailureLosesItsText: (("failure",), (), "(error): expected the message ['正在'], got []"),
    PreAbortIgnored: (("pre-abort",), (), "error event, got start → text_delta → done"),
    PreAbortUsesNoTurn: (("pre-abort",), (), "expected the second turn, got '先看'"),
    PreAbortNotRecorded: (("pre-abort",), (), "the aborted call is not in requests"),
    WrongFinalMessage: (("tool call",), (), "the last event (done): expected the message"),
    WrongDoneText: (
        ("trace",),
        ("tool call", "result"),
        "the last event (done): expected the message ['先看']",
    ),
    ExhaustionRejected: (("exhaustion",), (), "result() raised RuntimeError for a call with no"),
    AlwaysStops: (("tool call",), (), "expected the reason 'toolUse', got 'stop'"),
    WrongCallId: (("tool call",), (), "the tool_call of toolcall_end: expected [('c1', "),
    ContentIndexUpToOne: (("content index",), (), "expected [0, 1, 2], got [0, 1, 1]"),
    EmptyNeverEnds: (("one ending",), (), "a message with no blocks: after nothing"),
    ExhaustedWithStop: (("exhaustion",), (), "the stop reason of the message: expected 'error'"),
    BeginsAgainLater: (("exhaustion",), (), "error event, got start → text_delta → done"),
    FailsWithoutDeltas: (("failure",), (), "event 0: expected start"),
    AbortedIsAnError: (("failure",), (), "the reason 'aborted', got 'error'"),
    SignalSeenAtTheCallOnly: (("pre-abort",), (), "signal set right after the call: expected"),
    AbortedBeforeTheReturn: (("pre-abort",), (), "error was there when stream() returned"),
    ReadersShare: (("one ending",), (), "a second `async for` gets"),
    PopsTheCallersList: (("one turn a call",), (), "another model of the same list"),
    SharedRequests: (("snapshot",), (), "the number of requests"),
    NoSignal: (("pre-abort",), (), "unexpected keyword argument 'signal'"),
}
