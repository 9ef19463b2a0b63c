"""Exercises: one check for each kind of answer that the chapters ask for."""

import copy
import inspect
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any

from scripted_model.checks.check import (
    LIMIT,
    Blank,
    Check,
    Divergence,
    async_check,
    attempt,
    call,
    check,
    equal,
    in_words,
    need,
    returned,
    shown,
    watched,
)
from scripted_model.checks.predictions import parting, read_out, same
from scripted_model.checks.traces import compared, count, diverges, field
from scripted_model.errors import ScriptError
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

MANY = 1000
"""Events after which a stream or a projection is told that it does not end."""


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


def _own(args: Any) -> tuple[Any, bool]:
    """A deep copy, and whether a comparison with it tells a change; the thing itself if neither."""
    try:
        own = copy.deepcopy(args)
        return own, bool(own == args)
    except Exception:  # a generator, say, cannot be copied
        return args, False


@check
def check_calls(function: Any, *cases: tuple[tuple[Any, ...], Any]) -> str:
    """A function on some arguments; what is expected is a value, or the class of an exception.

    Each call gets a deep copy of its arguments, and may not change it. Where True or False is
    expected, a 1 or a 0 will not do.

    >>> check_calls(lambda a: a + 1, ((1,), 2), ((2,), 4))
    not quite: call (2): expected 4, got 3
    >>> check_calls(lambda items: items.pop(), (([1, 2],), 2))
    not quite: call ([1, 2]): your function changed its argument: now it is [1]
    """
    need(function)
    for args, expected in cases:
        what = f"call ({', '.join(map(shown, args))})"
        own, comparable = _own(args)
        _one_call(what, function, own, expected)
        if comparable and own != args:
            changed = next(o for o, a in zip(own, args, strict=True) if o != a)
            raise Divergence(
                f"{what}: your function changed its argument: now it is {shown(changed)}"
            )
    return count(len(cases), "call")


def _one_call(what: str, function: Any, args: tuple[Any, ...], expected: Any) -> None:
    if isinstance(expected, type) and issubclass(expected, Exception):
        try:
            got = shown(function(*args))
        except expected:
            return
        except Exception as error:
            got = in_words(error)
        raise Divergence(f"{what}: expected {expected.__name__}, got {got}")
    got = call(what, function, *args)
    hint = ". Is a `return` missing?" if got is None else ""
    if type(got) is not type(expected) and {type(got), type(expected)} == {list, tuple}:
        hint = f": a {type(expected).__name__} is wanted, not a {type(got).__name__}"
    equal(what, got, expected, hint)
    if isinstance(expected, bool) and not isinstance(got, bool):
        raise Divergence(f"{what}: expected {expected}, got {shown(got)}: write True or False")


@check
def check_cursor(make: Any) -> str:
    """`make(turns)` gives an object with `take()`, or a function: a turn a call, then None.

    >>> check_cursor(lambda turns: iter(turns).__next__)
    not quite: fourth call: your code raised StopIteration
    """
    turns = ["春", "夏", "秋"]
    own = list(turns)
    made = [attempt("making it", need(make), own) for _ in range(2)]
    takes = [getattr(cursor, "take", cursor) for cursor in made]
    if not callable(takes[0]):
        raise Divergence(f"{shown(made[0])} has no method take()")
    one, other = (need(take, "take") for take in takes)
    calls = ["first", "second", "third", "fourth", "fifth"]
    calls += ["sixth", "seventh", "eighth", "ninth", "tenth"]
    for number, wanted in zip(calls, [*turns, *[None] * 7], strict=True):
        got = call(f"{number} call", one)
        if number == "first" and got is None:
            raise Blank("the first call gives back None. Is a `return` missing?")
        equal(f"{number} call", got, wanted)
    got = attempt("another cursor", other)
    equal("another cursor over the same list, first call", got, turns[0])
    own.clear()
    got = attempt("another cursor, after its list was emptied", other)
    equal("another cursor, after its list was emptied", got, turns[1])
    return "10 calls on 3 turns, another cursor over the same list, and the list emptied"


@check
def check_snapshot(take: Any, plain: bool = False) -> str:
    """`take(context)` gives what the context was; `plain` makes the context of dicts and lists.

    In plain data no dict and no list may be shared at any depth, and other plain values are
    copied too.

    >>> check_snapshot(lambda context: context)
    not quite: the messages after an append to the context: expected [user_message('请求一')], \
got [user_message('请求一'), user_message('事后追加')]
    """
    tools = [{"name": "read", "limits": [1]}]
    context: Any = AgentContext([user_message("请求一")], own_copy(tools))
    if plain:
        context = {"messages": [{"role": "user", "content": "请求一"}], "tools": own_copy(tools)}
    messages = list(field(context, "messages"))
    seen = call("the call", need(take), context)
    returned(seen, "the call")
    equal("the messages at the call", list(field(seen, "messages") or ()), messages)
    field(context, "messages").append(user_message("事后追加"))
    equal("the messages after an append to the context", list(field(seen, "messages")), messages)
    field(context, "tools")[0]["limits"].append(2)
    equal("the tools after a change in a nested list", field(seen, "tools"), tools)
    told = "1 call, a message appended later, a nested list changed later"
    if plain:
        for value in _PLAIN:
            _copied(take, copy.deepcopy(value))
        told += f", no dict or list shared in {count(len(_PLAIN), 'value')}"
    return told


_PLAIN: tuple[Any, ...] = (
    [],
    {},
    [[1]],
    None,
    0.5,
    {"role": "user", "seen": True, "extra": {"tags": [[], {"a": None}]}},
    [{"messages": []}, ["请求一", [2.5, {"limits": [1, [2]]}]]],
)


def _boxes(value: Any) -> list[Any]:
    """All dicts and lists in a value, itself too."""
    if not isinstance(value, dict | list):
        return []
    inner: Iterable[Any] = value.values() if isinstance(value, dict) else value
    return [value, *(box for item in inner for box in _boxes(item))]


def _copied(take: Any, value: Any) -> None:
    what, before = f"call ({shown(value)})", copy.deepcopy(value)
    got = call(what, take, value)
    if value != before:
        raise Divergence(f"{what}: your function changed its argument: now it is {shown(value)}")
    equal(what, got, before)
    known = {id(box) for box in _boxes(value)}
    for box in _boxes(got):
        if id(box) in known:
            raise Divergence(f"{what}: the {type(box).__name__} {shown(box)} is shared, not new")


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
        what = f"projecting {shown(message)}"
        events = call(what, need(project), message)
        if inspect.isasyncgen(events):
            raise Divergence(f"{what}: it gives an async generator. Write `def`, not `async def`.")
        events = attempt(what, list, islice(returned(events, what), MANY))
        if len(events) == MANY:
            raise Divergence(f"{what}: it gave {MANY} events and still no end")
        if told := diverges(events, expected):
            raise Divergence(f"{what}: {told}")
    return f"{count(len(messages), 'message')}, {compared(*traces)}"


async def read(stream: Any) -> list[Any]:
    """The events of a stream up to its end; Divergence when it has none."""
    events: list[Any] = []
    async for event in stream:
        events.append(event)
        if len(events) == MANY:
            raise Divergence(f"a reader got {MANY} events and still no end")
    return events


@async_check
async def check_stream(make: Any, *expected: Sequence[Any], empty: bool = False) -> str:
    """`make()` gives a stream, or a list of them, with these events; it may be async.

    empty: nothing may have been produced when the streams are given back, so it is no coroutine.
    """

    async def scenario() -> None:
        given = call("making it", make) if empty else need(make)()
        given = returned(await given if inspect.iscoroutine(given) else given, "it")
        streams = given if isinstance(given, list | tuple) else [given]
        equal("the number of streams", len(streams), len(expected))
        several = len(expected) > 1
        for number, stream in enumerate(streams):
            returned(stream, f"stream {number}")
            if not hasattr(stream, "__aiter__"):
                raise Divergence(f"{shown(stream)} is no stream: it cannot be read")
            if empty and field(stream, "events"):
                raise Divergence("it has events already when it is given back")
        for number, (stream, wanted) in enumerate(zip(streams, expected, strict=True)):
            if told := diverges(await read(stream), wanted):
                raise Divergence(f"stream {number}: {told}" if several else told)

    await watched(scenario, LIMIT)
    return f"{count(len(expected), 'stream')}, {compared(*expected)}"


@async_check
async def check_script(turns: Any, *expected: Sequence[Any]) -> str:
    """A script, played by a `ScriptedModel`: what each call's events are, or their types."""

    script = need(turns)
    for turn in script if isinstance(script, list | tuple) else ():
        need(turn, "a turn")

    async def scenario() -> list[Any]:
        try:
            model = ScriptedModel(script)
        except ScriptError as error:
            raise Divergence(str(error)) from error
        streams = [model.stream(AgentContext([])) for _ in expected]
        if model.remaining:
            raise Divergence(
                f"the script has more turns than the {count(len(expected), 'call')} asked for"
            )
        return streams

    told: Check = await check_stream(scenario, *expected)
    if not told.passed:
        raise Divergence(told.said.removeprefix("not quite: ").replace("stream ", "call "))
    return told.said.removeprefix("passed: checked ").removesuffix(".").replace("stream", "call")
