"""The model: what happens inside stream(), what happens later, and how calls end."""

import asyncio
import time
from itertools import pairwise
from typing import Any

import pytest

from scripted_model import (
    AgentContext,
    ContextError,
    FailedTurn,
    ScriptedModel,
    ScriptError,
    UnplayedTurnsError,
    assistant_message,
    characters,
    text,
    text_of,
    to_dict,
    tool_call,
    user_message,
)
from tests.stream_contract import read, result_of, turn_the_loop

FIRST = assistant_message([text("先看")])
SECOND = assistant_message([text("第二轮")])
READ = tool_call("c1", "read", {"path": "README.md"})


def context(*said: str) -> AgentContext:
    return AgentContext([user_message(one) for one in said])


def types(events: Any) -> list[str]:
    return [event.type for event in events]


def test_the_opening_example_to_the_letter() -> None:
    """Two turns, two calls, an append in between: the six lines of the specification."""

    async def play() -> list[Any]:
        model = ScriptedModel([FIRST, SECOND])
        printed: list[Any] = []
        for said in ("请求一", "请求二"):
            asked = context(said)
            stream = model.stream(asked)
            asked.messages.append(user_message("事后追加"))
            printed.append(" → ".join(types(await read(stream))))
            printed.append(text_of(await stream.result()))
        return [*printed, len(model.requests), len(model.requests[0].messages)]

    assert asyncio.run(play()) == [
        "start → text_delta → done",
        "先看",
        "start → text_delta → done",
        "第二轮",
        2,
        1,
    ]


def test_stream_returns_before_anything_is_produced() -> None:
    """1 call, 2 returned, 3 produce: the events come in the callback, not in the call."""

    async def play() -> None:
        model = ScriptedModel([FIRST])
        asyncio.get_running_loop().call_soon(order.append, "scheduled before")
        stream = model.stream(context("请求一"))
        asyncio.get_running_loop().call_soon(lambda: order.append(len(stream.events)))
        order.append(f"returned with {len(stream.events)}")
        await turn_the_loop(1)

    order: list[Any] = []
    asyncio.run(play())
    assert order == ["returned with 0", "scheduled before", 3]


def test_two_calls_before_either_plays_get_their_own_turns() -> None:
    """The turn is taken in the call, so the order of the calls decides."""

    async def play() -> list[str]:
        model = ScriptedModel([FIRST, SECOND])
        streams = [model.stream(context()), model.stream(context())]
        return [text_of(await stream.result()) for stream in reversed(streams)]

    assert asyncio.run(play()) == ["第二轮", "先看"]


def test_the_caller_cannot_change_the_script() -> None:
    """Neither the list of turns nor a dict inside one reaches into the model."""
    arguments = {"path": "README.md"}
    turns = [assistant_message([tool_call("c1", "read", arguments)], "toolUse")]
    model = ScriptedModel(turns)
    arguments["path"] = "changed"
    turns.clear()

    async def play() -> Any:
        return await result_of(model.stream(context()))

    assert asyncio.run(play()).content[0].arguments == {"path": "README.md"}


def test_what_a_consumer_changes_does_not_reach_the_next_call() -> None:
    """The same message in two turns plays the same, whatever was done to the first."""

    async def play() -> tuple[Any, Any]:
        turn = assistant_message([READ], "toolUse")
        model = ScriptedModel([turn, turn])
        played = []
        for _ in range(2):
            events = await read(model.stream(context()))
            played.append([to_dict(event) for event in events])
            events[2].tool_call.arguments.clear()
            events[-1].message.content[0].arguments["path"] = "changed"
        return played[0], played[1]

    first, second = asyncio.run(play())
    assert first == second


def test_exhaustion_is_one_error_event_and_never_a_repeat() -> None:
    """No start; the message says that there is no turn left; again and again."""

    async def play() -> None:
        model = ScriptedModel([FIRST])
        await read(model.stream(context()))
        for _ in range(2):
            stream = model.stream(context("请求二"))
            assert types(await read(stream)) == ["error"]
            final = await stream.result()
            assert (final.stop_reason, final.content) == ("error", ())
            assert final.error_message == "ScriptedModel 没有更多响应"
        assert len(model.requests) == 3

    asyncio.run(play())


def test_a_failed_turn_keeps_the_partial_text() -> None:
    """start, text_delta, error; the result resolves to the failed message."""

    async def play() -> None:
        stream = ScriptedModel([FailedTurn("error", "rate limited", "正在")]).stream(context())
        start, delta, error = await read(stream)
        assert (start.type, delta.delta, error.reason) == ("start", "正在", "error")
        final = await stream.result()
        assert final == error.error
        assert (final.stop_reason, final.error_message) == ("error", "rate limited")
        assert text_of(final) == "正在"

    asyncio.run(play())


def test_an_abort_before_playback_uses_up_the_turn() -> None:
    """A single error event; the call is recorded, and the next call gets the next turn."""

    async def play() -> None:
        model = ScriptedModel([FIRST, SECOND])
        signal = asyncio.Event()
        stream = model.stream(context("请求一"), signal=signal)
        signal.set()
        assert types(await read(stream)) == ["error"]
        final = await stream.result()
        assert (final.stop_reason, final.error_message) == ("aborted", "Request was aborted")
        assert len(model.requests) == 1
        assert text_of(await result_of(model.stream(context()))) == "第二轮"

    asyncio.run(play())


def test_an_abort_after_playback_changes_nothing() -> None:
    """Without a pace a turn is played in one go, and then it is done."""

    async def play() -> None:
        signal = asyncio.Event()
        stream = ScriptedModel([FIRST]).stream(context(), signal=signal)
        await turn_the_loop(1)
        signal.set()
        assert types(await read(stream)) == ["start", "text_delta", "done"]

    asyncio.run(play())


@pytest.mark.parametrize("arguments", [float("nan"), object(), {"x": {1}}])
def test_a_turn_that_cannot_be_played_ends_in_an_error_event(arguments: Any) -> None:
    """The event says why, what was said before is kept, and no reader is left hanging."""

    async def play() -> None:
        broken = assistant_message([text("先看"), tool_call("c1", "read", arguments)], "toolUse")
        model = ScriptedModel([broken, SECOND])
        stream = model.stream(context())
        events = await read(stream)
        assert types(events) == ["start", "text_delta", "error"]
        final = await stream.result()
        assert (final.stop_reason, text_of(final)) == ("error", "先看")
        assert "the arguments of tool call 'read' are no JSON" in (final.error_message or "")
        assert text_of(await result_of(model.stream(context()))) == "第二轮"

    asyncio.run(play())


def test_a_chunk_that_raises_ends_the_stream_in_an_error_event() -> None:
    """So does a signal that cannot be asked: the reader hears of it."""

    class Broken:
        def is_set(self) -> bool:
            raise RuntimeError("no answer")

    async def play() -> None:
        model = ScriptedModel([FIRST, FIRST], chunk=lambda said: [str(1 / 0)])
        events = await read(model.stream(context()))
        assert types(events) == ["start", "error"]
        assert "division by zero" in events[-1].error.error_message
        events = await read(model.stream(context(), signal=Broken()))
        assert types(events) == ["error"]
        assert "no answer" in events[-1].error.error_message

    asyncio.run(play())


def test_remaining_counts_and_assert_complete_tells_the_numbers() -> None:
    """A test fails when the agent made fewer calls than the script has turns."""

    async def play() -> None:
        model = ScriptedModel([FIRST, SECOND, FIRST])
        assert model.remaining == 3
        model.stream(context())
        assert model.remaining == 2
        with pytest.raises(UnplayedTurnsError) as caught:
            model.assert_complete()
        assert isinstance(caught.value, AssertionError)
        assert "1 of 3 turns were played, 2 were not" in str(caught.value)
        assert "assistant_message([text('第二轮')])" in str(caught.value)
        for _ in range(3):
            await read(model.stream(context()))
        assert model.remaining == 0
        model.assert_complete()
        assert repr(model) == "<ScriptedModel: 3 of 3 turns played, 4 requests>"

    asyncio.run(play())


SCRIPT_MISTAKES: dict[str, tuple[Any, str]] = {
    "a string": (["先看"], "turn 0 is a str, which no model can play. Write assistant_message"),
    "a dict": ([FIRST, {"role": "assistant"}], "turn 1 is a dict"),
    "a list": ([FIRST, [text("a")]], "turn 1 is a list"),
    "a block": ([text("a")], "turn 0 is a TextContent, which no model can play. Write assistant"),
    "a user message": ([user_message("a")], "turn 0 is a UserMessage"),
    "nothing": ([FIRST, None], "turn 1 is a NoneType"),
    "one turn, no list": (FIRST, "A script is a list of turns, not an AssistantMessage."),
    "a string, no list": ("先看", "A script is a list of turns, not a str."),
    "a number, no list": (7, "A script is a list of turns, not an int."),
    "a stop reason": ([FIRST, assistant_message([], "finished")], "turn 1: "),
    "a failed turn that did not fail": ([FailedTurn("stop", "boom")], "turn 0: "),
    "no error message": ([FailedTurn("error", None)], "turn 0: "),
    "a field of the wrong type": ([assistant_message([], model=7)], "turn 0: "),
    "an exception as error message": ([FailedTurn("error", OSError("boom"))], "turn 0: "),
    "a dict as usage": ([assistant_message([], usage={"input": 1})], "turn 0: usage cannot be"),
    "bytes as text": ([assistant_message([type(text("a"))(b"ab")])], "turn 0: content cannot be"),
    "a lone surrogate": ([assistant_message([], "\ud800")], "turn 0: stop_reason is"),
    "swapped arguments": ([FailedTurn("rate limited", "error")], "one of 'error', 'aborted'"),
    "a text that is none": ([assistant_message([type(text("a"))(7)])], "$.content[0].text"),
}


@pytest.mark.parametrize(("turns", "words"), SCRIPT_MISTAKES.values(), ids=SCRIPT_MISTAKES.keys())
def test_an_ill_formed_script_is_refused_when_the_model_is_built(turns: Any, words: str) -> None:
    """The error names the turn by its index and tells the fix."""
    with pytest.raises(ScriptError) as caught:
        ScriptedModel(turns)
    assert words in str(caught.value)


@pytest.mark.parametrize("pace", [-1, float("nan"), float("inf"), "1", None, True])
def test_a_pace_that_is_no_duration_is_refused(pace: Any) -> None:
    """Seconds, 0 or more."""
    with pytest.raises(ScriptError, match="pace is a number of seconds"):
        ScriptedModel([], pace=pace)


def test_a_chunk_that_is_no_function_is_refused() -> None:
    """The message names a ready one."""
    with pytest.raises(ScriptError, match="such as `words`"):
        ScriptedModel([], chunk=3)


def test_a_call_that_is_refused_uses_up_nothing() -> None:
    """A wrong context or signal is the caller's mistake: no request, no turn."""

    async def play() -> None:
        model = ScriptedModel([FIRST])
        with pytest.raises(ContextError):
            model.stream([user_message("请求一")])
        with pytest.raises(ContextError, match="something with is_set"):
            model.stream(context(), signal=True)
        with pytest.raises(ContextError, match="something with is_set"):
            model.stream(context(), signal=asyncio.Event)
        assert (model.requests, model.remaining) == ([], 1)

    asyncio.run(play())


# A paced stream plays on the loop's timers.


class FastLoop(asyncio.SelectorEventLoop):
    """A loop whose clock jumps to the next timer: nothing is slept for."""

    now = 0.0

    def time(self) -> float:
        return self.now

    def _run_once(self) -> None:
        if not self._ready and self._scheduled:
            self.now = max(self.now, self._scheduled[0].when())
        super()._run_once()


def run_fast(coroutine: Any) -> Any:
    with asyncio.Runner(loop_factory=FastLoop) as runner:
        return runner.run(coroutine)


def test_a_paced_stream_gives_the_same_events_one_at_a_time() -> None:
    """Each event comes one pace after the one before."""

    async def play() -> list[tuple[float, str]]:
        model = ScriptedModel([assistant_message([text("abc")])], chunk=characters, pace=2)
        loop = asyncio.get_running_loop()
        return [(loop.time(), event.type) async for event in model.stream(context())]

    began = time.monotonic()
    timed = run_fast(play())
    assert time.monotonic() - began < 2
    assert timed == [
        (0, "start"),
        (2, "text_delta"),
        (4, "text_delta"),
        (6, "text_delta"),
        (8, "done"),
    ]


@pytest.mark.parametrize("pace", [1e-9, 5e-324])
def test_a_tiny_pace_still_gives_the_loop_its_turn(pace: float) -> None:
    """However small, each event is a callback of its own, and many of them do not nest."""

    async def play() -> list[int]:
        model = ScriptedModel([assistant_message([text("x" * 2000)])], chunk=characters, pace=pace)
        stream = model.stream(context())
        counts = []
        while not stream.closed:
            await asyncio.sleep(0)
            counts.append(len(stream.events))
        assert (await stream.result()).stop_reason == "stop"
        return counts

    counts = asyncio.run(play())
    assert max(after - before for before, after in pairwise(counts)) == 1


def test_a_signal_that_fails_in_mid_play_ends_the_stream() -> None:
    """What it raises is an error event; nobody waits for ever."""

    class Fails:
        looks = 0

        def is_set(self) -> bool:
            self.looks += 1
            return bool(1 // (4 - self.looks)) and False

    async def play() -> Any:
        model = ScriptedModel([assistant_message([text("abc")])], chunk=characters, pace=0.005)
        return await result_of(model.stream(context(), signal=Fails()))

    final = run_fast(play())
    assert (final.stop_reason, text_of(final)) == ("error", "ab")
    assert "division" in final.error_message


def test_an_abort_in_mid_stream_keeps_what_was_said() -> None:
    """The stream ends at once, long before the next event is due."""

    async def play() -> None:
        signal = asyncio.Event()
        turn = assistant_message([text("abc"), READ], "toolUse")
        model = ScriptedModel([turn], chunk=characters, pace=3600)
        stream = model.stream(context(), signal=signal)
        loop = asyncio.get_running_loop()
        seen = []
        async for event in stream:
            seen.append(event.type)
            if len(seen) == 3:
                aborted_at = loop.time()
                signal.set()
        assert seen == ["start", "text_delta", "text_delta", "error"]
        assert loop.time() - aborted_at < 0.1
        final = await stream.result()
        assert (final.stop_reason, final.error_message) == ("aborted", "Request was aborted")
        assert text_of(final) == "ab"

    run_fast(play())


def test_an_abort_inside_a_tool_call_keeps_the_raw_arguments_so_far() -> None:
    """The open call stays open in the aborted message: arguments {}, raw text cut."""

    async def play() -> Any:
        signal = asyncio.Event()
        model = ScriptedModel([assistant_message([READ], "toolUse")], chunk=characters, pace=1)
        stream = model.stream(context(), signal=signal)
        async for event in stream:
            if event.type == "toolcall_delta" and event.delta == "p":
                signal.set()
        return (await stream.result()).content

    assert run_fast(play()) == (tool_call("c1", "read", {}, '{"p'),)


def test_two_paced_streams_do_not_wait_for_each_other() -> None:
    """The one with less to say ends first."""

    async def play() -> list[str]:
        turns = [assistant_message([text("a long one")]), assistant_message([text("b")])]
        model = ScriptedModel(turns, chunk=characters, pace=1)
        streams = [model.stream(context()) for _ in turns]
        ended: list[str] = []

        async def follow(stream: Any) -> None:
            ended.append(text_of(await stream.result()))

        await asyncio.gather(*map(follow, streams))
        return ended

    assert run_fast(play()) == ["b", "a long one"]


def test_a_paced_stream_that_nobody_reads_plays_to_its_end_and_is_gone() -> None:
    """No task, no timer and no stream is left."""

    async def play() -> int:
        model = ScriptedModel([FIRST], pace=1)
        model.stream(context())
        await asyncio.sleep(10)
        assert len(asyncio.all_tasks()) == 1
        loop: Any = asyncio.get_running_loop()
        return len(loop._scheduled)

    assert run_fast(play()) == 0


@pytest.mark.parametrize("pace", [0, 3600])
def test_a_loop_that_closes_in_mid_play_leaves_no_result_open(pace: float) -> None:
    """The stream ends as aborted, with what was said so far."""
    loop = asyncio.new_event_loop()
    model = ScriptedModel([FIRST], pace=pace)
    streams = []

    def call_and_stop() -> None:
        streams.append(model.stream(context()))
        loop.stop()

    async def call_and_wait() -> None:
        streams.append(model.stream(context()))
        await turn_the_loop()

    if pace:
        loop.run_until_complete(call_and_wait())
    else:
        loop.call_soon(call_and_stop)
        loop.run_forever()
    loop.close()
    final = asyncio.run(result_of(streams[0]))
    assert (final.stop_reason, final.error_message) == ("aborted", "Request was aborted")
