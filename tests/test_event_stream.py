"""The carrier: events, readers and one result (chapter 04)."""

import asyncio
from typing import Any

import pytest

from scripted_model import EventStream
from tests import naive_streams as naive
from tests.stream_contract import SCENES, letters, read, turn_the_loop


@pytest.mark.parametrize("scene", SCENES.values(), ids=SCENES.keys())
def test_the_stream_keeps_the_contract(scene: Any) -> None:
    """Every scene of the contract passes on the package's stream."""
    scene(EventStream)


@pytest.mark.parametrize(
    ("flawed", "scene"),
    [
        (naive.GeneratorReaders, "a_reader_that_times_out_loses_no_event"),
        (naive.OneQueue, "two_readers_see_every_event_each"),
        (naive.OneQueue, "a_late_reader_sees_the_whole_trace"),
        (naive.OneQueue, "a_reader_that_stops_half_way_takes_nothing_from_others"),
        (naive.OneQueue, "a_timed_out_result_can_be_awaited_again"),
        (naive.OneQueue, "a_stream_is_built_and_filled_outside_any_loop"),
        (naive.OneQueue, "a_stream_outlives_the_loop_that_waited_for_it"),
        (naive.OneCursor, "two_readers_see_every_event_each"),
        (naive.OneCursor, "a_late_reader_sees_the_whole_trace"),
        (naive.ForgetfulEnd, "a_stream_closed_without_a_result_says_so_every_time"),
        (naive.LastResultWins, "pushes_after_the_close_are_ignored"),
        (naive.LastResultWins, "the_first_result_counts"),
        (naive.NoneMeansNothing, "none_is_a_result_too"),
        (
            naive.WakesWithoutLooking,
            "a_push_may_come_between_the_time_out_and_the_reader_that_hears_of_it",
        ),
        (naive.WakesWithoutLooking, "a_waiter_whose_loop_is_gone_does_not_stop_the_producer"),
        (naive.UnguardedFunctions, "an_extract_result_that_raises_makes_result_raise_the_same"),
        (naive.UnguardedFunctions, "an_is_complete_that_raises_leaves_nobody_waiting"),
    ],
)
@pytest.mark.filterwarnings("ignore")  # a naive stream may well leave something behind
def test_the_contract_bites(flawed: Any, scene: str) -> None:
    """A scene fails on the naive stream that has the flaw which it is about."""
    with pytest.raises(BaseException):  # noqa: B017, PT011  # whatever it is, it is not a pass
        SCENES[scene](flawed)


def test_events_and_closed_show_the_state_to_a_view() -> None:
    """`events` is what there is so far, as a tuple; `closed` says whether more can come."""
    stream = letters(EventStream, "a")
    assert (stream.events, stream.closed) == (("a",), False)
    stream.push("z")
    assert (stream.events, stream.closed) == (("a", "z"), True)


def test_the_repr_is_short_and_stable() -> None:
    """What a student sees says how many events there are and whether more can come."""
    assert repr(letters(EventStream)) == "<EventStream: 0 events, open>"
    assert repr(letters(EventStream, "z")) == "<EventStream: 1 event, closed>"


def test_two_tasks_may_share_one_reader() -> None:
    """Each event of a shared reader goes to exactly one of its tasks."""

    async def play() -> list[Any]:
        stream = letters(EventStream)
        reader = aiter(stream)
        got: list[Any] = []

        async def take() -> None:
            async for event in reader:
                got.append(event)
                await asyncio.sleep(0)

        tasks = [asyncio.create_task(take()) for _ in range(2)]
        await turn_the_loop()
        for event in "abz":
            stream.push(event)
        await asyncio.gather(*tasks)
        return got

    assert sorted(asyncio.run(play())) == ["a", "b", "z"]


def test_waiters_that_gave_up_leave_nothing_behind() -> None:
    """A thousand time-outs on a quiet stream do not make it grow."""

    async def play() -> int:
        stream = letters(EventStream)
        tasks = [asyncio.ensure_future(anext(aiter(stream))) for _ in range(1000)]
        await turn_the_loop()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        return len(stream._waiting)

    assert asyncio.run(play()) == 0


def test_the_error_of_result_keeps_the_place_where_it_happened_and_does_not_grow() -> None:
    """Awaiting a failed result again and again does not pile up traceback entries."""
    stream: EventStream[str, float] = EventStream(lambda event: True, lambda event: 1 / 0)
    stream.push("a")

    def depth() -> int:
        try:
            asyncio.run(read_result())
        except ZeroDivisionError as error:
            steps, traceback = 0, error.__traceback__
            while traceback:
                steps, traceback = steps + 1, traceback.tb_next
            return steps
        raise AssertionError("no error")

    async def read_result() -> float:
        return await stream.result()

    first = depth()
    assert [depth() for _ in range(3)] == [first] * 3


def test_a_pending_result_is_a_coroutine_to_asyncio() -> None:
    """create_task, gather, wait_for and asyncio.run take a result as it is."""
    stream = letters(EventStream, "z")

    async def play() -> list[Any]:
        task = asyncio.create_task(stream.result())
        both = await asyncio.gather(stream.result(), stream.result())
        return [await task, *both, await asyncio.wait_for(stream.result(), 1)]

    assert asyncio.run(play()) == ["result of z"] * 4
    assert asyncio.run(stream.result()) == "result of z"


def test_one_pending_result_serves_many_tasks_and_may_be_awaited_again() -> None:
    """Also after a time-out, and by two tasks at once."""

    async def play() -> list[Any]:
        stream = letters(EventStream)
        pending: Any = stream.result()
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(pending, 0)
        first, second = asyncio.create_task(pending), asyncio.create_task(pending)
        await turn_the_loop()
        first.cancel()
        third = asyncio.ensure_future(asyncio.shield(pending))
        await turn_the_loop()
        stream.push("z")
        return [await second, await third, await pending, await asyncio.wait_for(pending, 1)]

    assert asyncio.run(play()) == ["result of z"] * 4


def test_an_interrupt_inside_a_function_of_the_stream_leaves_nobody_waiting() -> None:
    """A KeyboardInterrupt goes on to the producer, and the stream is closed all the same."""

    def interrupted(event: str) -> str:
        raise KeyboardInterrupt

    stream: EventStream[str, str] = EventStream(lambda event: True, interrupted)
    with pytest.raises(KeyboardInterrupt):
        stream.push("a")
    assert stream.closed


def test_a_reader_of_a_full_stream_reads_it_to_the_end() -> None:
    """Reading what is already there needs no push and no wake-up."""
    assert asyncio.run(read(letters(EventStream, "az"))) == ["a", "z"]
