"""The recorded traces of the original implementation: ours are the same, field by field."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scripted_model import (
    AgentContext,
    ScriptedModel,
    context_from_dict,
    event_from_dict,
    message_from_dict,
    text_of,
    to_dict,
    turn_from_dict,
    user_message,
)
from tests.scripts import CHUNKS, TURNS
from tests.stream_contract import read, result_of

DATA = Path(__file__).parent / "data" / "typescript_traces.json"
CASES = json.loads(DATA.read_text(encoding="utf-8"))["cases"]


def set_event() -> asyncio.Event:
    event = asyncio.Event()
    event.set()
    return event


async def play(case: dict[str, Any]) -> dict[str, Any]:
    """The same calls as the recording, and what they gave in its form."""
    model = ScriptedModel([turn_from_dict(turn) for turn in case["turns"]])
    calls = []
    for call in case["calls"]:
        context = context_from_dict(call["context"])
        signal = set_event() if call["aborted"] else None
        stream = model.stream(context, signal=signal)
        for _ in range(call["appendedAfter"]):
            context.messages.append(user_message("after the call"))
        events = [to_dict(event) for event in await read(stream)]
        result = await result_of(stream)
        calls.append(
            call | {"events": events, "result": to_dict(result), "textOf": text_of(result)}
        )
    requests = [to_dict(request) for request in model.requests]
    return case | {"calls": calls, "requests": requests, "requestsLength": len(requests)}


def test_there_are_recordings() -> None:
    """All sixty, so that an empty file cannot pass."""
    assert len(CASES) == 60


@pytest.mark.parametrize("case", CASES, ids=range(len(CASES)))
def test_a_recorded_script_gives_the_recorded_trace(case: dict[str, Any]) -> None:
    """Events, results, texts and request snapshots."""
    assert asyncio.run(play(case)) == case


@pytest.mark.parametrize("case", CASES, ids=range(len(CASES)))
def test_recorded_values_survive_reading_and_writing(case: dict[str, Any]) -> None:
    """from_dict and to_dict are inverse on every value in the recordings."""
    for turn in case["turns"]:
        assert to_dict(turn_from_dict(turn)) == turn
    for call in case["calls"]:
        assert to_dict(context_from_dict(call["context"])) == call["context"]
        assert to_dict(message_from_dict(call["result"])) == call["result"]
        for event in call["events"]:
            assert to_dict(event_from_dict(event)) == event


@given(st.lists(TURNS, max_size=3), CHUNKS, st.booleans())
def test_every_call_ends_in_one_terminal_event_and_a_result(
    turns: list[Any], chunk: Any, abort: bool
) -> None:
    """Whatever the script, one call too many and an abort included; and the same every time."""

    async def once() -> list[Any]:
        model = ScriptedModel(turns, chunk=chunk)
        traces = []
        for _ in range(len(turns) + 1):
            stream = model.stream(AgentContext([]), signal=set_event() if abort else None)
            events = await read(stream)
            final = await result_of(stream)
            assert [e.type for e in events if e.type in ("done", "error")] == [events[-1].type]
            assert final == (events[-1].message if events[-1].type == "done" else events[-1].error)
            assert stream.closed
            traces.append([to_dict(event) for event in events])
        assert model.remaining == 0
        return traces

    assert asyncio.run(once()) == asyncio.run(once())
