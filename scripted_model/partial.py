"""Partial: what has the message grown to after this event? (chapters 05 and 07)

A finished message is projected to the events of a stream that could have produced it. Each
event has a partial message, and no partial is a copy: it is a *place* in the finished message
(how many blocks, how much of the next one), and its content is cut from there at the look.
So n events take memory for n places, and a partial can neither change nor show the future.

>>> from scripted_model.messages import assistant_message, text
>>> for event in project(assistant_message([text("先看")]), chunk=characters):
...     print(event)
Start()
TextDelta(content_index=0, delta='先')
TextDelta(content_index=0, delta='看')
Done(reason='stop', message=assistant_message([text('先看')]))
"""

import functools
import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, TypeVar

from msgspec.structs import replace

from scripted_model.errors import ScriptError
from scripted_model.events import (
    Done,
    Error,
    ModelEvent,
    Start,
    TextDelta,
    ToolCallDelta,
    ToolCallEnd,
)
from scripted_model.messages import (
    AssistantMessage,
    ContentBlock,
    Message,
    TextContent,
    ToolCall,
)

Chunk = Callable[[str], Iterable[str]]
"""Cuts a string into strings that concatenate to it."""


def whole(said: str) -> Iterable[str]:
    """Do not cut: one delta a block."""
    return (said,)


def characters(said: str) -> Iterable[str]:
    """Cut into single characters (code points: an emoji of several falls apart on the way)."""
    return said


def words(said: str) -> Iterable[str]:
    """Cut into words, each with the white space before it."""
    return re.findall(r"\s*\S+|\s+", said)


_CUT_AT_THE_LOOK: Any = ...
"""Stands where a partial has its content: no encoder takes it, so none leaves the content out."""

_CONTENT: Any = AssistantMessage.content


class Partial(AssistantMessage, frozen=True, gc=False):
    """An assistant message in mid-stream: the finished blocks, and one block open up to `end`.

    Copied or pickled it becomes an ordinary message. (`gc=False`: it can be in no cycle, so the
    garbage collector need not visit each partial of a long stream.)
    """

    _blocks: tuple[ContentBlock, ...] = ()
    _count: int = 0
    _open: ContentBlock | None = None
    _end: int = 0

    @property  # type: ignore[misc]  # a field of the base, computed here
    def content(self) -> tuple[ContentBlock, ...]:
        if (said := _CONTENT.__get__(self)) is not _CUT_AT_THE_LOOK:
            return tuple(said)  # other content, which `replace` has brought
        finished = self._blocks[: self._count]
        if self._open is None:
            return finished
        return (*finished, _up_to(self._end, self._open))

    def __post_init__(self) -> None:
        """Nothing to check: the finished message was."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AssistantMessage) and as_message(self) == as_message(other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(as_message(self))

    def __copy__(self) -> AssistantMessage:
        return as_message(self)

    def __reduce__(self) -> Any:
        return as_message(self).__reduce__()


M = TypeVar("M", bound=Message)


def as_message(message: M) -> M | AssistantMessage:
    """The message with its content written out, where it is a partial one."""
    if type(message) is not Partial:
        return message
    return AssistantMessage(*(getattr(message, f) for f in AssistantMessage.__struct_fields__))


def _up_to(end: int, block: ContentBlock) -> ContentBlock:
    if isinstance(block, TextContent):
        return TextContent(block.text[:end])
    assert block.raw_arguments is not None
    return replace(block, raw_arguments=block.raw_arguments[:end])


def project(message: AssistantMessage, chunk: Chunk = whole) -> Iterator[ModelEvent]:
    """The events of a stream that ends in `message`.

    `start`; then block by block the deltas, and `toolcall_end` after a tool call; then `done`,
    or `error` when the message is a failed one. Every block has at least one delta.

    Raises ScriptError, when it comes to that block, for arguments that are no JSON and for a
    `chunk` whose pieces are not the text.
    """
    blocks = message.content
    # A place in the message: only the last three fields differ from one partial to the next.
    partial = functools.partial(
        Partial, _CUT_AT_THE_LOOK, message.provider, message.model, message.usage, "stop",
        message.error_message, message.timestamp, message.api, blocks,
    )  # fmt: skip

    yield Start(partial(0))
    for index, block in enumerate(blocks):
        end = 0
        if block.type == "text":
            for delta in _pieces(block.text, chunk, index):
                end += len(delta)
                yield TextDelta(index, delta, partial(index, block, end))
        else:
            raw = _raw_arguments(block, index)
            unfinished = ToolCall(block.id, block.name, {}, raw)
            for delta in _pieces(raw, chunk, index):
                end += len(delta)
                yield ToolCallDelta(index, delta, partial(index, unfinished, end))
            yield ToolCallEnd(index, block, partial(index + 1))
    yield ending(message)


def ending(message: AssistantMessage) -> Done | Error:
    """The terminal event of a message: `error` for a failed one, else `done`."""
    if message.stop_reason == "error" or message.stop_reason == "aborted":
        return Error(message.stop_reason, message)
    return Done(message.stop_reason, message)


_compact_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def _raw_arguments(call: ToolCall, index: int) -> str:
    if call.raw_arguments is not None:
        return call.raw_arguments
    try:
        return _compact_json.encode(call.arguments)
    except (TypeError, ValueError, RecursionError) as error:
        raise ScriptError(
            f"content[{index}]: the arguments of tool call {call.name!r} are no JSON: {error}"
        ) from error


def _pieces(said: str, chunk: Chunk, index: int) -> Sequence[str]:
    if not said:
        return ("",)  # an empty block is a block: it has its delta too
    try:
        # No honest chunk has more pieces than this, and one without an end is stopped by it.
        pieces = tuple(islice(chunk(said), 2 * len(said) + 2))
        adds_up = sum(map(len, pieces)) == len(said) and "".join(pieces) == said
    except Exception as error:
        raise ScriptError(
            f"content[{index}]: chunk raised {type(error).__name__}: {error}."
            " It is a function from a string to strings, such as `words`."
        ) from error
    if not adds_up:
        end = 0
        for piece in pieces:
            if not said.startswith(piece, end):
                break
            end += len(piece)
        raise ScriptError(
            f"content[{index}]: chunk gave pieces that do not add up to the text;"
            f" they part at character {end} of {len(said)}."
        )
    return pieces
