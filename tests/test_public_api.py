"""What a user may import, and what importing costs."""

import inspect

import scripted_model


def test_the_public_names() -> None:
    """Adding or losing a name is a decision, not an accident."""
    assert sorted(scripted_model.__all__) == scripted_model.__all__
    assert set(scripted_model.__all__) == {
        *("AgentContext", "AssistantMessage", "ContentBlock", "Message", "StopReason"),
        *("TextContent", "ToolCall", "ToolResultMessage", "Usage", "UserMessage"),
        *("assistant_message", "text", "text_of", "tool_call", "user_message"),
        *("Cursor", "snapshot", "EventStream", "SimulatedResponseStream", "generate_mock_reply"),
        *("AssistantMessageEventStream", "Done", "Error", "ModelEvent", "Start", "TextDelta"),
        *("ToolCallDelta", "ToolCallEnd", "characters", "project", "whole", "words"),
        *("AbortSignal", "Model", "ModelStream", "FailedTurn", "ScriptedTurn", "ScriptedModel"),
        *("context_from_dict", "event_from_dict", "message_from_dict", "to_dict"),
        "turn_from_dict",
        *("ContentError", "ContextError", "InvalidDataError", "NoResultError"),
        *("NoRunningLoopError", "NotAwaitedError", "PlainForError", "ScriptError"),
        *("ScriptedModelError", "UnhandledEventError", "UnplayedTurnsError"),
    }


def test_every_public_name_is_documented() -> None:
    """Each class and function says what it gives."""
    for name in scripted_model.__all__:
        thing = getattr(scripted_model, name)
        if inspect.isclass(thing) or inspect.isfunction(thing):
            assert (thing.__doc__ or "").strip(), name
