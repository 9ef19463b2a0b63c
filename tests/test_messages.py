"""Values: immutable, equal by content, and readable (chapter 02)."""

import copy
import pickle
from typing import Any

import pytest

from scripted_model import (
    AgentContext,
    AssistantMessage,
    ContentError,
    FailedTurn,
    ScriptedModel,
    TextContent,
    ToolCall,
    ToolResultMessage,
    Usage,
    UserMessage,
    assistant_message,
    characters,
    project,
    text,
    text_of,
    tool_call,
    user_message,
)

READ = tool_call("c1", "read", {"path": "README.md"})


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (text("先看"), "text('先看')"),
        (READ, "tool_call('c1', 'read', {'path': 'README.md'})"),
        (tool_call("c1", "f", [], "[ ]"), "tool_call('c1', 'f', [], raw_arguments='[ ]')"),
        (Usage(1, 2, 3), "Usage(1, 2, 3)"),
        (user_message("请求一"), "user_message('请求一')"),
        (user_message([text("a"), text("b")]), "user_message([text('a'), text('b')])"),
        (assistant_message([text("a")]), "assistant_message([text('a')])"),
        (assistant_message([READ], "toolUse"), f"assistant_message([{READ!r}], 'toolUse')"),
        (
            assistant_message([], "error", error_message="rate limited", model="m"),
            "assistant_message([], 'error', error_message='rate limited', model='m')",
        ),
        (
            ToolResultMessage("c1", "read", [text("a")], True),
            "ToolResultMessage('c1', 'read', [text('a')], is_error=True)",
        ),
        (AgentContext([user_message("请求一")]), "AgentContext([user_message('请求一')])"),
        (FailedTurn("error", "boom"), "FailedTurn('error', 'boom')"),
        (FailedTurn("error", "boom", "正在"), "FailedTurn('error', 'boom', '正在')"),
        (
            ScriptedModel([assistant_message([READ])]),
            "<ScriptedModel: 0 of 1 turn played, 0 requests>",
        ),
    ],
)
def test_a_repr_says_what_was_said(value: Any, said: str) -> None:
    """A repr reads like the code that makes the value, without every default."""
    assert repr(value) == said


def test_a_repr_fits_one_line_and_shows_no_address() -> None:
    """Long content is cut in the middle; an object in the arguments shows no memory address."""
    long = assistant_message([text("abc\n" * 100_000)] * 100)
    odd = tool_call("c1", "f", {"x": object()})
    for value in (long, odd, AgentContext([long] * 1000)):
        assert "\n" not in repr(value)
        assert " at 0x" not in repr(value)
        assert len(repr(value)) < 2000
    for event in project(long, chunk=characters):
        assert len(repr(event)) < 2000
        if event.type == "text_delta" and event.content_index == 2:
            break
    assert len(repr(FailedTurn("error", "x" * 100_000, "y" * 100_000))) < 300
    assert "at 0x" in repr(text("crash at 0xdeadbeef"))
    assert "at 0x" in repr(tool_call("c1", "f", {"where": "jump at 0x1f"}))


def test_equal_content_means_equal_values() -> None:
    """Values compare by what they say, hash alike, and differ when they say something else."""
    assert assistant_message([text("a"), READ]) == AssistantMessage((text("a"), READ))
    assert hash(assistant_message([text("a")])) == hash(assistant_message([text("a")]))
    assert user_message("a") != user_message("b")
    assert text("a") != user_message("a")


@pytest.mark.parametrize(
    ("value", "field"),
    [
        (text("a"), "text"),
        (READ, "name"),
        (READ, "arguments"),
        (user_message("a"), "content"),
        (assistant_message([text("a")]), "content"),
        (next(project(assistant_message([]))), "partial"),
        (next(project(assistant_message([]))).partial, "content"),
    ],
)
def test_no_field_can_be_set(value: Any, field: str) -> None:
    """A value stays what it is: its fields cannot be assigned."""
    with pytest.raises(AttributeError):
        setattr(value, field, None)


def test_the_callers_arguments_do_not_reach_into_the_message() -> None:
    """What a caller does later to the dict that it passed does not change the tool call."""
    mine = {"paths": ["a"]}
    call = tool_call("c1", "read", mine)
    result = ToolResultMessage("c1", "read", (), details=mine)
    mine["paths"].append("b")
    assert call.arguments == {"paths": ["a"]}
    assert result.details == {"paths": ["a"]}


def test_every_look_at_arguments_gives_a_copy_of_your_own() -> None:
    """A tool may change the arguments that it got; the message stays as it was."""
    call = tool_call("c1", "read", {"paths": ["a"], "more": ({},)})
    looked = call.arguments
    looked["paths"].append("b")
    looked["more"][0]["x"] = 1
    del looked["more"]
    assert call.arguments == {"paths": ["a"], "more": ({},)}


def test_data_too_deep_to_copy_is_not_kept() -> None:
    """Rather than sharing it with the caller, the call holds what is no JSON."""
    deep: list[Any] = []
    leaf = deep
    for _ in range(100_000):
        leaf.append([])
        leaf = leaf[0]
    call = tool_call("c1", "f", deep)
    assert "nested too deeply" in repr(call)


def test_a_list_of_content_becomes_a_tuple() -> None:
    """The caller's list is not kept."""
    blocks = [text("a")]
    message = AssistantMessage(blocks)
    blocks.append(text("b"))
    assert message.content == (text("a"),)


@pytest.mark.parametrize("value", [READ, assistant_message([text("a"), READ]), user_message("a")])
def test_values_can_be_copied_and_pickled(value: Any) -> None:
    """copy, deepcopy and pickle give an equal value."""
    assert copy.copy(value) == copy.deepcopy(value) == pickle.loads(pickle.dumps(value)) == value


def test_text_of_joins_the_text_blocks() -> None:
    """Tool calls are left out, blocks are joined by a newline, the message is not changed."""
    message = assistant_message([text("先看"), READ, text("第二轮")])
    before = copy.deepcopy(message)
    assert text_of(message) == "先看\n第二轮"
    assert text_of(user_message("请求一")) == "请求一"
    assert text_of(assistant_message([])) == ""
    assert message == before


def test_types_and_roles_can_be_asked_for() -> None:
    """A block has a `type` and a message a `role`, as in the JSON form."""
    assert (text("a").type, READ.type) == ("text", "toolCall")
    assert (user_message("a").role, assistant_message([]).role) == ("user", "assistant")
    assert ToolResultMessage("c1", "read", ()).role == "toolResult"


CONTENT_MISTAKES: dict[str, tuple[Any, str]] = {
    "a string": ("先看", "Write [text('先看')]."),
    "one block": (text("先看"), "Write [text('先看')]."),
    "a string in the list": ([text("a"), "先看"], "content[1] is the string '先看'"),
    "a dict in the list": ([{"type": "text"}], "content[0] is a value of type dict"),
    "a dict": ({"text": "a"}, "content is a list of blocks, not a value of type dict"),
    "nothing": (None, "content is a list of blocks, not a value of type NoneType"),
}


@pytest.mark.parametrize(
    ("content", "words"), CONTENT_MISTAKES.values(), ids=CONTENT_MISTAKES.keys()
)
@pytest.mark.parametrize("make", [assistant_message, AssistantMessage, UserMessage])
def test_content_of_the_wrong_shape_tells_what_to_write(
    make: Any, content: Any, words: str
) -> None:
    """A string, a single block, or a list with something else in it is refused in words."""
    with pytest.raises(ContentError) as caught:
        make(content)
    assert words in str(caught.value)


def test_a_user_message_takes_no_tool_call() -> None:
    """Only a model asks for tools."""
    with pytest.raises(ContentError, match=r"content\[0\] is a value of type ToolCall"):
        UserMessage([READ])


def test_helpers_refuse_what_is_no_text_and_no_message() -> None:
    """text() takes a string; text_of() takes a message."""
    with pytest.raises(ContentError, match="text\\(\\) takes one string"):
        text(7)
    with pytest.raises(ContentError, match="text_of\\(\\) takes a message"):
        text_of("先看")


def test_content_of_blocks_only_is_accepted() -> None:
    """Lists and tuples of blocks are fine, the empty one too."""
    assert assistant_message([]).content == ()
    assert isinstance(assistant_message((text("a"),)).content[0], TextContent)
    assert isinstance(assistant_message([READ]).content[0], ToolCall)
