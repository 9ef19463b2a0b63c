"""The checks of the chapters, each with the right answer, a blank and typical wrong answers."""

import asyncio
import copy
import json
from types import SimpleNamespace
from typing import Any

import pytest

from scripted_model import (
    AgentContext,
    Cursor,
    Done,
    EventStream,
    FailedTurn,
    ScriptedModel,
    SimulatedResponseStream,
    Start,
    TextDelta,
    assistant_message,
    generate_mock_reply,
    project,
    snapshot,
    text,
    tool_call,
)
from scripted_model.checks import (
    Check,
    carrier,
    check_calls,
    check_cursor,
    check_event_stream,
    check_order,
    check_partials,
    check_script,
    check_snapshot,
    check_stream,
    check_trace,
    check_value,
    exercises,
    predicted,
)
from scripted_model.checks import (
    check as check_module,
)

TWO_TEXTS = assistant_message([text("先看"), text("再说")])
TOOL = assistant_message([text("先看"), tool_call("c1", "read", {"path": "README.md"})], "toolUse")


def awaited(pending: Any) -> Check:
    async def main() -> Any:
        return await pending

    found = asyncio.run(main())
    assert isinstance(found, Check)
    return found


def passes(found: Check, words: str) -> None:
    assert (found.passed, repr(found)) == (True, words)


def not_quite(found: Check, words: str) -> None:
    assert found.passed is False, found
    assert repr(found).startswith("not quite: ")
    assert words in repr(found)


def not_yet(found: Check, words: str = "") -> None:
    assert found.passed is None, found
    assert repr(found).startswith("not yet: ")
    assert words in repr(found)


# Predictions


@pytest.mark.parametrize(
    ("prediction", "actual"),
    [
        (3, 3),
        ("3", 3),
        (3.0, 3),
        (True, True),
        ("yes", True),
        ("No", False),
        (None, None),
        ("None", None),
        ("  先看 ", "先看"),
        (("start", "done"), ["start", "done"]),
        ("start, done", ["start", "done"]),
        ("start → done", ["start", "done"]),
        ("start->done", ["start", "done"]),
        ("['Start', 'done']", ["start", "done"]),
        ("call, sync end", ["call", "sync end"]),
        ("1 2 3", [1, 2, 3]),
        (IndexError, "IndexError"),
        ("IndexError", IndexError("list index out of range")),
        (SimpleNamespace(value="before"), "before"),
        ({"path": "a"}, {"path": "a"}),
        ([], []),
    ],
)
def test_a_right_prediction_is_right_in_any_spelling(prediction: Any, actual: Any) -> None:
    """What the student means counts, not how it is written."""
    assert predicted(prediction, actual).passed is True


@pytest.mark.parametrize(
    ("prediction", "actual"),
    [
        ("text delta", "text_delta"),
        ("text-delta", "text_delta"),
        ("After the call.", "after the call"),
        ("b, a.child.", ["b", "a.child"]),
        ("one-by-one", "one by one"),
        ("Index Error", IndexError("list index out of range")),
        ("an IndexError", IndexError()),
        ("RuntimeError: rate limited", RuntimeError("rate limited")),
        ("two", 2),
        ("zero", 0),
        ("about 100 times", 100),
        ("2 and 1", [2, 1]),
        ("not_reached", "not reached"),
        (None, None),
    ],
)
def test_a_right_prediction_may_be_said_in_words(prediction: Any, actual: Any) -> None:
    """What a student would write who means the right thing."""
    assert predicted(prediction, actual).passed is True


@pytest.mark.parametrize(
    ("prediction", "actual"),
    [
        ("12", [1, 2]),
        ("text delta", "toolcall_delta"),
        ("TypeError", IndexError()),
        ("two or 3", 2),
        ("1 2", 12),
        (None, "先看"),
        ("nothing", IndexError()),
        ("", 0),
    ],
)
def test_other_words_do_not_make_a_wrong_prediction_right(prediction: Any, actual: Any) -> None:
    """Tolerance ends where the meaning differs."""
    assert predicted(prediction, actual).passed is not True


@pytest.mark.parametrize("blank", [..., "", "  ", SimpleNamespace(value=None)])
def test_a_blank_prediction_is_not_yet_and_gives_nothing_away(blank: Any) -> None:
    """A blank does not learn the answer, nor the reason."""
    found = predicted(blank, 42, because="It is 42.")
    not_yet(found)
    assert "42" not in repr(found)


@pytest.mark.parametrize(
    ("prediction", "actual", "said"),
    [
        (2, 3, "you said 2; it was 3."),
        (True, 1, "you said True; it was 1."),
        ("先看", "第二轮", "you said 先看; it was 第二轮."),
        ("a, t, b", ["a", "b", "t"], "you said a, t, b; it was a, b, t. They part at the second."),
        (
            "sync end, b",
            ["sync end", "a"],
            "you said sync end, b; it was sync end, a. They part at the second.",
        ),
        (["a"], ["a", "b"], "you said a; it was a, b. They part at the second."),
        (object(), 1, "you said <object object>; it was 1."),
        (2, [1], "you said 2; it was 1."),
    ],
)
def test_a_wrong_prediction_is_set_beside_what_happened(
    prediction: Any, actual: Any, said: str
) -> None:
    """It says both, and where two lists part, without an address."""
    assert repr(predicted(prediction, actual)) == f"not quite: {said}"


# Values, orders, calls


def test_check_value() -> None:
    """One value is compared, and only that is claimed."""
    passes(check_value("4", 4), "passed: checked 1 value.")
    not_yet(check_value(..., 4))
    not_quite(check_value(3, 4), "expected 4, got 3")
    not_yet(check_value("", 4))
    not_quite(check_value([4], ["a"]), "item 0: expected a, got 4")
    not_quite(check_value({"a": 1}, {"a": 2}), "expected {'a': 2}, got {'a': 1}")


def test_check_order() -> None:
    """The first item out of order is named."""
    order = ["sync", "a", "timer"]
    passes(check_order("sync, a, timer", order), "passed: checked the order of 3 items.")
    not_yet(check_order(..., order))
    not_quite(check_order(["sync", "timer", "a"], order), "item 1: expected a, got timer")
    not_quite(check_order(["sync"], order), "item 1: expected a, got nothing")
    not_quite(check_order([*order, "b"], order), "item 3: expected nothing, got b")


async def later(*given: Any) -> None:
    """Written with `async def` where `def` is wanted."""
    await asyncio.sleep(0)


def test_check_calls() -> None:
    """A function is called case by case, and the first call that diverges is named."""
    cases: Any = [(("done",), True), (("start",), False), ((1,), TypeError)]

    def right(name: Any) -> bool:
        return bool(name + "" in ("done", "error"))

    def blank(name: Any) -> None:
        """Say whether this is the last."""

    passes(check_calls(right, *cases), "passed: checked 3 calls.")
    not_yet(check_calls(..., *cases))
    not_yet(check_calls(blank, *cases), "blank")
    not_quite(check_calls(lambda name: print(end=""), *cases), "Is a `return` missing?")
    one = ((("先看",), ("先看", 1)),)
    not_quite(check_calls(lambda turn: [turn, 1], *one), ": a tuple is wanted, not a list")
    not_quite(check_calls(later, *one), "Write `def`, not `async def`")
    not_quite(check_calls(lambda name: True, *cases), "call ('start'): expected False, got True")
    not_quite(
        check_calls(lambda name: name == "done", *cases), "call (1): expected TypeError, got False"
    )
    not_quite(
        check_calls(len, *cases[2:], ((1,), ValueError)), "expected ValueError, got your code"
    )
    not_quite(check_calls(lambda: True, *cases), "your code raised TypeError: ")
    found = check_calls(lambda name: name.kind, *cases)
    not_quite(found, "AttributeError: 'str' object has no attribute 'kind' (line ")
    assert "lambda name: name.kind" in repr(found)


def test_check_calls_gives_each_call_its_own_arguments() -> None:
    """A change of an argument is told, and spoils neither another case nor the notebook's data."""
    shared = ["先看", "第二轮"]
    cases: Any = [((shared,), 2), ((shared,), 2), (([],), 0)]

    def pops(items: Any) -> int:
        count = 0
        while items:
            items.pop()
            count += 1
        return count

    changed = "call (['先看', '第二轮']): your function changed its argument: now it is []"
    not_quite(check_calls(pops, *cases), changed)
    assert shared == ["先看", "第二轮"]
    passes(check_calls(lambda items: pops(list(items)), *cases), "passed: checked 3 calls.")

    def nested(box: Any) -> Any:
        box["a"].append(1)
        return box["a"][-1]

    not_quite(check_calls(nested, (({"a": []},), 1)), "changed its argument: now it is {'a': [1]}")

    def changes_and_raises(items: Any) -> None:
        items.clear()
        raise ValueError

    found = check_calls(changes_and_raises, (([1],), ValueError))
    not_quite(found, "call ([1]): your function changed its argument: now it is []")
    not_quite(check_calls(lambda a, b: b.clear(), (([1], [2]), None)), "now it is []")


def test_check_calls_takes_what_cannot_be_copied_or_compared() -> None:
    """A generator cannot be copied; a plain object is equal to itself alone."""
    passes(
        check_calls(lambda given: list(given), (((n for n in (1, 2)),), [1, 2])),
        "passed: checked 1 call.",
    )
    passes(check_calls(lambda thing: 1, ((object(),), 1)), "passed: checked 1 call.")


def test_check_calls_wants_true_or_false() -> None:
    """Where a yes or no is expected, a number is not one."""
    not_quite(check_calls(lambda n: 1, ((1,), True)), "expected True, got 1: write True or False")
    not_quite(check_calls(lambda n: 0.0, ((1,), False)), "expected False, got 0.0")
    passes(check_calls(lambda n: True, ((1,), True)), "passed: checked 1 call.")


# Chapter 01


class TakeFromAList:
    def __init__(self, turns: Any) -> None:
        self.turns = turns
        self.n = -1

    def take(self) -> Any:
        self.n += 1
        return self.turns[self.n]


class KeepsTheList(TakeFromAList):
    """Right, but for the list, which it shares with its caller."""

    def take(self) -> Any:
        self.n += 1
        return self.turns[self.n] if self.n < len(self.turns) else None


class Repeats(TakeFromAList):
    def take(self) -> Any:
        self.n += 1
        return self.turns[self.n % len(self.turns)]


class StopsAtFive(TakeFromAList):
    """Says None twice, and then begins again."""

    def take(self) -> Any:
        self.n = (self.n + 1) % 5
        return self.turns[self.n] if self.n < 3 else None


class FromTheEnd(TakeFromAList):
    def take(self) -> Any:
        self.n += 1
        return self.turns[-self.n] if self.n < 3 else None


class Pops(TakeFromAList):
    def take(self) -> Any:
        return self.turns.pop(0) if self.turns else None


class SkipsTheFirst(TakeFromAList):
    def take(self) -> Any:
        self.n += 1
        return self.turns[self.n + 1] if self.n < 2 else None


class CursorStub:
    def __init__(self, turns: Any) -> None:
        self.turns = turns

    def take(self) -> Any: ...


def make_take(turns: Any) -> Any:
    left = iter(list(turns))
    return lambda: next(left, None)


def test_check_cursor() -> None:
    """A cursor, or a function that makes one, gives a turn a call and then None."""
    words = (
        "passed: checked 10 calls on 3 turns, another cursor over the same list, and the list"
        " emptied."
    )
    passes(check_cursor(Cursor), words)
    passes(check_cursor(make_take), words)
    for blank in (..., None, CursorStub, lambda turns: ...):
        not_yet(check_cursor(blank))
    not_quite(check_cursor(Repeats), "fourth call: expected None, got '春'")
    not_quite(
        check_cursor(TakeFromAList),
        "fourth call: your code raised IndexError: list index out of range (line ",
    )
    not_quite(check_cursor(FromTheEnd), "second call: expected '夏', got '秋'")
    not_quite(check_cursor(SkipsTheFirst), "first call: expected '春', got '夏'")
    not_quite(check_cursor(Pops), "another cursor over the same list, first call: expected '春'")
    not_quite(check_cursor(StopsAtFive), "sixth call: expected None, got '春'")
    not_quite(check_cursor(KeepsTheList), "another cursor, after its list was emptied: expected")
    not_quite(check_cursor(EventStream), "making it: your code raised TypeError")
    not_quite(
        check_cursor(lambda turns: list(turns)),
        "['春', '夏', '秋'] has no method take()",
    )
    not_quite(check_cursor(lambda turns: later), "Write `def`, not `async def`")


# Chapter 02


def plain_shallow(context: Any) -> Any:
    return {name: list(value) for name, value in context.items()}


def by_hand(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: by_hand(item) for name, item in value.items()}
    return [by_hand(item) for item in value] if isinstance(value, list) else value


def by_hand_but(keep: Any, instead: Any) -> Any:
    """`by_hand`, except for what `keep` picks at any depth."""

    def take(value: Any) -> Any:
        if keep(value):
            return instead(value)
        if isinstance(value, dict):
            return {name: take(item) for name, item in value.items()}
        return [take(item) for item in value] if isinstance(value, list) else value

    return take


def in_place(value: Any) -> Any:
    got = by_hand(value)
    if isinstance(value, list):
        value.append("seen")
    return got


@pytest.mark.parametrize(
    ("take", "words"),
    [
        (by_hand_but(lambda v: v == [], lambda v: v), "call ([]): the list [] is shared, not new"),
        (by_hand_but(lambda v: v == {}, lambda v: v), "call ({}): the dict {} is shared, not new"),
        (
            by_hand_but(lambda v: v == [[1]], list),
            "call ([[1]]): the list [1] is shared, not new",
        ),
        (by_hand_but(lambda v: isinstance(v, float), str), "call (0.5): expected 0.5, got '0.5'"),
        (by_hand_but(lambda v: v is None, lambda v: []), "call (None): expected None, got []"),
        (
            by_hand_but(
                lambda v: isinstance(v, dict) and "extra" in v,
                lambda v: {"role": v["role"], "seen": v["seen"]},
            ),
            "call ({'role': 'user', 'seen': True, 'extra': {",
        ),
        (
            by_hand_but(lambda v: v == {"limits": [1, [2]]}, copy.copy),
            ": the list [1, [2]] is shared, not new",
        ),
        (in_place, "call ([]): your function changed its argument: now it is ['seen']"),
    ],
)
def test_a_copy_of_plain_data_shares_nothing(take: Any, words: str) -> None:
    """Equal is not enough: no dict and no list may be the same object, at any depth."""
    not_quite(check_snapshot(take, plain=True), words)


def test_check_snapshot() -> None:
    """A snapshot does not see what happens later, neither in the list nor inside its items."""
    words = "passed: checked 1 call, a message appended later, a nested list changed later."
    passes(check_snapshot(snapshot), words)
    passes(check_snapshot(copy.deepcopy), words)
    plain = words[:-1] + ", no dict or list shared in 7 values."
    passes(check_snapshot(copy.deepcopy, plain=True), plain)
    passes(check_snapshot(by_hand, plain=True), plain)

    def blank(context: Any) -> Any: ...

    for empty in (..., blank, lambda context: None):
        not_yet(check_snapshot(empty))
    reference = "the messages after an append to the context: expected [user_message('请求一')]"
    not_quite(check_snapshot(lambda context: context), reference)
    not_quite(check_snapshot(copy.copy), reference)
    shallow = (
        "the tools after a change in a nested list: expected [{'name': 'read', 'limits': [1]}]"
    )
    not_quite(check_snapshot(lambda c: AgentContext(list(c.messages), c.tools)), shallow)
    not_quite(check_snapshot(plain_shallow, plain=True), shallow)
    not_quite(check_snapshot(lambda c: AgentContext([])), "the messages at the call")
    not_quite(check_snapshot(lambda c: c["messages"]), "your code raised TypeError")


# Chapters 05 to 07


def aliased(message: Any) -> Any:
    """Every event gets the same object."""
    partial = SimpleNamespace(content=[])
    yield SimpleNamespace(type="start", partial=partial)
    for index, block in enumerate(message.content):
        partial.content.append(block)
        yield SimpleNamespace(
            type="text_delta", content_index=index, delta=block.text, partial=partial
        )
    yield Done("stop", message)


def late(message: Any) -> Any:
    before = assistant_message([])
    for event in project(message):
        if event.type == "text_delta":
            yield TextDelta(event.content_index, event.delta, before)
        else:
            yield event
        before = getattr(event, "partial", before)


def index_zero(message: Any) -> Any:
    for event in project(message):
        if event.type == "text_delta":
            yield TextDelta(0, event.delta, event.partial)
        else:
            yield event


def endless(message: Any) -> Any:
    while True:
        yield Start(message)


def as_dicts(message: Any) -> Any:
    said: list[Any] = []
    yield {"type": "start", "partial": {"content": []}}
    for index, block in enumerate(message.content):
        said.append({"type": "text", "text": block.text})
        partial = {"content": copy.deepcopy(said)}
        yield {
            "type": "text_delta",
            "content_index": index,
            "delta": block.text,
            "partial": partial,
        }
    yield {"type": "done", "reason": "stop", "message": message}


def test_check_partials() -> None:
    """Events of a projection are compared one by one, and a partial's lie is called by name."""
    words = "passed: checked 2 messages, 7 events: type, content index, delta, partial, ending."
    passes(check_partials(project), words)
    passes(check_partials(as_dicts), words)
    passes(check_partials(lambda message: list(project(message))), words)

    def blank(message: Any) -> Any: ...

    not_yet(check_partials(...))
    not_yet(check_partials(blank))
    not_yet(check_partials(lambda message: print(end="")), "Is a `return` missing?")
    not_quite(
        check_partials(aliased),
        "event 0 (start): expected the partial [], got ['先看']: it shows the future",
    )
    not_quite(
        check_partials(late),
        "event 1 (text_delta): expected the partial ['先看'], got []: it is late, and misses this",
    )
    not_quite(
        check_partials(index_zero),
        "event 2: expected text_delta at content index 1, got text_delta at content index 0",
    )
    not_quite(check_partials(endless), "it gave 1000 events and still no end")
    not_quite(check_partials(lambda m: list(project(m))[1:]), "event 0: expected start, got text_")
    not_quite(check_partials(lambda m: list(project(m))[:-1]), "event 2: expected done, got no ev")


def test_check_partials_takes_a_message_with_a_tool_call() -> None:
    """Chapter 07 holds the same function to a tool call."""
    words = "passed: checked 1 message, 5 events: type, content index, delta, partial, ending."
    passes(check_partials(project, TOOL), words)
    without_end = [event for event in project(TOOL) if event.type != "toolcall_end"]
    not_quite(
        check_partials(lambda message: without_end, TOOL),
        "event 3: expected toolcall_end at content index 1, got done",
    )
    not_quite(check_partials(aliased, TOOL), "your code raised AttributeError: 'ToolCall' object")


def test_check_trace() -> None:
    """A trace is compared with events in full, or with types alone, and says which."""
    events = list(project(TWO_TEXTS))
    types = ["start", "text_delta", "text_delta", "done"]
    passes(
        check_trace(events, events),
        "passed: checked 4 events: type, content index, delta, partial, ending.",
    )
    passes(check_trace(events, types), "passed: checked 4 events: types.")
    passes(
        check_trace("start → text_delta, text_delta, done", types),
        "passed: checked 4 events: types.",
    )
    not_quite(check_trace(3, types), "'int' object is not iterable")
    passes(check_trace(types, types), "passed: checked 4 events: types.")
    not_yet(check_trace(..., types))
    not_quite(check_trace(events[:2], types), "event 2: expected text_delta, got no event")
    not_quite(check_trace([*events, events[-1]], types), "event 4: expected no event, got done")
    not_quite(check_trace([], types), "event 0: expected start, got no event")
    other = [*events[:1], TextDelta(0, "先", events[1].partial), *events[2:]]
    not_quite(
        check_trace(other, events), "event 1 (text_delta): expected the delta '先看', got '先'"
    )
    ending = [*events[:3], Done("length", TWO_TEXTS)]
    not_quite(check_trace(ending, events), "event 3 (done): expected the reason 'stop'")
    not_quite(check_trace([Start(TWO_TEXTS)], events), "event 0 (start): expected the partial []")


# Awaited checks


def test_check_stream() -> None:
    """A function that makes a stream is called, and the stream is read to its end."""

    async def right() -> Any:
        return ScriptedModel([TOOL]).stream(AgentContext([]))

    async def two() -> Any:
        model = ScriptedModel([TWO_TEXTS])
        return [model.stream(AgentContext([])) for _ in range(2)]

    async def never() -> Any:
        return EventStream(bool, bool)

    async def raises() -> Any:
        raise ValueError("先看")

    def blank() -> Any: ...

    expected = list(project(TOOL))
    types = ["start", "text_delta", "text_delta", "done"]
    passes(
        awaited(check_stream(right, expected)),
        "passed: checked 1 stream, 5 events: type, content index, delta, partial, ending.",
    )
    passes(
        awaited(check_stream(two, types, ["error"])), "passed: checked 2 streams, 5 events: types."
    )
    not_yet(awaited(check_stream(..., expected)))
    not_yet(awaited(check_stream(blank, expected)))
    not_quite(awaited(check_stream(right, types)), "event 2: expected text_delta, got toolcall_d")
    not_quite(awaited(check_stream(two, types, types)), "stream 1: event 0: expected start, got er")
    not_quite(awaited(check_stream(two, types)), "the number of streams: expected 1, got 2")
    not_quite(awaited(check_stream(raises, types)), "your code raised ValueError: 先看 (line ")
    not_yet(awaited(check_stream(lambda: print(end=""), types)), "Is a `return` missing?")
    not_quite(awaited(check_stream(lambda: "stream", types)), "'stream' is no stream")


def test_check_stream_can_ask_for_a_stream_that_is_still_empty() -> None:
    """What is produced inside the call is told, and a coroutine is refused."""

    def scheduled() -> Any:
        return ScriptedModel([TOOL]).stream(AgentContext([]))

    def too_early() -> Any:
        stream: Any = EventStream(lambda event: event.type == "done", lambda event: event.message)
        for event in project(TOOL):
            stream.push(event)
        return stream

    async def coroutine() -> Any:
        return scheduled()

    expected = list(project(TOOL))
    assert awaited(check_stream(scheduled, expected, empty=True)).passed
    assert awaited(check_stream(too_early, expected)).passed
    found = awaited(check_stream(too_early, expected, empty=True))
    not_quite(found, "it has events already when it is given back")
    not_quite(awaited(check_stream(coroutine, expected, empty=True)), "Write `def`, not `async")


def test_check_stream_does_not_wait_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stream that never ends is told in words when the time is up."""
    monkeypatch.setattr(exercises, "LIMIT", 0.05)

    async def never() -> Any:
        return EventStream(bool, bool)

    not_quite(awaited(check_stream(never, ["start"])), "nothing more came within 0.05 seconds")


def test_check_script() -> None:
    """A script is played, call by call."""
    failed, good = FailedTurn("error", "rate limited", "正在"), assistant_message([text("先看")])
    types = (["start", "text_delta", "error"], ["start", "text_delta", "done"])
    passes(
        awaited(check_script([failed, good], *types)), "passed: checked 2 calls, 6 events: types."
    )
    for blank in (..., None, [..., good]):
        not_yet(awaited(check_script(blank, *types)))
    not_quite(awaited(check_script([good, good], *types)), "call 0: event 2: expected error, got d")
    not_quite(awaited(check_script([failed], *types)), "call 1: event 0: expected start, got error")
    not_quite(awaited(check_script(["先看"], *types)), "Write assistant_message([text('先看')])")
    not_quite(awaited(check_script(good, *types)), "not quite: A script is a list of turns")
    not_quite(awaited(check_script([good, good], types[1])), "more turns than the 1 call asked for")


def runs_on(*given: Any) -> None:
    while True:
        pass


def test_a_loop_without_an_end_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a plain check and in an awaited one: no time limit of the loop reaches such code."""
    monkeypatch.setattr(check_module, "LIMIT", 0.2)
    monkeypatch.setattr(exercises, "LIMIT", 0.05)
    not_quite(check_calls(runs_on, ((1,), 1)), "your code ran on for 0.2 seconds: a loop without")

    async def in_a_callback() -> Any:
        asyncio.get_running_loop().call_soon(runs_on)
        return EventStream(bool, bool)

    found = awaited(check_stream(in_a_callback, ["start"]))
    not_quite(found, "a loop without an end?")


# Chapter 04


class Naive:
    """One list and one cursor for all; a reader is an async generator."""

    def __init__(self, is_complete: Any, extract_result: Any) -> None:
        self.is_complete, self.extract_result = is_complete, extract_result
        self.queue: asyncio.Queue[Any] = asyncio.Queue()
        self.done: asyncio.Future[Any] = asyncio.get_running_loop().create_future()

    def push(self, event: Any) -> None:
        self.queue.put_nowait(event)
        if self.is_complete(event):
            self.end(self.extract_result(event))

    def end(self, result: Any = None) -> None:
        self.done.set_result(result)

    async def __aiter__(self) -> Any:
        while not (self.done.done() and self.queue.empty()):
            yield await self.queue.get()

    async def result(self) -> Any:
        return await self.done


class OneCursor(EventStream[Any, Any]):
    """The cursor belongs to the stream, so readers steal from one another."""

    def __aiter__(self) -> Any:
        self.reader = getattr(self, "reader", None) or super().__aiter__()
        return self.reader


class OnlyLater(EventStream[Any, Any]):
    """A reader sees what is pushed after it came."""

    def __aiter__(self) -> Any:
        reader = super().__aiter__()
        reader._next = len(self.events) if self.closed and self.read_once else 0
        self.read_once = True
        return reader

    read_once = False


class NeverWakes(EventStream[Any, Any]):
    def _wake(self) -> None:
        pass


class GeneratorReader(EventStream[Any, Any]):
    """Cancelled while it waits, a generator is finished."""

    async def __aiter__(self) -> Any:
        async for event in _Whole(self):
            yield event


class _Whole:
    def __init__(self, stream: EventStream[Any, Any]) -> None:
        self.stream = stream

    def __aiter__(self) -> Any:
        return EventStream.__aiter__(self.stream)


class LastResult(EventStream[Any, Any]):
    """The last end() counts."""

    def end(self, result: Any = None) -> None:
        self._closed = False
        super().end(result)


class LooksOnce(EventStream[Any, Any]):
    """After a wake-up a reader takes it that there is an event: `if` where `while` belongs."""

    def __aiter__(self) -> Any:
        return _Once(self)


class _Once:
    def __init__(self, stream: Any) -> None:
        self.stream, self.seen = stream, 0

    def __aiter__(self) -> Any:
        return self

    async def __anext__(self) -> Any:
        if self.seen == len(self.stream.events):
            if self.stream.closed:
                raise StopAsyncIteration
            await self.stream._change()
        self.seen += 1
        return self.stream.events[self.seen - 1]


class HardCoded(EventStream[Any, Any]):
    """The events of the example, whatever was pushed."""

    async def __aiter__(self) -> Any:
        for event in ("a", "end"):
            yield event


class CancelsAll(EventStream[Any, Any]):
    """One future for all who wait, so a wait that is given up ends every wait."""

    common: Any = None

    def __aiter__(self) -> Any:
        return _AtOneFuture(self)


class _AtOneFuture(_Once):
    async def __anext__(self) -> Any:
        if self.seen == len(self.stream.events):
            self.stream.common = waiting = self.stream.common or asyncio.Future()
            try:
                await waiting
            except asyncio.CancelledError:
                if not waiting.done():
                    raise
                return "lost"
        return await super().__anext__()


class EndInSilence(EventStream[Any, Any]):
    """end() closes, and wakes nobody."""

    def end(self, *result: Any) -> None:
        waiting, self._waiting = self._waiting, []
        super().end(*result)
        self._waiting = waiting


class EndlessReader(EventStream[Any, Any]):
    """`return` where `raise StopAsyncIteration` belongs: None, for ever."""

    def __aiter__(self) -> Any:
        return self

    async def __anext__(self) -> Any:
        return None


class NoResultYet(EventStream[Any, Any]):
    def result(self) -> Any: ...


class StreamStub:
    def __init__(self, is_complete: Any, extract_result: Any) -> None: ...

    def push(self, event: Any) -> None: ...


@pytest.mark.parametrize(
    ("cls", "name", "words"),
    [
        (
            OneCursor,
            "two readers",
            "the first event of each: expected ['b', 'b'], got ['b', 'over']",
        ),
        (OnlyLater, "late reader", "after the end: expected ['c', 'd', 'closed'], got []"),
        (NeverWakes, "waiting reader", "nothing more came within 0.1 seconds"),
        (GeneratorReader, "time out", "timed out: expected ['h', 'last'], got []"),
        (LastResult, "no result", "after end() without a result, result() gave None"),
        (LastResult, "end twice", "expected 'first', got 'second'"),
        (EndInSilence, "end wakes", "nothing more came within 0.1 seconds"),
        (EndlessReader, "one reader", "a reader got 1000 events and still no end"),
        (Naive, "end twice", "your code raised InvalidStateError"),
        (Naive, "no result", "result() gave None; it should raise"),
        (Naive, "late reader", "expected ['c', 'd', 'closed'], got []"),
        (LooksOnce, "woken for nothing", "your code raised IndexError"),
        (HardCoded, "two readers", "the first event of each: expected ['b', 'b'], got ['a', 'a']"),
        (
            CancelsAll,
            "cancelled reader",
            "the other reader, when one was cancelled: expected 'g', got 'lost'",
        ),
    ],
)
def test_a_broken_carrier_is_told_what_it_breaks(
    cls: Any, name: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each clause of the carrier's contract can be checked on its own, and by name in the whole."""
    monkeypatch.setattr(carrier, "LIMIT", 0.1)
    found = awaited(check_event_stream(cls, name))
    not_quite(found, f"not quite: {name}: ")
    not_quite(found, words)
    assert awaited(check_event_stream(cls)).passed is False


def test_the_carrier_passes_and_says_what_was_tested() -> None:
    """The package's stream keeps every clause; a blank keeps none yet."""
    passes(
        awaited(check_event_stream(EventStream)),
        "passed: checked one reader, two readers, late reader, waiting reader, woken for"
        " nothing, cancelled reader, result, time out, no result, end twice, end wakes.",
    )
    passes(awaited(check_event_stream(Naive, "one reader")), "passed: checked one reader.")
    for blank in (..., None, StreamStub):
        not_yet(awaited(check_event_stream(blank)))
    not_yet(awaited(check_event_stream(NoResultYet)), "result() is still blank.")
    assert awaited(check_event_stream(NoResultYet, "one reader", "time out")).passed is True


def test_another_protocol_on_the_same_carrier() -> None:
    """A stream that is no model's can be checked by its events too."""
    reply = generate_mock_reply("Hello, this is a mock response.")

    async def make() -> Any:
        stream = SimulatedResponseStream()
        stream.push({"status": "completed", "payload": reply, "type": "completed"})
        return stream

    assert awaited(check_stream(make, ["completed"])).passed is True


def test_without_await_the_repr_says_so() -> None:
    """A forgotten `await` is told in words, with no address and no warning."""
    assert repr(check_stream(..., [])) == (
        "This check has to be awaited: write `await check_stream(…)`."
    )


def test_a_report_has_no_address_and_json_is_json() -> None:
    """What nbval compares is the same on every run."""
    assert " at 0x" not in repr(check_value(object(), json.dumps({})))
