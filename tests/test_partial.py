"""A message as events, and what it has grown to after each (chapters 05 and 07)."""

import copy
import json
import pickle
from itertools import repeat
from typing import Any

import msgspec
import pytest
from hypothesis import given

from scripted_model import (
    AssistantMessage,
    Done,
    ScriptError,
    TextContent,
    ToolCall,
    assistant_message,
    characters,
    event_from_dict,
    project,
    text,
    to_dict,
    tool_call,
    whole,
    words,
)
from tests.scripts import BLOCKS, CHUNKS, MESSAGES, TEXTS

READ = tool_call("c1", "read", {"path": "README.md"})


def fold(events: list[Any]) -> AssistantMessage:
    """The message that the events tell, from their deltas alone, without any partial."""
    content: list[Any] = []
    for event in events:
        match event.type:
            case "text_delta":
                if event.content_index == len(content):
                    content.append(text(""))
                said = content[event.content_index].text + event.delta
                content[event.content_index] = text(said)
            case "toolcall_delta":
                if event.content_index == len(content):
                    content.append("")
                content[event.content_index] += event.delta
            case "toolcall_end":
                content[event.content_index] = event.tool_call
    final = events[-1].message if events[-1].type == "done" else events[-1].error
    return msgspec.structs.replace(final, content=tuple(content))


@given(MESSAGES, CHUNKS)
def test_the_deltas_of_a_block_concatenate_to_it(message: AssistantMessage, chunk: Any) -> None:
    """Under every chunk: a text block to its text, a tool call to the JSON of its arguments."""
    deltas = [""] * len(message.content)
    for event in project(message, chunk):
        if event.type == "text_delta" or event.type == "toolcall_delta":
            deltas[event.content_index] += event.delta
    for block, said in zip(message.content, deltas, strict=True):
        if isinstance(block, TextContent):
            assert said == block.text
        elif block.raw_arguments is not None:
            assert said == block.raw_arguments
        else:
            assert json.loads(said) == block.arguments


@given(MESSAGES, CHUNKS)
def test_folding_the_events_gives_the_final_message(message: AssistantMessage, chunk: Any) -> None:
    """Nothing of the message is lost or added on the way, empty blocks included."""
    events = list(project(message, chunk))
    assert fold(events) == message
    assert (events[-1].message if events[-1].type == "done" else events[-1].error) == message


@given(MESSAGES, CHUNKS)
def test_exactly_one_event_is_terminal_and_it_is_the_last(
    message: AssistantMessage, chunk: Any
) -> None:
    """`done` or `error`, told by the stop reason."""
    types = [event.type for event in project(message, chunk)]
    assert types[0] == "start"
    assert [t for t in types if t in ("done", "error")] == types[-1:]
    assert (types[-1] == "error") == (message.stop_reason in ("error", "aborted"))


def length(partial: AssistantMessage) -> list[Any]:
    """How far a partial has got: a list that only grows, in the order of lists."""
    return [
        (0, len(block.text))
        if isinstance(block, TextContent)
        else (block.raw_arguments is not None and block.arguments == {}, 0)
        for block in partial.content
    ]


@given(MESSAGES, CHUNKS)
def test_partials_grow_and_end_in_the_message(message: AssistantMessage, chunk: Any) -> None:
    """Each partial extends the one before: finished blocks stay, the open one gets longer."""
    before: tuple[Any, ...] = ()
    for event in project(message, chunk):
        if event.type == "done" or event.type == "error":
            break
        now = event.partial.content
        assert event.partial.stop_reason == "stop"
        assert now[: len(before) - 1] == before[:-1]
        assert len(before) <= len(now) <= len(before) + 1
        if before and len(now) == len(before):
            old, new = before[-1], now[-1]
            if isinstance(new, TextContent):
                assert new.text.startswith(old.text)
            elif event.type == "toolcall_delta":
                assert new.raw_arguments.startswith(old.raw_arguments)
        before = now
    assert before == message.content


@given(MESSAGES, CHUNKS)
def test_a_partial_never_changes(message: AssistantMessage, chunk: Any) -> None:
    """What was seen while the events came is what is seen when all have been kept."""
    kept, seen = [], []
    for event in project(message, chunk):
        kept.append(event)
        seen.append(to_dict(event))
    assert [to_dict(event) for event in kept] == seen


@given(BLOCKS, CHUNKS)
def test_a_block_says_its_delta_in_the_partial_after_it(block: Any, chunk: Any) -> None:
    """The partial of an event holds what this event added, and not yet what the next will."""
    so_far = ""
    for event in project(assistant_message([text("first"), block]), chunk):
        if event.type in ("text_delta", "toolcall_delta") and event.content_index == 1:
            so_far += event.delta
            first, now = event.partial.content
            assert first == text("first")
            said = now.text if isinstance(now, TextContent) else now.raw_arguments
            assert said == so_far


def test_a_tool_call_is_open_until_its_end() -> None:
    """While it streams it has arguments {} and the JSON so far; then the finished call."""
    message = assistant_message([text("先看"), READ], "toolUse")
    _, said, delta, end, done = project(message)
    assert said.partial.content == (text("先看"),)
    assert delta.partial.content == (
        text("先看"),
        ToolCall("c1", "read", {}, '{"path":"README.md"}'),
    )
    assert (delta.content_index, end.content_index) == (1, 1)
    assert end.tool_call == READ
    assert end.partial.content == (text("先看"), READ)
    assert done.reason == "toolUse"


def test_a_consumer_that_changes_what_it_got_changes_nothing_else() -> None:
    """No event shares arguments with another, with a partial or with the message."""
    message = assistant_message([READ], "toolUse")
    events = list(project(message))
    before = [to_dict(event) for event in events]
    for event in events:
        if event.type == "toolcall_end":
            event.tool_call.arguments.clear()
        final = event.message if event.type == "done" else event.partial
        for block in final.content:
            block.arguments["path"] = "changed"
    assert [to_dict(event) for event in events] == before
    assert message.content == (READ,)


@pytest.mark.parametrize(
    "arguments", [float("nan"), [float("inf")], {"x": {1, 2}}, object(), {(1, 2): 3}]
)
def test_arguments_that_are_no_json_cannot_be_projected(arguments: Any) -> None:
    """The blocks before are; then a ScriptError names the block and the tool."""
    events = project(assistant_message([text("a"), tool_call("c1", "read", arguments)]))
    assert [next(events).type, next(events).type] == ["start", "text_delta"]
    with pytest.raises(ScriptError, match=r"content\[1\]: the arguments of tool call 'read'"):
        next(events)


def test_arguments_that_contain_themselves_cannot_be_projected() -> None:
    """A cycle is no JSON; making the tool call does not fail, playing it does."""
    cycle: list[Any] = []
    cycle.append(cycle)
    events = project(assistant_message([tool_call("c1", "read", cycle)]))
    next(events)
    with pytest.raises(ScriptError, match="are no JSON"):
        next(events)


@pytest.mark.parametrize(
    ("chunk", "at"),
    [
        (lambda said: [said[:1]], 1),
        (lambda said: [said, "more"], 5),
        (lambda said: [said.upper()], 0),
        (lambda said: [], 0),
    ],
)
def test_a_chunk_has_to_give_the_text(chunk: Any, at: int) -> None:
    """Pieces that do not add up to the text are refused, with the place."""
    with pytest.raises(ScriptError, match=f"do not add up.*at character {at} of 5"):
        list(project(assistant_message([text("hello")]), chunk))


@pytest.mark.parametrize(
    ("chunk", "words_of_it"),
    [
        (lambda said: None, "chunk raised TypeError"),
        (lambda said: [1, 2], "chunk raised TypeError"),
        (lambda said: 1 / 0, "chunk raised ZeroDivisionError"),
        (repeat, "do not add up"),
        (lambda said: repeat(""), "do not add up"),
    ],
)
def test_a_chunk_that_gives_no_strings_or_no_end_is_told_so(chunk: Any, words_of_it: str) -> None:
    """The words name `chunk`; an endless one does not hang."""
    with pytest.raises(ScriptError, match=words_of_it):
        list(project(assistant_message([text("hello")]), chunk))


@given(TEXTS)
def test_the_ready_chunks_concatenate_to_the_text(said: str) -> None:
    """whole, characters and words cut without loss."""
    for chunk in (whole, characters, words):
        assert "".join(chunk(said)) == said


def test_words_keep_the_space_before_them() -> None:
    """As a model's tokens do."""
    assert list(words("one two  three ")) == ["one", " two", "  three", " "]


def test_an_empty_block_has_one_delta() -> None:
    """It is a block; its delta is the empty string, under every chunk."""
    for chunk in (whole, characters, words):
        types = [event.type for event in project(assistant_message([text("")]), chunk)]
        assert types == ["start", "text_delta", "done"]


def test_a_partial_is_an_assistant_message() -> None:
    """It compares, hashes, copies, pickles, prints and travels like an ordinary one."""
    partial: Any = list(project(assistant_message([text("先看")]), characters))[1].partial
    ordinary = assistant_message([text("先")])
    assert isinstance(partial, AssistantMessage)
    assert partial == ordinary
    assert ordinary == partial
    assert partial != assistant_message([text("先看")])
    assert (partial != ordinary) is False
    assert (ordinary != partial) is False
    changed = msgspec.structs.replace(partial, content=(text("new"),), stop_reason="aborted")
    assert changed == assistant_message([text("new")], "aborted")
    assert type(copy.copy(partial)) is AssistantMessage
    assert to_dict(Done("stop", partial))["message"] == to_dict(ordinary)
    assert hash(partial) == hash(ordinary)
    assert repr(partial) == repr(ordinary)
    assert isinstance(partial.content, tuple)
    for again in (copy.copy(partial), copy.deepcopy(partial), pickle.loads(pickle.dumps(partial))):
        assert again == ordinary
    assert to_dict(partial) == to_dict(ordinary)


def test_no_encoder_writes_a_partial_without_its_content() -> None:
    """msgspec on its own refuses a partial; to_dict writes it out."""
    event = next(project(assistant_message([text("先看")])))
    with pytest.raises(TypeError):
        msgspec.json.encode(event)
    assert event_from_dict(to_dict(event)) == event


@given(MESSAGES, CHUNKS)
def test_an_event_read_back_is_the_same_event(message: AssistantMessage, chunk: Any) -> None:
    """to_dict and event_from_dict are inverse."""
    for event in project(message, chunk):
        assert event_from_dict(to_dict(event)) == event
