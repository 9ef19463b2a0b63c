"""A scripted double of a streaming language model. The modules, in reading order:

errors, messages, cursor, snapshot, event_stream, simulated, events, partial, model, turns,
scripted_model, wire.
"""

# ruff: isort: off
# The imports stand in reading order, which is the order of the chapters.
from scripted_model.errors import (
    ContentError,
    ContextError,
    InvalidDataError,
    NoResultError,
    NoRunningLoopError,
    NotAwaitedError,
    PlainForError,
    ScriptedModelError,
    ScriptError,
    UnhandledEventError,
    UnplayedTurnsError,
)
from scripted_model.messages import (
    AgentContext,
    AssistantMessage,
    ContentBlock,
    Message,
    StopReason,
    TextContent,
    ToolCall,
    ToolResultMessage,
    Usage,
    UserMessage,
    assistant_message,
    text,
    text_of,
    tool_call,
    user_message,
)
from scripted_model.cursor import Cursor
from scripted_model.snapshot import snapshot
from scripted_model.event_stream import EventStream
from scripted_model.simulated import SimulatedResponseStream, generate_mock_reply
from scripted_model.events import (
    AssistantMessageEventStream,
    Done,
    Error,
    ModelEvent,
    Start,
    TextDelta,
    ToolCallDelta,
    ToolCallEnd,
)
from scripted_model.partial import characters, project, whole, words
from scripted_model.model import AbortSignal, Model, ModelStream
from scripted_model.turns import FailedTurn, ScriptedTurn
from scripted_model.scripted_model import ScriptedModel
from scripted_model.wire import (
    context_from_dict,
    event_from_dict,
    message_from_dict,
    to_dict,
    turn_from_dict,
)

# ruff: isort: on

__all__ = [
    "AbortSignal",
    "AgentContext",
    "AssistantMessage",
    "AssistantMessageEventStream",
    "ContentBlock",
    "ContentError",
    "ContextError",
    "Cursor",
    "Done",
    "Error",
    "EventStream",
    "FailedTurn",
    "InvalidDataError",
    "Message",
    "Model",
    "ModelEvent",
    "ModelStream",
    "NoResultError",
    "NoRunningLoopError",
    "NotAwaitedError",
    "PlainForError",
    "ScriptError",
    "ScriptedModel",
    "ScriptedModelError",
    "ScriptedTurn",
    "SimulatedResponseStream",
    "Start",
    "StopReason",
    "TextContent",
    "TextDelta",
    "ToolCall",
    "ToolCallDelta",
    "ToolCallEnd",
    "ToolResultMessage",
    "UnhandledEventError",
    "UnplayedTurnsError",
    "Usage",
    "UserMessage",
    "assistant_message",
    "characters",
    "context_from_dict",
    "event_from_dict",
    "generate_mock_reply",
    "message_from_dict",
    "project",
    "snapshot",
    "text",
    "text_of",
    "to_dict",
    "tool_call",
    "turn_from_dict",
    "user_message",
    "whole",
    "words",
]
