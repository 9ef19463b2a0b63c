"""The timeline: what it notes, that it changes nothing, and that its pictures can be read."""

import asyncio
import math
import os
import subprocess
import sys
import textwrap
from collections.abc import AsyncIterator, Awaitable, Callable
from io import BytesIO
from typing import Any

import matplotlib
import nbformat
import pytest
from matplotlib import pyplot
from nbclient import NotebookClient

from scripted_model import (
    AgentContext,
    AssistantMessageEventStream,
    Cursor,
    FailedTurn,
    NoRunningLoopError,
    ScriptedModel,
    assistant_message,
    project,
    recording,
    text,
    tool_call,
    user_message,
    words,
)
from scripted_model.timeline import NotRecordableError, Row, Timeline

matplotlib.use("agg")

SCRIPT = [
    assistant_message([text("先看"), tool_call("c1", "read", {"path": "README.md"})], "toolUse"),
    FailedTurn("error", "rate limited", "正在").message(),
]


def context() -> AgentContext:
    return AgentContext([user_message("请求一")])


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    pyplot.close("all")


# Models as students write them, each with another way to hold events and to wait.


class FutureStream:
    """Its reader is an async generator, and its result a future."""

    def __init__(self) -> None:
        self.events: list[Any] = []
        self.arrived = asyncio.Event()
        self.outcome = asyncio.get_running_loop().create_future()

    def push(self, event: Any) -> None:
        self.events.append(event)
        self.arrived.set()
        if event.type in ("done", "error"):
            self.outcome.set_result(getattr(event, "message", None) or event.error)

    def result(self) -> Awaitable[Any]:
        return self.outcome

    async def __aiter__(self) -> AsyncIterator[Any]:
        index = 0
        while True:
            while index == len(self.events):
                self.arrived.clear()
                await self.arrived.wait()
            yield self.events[index]
            index += 1
            if index == len(self.events) and self.outcome.done():
                return


class SlottedStream(AssistantMessageEventStream):
    """Its result is a plain coroutine, and its push another function."""

    __slots__ = ()

    async def result(self) -> Any:
        return await super().result()

    def push(self, event: Any) -> None:
        super().push(event)


class Student:
    """A model by hand. Each event has a callback of its own, made before stream() returns."""

    stream_class: Callable[[], Any] = FutureStream

    def __init__(self, turns: list[Any]) -> None:
        self.turns = turns
        self.cursor = 0
        self.requests: list[Any] = []

    def stream(self, context: Any, *, signal: Any = None) -> Any:
        self.requests.append(list(context.messages))
        turn = self.turns[self.cursor]
        self.cursor += 1
        stream = self.stream_class()
        for event in project(turn):
            asyncio.get_running_loop().call_soon(stream.push, event)
        return stream


class SlottedStudent(Student):
    stream_class = SlottedStream


class TooEarly(Student):
    """Wrong: everything is pushed before stream() returns, and the context is kept as it is."""

    stream_class = AssistantMessageEventStream

    def stream(self, context: Any, *, signal: Any = None) -> Any:
        self.requests.append(context)
        stream = self.stream_class()
        for event in project(self.turns[self.cursor]):
            stream.push(event)
        self.cursor += 1
        return stream


class MovesLate(Student):
    """Wrong: the cursor is moved in the callback."""

    def stream(self, context: Any, *, signal: Any = None) -> Any:
        stream = AssistantMessageEventStream()

        def play() -> None:
            turn = self.turns[self.cursor]
            self.cursor += 1
            for event in project(turn):
                stream.push(event)

        asyncio.get_running_loop().call_soon(play)
        return stream


class Silent(Student):
    """Wrong: it pushes nothing, ever."""

    def stream(self, context: Any, *, signal: Any = None) -> Any:
        return AssistantMessageEventStream()


MODELS = [ScriptedModel, Student, SlottedStudent, TooEarly, MovesLate]


# Programs. `say` is a print or a mark.

Say = Callable[[str], None]


async def reads(stream: Any, name: str, say: Say) -> None:
    async for event in stream:
        say(f"{name} got {event.type}")
    say(f"{name} is through")


async def resolves(stream: Any, name: str, say: Say) -> None:
    say(f"{name} {(await stream.result()).stop_reason}")


async def read_then_result(model: Any, say: Say) -> None:
    say("call")
    stream = model.stream(context())
    say("returned")
    await reads(stream, "reader", say)
    await resolves(stream, "result", say)


async def result_then_read(model: Any, say: Say) -> None:
    stream = model.stream(context())
    await resolves(stream, "result", say)
    await reads(stream, "reader", say)


async def several_readers(model: Any, say: Say) -> None:
    stream = model.stream(context())
    await asyncio.gather(
        reads(stream, "first", say),
        resolves(stream, "result", say),
        reads(stream, "second", say),
    )


async def two_calls(model: Any, say: Say) -> None:
    first, second = model.stream(context()), model.stream(context())
    await asyncio.gather(reads(second, "second", say), reads(first, "first", say))


async def several_waiters(model: Any, say: Say) -> None:
    stream = model.stream(context())
    say(f"wait_for {type(await asyncio.wait_for(stream.result(), 5)).__name__}")
    say(f"gather {type(await asyncio.gather(stream.result())).__name__}")


PROGRAMS = [read_then_result, result_then_read, several_readers, two_calls, several_waiters]


def passes(say: Say, left: int = 12) -> None:
    """A callback in every pass of the loop: one pass more, or fewer, would show."""
    say(f"pass -{left}")
    if left:
        asyncio.get_running_loop().call_soon(passes, say, left - 1)


def said(program: Any, model: Any, timeline: Timeline | None) -> list[str]:
    """What a program says, with a recorder or without."""
    order: list[str] = []

    async def main() -> None:
        if timeline is not None:
            timeline.record(model)
        asyncio.get_running_loop().call_soon(passes, order.append)
        await program(model, order.append)
        order.append("end")
        ready = asyncio.get_running_loop()._ready
        own = [handle for handle in ready if "passes" not in repr(handle)]
        assert own == [], "no callback may be left"

    asyncio.run(main())
    return order


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("model", MODELS)
def test_recording_does_not_change_the_order_and_leaves_no_callback(model, program) -> None:
    """With a recorder a program says the same, in the same passes of the loop, as without."""
    timeline = Timeline()
    assert said(program, model(SCRIPT), timeline) == said(program, model(SCRIPT), None)
    assert timeline.rows


def recorded(model: Any, program: Any = read_then_result) -> Timeline:
    timeline = Timeline()
    asyncio.run(program(timeline.record(model), timeline.mark))
    return timeline


def steps(timeline: Timeline, *lanes: str) -> list[str]:
    return [row.what for row in timeline.rows if row.lane in lanes]


def test_the_model_stays_the_same_object_and_keeps_its_type() -> None:
    """Recording needs no change of the student's code, nor of what it does with its model."""
    model = Student(SCRIPT)
    assert Timeline().record(model) is model
    assert isinstance(model, Student)
    assert type(model).__name__ == "Student"
    assert repr(Timeline().record(ScriptedModel([]))) == repr(ScriptedModel([]))


def test_the_rows_of_a_call() -> None:
    """Every step has its number, its pass of the loop, its lane and what it did."""
    timeline = recorded(ScriptedModel(SCRIPT[1:]))
    assert timeline.rows[:4] == [
        Row(1, 0, "caller", "call"),
        Row(2, 0, "caller", "stream() called"),
        Row(3, 0, "caller", "snapshot taken, cursor 0 to 1"),
        Row(4, 0, "caller", "stream returned"),
    ]
    assert repr(timeline).splitlines()[0] == "step  tick  lane      what"
    assert steps(timeline, "producer") == ["push start", "push text_delta[0]", "push error"]
    assert steps(timeline, "reader 1") == [
        "async for begins", "read start", "read text_delta[0]", "read error", "async for ends",
    ]  # fmt: skip
    assert steps(timeline, "result") == ["awaited", "resolved: error"]


def test_a_push_that_the_callback_held_before_is_seen_in_its_own_pass() -> None:
    """`call_soon(stream.push, event)` takes the push of before the recording; it is noted."""
    for model in (Student, SlottedStudent):
        rows = recorded(model(SCRIPT)).rows
        pushed = [row for row in rows if row.lane == "producer"]
        assert [row.what for row in pushed][::4] == ["push start", "push done"]
        assert {row.tick for row in pushed} == {1}


def test_events_pushed_before_return_are_the_caller_s() -> None:
    """A model that produces in stream() is seen doing so, and so is a kept reference."""
    timeline = recorded(TooEarly(SCRIPT[1:]))
    assert steps(timeline, "producer") == []
    assert steps(timeline, "caller")[2:8] == [
        "reference kept, cursor 0 to 1",
        "push start",
        "push text_delta[0]",
        "push error",
        "stream returned",
        "returned",
    ]


def test_a_cursor_that_moves_late_is_seen_late() -> None:
    """A cursor moved in the callback is the producer's step."""
    assert steps(recorded(MovesLate(SCRIPT)), "producer")[0] == "cursor 0 to 1"


def test_a_cursor_may_have_any_name_and_may_be_an_object() -> None:
    """Any number in the model, or its `position`, is shown by the attribute's name."""

    class Named(TooEarly):
        def __init__(self, turns: list[Any]) -> None:
            super().__init__(turns)
            self._turn = Cursor(turns)

        def stream(self, context: Any, *, signal: Any = None) -> Any:
            self._turn.take()
            return AssistantMessageEventStream()

    timeline = Timeline()
    timeline.record(Named(SCRIPT)).stream(context())
    assert steps(timeline, "caller")[1] == "turn 0 to 1"


def test_two_calls_before_either_is_played_are_noted_once_each() -> None:
    """What the second call changed is not put down to the playback of the first."""

    async def play(timeline: Timeline) -> None:
        model = timeline.record(ScriptedModel(SCRIPT))
        for stream in [model.stream(context()), model.stream(context())]:
            await stream.result()

    timeline = Timeline()
    asyncio.run(play(timeline))
    noted = [(row.lane, row.what) for row in timeline.rows if "cursor" in row.what]
    assert noted == [
        ("caller", "snapshot taken, cursor 0 to 1"),
        ("caller", "snapshot taken, cursor 1 to 2 #2"),
    ]


def test_a_counter_is_no_list_of_requests() -> None:
    """A model that only counts its requests is recorded as well."""

    class Counts(TooEarly):
        def stream(self, context: Any, *, signal: Any = None) -> Any:
            self.requests = self.requests + 1 if isinstance(self.requests, int) else 1
            return AssistantMessageEventStream()

    timeline = Timeline()
    model = timeline.record(Counts(SCRIPT))
    model.stream(context())
    model.stream(context())
    assert "requests 1 to 2 #2" in steps(timeline, "caller")


def test_the_last_recorder_counts() -> None:
    """A cell that records the same model is run again: the new recorder sees it all, once."""
    model = Student(SCRIPT)
    first = recorded(model)
    before = first.rows
    model.cursor = 0
    model.requests.clear()
    assert recorded(model).rows == before
    assert first.rows == before
    assert len(type(model).__mro__) == len(Student.__mro__) + 1


def test_the_second_call_is_numbered() -> None:
    """Two calls before either is played stay apart: the second one's steps carry a #2."""
    timeline = recorded(ScriptedModel(SCRIPT), two_calls)
    assert "snapshot taken, cursor 1 to 2 #2" in steps(timeline, "caller")
    pushed = steps(timeline, "producer")
    assert pushed.index("push done") < pushed.index("push start #2")
    assert "read start #2" in steps(timeline, "reader 1")


def test_a_cancelled_wait_says_so() -> None:
    """A reader and a result that give up are noted."""

    async def main(timeline: Timeline) -> None:
        stream = timeline.record(Silent(SCRIPT)).stream(context())
        for waiting in (anext(aiter(stream)), stream.result()):
            task = asyncio.create_task(waiting)
            task.get_loop().call_soon(task.cancel)
            await asyncio.gather(task, return_exceptions=True)

    timeline = Timeline()
    asyncio.run(main(timeline))
    assert "read raised CancelledError" in steps(timeline, "reader 1")
    assert "raised CancelledError" in steps(timeline, "result")


def test_an_error_from_stream_is_noted_and_passes_through() -> None:
    """Outside a loop, stream() raises what it raises without a recorder."""
    timeline = Timeline()
    with pytest.raises(NoRunningLoopError):
        timeline.record(ScriptedModel([])).stream(context())
    assert steps(timeline, "caller")[-1] == "stream() raised NoRunningLoopError"


@pytest.mark.parametrize(
    ("thing", "words_of_it"),
    [
        (ScriptedModel, "not the class ScriptedModel"),
        ("text", "not a str"),
        (None, "not None"),
    ],
)
def test_only_models_are_recorded(thing, words_of_it) -> None:
    """What is no model is refused in words that say what to write."""
    with pytest.raises(NotRecordableError, match=words_of_it) as error:
        Timeline().record(thing)
    assert "Write model = timeline.record(ScriptedModel([…]))" in str(error.value)


def test_what_is_no_stream_is_refused_in_words() -> None:
    """A stream() that returns nothing, or is a coroutine function, is named as such."""

    class Nothing:
        def stream(self, context: Any) -> None: ...

    class Later:
        async def stream(self, context: Any) -> None: ...

    with pytest.raises(NotRecordableError, match=r"stream\(\) returned None"):
        Timeline().record(Nothing()).stream(context())
    with pytest.raises(NotRecordableError, match="Is it written with `async def`"):
        Timeline().record(Later()).stream(context())


def test_pushes_that_cannot_be_seen_are_not_passed_over() -> None:
    """A stream with neither push() nor a list of events is named; its readers are still seen."""

    class Dark:
        async def __aiter__(self) -> AsyncIterator[str]:
            yield "start"

    class Model:
        def stream(self, context: Any) -> Dark:
            return Dark()

    async def main(timeline: Timeline) -> None:
        async for _ in timeline.record(Model()).stream(context()):
            pass

    timeline = Timeline()
    asyncio.run(main(timeline))
    assert steps(timeline, "caller")[1] == "stream returned, its pushes are not seen"
    assert "read start" in steps(timeline, "reader 1")


def test_before_anything_is_recorded() -> None:
    """An empty timeline can be printed, described and drawn."""
    timeline = Timeline()
    assert repr(timeline) == "(no step yet: record a model, then call it)"
    assert timeline.alt_text().startswith("A timeline; steps: 0, ticks: 0. caller: no step.")
    timeline.plot().figure.savefig(BytesIO())


def test_a_tick_ends_where_another_loop_begins() -> None:
    """Steps in no loop, in one and in the next one are never in the same tick."""
    timeline = Timeline()

    async def main() -> None:
        timeline.mark("in a loop")

    timeline.mark("before")
    for _ in range(3):
        asyncio.run(main())
    timeline.mark("after")
    assert [row.tick for row in timeline.rows] == [0, 1, 2, 3, 4]


def test_passes_without_a_step_are_not_counted() -> None:
    """How long a loop waits for a timer is not in the table."""

    async def main(timeline: Timeline) -> None:
        timeline.mark("a")
        await asyncio.sleep(0.001)
        timeline.mark("b")
        await asyncio.sleep(0)
        timeline.mark("c")

    timeline = Timeline()
    asyncio.run(main(timeline))
    assert [row.tick for row in timeline.rows] == [0, 1, 2]


def test_a_loop_of_another_make_has_the_same_ticks() -> None:
    """Where `_run_once` is missing (in a browser), a callback counts, and stops by itself."""
    usual = recorded(ScriptedModel(SCRIPT), several_readers)

    async def main(timeline: Timeline) -> None:
        loop = asyncio.get_running_loop()
        recording._passes[loop] = recording._Passes(object())
        await several_readers(timeline.record(ScriptedModel(SCRIPT)), timeline.mark)
        for _ in range(3):
            await asyncio.sleep(0)
        assert not loop._ready

    timeline = Timeline()
    asyncio.run(main(timeline))
    assert timeline.rows == usual.rows


# The same table and the same picture everywhere.

PROGRAM = textwrap.dedent("""
    import asyncio
    from scripted_model import *
    from scripted_model.timeline import Timeline

    async def main():
        recorder = Timeline()
        model = recorder.record(ScriptedModel([assistant_message([text("先看")])]))
        recorder.mark("请求 the call")
        stream = model.stream(AgentContext([user_message("请求一")]))
        async def read():
            async for event in stream:
                pass
        readers = [asyncio.create_task(read()) for _ in range(2)]
        await stream.result()
        await asyncio.gather(*readers)
        return recorder
""")
IN_A_SCRIPT = """
import hashlib, io, sys
recorder = asyncio.run(main())
picture = io.BytesIO()
recorder.plot().figure.savefig(picture)
sys.stdout.reconfigure(encoding="utf-8")
print(recorder)
print(hashlib.sha256(picture.getvalue()).hexdigest())
"""


def in_a_script(**environment: str) -> str:
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", PROGRAM + IN_A_SCRIPT],
        env={**os.environ, "MPLBACKEND": "agg", **environment},
        capture_output=True, check=True, encoding="utf-8",
    ).stdout  # fmt: skip


def test_the_same_on_every_run_hash_seed_and_locale() -> None:
    """The table and the bytes of the picture are the same, with no warning, with LC_ALL=C too."""
    first = in_a_script(PYTHONHASHSEED="1")
    assert "请求 the call" in first
    assert in_a_script(PYTHONHASHSEED="2", LC_ALL="C") == first


def test_the_same_in_a_notebook() -> None:
    """In a kernel, where the loop has callbacks of its own, the table is that of a script.

    The picture appears each time, the same one.
    """
    cells = [PROGRAM, *["print(await main())"] * 3, *["(await main()).plot();"] * 2]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c) for c in cells])
    NotebookClient(notebook, timeout=50, kernel_name="python3").execute()
    table = in_a_script().rsplit("\n", 2)[0] + "\n"
    assert [cell.outputs[0].text for cell in notebook.cells[1:4]] == [table] * 3
    first, second = (cell.outputs[0].data["image/png"] for cell in notebook.cells[4:])
    assert first == second


# The picture.


def timeline_of(count: int) -> Timeline:
    """So many steps, in every lane and with the longest usual labels."""
    said = "".join(f" {n}" for n in range((count - 20) // 4))
    turn = assistant_message([text(said), *SCRIPT[0].content[1:]]) if said else SCRIPT[0]
    timeline = recorded(ScriptedModel([turn], chunk=words), several_readers)
    timeline.mark("说 a mark in Chinese")
    del timeline._rows[count:]
    assert len(timeline.rows) == count
    return timeline


def corners(label: Any) -> list[tuple[float, float]]:
    """The box of a label in its own direction, as it was before it was turned."""
    turn, (x, y) = (
        math.radians(label.get_rotation()),
        label.get_transform().transform(label.get_position()),
    )
    across, up = x * math.cos(turn) + y * math.sin(turn), y * math.cos(turn) - x * math.sin(turn)
    label.set_rotation(0)
    box = label.get_window_extent()
    label.set_rotation(math.degrees(turn))
    left, bottom = across + box.x0 - x, up + box.y0 - y
    return [(left, left + box.width), (bottom, bottom + box.height)]


def overlap(one: Any, other: Any) -> bool:
    return all(a[0] < b[1] and b[0] < a[1] for a, b in zip(one, other, strict=True))


@pytest.mark.parametrize("count", [5, 12, 30, 31, 60])
def test_no_label_overlaps_or_is_cut_off(count) -> None:
    """From 5 to 60 steps every label has its place inside the figure."""
    axes = timeline_of(count).plot()
    figure = axes.figure
    figure.canvas.draw()
    slanted, level = axes.get_xticklabels(), [*axes.get_yticklabels(), *axes.texts]
    assert len(slanted) == count
    for label in (*slanted, *level):
        box = label.get_window_extent()
        assert box.x0 >= 0
        assert box.y0 >= 0
        assert box.x1 <= figure.bbox.x1
        assert box.y1 <= figure.bbox.y1
    for labels in (slanted, level):
        boxes = [corners(label) for label in labels]
        for n, one in enumerate(boxes):
            for other in boxes[n + 1 :]:
                assert not overlap(one, other)
    assert axes.bbox.height / axes.get_ylim()[0] > 40, "the lanes are far enough apart"
    # Below the axes there is nothing but the slanted labels.
    lowest = min(label.get_window_extent().y0 for label in level)
    assert max(label.get_window_extent().y1 for label in slanted) < lowest


def test_labels_are_ascii_and_lanes_differ_without_colour() -> None:
    """No font is asked for Chinese, no text is taken for a formula, each lane has a marker."""
    timeline = timeline_of(30)
    timeline.mark("说")
    timeline.mark("$x$ and a very long text, longer than any label may be")
    axes = timeline.plot()
    labels = [label.get_text() for label in axes.get_xticklabels()]
    assert labels[-2:] == ["mark 31", "$x$ and a very long text, longe..."]
    assert all(label.isascii() for label in labels)
    shapes = [path.vertices.tobytes() for c in axes.collections for path in c.get_paths()]
    assert len(set(shapes)) == len(timeline.lanes)


def test_the_picture_does_not_depend_on_the_theme() -> None:
    """A dark style, or transparent figures, leave it dark on white; the style is put back."""

    def picture() -> bytes:
        buffer = BytesIO()
        figure = timeline_of(12).plot().figure
        figure.savefig(buffer, facecolor=figure.get_facecolor())  # as a notebook does
        return buffer.getvalue()

    light = picture()
    with pyplot.style.context("dark_background"):
        before = dict(pyplot.rcParams)
        assert timeline_of(12).plot().figure.get_facecolor() == (1, 1, 1, 1)
        assert picture() == light
        assert dict(pyplot.rcParams) == before


def test_plot_takes_axes_and_returns_them() -> None:
    """Two timelines can stand in one figure."""
    _, (upper, lower) = pyplot.subplots(2)
    assert timeline_of(5).plot(upper) is upper
    assert timeline_of(5).plot(lower) is lower


def test_the_picture_in_words() -> None:
    """The alternative text has a sentence for each lane, with every step."""
    timeline = recorded(ScriptedModel([]), result_then_read)
    assert timeline.alt_text() == (
        "A timeline; steps: 12, ticks: 3."
        " caller: 1 stream() called, 2 snapshot taken, 3 stream returned,"
        " 7 result error, 10 reader got error, 12 reader is through."
        " producer: 5 push error."
        " reader 1: 8 async for begins, 9 read error, 11 async for ends."
        " result: 4 awaited, 6 resolved: error."
    )
