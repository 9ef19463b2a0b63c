"""Messages: what a user, a model and its tools say to each other (used from chapter 02 on).

All are immutable values: equal content means equal values, and nothing changes one after it
was made. `wire` has their JSON form.

>>> message = assistant_message([text("先看"), tool_call("c1", "read", {"path": "README.md"})])
>>> message
assistant_message([text('先看'), tool_call('c1', 'read', {'path': 'README.md'})])
>>> text_of(message)
'先看'
"""

import re
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Literal, TypeVar

from msgspec import Struct, field

from scripted_model.errors import ContentError, ContextError

StopReason = Literal["stop", "length", "toolUse", "error", "aborted"]
"""Why a message ended. The last two are failures, and still a message."""

T = TypeVar("T")


class Value(Struct, frozen=True, rename="camel", omit_defaults=True, forbid_unknown_fields=True):
    """An immutable value. Its JSON form is in camelCase and leaves out absent optionals."""


def always_written(default: T) -> T:
    """A default that the JSON form writes out; a plain default marks an optional."""
    written: T = field(default_factory=lambda: default)
    return written


def own_copy(value: Any) -> Any:
    """JSON-like data again, with no dict and no list that `value` has too.

    What is no dict, list or tuple is kept as it is. Of data that contains itself, or is nested
    too deeply to be copied, a `TooDeep` is left: a model that plays it says that it is no JSON.
    """
    try:
        return _copied(value)
    except RecursionError:
        return TooDeep()


class TooDeep:
    """Stands for data that cannot be copied. It is no JSON."""

    def __repr__(self) -> str:
        return "<data that contains itself, or is nested too deeply>"


def _copied(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _copied(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_copied(item) for item in value]
    if isinstance(value, tuple):
        return tuple(map(_copied, value))
    return value


class OwnCopy:
    """A field with JSON data in it, copied when the value is made and again at every look.

    Anyone can change a dict, so nobody gets the one inside the message. A tool may pop from
    the arguments that it received, as it may with a real model, and the message stays as it was.
    (Only msgspec's own `asdict` and `astuple` look behind this.)
    """

    def __init__(self, owner: type, name: str, copy: Callable[[Any], Any] = own_copy) -> None:
        self._slot = getattr(owner, name)
        self._copy = copy
        setattr(owner, name, self)

    def __get__(self, value: Any, owner: type | None = None) -> Any:
        return self if value is None else self._copy(self._slot.__get__(value))

    def take_in(self, value: Any) -> None:
        self._slot.__set__(value, own_copy(self._slot.__get__(value)))


def short(value: object) -> str:
    """`repr` on one line of modest length, without the memory addresses of objects."""
    said = repr(value)
    if not isinstance(value, str):
        said = re.sub(r"(<[^<>]*) at 0x[0-9a-fA-F]+>", r"\1>", said)
    return said if len(said) <= 80 else f"{said[:38]}…{said[-38:]}"


# Content blocks


class TextContent(Value, frozen=True, tag_field="type", tag="text", gc=False):
    """A block of text."""

    text: str
    type: ClassVar[Literal["text"]] = "text"

    def __repr__(self) -> str:
        return f"text({short(self.text)})"


class ToolCall(Value, frozen=True, tag_field="type", tag="toolCall"):
    """A block that asks for a tool. The model only asks; running the tool is the caller's part.

    `arguments` is any JSON value, and every look at it gives you a copy of your own.
    `raw_arguments` is the JSON text that they were read from, where that text matters.
    """

    id: str
    name: str
    arguments: Any
    raw_arguments: str | None = None
    type: ClassVar[Literal["toolCall"]] = "toolCall"

    def __post_init__(self) -> None:
        _ARGUMENTS.take_in(self)

    def __repr__(self) -> str:
        said = f"{self.id!r}, {self.name!r}, {short(self.arguments)}"
        if self.raw_arguments is not None:
            said += f", raw_arguments={short(self.raw_arguments)}"
        return f"tool_call({said})"


_ARGUMENTS = OwnCopy(ToolCall, "arguments")

ContentBlock = TextContent | ToolCall


def _blocks(content: object, *kinds: type) -> tuple[Any, ...]:
    """`content` as a tuple of blocks of these kinds, or a ContentError that tells the fix."""
    match content:
        case list() | tuple():
            for index, block in enumerate(content):
                if not isinstance(block, kinds):
                    raise ContentError(f"content[{index}] {_not_a_block(block, kinds)}")
            return tuple(content)
        case str():
            raise ContentError(
                f"content is a list of blocks, not the string {short(content)}."
                f" Write [text({short(content)})]."
            )
        case TextContent() | ToolCall():
            raise ContentError(
                f"content is a list of blocks, even for a single one. Write [{content!r}]."
            )
        case _:
            raise ContentError(
                f"content is a list of blocks, not {_a_value(content)}. Write [text('…')]."
            )


def _not_a_block(given: object, kinds: tuple[type, ...]) -> str:
    if isinstance(given, str):
        return f"is the string {short(given)}; a block is wanted. Write text({short(given)})."
    wanted = "text('…') or tool_call(…)" if ToolCall in kinds else "text('…')"
    return f"is {_a_value(given)}; a block is wanted. Write {wanted}."


def _a_value(given: object) -> str:
    return f"a value of type {type(given).__name__}: {short(given)}"


# Messages


class Usage(Value, frozen=True, gc=False):
    """Counts of tokens; zero, unless the script says otherwise."""

    input: int = always_written(0)
    output: int = always_written(0)
    total_tokens: int = always_written(0)

    def __repr__(self) -> str:
        return f"Usage({self.input}, {self.output}, {self.total_tokens})"


class UserMessage(Value, frozen=True, tag_field="role", tag="user"):
    """What the user said. `timestamp` is in milliseconds since the epoch, here as everywhere;
    0 by default, because a trace that is the same on every run has no wall clock in it."""

    content: tuple[TextContent, ...]
    timestamp: int = always_written(0)
    role: ClassVar[Literal["user"]] = "user"

    def __post_init__(self) -> None:
        _USER_CONTENT.__set__(self, _blocks(self.content, TextContent))

    def __repr__(self) -> str:
        one = self.content[0].text if len(self.content) == 1 else None
        return f"user_message({_list_of(self.content) if one is None else short(one)})"


class AssistantMessage(Value, frozen=True, tag_field="role", tag="assistant"):
    """What the model said: blocks of content, and how it ended.

    `api` names the wire protocol that a parser downstream has to speak; it does not say where
    the data came from.
    """

    content: tuple[ContentBlock, ...]
    provider: str = always_written("scripted")
    model: str = always_written("scripted-v1")
    usage: Usage = always_written(Usage())
    stop_reason: StopReason = always_written("stop")
    error_message: str | None = None
    timestamp: int = always_written(0)
    api: str | None = None
    role: ClassVar[Literal["assistant"]] = "assistant"

    def __post_init__(self) -> None:
        _ASSISTANT_CONTENT.__set__(self, _blocks(self.content, TextContent, ToolCall))

    def __repr__(self) -> str:
        said = _list_of(self.content)
        if self.stop_reason != "stop":
            said += f", {self.stop_reason!r}"
        for name, default in _REPR_DEFAULTS.items():
            if (value := getattr(self, name)) != default:
                said += f", {name}={short(value)}"
        return f"assistant_message({said})"


class ToolResultMessage(Value, frozen=True, tag_field="role", tag="toolResult"):
    """What a tool answered. `details` is any JSON data for the caller's own use."""

    tool_call_id: str
    tool_name: str
    content: tuple[TextContent, ...]
    is_error: bool = always_written(False)
    details: Any = None
    timestamp: int = always_written(0)
    role: ClassVar[Literal["toolResult"]] = "toolResult"

    def __post_init__(self) -> None:
        _RESULT_CONTENT.__set__(self, _blocks(self.content, TextContent))
        _DETAILS.take_in(self)

    def __repr__(self) -> str:
        said = f"{self.tool_call_id!r}, {self.tool_name!r}, {_list_of(self.content)}"
        return f"ToolResultMessage({said}{', is_error=True' if self.is_error else ''})"


# A frozen value still has to take in the tuple that its content was checked into: the slots
# behind the fields can be written where the fields cannot.
_USER_CONTENT: Any = UserMessage.content
_ASSISTANT_CONTENT: Any = AssistantMessage.content
_RESULT_CONTENT: Any = ToolResultMessage.content
_DETAILS = OwnCopy(ToolResultMessage, "details")

_REPR_DEFAULTS: dict[str, object] = {
    "error_message": None,
    "provider": "scripted",
    "model": "scripted-v1",
    "usage": Usage(),
    "timestamp": 0,
    "api": None,
}

Message = UserMessage | AssistantMessage | ToolResultMessage


def _list_of(items: Sequence[object], most: int = 4) -> str:
    """The reprs of a few items in brackets, and how many are left out."""
    said = [repr(item) for item in items[:most]]
    if len(items) > most:
        said.append(f"… {len(items) - most} more")
    return f"[{', '.join(said)}]"


class AgentContext(Struct, rename="camel", omit_defaults=True, forbid_unknown_fields=True):
    """What a model is called with: the one thing here that is no value, but the caller's own.

    `messages` is a list, for the caller to append to as the conversation goes on.
    `tools` describes the tools that the model may ask for, as JSON data; a scripted model
    records it and does nothing else with it.
    """

    messages: list[Message]
    tools: list[Any] | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.tools, list | None):
            raise ContextError(
                f"tools is a list, or None, not {_a_value(self.tools)}."
                " All messages go into the first list: AgentContext([message, message])."
            )
        if not isinstance(self.messages, list):
            raise ContextError(
                f"messages is a list, not {_a_value(self.messages)}."
                " Write AgentContext([user_message('…')])."
            )

    def __repr__(self) -> str:
        return f"AgentContext({_list_of(self.messages)})"


# Helpers: the short way to write a script


def text(said: str) -> TextContent:
    """A text block."""
    if not isinstance(said, str):
        raise ContentError(f"text() takes one string, not {_a_value(said)}.")
    return TextContent(said)


def tool_call(id: str, name: str, arguments: Any, raw_arguments: str | None = None) -> ToolCall:
    """A tool-call block; `arguments` is any JSON value, most often a dict."""
    return ToolCall(id, name, arguments, raw_arguments)


def user_message(content: str | Sequence[TextContent], timestamp: int = 0) -> UserMessage:
    """A user message of one text, or of several text blocks."""
    blocks = (text(content),) if isinstance(content, str) else content
    return UserMessage(blocks, timestamp)  # type: ignore[arg-type]


def assistant_message(
    content: Sequence[ContentBlock], stop_reason: StopReason = "stop", **fields: Any
) -> AssistantMessage:
    """An assistant message; `fields` are those of `AssistantMessage`.

    Raises ContentError when `content` is a string or a single block.

    >>> assistant_message([text("正在")], "error", error_message="rate limited")
    assistant_message([text('正在')], 'error', error_message='rate limited')
    >>> assistant_message("先看")
    Traceback (most recent call last):
    scripted_model.errors.ContentError: content is a list of blocks, not the string '先看'. \
Write [text('先看')].
    """
    return AssistantMessage(content, stop_reason=stop_reason, **fields)  # type: ignore[arg-type]


def text_of(message: Message) -> str:
    """The text blocks of a message, joined by a newline; tool calls are left out."""
    if not isinstance(message, Message):
        raise ContentError(f"text_of() takes a message, not {_a_value(message)}.")
    return "\n".join(block.text for block in message.content if isinstance(block, TextContent))
