"""What did the model see when it was called? (chapter 02)"""

from typing import Any

import pytest

from scripted_model import (
    AgentContext,
    ContextError,
    EventStream,
    assistant_message,
    snapshot,
    text,
    to_dict,
    tool_call,
    user_message,
)


def test_later_messages_do_not_reach_a_snapshot() -> None:
    """Appending, removing and replacing messages leaves the snapshot as it was."""
    context = AgentContext([user_message("请求一")])
    seen = snapshot(context)
    context.messages.append(user_message("事后追加"))
    context.messages[0] = user_message("changed")
    assert seen.messages == [user_message("请求一")]
    assert len(seen.messages) == 1


def test_changes_in_nested_data_do_not_reach_a_snapshot() -> None:
    """Neither the arguments of a tool call nor a tool's description leak into it."""
    arguments, tools = {"paths": ["a"]}, [{"name": "read", "needs": ["path"]}]
    context = AgentContext([assistant_message([tool_call("c1", "read", arguments)])], tools)
    seen = snapshot(context)
    before = to_dict(seen)
    arguments["paths"].append("b")
    tools[0]["needs"].append("mode")
    context.messages[0].content[0].arguments["paths"].append("c")
    assert to_dict(seen) == before


def test_nobody_changes_a_snapshot_through_what_it_gives() -> None:
    """Every look at its messages or its tools gives a list of your own."""
    seen = snapshot(AgentContext([user_message("请求一")], [{"name": "read"}]))
    seen.messages.append(user_message("more"))
    seen.tools.clear()
    assert seen == AgentContext([user_message("请求一")], [{"name": "read"}])


def test_a_snapshot_equals_the_context_that_it_was_taken_of() -> None:
    """It compares by content, in both directions."""
    context = AgentContext([user_message("请求一")])
    seen = snapshot(context)
    assert seen == context
    assert context == seen
    context.messages.clear()
    assert context != seen
    assert seen != "something else"
    context = AgentContext([])
    assert (snapshot(context) != context) is False
    assert (context != snapshot(context)) is False


def test_the_list_of_a_context_grows_in_every_way_that_a_list_can() -> None:
    """append, +=, slices and assignment: the context is the caller's; a snapshot stays."""
    context: Any = AgentContext([])
    context.messages += [user_message("请求一")]
    context.messages[:] = [*context.messages, user_message("请求二")]
    seen: Any = snapshot(context)
    context.messages = []
    assert len(seen.messages) == 2
    with pytest.raises(AttributeError):
        seen.messages = []


def test_tools_are_a_list() -> None:
    """A second message in their place is told where messages go."""
    with pytest.raises(ContextError, match="All messages go into the first list"):
        AgentContext([user_message("a")], user_message("b"))


def unready() -> EventStream[str, str]:
    return EventStream(bool, str)


@pytest.mark.parametrize(
    ("context", "words"),
    [
        ([user_message("a")], "not with a list. Write model.stream(AgentContext("),
        ("请求一", "not with a str."),
        (
            AgentContext(["请求一"]),
            "messages[0] is no message: '请求一'. Write user_message('请求一')",
        ),
        (AgentContext([user_message("a"), text("b")]), "messages[1] is no message: text('b')."),
        (AgentContext([{"role": "user"}]), "Write message_from_dict({…})"),
        (AgentContext([unready().result()]), "write `await stream.result()`"),
    ],
)
def test_what_is_no_context_is_refused_in_words(context: Any, words: str) -> None:
    """The message tells the fix, and names the message by its index."""
    with pytest.raises(ContextError) as caught:
        snapshot(context)
    assert words in str(caught.value)


@pytest.mark.parametrize("messages", ["请求一", user_message("请求一"), None])
def test_the_messages_of_a_context_are_a_list(messages: Any) -> None:
    """A single message, a string or nothing is refused when the context is made."""
    with pytest.raises(ContextError, match="messages is a list"):
        AgentContext(messages)
