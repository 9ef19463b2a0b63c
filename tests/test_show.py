"""What is seen is what happened: the card, its text twin, the stepper and the live view."""

import asyncio
import html
import importlib
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from types import SimpleNamespace
from typing import Any

import ipywidgets
import pytest
from ipywidgets.embed import embed_data

from scripted_model import (
    AgentContext,
    AssistantMessage,
    EventStream,
    FailedTurn,
    ScriptedModel,
    ScriptedTurn,
    SimulatedResponseStream,
    assistant_message,
    characters,
    generate_mock_reply,
    project,
    text,
    tool_call,
)
from scripted_model.microtask import TwoQueueLoop
from scripted_model.show import (
    NotEventsError,
    Stepper,
    card_html,
    card_text,
    film_html,
    film_text,
    stepper,
    watch,
)

# Not `from … import watch`: that name is the function.
live_view = importlib.import_module("scripted_model.show.watch")
stepping = importlib.import_module("scripted_model.show.stepper")
TWO_BLOCKS = assistant_message(
    [text("先看"), tool_call("c1", "read", {"path": "README.md"})], "toolUse"
)
HOSTILE = {
    "html": "<b>bold</b> & <img src=x onerror=alert(1)>",
    "half a tag": "<b onclick='x",
    "end of script": "a </script><script>alert(1)</script> b",
    "comment": "<!-- never closed",
    "entity": "&lt;already&gt; &amp",
    "emoji": "👩‍👩‍👧‍👦 🇨🇳",
    "right to left": "مرحبا بالعالم, שלום",
    "Chinese": "先看，然后回答。" * 20,
    "quotes": "\"'`",
}


def events_of(turn: ScriptedTurn, **options: Any) -> list[Any]:
    message = turn.message() if isinstance(turn, FailedTurn) else turn
    return list(project(message, **options))


def fours(said: str) -> list[str]:
    return re.findall(r".{4}", said)


def fives(said: str) -> list[str]:
    return re.findall(r".{5}", said)


class Reader(HTMLParser):
    """What a browser would show, and which tags it would see."""

    def __init__(self, said: str) -> None:
        super().__init__()
        self.text, self.tags, self.attributes = "", [], set[str]()
        self.open: list[str] = []
        self.feed(said)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes |= {name for name, _ in attrs}
        if tag not in ("br", "img"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.fixture(autouse=True)
def _no_widgets_left() -> Iterator[None]:
    yield
    ipywidgets.Widget.close_all()


# The card


def test_a_card_says_which_event_just_happened() -> None:
    """The number, the total, the type and the content index are in words."""
    seen = Reader(card_html(events_of(TWO_BLOCKS), 1)).text
    assert "event 2 of 5, just happened: + text_delta at content index 0" in seen


def test_the_current_event_is_marked_by_a_sign() -> None:
    """▶ stands before the current event, which is the last of those so far."""
    seen = Reader(card_html(events_of(TWO_BLOCKS), 2)).text
    assert seen.count("▶") == 1
    assert re.search(r"▶\s*3", seen)
    assert "toolcall_end" not in seen


def test_what_was_added_is_marked_without_colour() -> None:
    """New text is inside <ins>, and a word says whether the block is new or grew."""
    events = events_of(assistant_message([text("abc")]), chunk=characters)
    first, second = card_html(events, 1), card_html(events, 2)
    assert re.findall(r"<ins [^>]*>(.*?)</ins>", first) == ["a"]
    assert "new block" in first
    assert re.findall(r"a<ins [^>]*>(.*?)</ins>", second) == ["b"]
    assert "grew" in second


def test_arguments_are_raw_until_the_call_is_finished() -> None:
    """Half a JSON text is shown as it is; after toolcall_end the arguments are shown."""
    events = events_of(TWO_BLOCKS, chunk=characters)
    half = card_text(events, 6)
    assert '[1] tool call read, id c1: raw JSON, not finished: {"p«a»' in half
    assert "[0] text: 先看" in half
    after = card_text(events, len(events) - 2)
    assert "arguments, finished" in after
    assert '«{"path": "README.md"}»' in after


def test_a_call_cut_off_by_a_failure_is_not_called_finished() -> None:
    """An aborted message keeps its open tool call, and the card says that it is open."""
    open_call = tool_call("c1", "read", {}, '{"pa')
    failed = assistant_message([open_call], "aborted", error_message="Request was aborted")
    events = [*events_of(TWO_BLOCKS)[:1], *events_of(failed)[-1:]]
    assert "raw JSON, not finished" in card_text(events, 1)


@pytest.mark.parametrize(
    ("turn", "says"),
    [
        (TWO_BLOCKS, "✓ done, reason: toolUse"),
        (FailedTurn("error", "rate limited", "正在"), "✗ error, reason: error: rate limited"),
        (FailedTurn("aborted", "Request was aborted"), "✗ error, reason: aborted: Request was"),
    ],
)
def test_the_end_is_named(turn: ScriptedTurn, says: str) -> None:
    """The last card says how the stream ended, and why."""
    events = events_of(turn)
    assert says in Reader(card_html(events, len(events) - 1)).text
    assert says in card_text(events, len(events) - 1)


def test_a_shared_message_is_seen_not_to_change() -> None:
    """Where all events hold one message object, the card shows that nothing was added."""
    shared = assistant_message([text("abc")])
    events = [SimpleNamespace(type="text_delta", content_index=0, partial=shared)] * 2
    assert "Nothing in the message changed." in card_html(events, 1)
    assert "<ins" not in card_html(events, 1)


def test_an_event_unfolds_as_json() -> None:
    """The JSON form of the event is in the card, folded."""
    card = card_html(events_of(TWO_BLOCKS), 3)
    (said,) = re.findall(r"<details.*?<pre[^>]*>(.*?)</pre></details>", card, re.DOTALL)
    assert json.loads(html.unescape(said))["toolCall"]["arguments"] == {"path": "README.md"}


@pytest.mark.parametrize("said", HOSTILE.values(), ids=HOSTILE.keys())
def test_any_text_is_shown_as_it_is(said: str) -> None:
    """No text becomes HTML: a reader of the page sees exactly the text, and no tag of its own."""
    events = events_of(assistant_message([text(said), tool_call(said, said, {said: said})]))
    plain = events_of(assistant_message([text("x"), tool_call("x", "x", {"x": "x"})]))
    for at in range(len(events)):
        card = Reader(card_html(events, at))
        assert card.open == []
        assert card.tags == Reader(card_html(plain, at)).tags
        assert card.attributes <= {
            "style",
            "role",
            "aria-label",
            "aria-hidden",
            "aria-current",
            "dir",
        }
    assert said in Reader(card_html(events, 1)).text
    assert Reader(film_html(events)).open == []


@pytest.mark.parametrize("said", ["\x1b[31m", "\x00", "a\rb", "\u202eevil", "\ud83d", "\u2028"])
def test_what_cannot_be_seen_is_shown_as_an_escape(said: str) -> None:
    """Control characters and lone surrogates are visible, and can be sent to a browser."""
    events = events_of(assistant_message([text(said)]))
    for shown in (card_html(events, 1), film_html(events), card_text(events, 1), film_text(events)):
        assert not set(said) & set("\x1b\x00\r\u202e\ud83d\u2028") & set(shown)
        shown.encode("utf-8")
    assert "\\" in card_text(events, 1)


def test_a_card_stays_small_whatever_the_text() -> None:
    """A very long text is cut, and the card says how much is left out."""
    events = events_of(assistant_message([text("长" * 100_000)]))
    card = card_html(events, 1)
    assert len(card) < 12_000
    assert "98,800 characters" in Reader(card).text


def test_a_message_of_many_blocks_shows_the_last_ones_and_the_one_that_changed() -> None:
    """Those left out are counted."""
    blocks = [{"type": "text", "text": f"block {n}"} for n in range(20)]
    event = {"type": "text_delta", "contentIndex": 3, "partial": {"content": blocks}}
    seen = Reader(card_html([event], 0)).text
    assert re.findall(r"block (\d+)", seen.split("this event as JSON")[0].split("message")[1]) == [
        "3", "14", "15", "16", "17", "18", "19",
    ]  # fmt: skip
    assert "13 earlier blocks" in seen


def test_html_needs_no_style_sheet_and_no_script() -> None:
    """JupyterLab's sanitiser would take these out of a notebook that it does not trust."""
    events = events_of(TWO_BLOCKS)
    tags = set(Reader(card_html(events, 3)).tags + Reader(film_html(events)).tags)
    assert tags.isdisjoint({"style", "script", "svg", "iframe", "link"})


# What can be shown


@dataclass
class MyEvent:
    kind: str
    partial: dict[str, Any] = field(default_factory=dict)

    @property
    def type(self) -> str:
        return self.kind


class MyStream:
    def __init__(self, events: list[Any]) -> None:
        self.events = events


def simulated() -> SimulatedResponseStream:
    stream = SimulatedResponseStream()
    stream.push({"status": "in_progress"})
    stream.push({"status": "completed", "payload": generate_mock_reply("Hello")})
    return stream


MINE = {"content": [{"type": "text", "text": "hi"}]}


@pytest.mark.parametrize(
    ("source", "says"),
    [
        (MyStream([MyEvent("text_delta", MINE)]), "[0] text: «hi»"),
        ([{"type": "text_delta", "partial": MINE, "contentIndex": 0}], "[0] text: «hi»"),
        (simulated(), "✓ completed"),
        (["a", "b"], "just happened: b"),
        ([SimpleNamespace(type="error", error="boom")], "✗ error: boom"),
    ],
    ids=["own class", "dicts", "another protocol", "strings", "own error"],
)
def test_the_students_own_events_can_be_shown(source: Any, says: str) -> None:
    """A type, or a status, is all that an event needs."""
    view = stepper(source)
    assert says in card_text(view.events, len(view.events) - 1)


async def nothing() -> Any:
    yield


@pytest.mark.parametrize(
    ("source", "says"),
    [
        (3, "A stream or a list of events is wanted, not the int 3."),
        ("start", "not the str 'start'"),
        ([1], "Event 1 is the int 1, which has no `type`"),
        (nothing(), "events = [event async for event in stream]"),
    ],
)
def test_anything_else_is_an_error_that_tells_the_fix(source: Any, says: str) -> None:
    """NotEventsError names what was given."""
    with pytest.raises(NotEventsError, match=re.escape(says)):
        stepper(source)


# The stepper


def test_an_empty_stream_has_a_placeholder() -> None:
    """A stream with no event yet says so."""
    view = stepper(EventStream(bool, str))
    assert "No event yet" in view.children[0].value
    assert repr(view) == "<stepper: 0 events>"


def test_stepping_back_shows_the_same_card_again() -> None:
    """A card depends on the events and the index, on nothing else."""
    view = stepper(events_of(TWO_BLOCKS))
    shown = []
    for index in (0, 1, 2, 1, 0):
        view.index = index
        assert view.index == index
        stack = view.children[1]
        shown.append(stack.children[stack.selected_index].value)
    assert shown == shown[::-1]
    assert "event <b>3</b> of 5" in shown[2]


def test_later_events_do_not_reach_a_stepper() -> None:
    """It shows the events that the stream had when it was made."""
    events = events_of(TWO_BLOCKS)
    view = stepper(events)
    events.clear()
    assert len(view.events) == 5


def test_the_browser_can_step_alone() -> None:
    """Every link is one that the browser follows without Python, and each event has a frame."""
    view = stepper(events_of(TWO_BLOCKS))
    assert {type(link).__name__ for link in view._linked} == {"Link"}
    assert len(view.children[1].children) == 6
    said = "".join(w.value for w in view.children[0].children if isinstance(w, ipywidgets.HTML))
    for label in ("first", "back", "forward", "last"):
        assert f">{label}</button>" in said
    assert any(getattr(w, "description", "") == "play" for w in view.children[0].children)
    assert view.play.playing is False


def state_bytes(view: Stepper) -> int:
    return len(json.dumps(embed_data(views=[view], drop_defaults=False)))


@pytest.mark.parametrize("said", ["word ", "长长长长长", "<&\"'>"])
def test_a_thousand_events_stay_under_a_megabyte(said: str) -> None:
    """The state of a long stepper is bounded, whatever the script of the text."""
    message = assistant_message([text(said * 998)])
    events = events_of(message, chunk=fives)
    assert len(events) == 1000
    view = stepper(events)
    assert state_bytes(view) < 1_000_000


def test_a_stream_of_a_hundred_is_drawn_whole() -> None:
    """Up to a hundred events, each step has its own frame, with and without a kernel."""
    view = stepper(events_of(assistant_message([text("abcd" * 98)]), chunk=fours))
    assert len({id(frame) for frame in view.children[1].children}) == 100


def live_models() -> Iterator[Any]:
    yield from ipywidgets.widgets.widget._instances.values()


def test_a_long_stream_is_drawn_step_by_step_where_there_is_a_kernel() -> None:
    """Each of 1,000 steps can be reached; first and last are drawn before anybody asks."""
    view = stepper(events_of(assistant_message([text("a" * 998)]), chunk=characters))
    stack = view.children[1]
    assert "event <b>1,000</b> of 1,000" in stack.children[-1].value
    for index in (402, 403, 402, 0, 999, 998):
        view.index = index
        assert f"event <b>{index + 1:,}</b> of 1,000" in stack.children[index + 1].value


def bundle(view: Stepper) -> dict[str, Any]:
    made = view._repr_mimebundle_()
    data = made[0] if isinstance(made, tuple) else made
    assert isinstance(data, dict)
    return data


def test_where_no_widget_can_be_shown_a_twin_stands_in() -> None:
    """The stored output has the widget, a table, and a text that is the same on every run."""
    one, two = bundle(stepper(events_of(TWO_BLOCKS))), bundle(stepper(events_of(TWO_BLOCKS)))
    assert set(one) == {"application/vnd.jupyter.widget-view+json", "text/html", "text/plain"}
    assert one["text/html"] == two["text/html"]
    assert one["text/plain"] == two["text/plain"]
    assert one["text/plain"].splitlines() == [
        "5 events",
        "1 ○ start",
        "2 + text_delta      [0] 先看",
        '3 { toolcall_delta  [0] 先看  [1] tool call read {"path":"README.md"}',
        '4 } toolcall_end    [0] 先看  [1] tool call read {"path": "README.md"}',
        "5 ✓ done            done, reason: toolUse",
    ]


def test_the_twin_of_a_long_stream_is_short_and_says_so() -> None:
    """A notebook stays small: the middle is left out, and counted."""
    events = events_of(assistant_message([text("a" * 998)]), chunk=characters)
    assert "976 events are not shown" in film_text(events)
    assert len(film_html(events)) < 12_000


def test_the_repr_is_one_short_line() -> None:
    """No address, no state."""
    assert repr(stepper(events_of(TWO_BLOCKS))) == "<stepper: 5 events>"


# Running a cell again


@pytest.fixture
def run_cell(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    runs = iter(range(1000))
    current: list[Any] = [None]
    monkeypatch.setattr(stepping, "_shown", {})
    monkeypatch.setattr(stepping, "running_cell", lambda: current[0])

    def run(cell: str) -> None:
        current[0] = stepping.Running(cell, next(runs), True)

    return run


def test_running_a_cell_again_leaves_no_widgets_behind(run_cell: Callable[[str], None]) -> None:
    """The old view stops playing and is closed with all its parts: 20 runs cost as much as one."""
    run_cell("a")
    first = stepper(events_of(TWO_BLOCKS))
    first.play.playing = True
    count = len(list(live_models()))
    for _ in range(20):
        run_cell("a")
        stepper(events_of(TWO_BLOCKS))
    assert len(list(live_models())) == count
    assert first.play.playing is False


def test_two_views_of_one_cell_live_side_by_side(run_cell: Callable[[str], None]) -> None:
    """Only an earlier run of the cell is replaced, not a view of this run or of another cell."""
    run_cell("a")
    one, two = stepper(["a"]), stepper(["b"])
    run_cell("b")
    stepper(["c"])
    assert one.comm is not None
    assert two.comm is not None
    run_cell("a")
    stepper(["d"])
    assert one.comm is None
    assert two.comm is None


# Watching


async def turns_of_the_loop() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


def stream_of(turn: ScriptedTurn, signal: Any = None, **options: Any) -> Any:
    return ScriptedModel([turn], **options).stream(AgentContext([]), signal=signal)


@pytest.fixture
def displayed(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What was displayed, in a place where somebody watches with no pace."""
    shown: list[Any] = []

    def display(view: Any, **_: Any) -> Any:
        shown.append(view)
        return SimpleNamespace(update=lambda again: None)

    monkeypatch.setenv("SCRIPTED_MODEL_PACE", "0")
    monkeypatch.setattr(live_view, "display", display)
    return shown


def test_watching_returns_the_message(displayed: list[Any]) -> None:
    """`watch` gives what `result` gives, and leaves a stepper of all the events."""

    async def main() -> AssistantMessage:
        message: AssistantMessage = await watch(stream_of(TWO_BLOCKS))
        return message

    assert asyncio.run(main()) == TWO_BLOCKS
    (view,) = displayed
    assert len(view.events) == 5


def test_a_failed_model_is_no_exception(displayed: list[Any]) -> None:
    """An error event is shown like any other."""

    async def main() -> None:
        message = await watch(stream_of(FailedTurn("error", "rate limited", "正在")))
        assert message.error_message == "rate limited"

    asyncio.run(main())
    assert displayed[0].events[-1].type == "error"


def test_the_card_is_drawn_at_each_event(displayed: list[Any]) -> None:
    """The view shows event n when event n has arrived, not all at the end."""
    seen = []

    async def slow() -> Any:
        for event in events_of(TWO_BLOCKS):
            yield event
            seen.append(displayed[0].children[0].value)

    message = asyncio.run(watch(slow()))
    assert message == TWO_BLOCKS
    assert [re.findall(r"event <b>(\d)</b>, just", card) for card in seen] == [
        [str(n)] for n in range(1, 6)
    ]


def test_two_watches_do_not_write_into_each_other(displayed: list[Any]) -> None:
    """Each has its own view."""

    async def main() -> None:
        one = stream_of(assistant_message([text("one")]), chunk=characters, pace=0.001)
        two = stream_of(assistant_message([text("two")]), chunk=characters, pace=0.001)
        await asyncio.gather(watch(one), watch(two))

    asyncio.run(main())
    stands = [film_text(view.events).splitlines()[-2].split()[-1] for view in displayed]
    assert stands == ["one", "two"]


@pytest.mark.parametrize("pace", ["0", ""], ids=["watched", "not watched"])
def test_what_reading_raises_is_shown_and_raised(
    displayed: list[Any], monkeypatch: pytest.MonkeyPatch, pace: str
) -> None:
    """The view keeps the events so far, and the error as text."""
    monkeypatch.setenv("SCRIPTED_MODEL_PACE", pace)

    async def broken() -> Any:
        yield events_of(TWO_BLOCKS)[0]
        raise ValueError("<b>bad")

    with pytest.raises(ValueError, match="<b>bad"):
        asyncio.run(watch(broken()))
    (view,) = displayed
    assert len(view.events) == 1
    assert "ValueError: &lt;b&gt;bad" in view.children[-1].value
    assert "ValueError: &lt;b&gt;bad" in bundle(view)["text/html"]


def test_the_abort_button_sets_the_signal(displayed: list[Any]) -> None:
    """A click on it is what `signal.set()` is, and the stream ends as aborted."""

    async def main() -> None:
        signal = asyncio.Event()
        stream = stream_of(TWO_BLOCKS, signal=signal, chunk=characters, pace=10)
        watching = asyncio.create_task(watch(stream, signal=signal))
        await turns_of_the_loop()
        displayed[0].children[1].click()
        assert (await watching).stop_reason == "aborted"

    asyncio.run(main())
    assert not any(isinstance(w, ipywidgets.Button) for w in displayed[0].children)


def test_a_new_run_of_the_cell_ends_the_old_watch(
    displayed: list[Any], run_cell: Callable[[str], None]
) -> None:
    """The old one neither draws nor reads on."""

    async def never() -> Any:
        yield {"type": "start"}
        await asyncio.Event().wait()

    async def main() -> None:
        run_cell("a")
        old = asyncio.create_task(watch(never()))
        await turns_of_the_loop()
        assert "start" in displayed[0].children[0].value
        run_cell("a")
        await watch(stream_of(TWO_BLOCKS))
        with pytest.raises(asyncio.CancelledError):
            await old

    asyncio.run(main())
    assert displayed[0].comm is None
    assert len(displayed[1].events) == 5


def test_watching_again_leaves_nothing_behind(
    displayed: list[Any], run_cell: Callable[[str], None]
) -> None:
    """Widgets do not pile up, and a task that is done with watching is not cancelled."""

    async def main() -> None:
        counts = []
        for _ in range(5):
            run_cell("a")
            await watch(stream_of(TWO_BLOCKS), signal=asyncio.Event())
            counts.append(len(list(live_models())))
        assert counts == counts[:1] * 5

    asyncio.run(main())


def test_nobody_watches_under_ci(
    displayed: list[Any], monkeypatch: pytest.MonkeyPatch, run_cell: Callable[[str], None]
) -> None:
    """With CI set, or with no cell in a browser, there is no pace, whatever the argument says."""
    run_cell("a")
    monkeypatch.setattr(live_view, "_in_a_browser", lambda: True)
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.delenv("SCRIPTED_MODEL_PACE")
    assert live_view.pace_of(2) == 2
    assert live_view.pace_of(None) == live_view.PACE
    monkeypatch.setenv("CI", "true")
    assert live_view.pace_of(2) is None
    monkeypatch.setenv("SCRIPTED_MODEL_PACE", "0.5")
    assert live_view.pace_of(2) == 0.5
    monkeypatch.delenv("SCRIPTED_MODEL_PACE")
    monkeypatch.delenv("CI")
    monkeypatch.setattr(live_view, "_in_a_browser", lambda: False)
    assert live_view.pace_of(2) is None


@pytest.mark.parametrize("pace", [-1, float("nan"), float("inf"), "soon"])
def test_a_pace_is_a_number_of_seconds(monkeypatch: pytest.MonkeyPatch, pace: object) -> None:
    """Anything else is an error at once."""
    monkeypatch.setenv("SCRIPTED_MODEL_PACE", str(pace))
    with pytest.raises(ValueError, match=r"(?i)pace is a number of seconds"):
        asyncio.run(watch(stream_of_nothing()))


async def stream_of_nothing() -> Any:
    for event in ():
        yield event


def test_what_does_not_grow_cannot_be_watched(displayed: list[Any]) -> None:
    """A list is for `stepper`."""
    with pytest.raises(NotEventsError, match=r"Use stepper\(\)"):
        asyncio.run(watch([]))


def test_a_toy_loop_is_stepped_through_by_its_queues() -> None:
    """The stepper of a loop shows each frame, and its twin is the loop's own table."""
    loop = TwoQueueLoop()
    loop.queue_microtask(lambda: loop.say("<b>"), "a")
    view = stepper(loop.run())
    assert repr(view) == "<stepper: 2 steps>"
    view.index = 1
    assert "step 2 of 2" in view._stack.children[2].value
    data = view._repr_mimebundle_()
    data = data[0] if isinstance(data, tuple) else data
    assert data["text/plain"] == repr(loop)
    assert "&lt;b&gt;" in data["text/html"]


@pytest.mark.parametrize("watching", [True, False])
@pytest.mark.parametrize("wrong", [{"pace": -1}, {"pace": "fast"}, {"signal": 5}])
def test_a_wrong_pace_or_signal_is_refused_whether_or_not_anybody_watches(
    wrong: Any, watching: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What fails in class fails in CI too."""
    monkeypatch.delenv("SCRIPTED_MODEL_PACE", raising=False)
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.setattr(live_view, "_in_a_browser", lambda: watching)
    with pytest.raises(ValueError, match=r"is a number of seconds|is an asyncio\.Event"):
        asyncio.run(watch(stream_of_nothing(), **wrong))
