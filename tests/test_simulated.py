"""The same carrier with another protocol (chapter 04)."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from scripted_model import (
    SimulatedResponseStream,
    UnhandledEventError,
    Usage,
    generate_mock_reply,
    text,
    to_dict,
)
from tests.stream_contract import read, result_of

REPLY = generate_mock_reply("Hello, this is a mock response.")


@pytest.mark.parametrize("make", [SimpleNamespace, dict])
def test_completed_ends_with_its_payload_and_failed_with_its_error(make: Any) -> None:
    """Other statuses go on; events may be objects or dicts; a failure is a value."""

    async def play(last: Any) -> tuple[int, Any]:
        stream = SimulatedResponseStream()
        for event in (make(status="created"), make(status="in_progress"), last):
            stream.push(event)
        return len(await read(stream)), await result_of(stream)

    assert asyncio.run(play(make(status="completed", payload=REPLY))) == (3, REPLY)
    assert asyncio.run(play(make(status="failed", error="no network"))) == (3, "no network")


def test_a_status_that_ends_nothing_has_no_result() -> None:
    """Asking for it is a programming error."""
    stream = SimulatedResponseStream()
    with pytest.raises(UnhandledEventError, match="Unhandled stream event"):
        stream.extract_result(SimpleNamespace(status="in_progress"))


def test_the_mock_reply_says_where_it_claims_to_come_from() -> None:
    """api names the wire protocol; provider and model name the test environment."""
    assert REPLY.content == (text("Hello, this is a mock response."),)
    assert (REPLY.api, REPLY.provider) == ("openai-responses", "openai")
    assert (REPLY.model, REPLY.stop_reason, REPLY.usage) == ("test-environment", "stop", Usage())
    assert to_dict(REPLY)["api"] == "openai-responses"
