"""Exercises: one check for each kind of answer that the chapters ask for."""

import inspect
from collections.abc import Sequence
from typing import Any

from scripted_model.checks.check import (
    LIMIT,
    Blank,
    Check,
    Divergence,
    async_check,
    attempt,
    check,
    equal,
    in_words,
    is_blank,
    need,
    shown,
    watched,
)
from scripted_model.checks.predictions import parting, read_out, same
from scripted_model.checks.traces import compared, count, diverges, field
from scripted_model.messages import (
    AgentContext,
    AssistantMessage,
    assistant_message,
    own_copy,
    text,
    user_message,
)
from scripted_model.partial import project as projected
from scripted_model.scripted_model import ScriptedModel


@check
def check_value(answer: Any, expected: Any) -> str:
    """One value or one list in order, as tolerant of spelling as a prediction.

    >>> check_value(3, 4)
    not quite: expected 4, got 3
    >>> check_order(["sync", "timer", "a"], ["sync", "a", "timer"])
    not quite: item 1: expected a, got timer
    """
    if same(need(answer), expected):
        many = isinstance(expected, list | tuple)
        return f"the order of {count(len(expected), 'item')}" if many else "1 value"
    if not isinstance(expected, list | tuple):
        raise Divergence(f"expected {read_out(expected)}, got {read_out(answer)}")
    at, got = parting(answer, expected)
    wanted = read_out(expected[at]) if at < len(expected) else "nothing"
    raise Divergence(f"item {at}: expected {wanted}, got {got}")


check_order = check_value


@check
def check_calls(function: Any, *cases: tuple[tuple[Any, ...], Any]) -> str:
    """A function on some arguments; what is expected is a value, or the class of an exception.

    >>> check_calls(lambda a: a + 1, ((1,), 2), ((2,), 4))
    not quite: call (2): expected 4, got 3
    """
    need(function)
    for args, expected in cases:
        call = f"call ({', '.join(map(shown, args))})"
        if isinstance(expected, type) and issubclass(expected, Exception):
            try:
                got = shown(function(*args))
            except expected:
                continue
            except Exception as error:
                got = in_words(error)
            raise Divergence(f"{call}: expected {expected.__name__}, got {got}")
        got = attempt(call, function, *args)
        if expected is not None and got is None:
            raise Blank(f"{call} gives back None. Is a `return` missing?")
        equal(call, got, expected)
    return count(len(cases), "call")


@check
def check_cursor(make: Any) -> str:
    """`make(turns)` gives an object with `take()`, or a function: a turn a call, then None.

    >>> check_cursor(lambda turns: iter(turns).__next__)
    not quite: fourth call: your code raised StopIteration
    """
    turns = ["turn 0", "turn 1", "turn 2"]
    takes = [attempt("making it", need(make), turns) for _ in range(2)]
    one, other = (need(getattr(take, "take", take), "take") for take in takes)
    calls = ["first", "second", "third", "fourth", "fifth"]
    for call, wanted in zip(calls, [*turns, None, None], strict=True):
        got = attempt(f"{call} call", one)
        if call == "first" and got is None:
            raise Blank("the first call gives back None. Is a `return` missing?")
        equal(f"{call} call", got, wanted)
    got = attempt("another cursor", other)
    equal("another cursor over the same list, first call", got, "turn 0")
    return "5 calls on 3 turns, then another cursor over the same list"


@check
def check_snapshot(take: Any, plain: bool = False) -> str:
    """`take(context)` gives what the context was; `plain` makes the context of dicts and lists.

    >>> check_snapshot(lambda context: context)
    not quite: the messages after an append to the context: expected [user_message('请求一')], \
got [user_message('请求一'), user_message('事后追加')]
    """
    tools = [{"name": "read", "limits": [1]}]
    context: Any = AgentContext([user_message("请求一")], own_copy(tools))
    if plain:
        context = {"messages": [{"role": "user", "content": "请求一"}], "tools": own_copy(tools)}
    messages = list(field(context, "messages"))
    seen = attempt("the call", need(take), context)
    if is_blank(seen):
        raise Blank("the call gives back None. Is a `return` missing?")
    equal("the messages at the call", list(field(seen, "messages") or ()), messages)
    field(context, "messages").append(user_message("事后追加"))
    equal("the messages after an append to the context", list(field(seen, "messages")), messages)
    field(context, "tools")[0]["limits"].append(2)
    equal("the tools after a change in a nested list", field(seen, "tools"), tools)
    return "1 call, a message appended later, a nested list changed later"


@check
def check_partials(project: Any, *messages: AssistantMessage) -> str:
    """`project(message)` gives the events of a message: by default of one text, and of two.

    >>> from scripted_model import project
    >>> check_partials(project)
    passed: checked 2 messages, 7 events: type, content index, delta, partial, ending.
    """
    if not messages:
        one = text("先看")
        messages = assistant_message([one]), assistant_message([one, text("再说")])
    traces = [list(projected(message)) for message in messages]
    for message, expected in zip(messages, traces, strict=True):
        call = f"projecting {shown(message)}"
        events = attempt(call, need(project), message)
        if is_blank(events):
            raise Blank(f"{call} gives back None. Is a `return` missing?")
        events = attempt(call, list, events)
        if told := diverges(events, expected):
            raise Divergence(f"{call}: {told}")
    return f"{count(len(messages), 'message')}, {compared(*traces)}"


MANY = 1000
"""Events after which a reader is told that its stream does not end."""


async def read(stream: Any) -> list[Any]:
    """The events of a stream up to its end; Divergence when it has none."""
    events: list[Any] = []
    async for event in stream:
        events.append(event)
        if len(events) == MANY:
            raise Divergence(f"a reader got {MANY} events and still no end")
    return events


@async_check
async def check_stream(make: Any, *expected: Sequence[Any]) -> str:
    """`make()`, which may be async, gives a stream, or a list of them, with these events."""

    async def scenario() -> None:
        streams = need(make)()
        streams = need(await streams if inspect.isawaitable(streams) else streams, "the stream")
        streams = streams if isinstance(streams, list | tuple) else [streams]
        equal("the number of streams", len(streams), len(expected))
        for number, (stream, wanted) in enumerate(zip(streams, expected, strict=True)):
            if told := diverges(await read(need(stream, "a stream")), wanted):
                raise Divergence(f"stream {number}: {told}" if len(expected) > 1 else told)

    await watched(scenario, LIMIT)
    return f"{count(len(expected), 'stream')}, {compared(*expected)}"


@async_check
async def check_script(turns: Any, *expected: Sequence[Any]) -> str:
    """A script, played by a `ScriptedModel`: what each call's events are, or their types."""

    script = attempt("the script", list, need(turns))
    for turn in script:
        need(turn, "a turn")

    async def scenario() -> list[Any]:
        model = ScriptedModel(script)
        return [model.stream(AgentContext([])) for _ in expected]

    told: Check = await check_stream(scenario, *expected)
    if not told.passed:
        raise Divergence(told.said.removeprefix("not quite: ").replace("stream ", "call "))
    return told.said.removeprefix("passed: checked ").removesuffix(".").replace("stream", "call")
