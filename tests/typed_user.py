"""A small typed program that uses the kit: the strict type checker runs on it.

An agent that is written against `Model`, so that a real model could stand in its place.
"""

import asyncio
from typing import assert_never

from scripted_model import (
    AgentContext,
    AssistantMessage,
    FailedTurn,
    Model,
    ModelEvent,
    ScriptedModel,
    ScriptedTurn,
    ToolCall,
    ToolResultMessage,
    assistant_message,
    event_from_dict,
    text,
    text_of,
    to_dict,
    tool_call,
    user_message,
    words,
)


def told(event: ModelEvent) -> str:
    """A closed union: forgetting an event is a type error."""
    if event.type == "start":
        return f"begins with {len(event.partial.content)} blocks"
    if event.type == "text_delta" or event.type == "toolcall_delta":
        return f"grows by {event.delta} at {event.content_index}"
    if event.type == "toolcall_end":
        return f"asks for {event.tool_call.name}"
    if event.type == "done":
        return text_of(event.message)
    if event.type == "error":
        return event.error.error_message or event.reason
    assert_never(event)


async def agent(model: Model, asked: str) -> AssistantMessage:
    """Call the model until it asks for no more tools."""
    context = AgentContext([user_message(asked)])
    while True:
        stream = model.stream(context, signal=asyncio.Event())
        async for event in stream:
            print(told(event))
        message = await stream.result()
        context.messages.append(message)
        calls = [block for block in message.content if isinstance(block, ToolCall)]
        if message.stop_reason != "toolUse":
            return message
        for call in calls:
            answer = (text(f"contents of {call.arguments['path']}"),)
            context.messages.append(ToolResultMessage(call.id, call.name, answer))


async def main() -> str:
    turns: list[ScriptedTurn] = [
        assistant_message([text("先看"), tool_call("c1", "read", {"path": "a"})], "toolUse"),
        assistant_message([text("第二轮")]),
        FailedTurn("error", "rate limited", partial_text="正在"),
    ]
    model = ScriptedModel(turns, chunk=words)
    task = asyncio.create_task(agent(model, "请求一"))
    waiting = asyncio.create_task(model.stream(AgentContext([])).result())
    print((await waiting).stop_reason)
    final = await asyncio.wait_for(task, 1)
    event: ModelEvent = event_from_dict(to_dict(model.stream(AgentContext([])).events[0]))
    print(event.type, model.requests[0].messages[0].role)
    return text_of(final)
