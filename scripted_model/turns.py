"""Turns: what a script is made of (chapters 06 and 08)."""

from collections.abc import Iterable
from typing import Literal, get_args

from msgspec import ValidationError, convert, to_builtins
from msgspec.structs import replace

from scripted_model.errors import ScriptError
from scripted_model.messages import (
    AssistantMessage,
    StopReason,
    TextContent,
    ToolCall,
    Value,
    short,
)
from scripted_model.partial import as_message


class FailedTurn(Value, frozen=True):
    """A turn in which the model fails, perhaps after it has said something.

    >>> FailedTurn("error", "rate limited", "正在").message()
    assistant_message([text('正在')], 'error', error_message='rate limited')
    """

    stop_reason: Literal["error", "aborted"]
    error_message: str
    partial_text: str | None = None

    def message(self) -> AssistantMessage:
        """The assistant message that this failure amounts to."""
        content = (TextContent(self.partial_text),) if self.partial_text else ()
        return AssistantMessage(
            content, stop_reason=self.stop_reason, error_message=self.error_message
        )

    def __repr__(self) -> str:
        said = f"{self.stop_reason!r}, {short(self.error_message)}"
        return f"FailedTurn({said}{f', {short(self.partial_text)}' if self.partial_text else ''})"


ScriptedTurn = AssistantMessage | FailedTurn


def checked_script(turns: Iterable[ScriptedTurn]) -> list[ScriptedTurn]:
    """The turns, or a ScriptError that names the first ill-formed one by its index."""
    if isinstance(turns, str | dict) or not isinstance(turns, Iterable):
        raise ScriptError(
            f"A script is a list of turns, not {_what(turns)}."
            " Write ScriptedModel([assistant_message([text('…')])])."
        )
    return [_checked(turn, index) for index, turn in enumerate(turns)]


def _checked(turn: object, index: int) -> ScriptedTurn:
    match turn:
        case AssistantMessage():
            message = as_message(turn)
            blocks = [
                replace(b, arguments=None) if isinstance(b, ToolCall) else b
                for b in message.content
            ]
            _validate(replace(message, content=tuple(blocks)), get_args(StopReason), index)
            return message
        case FailedTurn():
            _validate(turn, ("error", "aborted"), index)
            return turn
        case _:
            raise ScriptError(
                f"turn {index} is {_what(turn)}, which no model can play. {_fix(turn)}"
            )


def _validate(turn: ScriptedTurn, reasons: tuple[str, ...], index: int) -> None:
    """The types of the fields, which a constructor does not check: a turn has to be the same
    after it went through its JSON form."""
    if turn.stop_reason not in reasons:
        raise ScriptError(
            f"turn {index}: stop_reason is {short(turn.stop_reason)};"
            f" it has to be one of {', '.join(map(repr, reasons))}."
        )
    try:
        same = convert(to_builtins(turn), type(turn))
    except (ValidationError, TypeError, ValueError, RecursionError) as error:
        raise ScriptError(f"turn {index}: {error}") from error
    for name in turn.__struct_fields__:
        if getattr(same, name) != getattr(turn, name):
            raise ScriptError(f"turn {index}: {name} cannot be {short(getattr(turn, name))}.")


def _what(given: object) -> str:
    name = type(given).__name__
    return f"{'an' if name[0] in 'AEIOaeio' else 'a'} {name}"


def _fix(given: object) -> str:
    match given:
        case str():
            return f"Write assistant_message([text({given!r})])."
        case TextContent() | ToolCall():
            return f"Write assistant_message([{given!r}])."
        case list() | tuple():
            return "Write assistant_message([…]), with the list of blocks in it."
        case dict():
            return "Write turn_from_dict({…}) to read a turn from its JSON form."
        case _:
            return "Write assistant_message([text('…')]) or FailedTurn('error', '…')."
