"""The JSON form of the values: what would travel over a wire, or into a file.

>>> from scripted_model.messages import assistant_message, text
>>> to_dict(text("先看"))
{'type': 'text', 'text': '先看'}
>>> message_from_dict({"role": "user", "content": [{"type": "text", "text": "请求一"}]})
user_message('请求一')
>>> message_from_dict({"role": "user", "content": [{"type": "text", "text": 7}]})
Traceback (most recent call last):
scripted_model.errors.InvalidDataError: $.content[0].text: expected `str`, got `int`
"""

import json
import re
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

import msgspec
from msgspec.structs import replace

from scripted_model.errors import InvalidDataError
from scripted_model.events import (
    Done,
    Error,
    ModelEvent,
    Start,
    TextDelta,
    ToolCallDelta,
    ToolCallEnd,
)
from scripted_model.messages import AgentContext, AssistantMessage, Message, Value
from scripted_model.partial import as_message
from scripted_model.turns import FailedTurn, ScriptedTurn

NOT_JSON = (bytes, bytearray, memoryview, datetime, date, time, timedelta, UUID, Decimal)
"""msgspec would write these as strings; read back, they would be something else."""


def to_dict(value: Value | AgentContext) -> dict[str, Any]:
    """A message, content block, context, turn or event as plain dicts and lists.

    Absent optionals are left out; other defaults are written. Raises InvalidDataError when the
    value holds something that is no JSON (a tool call's arguments may).
    """
    if not isinstance(value, Value | AgentContext):
        raise InvalidDataError(
            f"$: expected a message, context, turn or event, got `{type(value).__name__}`"
        )
    try:
        builtins = msgspec.to_builtins(_written_out(value), builtin_types=NOT_JSON)
        plain: dict[str, Any] = json.loads(json.dumps(builtins, allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidDataError(f"{type(value).__name__} holds what is no JSON: {error}") from error
    return plain


def _written_out(value: Value | AgentContext) -> Value | AgentContext:
    """The value with ordinary messages in the place of partial ones."""
    match value:
        case AssistantMessage():
            return as_message(value)
        case AgentContext():
            return AgentContext([as_message(m) for m in value.messages], value.tools)
        case Start() | TextDelta() | ToolCallDelta() | ToolCallEnd():
            return replace(value, partial=as_message(value.partial))
        case Done():
            return replace(value, message=as_message(value.message))
        case Error():
            return replace(value, error=as_message(value.error))
        case _:
            return value


def message_from_dict(data: Any) -> Message:
    """A message from its JSON form; raises InvalidDataError."""
    message: Message = _read(data, Message)
    return message


def context_from_dict(data: Any) -> AgentContext:
    """A context from its JSON form; raises InvalidDataError."""
    context: AgentContext = _read(data, AgentContext)
    return context


def turn_from_dict(data: Any) -> ScriptedTurn:
    """A turn from its JSON form: an assistant message when it has a role, else a failed turn.

    Raises InvalidDataError.
    """
    has_role = isinstance(data, dict) and "role" in data
    turn: ScriptedTurn = _read(data, AssistantMessage if has_role else FailedTurn)
    return turn


def event_from_dict(data: Any) -> ModelEvent:
    """An event from its JSON form; raises InvalidDataError."""
    event: ModelEvent = _read(data, ModelEvent)
    return event


def _read(data: Any, kind: Any) -> Any:
    try:
        return msgspec.convert(data, kind)
    except msgspec.ValidationError as error:
        place = re.search(r" - at (?:`key` in )?`([^`]*)`$", str(error))
        what = str(error)[: place.start()] if place else str(error)
        path = place[1] if place else "$"
        hint = ". Read the text with json.loads first" if isinstance(data, str) else ""
        raise InvalidDataError(f"{path}: {what[:1].lower()}{what[1:]}{hint}") from None
    except UnicodeEncodeError as error:
        raise InvalidDataError(f"$: expected Unicode text, got {error.object!r}") from None
