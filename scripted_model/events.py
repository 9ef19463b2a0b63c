"""Events: what has happened to the message, in order (chapter 05).

Every event but the last has `partial`: the assistant message as it stands *after* this event.
`done` and `error` have the whole message, and no event follows them.
"""

from typing import ClassVar, Literal

from scripted_model.errors import UnhandledEventError
from scripted_model.event_stream import EventStream
from scripted_model.messages import AssistantMessage, ToolCall, Value, short


class Start(Value, frozen=True, tag_field="type", tag="start", gc=False):
    """The message begins; the content of `partial` is empty."""

    partial: AssistantMessage
    type: ClassVar[Literal["start"]] = "start"

    def __repr__(self) -> str:
        return "Start()"


class TextDelta(Value, frozen=True, tag_field="type", tag="text_delta", gc=False):
    """`delta` was added to the text block `content_index`, which may be new."""

    content_index: int
    delta: str
    partial: AssistantMessage
    type: ClassVar[Literal["text_delta"]] = "text_delta"

    def __repr__(self) -> str:
        return f"TextDelta(content_index={self.content_index}, delta={short(self.delta)})"


class ToolCallDelta(Value, frozen=True, tag_field="type", tag="toolcall_delta", gc=False):
    """`delta` was added to the raw JSON arguments of the tool call `content_index`.

    Until the call ends, `partial` holds it with `arguments` {} and the text so far in
    `raw_arguments`: half a JSON text has no value yet.
    """

    content_index: int
    delta: str
    partial: AssistantMessage
    type: ClassVar[Literal["toolcall_delta"]] = "toolcall_delta"

    def __repr__(self) -> str:
        return f"ToolCallDelta(content_index={self.content_index}, delta={short(self.delta)})"


class ToolCallEnd(Value, frozen=True, tag_field="type", tag="toolcall_end", gc=False):
    """The tool call `content_index` is finished: `tool_call` has its arguments."""

    content_index: int
    tool_call: ToolCall
    partial: AssistantMessage
    type: ClassVar[Literal["toolcall_end"]] = "toolcall_end"

    def __repr__(self) -> str:
        return f"ToolCallEnd(content_index={self.content_index}, tool_call={self.tool_call!r})"


class Done(Value, frozen=True, tag_field="type", tag="done", gc=False):
    """The message is complete."""

    reason: Literal["stop", "length", "toolUse"]
    message: AssistantMessage
    type: ClassVar[Literal["done"]] = "done"

    def __repr__(self) -> str:
        return f"Done(reason={self.reason!r}, message={self.message!r})"


class Error(Value, frozen=True, tag_field="type", tag="error", gc=False):
    """The message failed. `error` is an assistant message all the same: it keeps what was
    said before, and its `error_message` says what went wrong."""

    reason: Literal["error", "aborted"]
    error: AssistantMessage
    type: ClassVar[Literal["error"]] = "error"

    def __repr__(self) -> str:
        return f"Error(reason={self.reason!r}, error={self.error!r})"


ModelEvent = Start | TextDelta | ToolCallDelta | ToolCallEnd | Done | Error


def is_terminal(event: ModelEvent) -> bool:
    """Whether no event follows this one."""
    return event.type == "done" or event.type == "error"


def final_message(event: ModelEvent) -> AssistantMessage:
    """The message that a terminal event carries; UnhandledEventError for any other event."""
    match event:
        case Done():
            return event.message
        case Error():
            return event.error
        case _:
            raise UnhandledEventError(f"Unhandled stream event: {event!r} ends no stream")


class AssistantMessageEventStream(EventStream[ModelEvent, AssistantMessage]):
    """The events of one assistant message, and the message."""

    def __init__(self) -> None:
        super().__init__(is_terminal, final_message)
