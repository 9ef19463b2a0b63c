"""Snapshot: what did the model see when it was called? (chapter 02)

>>> from scripted_model.messages import user_message
>>> context = AgentContext([user_message("请求一")])
>>> seen = snapshot(context)
>>> context.messages.append(user_message("事后追加"))
>>> seen
AgentContext([user_message('请求一')])
"""

from scripted_model.errors import ContextError
from scripted_model.messages import (
    AgentContext,
    Message,
    OwnCopy,
    own_copy,
    short,
)


class Snapshot(AgentContext, frozen=True):  # type: ignore[misc]  # frozen, of one that is not
    """A context that no longer changes: every look at `messages` gives a list of your own."""

    def __post_init__(self) -> None:
        """Nothing to check: `snapshot` has."""

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, AgentContext):
            return False
        return self.messages == other.messages and self.tools == other.tools

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = None  # type: ignore[assignment]  # like the context that it is equal to


OwnCopy(Snapshot, "messages", copy=list)  # immutable values need no deeper copy
OwnCopy(Snapshot, "tools")


def snapshot(context: AgentContext) -> Snapshot:
    """The context as it is now, whatever the caller does to it later.

    The messages are immutable values, so a copy of the list is enough: its cost is a pointer a
    message, where a deep copy would copy every text again at each call of a growing
    conversation. Only `tools`, which is plain JSON data, is copied through and through.

    Raises ContextError for anything but an `AgentContext` that holds messages.
    """
    if not isinstance(context, AgentContext):
        raise ContextError(
            f"A model is called with an AgentContext, not with a {type(context).__name__}."
            " Write model.stream(AgentContext([user_message('…')]))."
        )
    messages = list(context.messages)
    for kind in {type(message) for message in messages}:
        if not issubclass(kind, Message):
            index = next(i for i, message in enumerate(messages) if type(message) is kind)
            given = messages[index]
            raise ContextError(f"messages[{index}] is no message: {short(given)}.{_fix(given)}")
    return Snapshot(messages, own_copy(context.tools))


def _fix(given: object) -> str:
    match given:
        case str():
            return f" Write user_message({short(given)}) for what the user said."
        case dict():
            return " Write message_from_dict({…}) to read a message from its JSON form."
        case _:
            return ""
