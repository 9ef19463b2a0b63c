"""SimulatedResponseStream: the same carrier with another protocol (chapter 04).

It shows that `EventStream` knows nothing about models: only the two functions differ.

>>> import asyncio
>>> from types import SimpleNamespace
>>> stream = SimulatedResponseStream()
>>> stream.push(SimpleNamespace(status="in_progress"))
>>> reply = generate_mock_reply("Hello, this is a mock response.")
>>> stream.push(SimpleNamespace(status="completed", payload=reply))
>>> asyncio.run(stream.result()).content
(text('Hello, this is a mock response.'),)
"""

from typing import Any

from scripted_model.errors import UnhandledEventError
from scripted_model.event_stream import EventStream
from scripted_model.messages import AssistantMessage, text


def _get(event: Any, name: str) -> Any:
    return event[name] if isinstance(event, dict) else getattr(event, name)


def _is_complete(event: Any) -> bool:
    return _get(event, "status") in ("completed", "failed")


def _extract_result(event: Any) -> Any:
    match _get(event, "status"):
        case "completed":
            return _get(event, "payload")
        case "failed":
            return _get(event, "error")
        case status:
            raise UnhandledEventError(f"Unhandled stream event: status {status!r} ends no stream")


class SimulatedResponseStream(EventStream[Any, Any]):
    """Events are any objects, or dicts, with a `status`: "completed" ends the stream with its
    `payload`, "failed" with its `error`, any other status goes on."""

    def __init__(self) -> None:
        super().__init__(_is_complete, _extract_result)


def generate_mock_reply(said: str) -> AssistantMessage:
    """A complete reply as a test of a response parser would push it, with no model behind it.

    >>> generate_mock_reply("Hi").api
    'openai-responses'
    """
    return AssistantMessage(
        (text(said),), provider="openai", model="test-environment", api="openai-responses"
    )
