"""The JSON form of the values."""

from datetime import date
from typing import Any

import pytest
from hypothesis import given

from scripted_model import (
    AgentContext,
    InvalidDataError,
    ToolResultMessage,
    assistant_message,
    context_from_dict,
    event_from_dict,
    message_from_dict,
    text,
    to_dict,
    tool_call,
    turn_from_dict,
    user_message,
)
from tests.scripts import TURNS


def test_absent_optionals_are_left_out_and_other_defaults_written() -> None:
    """camelCase names; null arguments are a value, not an absence."""
    assert to_dict(assistant_message([tool_call("c1", "f", None)])) == {
        "role": "assistant",
        "content": [{"type": "toolCall", "id": "c1", "name": "f", "arguments": None}],
        "provider": "scripted",
        "model": "scripted-v1",
        "usage": {"input": 0, "output": 0, "totalTokens": 0},
        "stopReason": "stop",
        "timestamp": 0,
    }
    assert to_dict(ToolResultMessage("c1", "read", (text("a"),), details={"size": None})) == {
        "role": "toolResult",
        "toolCallId": "c1",
        "toolName": "read",
        "content": [{"type": "text", "text": "a"}],
        "isError": False,
        "details": {"size": None},
        "timestamp": 0,
    }
    assert to_dict(AgentContext([])) == {"messages": []}
    assert to_dict(AgentContext([], [{"name": "read"}])) == {
        "messages": [],
        "tools": [{"name": "read"}],
    }


@given(TURNS)
def test_a_turn_read_back_is_the_same_turn(turn: Any) -> None:
    """to_dict and turn_from_dict are inverse, and the form is plain dicts and lists."""
    data = to_dict(turn)

    def plain(value: Any) -> bool:
        if type(value) is dict:
            return all(type(key) is str and plain(item) for key, item in value.items())
        if type(value) is list:
            return all(map(plain, value))
        return value is None or type(value) in (str, int, float, bool)

    assert plain(data)
    assert turn_from_dict(data) == turn


def test_the_form_shares_nothing_with_the_value() -> None:
    """Changing the dict changes no message."""
    message = assistant_message([tool_call("c1", "f", {"x": [1]})])
    data = to_dict(message)
    data["content"][0]["arguments"]["x"].append(2)
    assert message.content[0].arguments == {"x": [1]}
    again = message_from_dict(data)
    data["content"][0]["arguments"]["x"].append(3)
    assert again.content[0].arguments == {"x": [1, 2]}


USER = to_dict(user_message("a"))
BAD_DATA: dict[str, tuple[Any, Any, str]] = {
    "a number as text": (
        message_from_dict,
        {**USER, "content": [{"type": "text", "text": 7}]},
        "$.content[0].text: expected `str`, got `int`",
    ),
    "no content": (message_from_dict, {"role": "user"}, "$: object missing required field"),
    "an unknown role": (message_from_dict, {"role": "robot"}, "$.role: invalid value 'robot'"),
    "no role": (message_from_dict, {}, "$: object missing required field `role`"),
    "a string": (message_from_dict, "hello", "$: expected `object`, got `str`"),
    "nothing": (message_from_dict, None, "$: expected `object`, got `null`"),
    "a stop reason": (
        turn_from_dict,
        {"role": "assistant", "content": [], "stopReason": "finished"},
        "$.stopReason: invalid enum value 'finished'",
    ),
    "a block without arguments": (
        turn_from_dict,
        {"role": "assistant", "content": [{"type": "toolCall", "id": "c1", "name": "f"}]},
        "$.content[0]: object missing required field `arguments`",
    ),
    "a user as a turn": (turn_from_dict, USER, "$.role: "),
    "a failed turn that did not fail": (
        turn_from_dict,
        {"stopReason": "stop", "errorMessage": "boom"},
        "$.stopReason: ",
    ),
    "a list as a turn": (turn_from_dict, [], "$: expected `object`, got `array`"),
    "messages that are none": (context_from_dict, {"messages": {}}, "$.messages: expected `array`"),
    "a bad message in a context": (
        context_from_dict,
        {"messages": [USER, {"role": "user", "content": "a"}]},
        "$.messages[1].content: expected `array`, got `str`",
    ),
    "a Python name": (
        message_from_dict,
        {"role": "assistant", "content": [], "stop_reason": "error"},
        "$: object contains unknown field `stop_reason`",
    ),
    "a key that is no string": (message_from_dict, {**USER, 7: 1}, "$: expected `str`"),
    "a lone surrogate": (message_from_dict, {"role": "\ud800"}, "$: expected Unicode text"),
    "a path in a value": (
        message_from_dict,
        {"role": "x - at `$.y`"},
        "$.role: invalid value 'x - at `$.y`'",
    ),
    "JSON text": (message_from_dict, "{}", "$: expected `object`, got `str`. Read the text with"),
    "an unknown event": (event_from_dict, {"type": "begin"}, "$.type: invalid value 'begin'"),
    "an event without partial": (
        event_from_dict,
        {"type": "text_delta", "contentIndex": 0, "delta": "a"},
        "$: object missing required field `partial`",
    ),
}


@pytest.mark.parametrize(("read", "data", "words"), BAD_DATA.values(), ids=BAD_DATA.keys())
def test_bad_data_is_refused_with_the_path_and_what_was_expected(
    read: Any, data: Any, words: str
) -> None:
    """One clear error, of one class."""
    with pytest.raises(InvalidDataError) as caught:
        read(data)
    assert str(caught.value).startswith(words)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("a string", "$: expected a message, context, turn or event, got `str`"),
        (tool_call("c1", "f", float("nan")), "ToolCall holds what is no JSON"),
        (tool_call("c1", "f", object()), "ToolCall holds what is no JSON"),
        (tool_call("c1", "f", b"bytes"), "ToolCall holds what is no JSON"),
        (tool_call("c1", "f", [date(2026, 1, 1)]), "ToolCall holds what is no JSON"),
    ],
)
def test_what_has_no_json_form_is_refused(value: Any, words: str) -> None:
    """Not written as null, and not with a foreign error."""
    with pytest.raises(InvalidDataError) as caught:
        to_dict(value)
    assert words in str(caught.value)
