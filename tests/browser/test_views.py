"""The stepper and the live view, in a notebook made for the test, used as a class uses them."""

import itertools
import re
from typing import Any

import pytest

from scripted_model import assistant_message, project, text, text_of, tool_call
from tests.browser.lab import Lab, Steps

TURN = assistant_message(
    [text("先看，再说。"), tool_call("c1", "read", {"path": "README.md"})], "toolUse"
)
MAKE = """
import asyncio, re
from scripted_model import *
from scripted_model.show import stepper, watch
def threes(said): return re.findall(".{1,3}", said)
def play(said, **options):
    model = ScriptedModel([assistant_message([text(said)])], chunk=characters, pace=0.2)
    return model.stream(AgentContext([]), **options)
events = list(project(assistant_message(
    [text("先看，再说。"), tool_call("c1", "read", {"path": "README.md"})], "toolUse"), threes))
"""
HOSTILE = [
    "<b>bold</b> & <img src=x onerror=hacked=1>",
    "<b onclick='x",
    "a </script><script>hacked=1</script> b",
    "<!-- never closed",
    "&lt;already&gt; &amp",
]


def threes(said: str) -> list[str]:
    return re.findall(r".{1,3}", said)


EVENTS: list[Any] = list(project(TURN, threes))
TOTAL = len(EVENTS)


def views(lab: Lab) -> Any:
    return lab.page.locator(".jp-Notebook .scripted-model-stepper")


def numbers_in(labels: list[str]) -> list[int]:
    return [int(label.split()[1]) for label in labels]


def assert_shown(steps: Steps, index: int) -> None:
    """The card says of event `index` what the event itself says."""
    steps.at(index + 1, TOTAL)
    event, said = EVENTS[index], steps.text
    message = event.message if event.type == "done" else event.partial
    assert re.search(rf"just happened: \S {event.type}\b", said)
    assert re.match(rf"▶\s+{index + 1}\b", steps.current)
    assert event.type in steps.current
    assert text_of(message) in said
    assert ("[0] text" in said) == bool(message.content)
    assert ("raw JSON, not finished" in said) == (event.type == "toolcall_delta")
    assert ("arguments, finished" in said) == (event.type in ("toolcall_end", "done"))
    assert ("done, reason: toolUse" in said) == (event.type == "done")
    added = "".join(steps.card.locator("ins").all_inner_texts())
    assert getattr(event, "delta", "") in added


def test_the_card_says_what_the_event_says(lab: Lab) -> None:
    """Forward and back, at each step: number, type, the message so far, and what was added."""
    lab.make(MAKE, "stepper(events)")
    lab.run_all()
    steps = Steps(views(lab))
    for index in range(TOTAL):
        assert_shown(steps, index)
        steps.click("one event forward")  # at the last one it stays where it is
    for index in reversed(range(TOTAL)):
        assert_shown(steps, index)
        steps.click("one event back")
    steps.click("last event")
    assert_shown(steps, TOTAL - 1)
    steps.click("first event")
    assert_shown(steps, 0)


def test_the_keyboard_is_enough(lab: Lab) -> None:
    """Arrow keys, Home and End on the slider; a number typed; Enter and Space on the buttons."""
    lab.make(MAKE, "stepper(events)")
    lab.run_all()
    steps = Steps(views(lab))
    steps.slider.focus()
    for key, number in [("ArrowRight", 2), ("ArrowUp", 3), ("ArrowLeft", 2), ("End", TOTAL)]:
        lab.page.keyboard.press(key)
        assert_shown(steps, number - 1)
    steps.number.fill("3")
    lab.page.keyboard.press("Enter")
    assert_shown(steps, 2)
    steps.button("one event forward").focus()
    for key, number in [("Enter", 4), ("Space", 5)]:
        lab.page.keyboard.press(key)
        assert_shown(steps, number - 1)
    assert lab.page.evaluate("panel.content.mode") == "command"
    assert len(lab.cells()) == 2  # no key was taken for one of JupyterLab's


def test_play_reaches_the_end(lab: Lab) -> None:
    """Play goes through the events in their order and stops at the last; a step back is free."""
    lab.make(MAKE, "view = stepper(events)\nview.play.interval = 100\nview")
    lab.run_all()
    steps = Steps(views(lab))
    seen = lab.labels(views(lab))
    steps.click("play")
    assert_shown(steps, TOTAL - 1)
    assert seen() == [f"event {number} of {TOTAL}" for number in range(2, TOTAL + 1)]
    steps.click("one event back")
    assert_shown(steps, TOTAL - 2)


def test_running_a_playing_cell_again_leaves_no_old_ticks(lab: Lab) -> None:
    """The old Play is stopped in the browser too: only the new one moves the new view."""
    many = "many = list(project(assistant_message([text('x' * 40)]), characters))\nold = []"
    lab.make(
        f"{MAKE}\n{many}",
        "view = stepper(many)\nview.play.interval = 100\nold.append(view.play)\nview",
        "print([play.comm is None for play in old], old[0].value)",
    )
    lab.run_all()
    Steps(views(lab)).click("play")
    Steps(views(lab)).reach(4)
    lab.run(1)
    steps = Steps(views(lab))
    steps.at(1, 42)
    seen = lab.labels(views(lab))
    lab.run(2)
    first = lab.said(2)
    assert first.startswith("[True, False]")
    steps.click("play")
    steps.reach(10)  # after nine ticks: an old one, as fast as these, would have come in between
    numbers = numbers_in(seen())
    assert numbers == list(range(2, numbers[-1] + 1))
    steps.click("play")
    lab.run(2)
    assert lab.said(2) == first


def test_running_a_cell_often_does_not_pile_up_models(lab: Lab) -> None:
    """After 20 more runs of a cell there are as many widgets as before, in kernel and browser."""
    lab.make(MAKE, "stepper(events)")
    lab.run_all()
    lab.run(1)
    before = lab.widgets()
    assert before[0] > 20
    for _ in range(20):
        lab.run(1)
    assert lab.widgets() == before


def test_text_is_never_taken_as_html(lab: Lab) -> None:
    """Tags, half a tag, the end of a script: the letters themselves are on the screen."""
    lab.make(MAKE, f"stepper(project(assistant_message([text(t) for t in {HOSTILE!r}])))")
    lab.run_all()
    steps = Steps(views(lab))
    for number, said in enumerate(HOSTILE, start=2):
        steps.click("one event forward")
        steps.at(number, len(HOSTILE) + 2)
        assert steps.card.locator("ins").inner_text() == said
        assert said in steps.text
    assert steps.view.locator("img, script").count() == 0
    assert lab.page.evaluate("typeof hacked") == "undefined"


LIVE = """
signal = asyncio.Event()
message = await watch(play("先看再说" * 100, signal=signal), signal=signal)
print(message.stop_reason, len(text_of(message)))
"""


def test_a_live_view_grows_and_its_abort_button_works(lab: Lab) -> None:
    """Events appear one after another while the cell runs; abort ends the stream in mid-stream."""
    lab.make(MAKE, LIVE)
    lab.run(0)
    lab.choose(1)
    lab.start("notebook:run-cell")
    live = Steps(views(lab))
    live.reach(2)
    seen = lab.labels(views(lab))
    live.reach(6)
    said = live.text
    number = int(re.findall(r"event (\d+), just happened", said)[0])
    assert ("先看再说" * 100)[: number - 1] in said
    assert ("先看再说" * 100)[:number] not in said
    assert lab.cells()[1]["prompt"] == "[*]:"
    live.click("abort")
    lab.page.wait_for_function("window.over")
    reason, length = lab.said(1).split()
    assert reason == "aborted"
    assert 5 <= int(length) < 400
    live.wait_for(f"event {int(length) + 2} of {int(length) + 2}, just happened")
    assert "error, reason: aborted" in live.text
    numbers = numbers_in(seen())
    assert all(one <= other for one, other in itertools.pairwise(numbers))
    live.click("one event back")  # and now it is a stepper
    live.wait_for(f"event {int(length) + 1} of")
    assert views(lab).count() == 1


def test_running_a_watching_cell_again_replaces_the_view(lab: Lab) -> None:
    """The older run is over and its view is gone; the newer one plays its own stream alone."""
    lab.make(
        f"{MAKE}\nsaid, tasks = ['old' * 100, 'new'], []",
        "tasks.append(asyncio.create_task(watch(play(said.pop(0)))))",
        "print(text_of(await tasks[1]), tasks[0].cancelled())",
    )
    lab.run(0)
    lab.run(1)
    Steps(views(lab)).reach(3)
    lab.run(1)
    lab.run(2)
    assert lab.said(2) == "new True\n"
    assert views(lab).count() == 1
    Steps(views(lab)).at(5, 5)


def test_two_watches_do_not_mix(lab: Lab) -> None:
    """Two views in one cell, live at once, each show their own stream alone."""
    lab.make(
        MAKE,
        "a, b = await asyncio.gather(watch(play('a' * 12)), watch(play('b' * 15)))\n"
        "print(text_of(a), text_of(b))",
    )
    lab.run(0)
    lab.choose(1)
    lab.start("notebook:run-cell")
    first, second = Steps(views(lab).nth(0)), Steps(views(lab).nth(1))
    first.reach(3)
    second.reach(3)
    lab.page.wait_for_function("window.over")
    assert lab.said(1) == f"{'a' * 12} {'b' * 15}\n"
    for steps, letter, count in [(first, "a", 12), (second, "b", 15)]:
        steps.wait_for(f"event {count + 2} of {count + 2}")
        for number in range(count + 1, 1, -1):
            steps.click("one event back")
            steps.at(number, count + 2)
            block = steps.card.locator("[dir=auto]").first.inner_text()
            assert block == letter * (number - 1)


@pytest.mark.parametrize(
    "waiting",
    ["await asyncio.Event().wait()", "await EventStream(lambda e: False, lambda e: e).result()"],
    ids=["an event", "a result"],
)
def test_interrupt_ends_a_cell_that_waits_for_ever(lab: Lab, waiting: str) -> None:
    """After `ready()`, Interrupt in JupyterLab ends the cell, and the next one runs."""
    lab.make(
        f"{MAKE}\nfrom scripted_model.classroom import ready\nready()",
        f"print('now')\n{waiting}",
        "print('after')",
    )
    lab.run(0)
    lab.choose(1)
    lab.start("notebook:run-cell")
    lab.cell(1).get_by_text("now").wait_for()
    assert lab.cells()[1]["prompt"] == "[*]:"
    lab.command("notebook:interrupt-kernel")
    lab.page.wait_for_function("window.over")
    assert lab.cells()[1]["outputs"][-1]["ename"] in ("CancelledError", "KeyboardInterrupt")
    lab.run(2)
    assert lab.said(2) == "after\n"
