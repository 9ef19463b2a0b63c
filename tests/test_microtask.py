"""The loops of a few lines: two rules of order, and frames that can be stepped through."""

import asyncio
import os
import re
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from html import unescape
from typing import Any

import pytest

from scripted_model.microtask import Frame, OneQueueLoop, TwoQueueLoop, frame_html, frame_text

ON_NODE_20 = ["sync", "a", "b", "a.child", "timer0"]
ON_ASYNCIO = ["sync", "a", "b", "timer0", "a.child"]


def program(
    say: Callable[[str], None], soon: Callable[..., Any], later: Callable[..., Any]
) -> None:
    """A timer of 0 seconds; microtask a, which schedules a.child; microtask b."""

    def a() -> None:
        say("a")
        soon(partial(say, "a.child"))

    later(partial(say, "timer0"))
    soon(a)
    soon(partial(say, "b"))
    say("sync")


def on(loop: TwoQueueLoop) -> list[str]:
    program(loop.say, loop.queue_microtask, loop.set_timeout)
    return loop.run().output


def test_two_queues_have_the_order_of_javascript() -> None:
    """All microtasks run before a timer, one that a microtask scheduled included."""
    assert on(TwoQueueLoop()) == ON_NODE_20


def test_one_queue_has_the_order_of_asyncio() -> None:
    """What is scheduled in a pass waits for the next one, and a timer that is due does not."""
    assert on(OneQueueLoop()) == ON_ASYNCIO


def test_asyncio_has_that_order() -> None:
    """The small loop is compared with the real one."""
    said: list[str] = []

    async def main() -> None:
        loop = asyncio.get_running_loop()
        last = loop.create_future()

        def say(text: str) -> None:
            said.append(text)
            if len(said) == len(ON_ASYNCIO):
                last.set_result(None)

        program(say, loop.call_soon, partial(loop.call_later, 0))
        await last

    asyncio.run(main())
    assert said == ON_ASYNCIO


def chain(loop: TwoQueueLoop, name: str, length: int) -> None:
    loop.say(f"{name}{length}")
    if length > 1:
        loop.queue_microtask(partial(chain, loop, name, length - 1))


@pytest.mark.parametrize(
    ("kind", "order"),
    [
        (TwoQueueLoop, ["c4", "c3", "c2", "c1", "T"]),
        (OneQueueLoop, ["c4", "T", "c3", "c2", "c1"]),
    ],
)
def test_a_chain_of_callbacks_against_a_timer(kind, order) -> None:
    """Each link of the chain costs asyncio a pass; JavaScript's timer waits for all of them."""
    loop = kind()
    loop.queue_microtask(partial(chain, loop, "c", 4))
    loop.set_timeout(lambda: loop.say("T"))
    assert loop.run().output == order


def test_every_frame_stands_alone() -> None:
    """A frame has all queues and the output as they were then; a later step changes none."""
    loop = TwoQueueLoop()
    loop.queue_microtask(lambda: loop.say("a"), "a")
    loop.set_timeout(lambda: loop.say("t"), "t")
    loop.run()
    assert loop.frames == [
        Frame("script", {"microtasks": ("a",), "tasks": ("t",)}, ()),
        Frame("a", {"microtasks": (), "tasks": ("t",)}, ("a",)),
        Frame("t", {"microtasks": (), "tasks": ()}, ("a", "t")),
    ]


def test_a_function_is_shown_by_its_name_or_by_a_given_one() -> None:
    """A partial has no name of its own, so its type's is shown."""

    def produce() -> None: ...

    loop = TwoQueueLoop()
    loop.queue_microtask(produce)
    loop.queue_microtask(produce, "again")
    loop.queue_microtask(partial(produce))
    assert loop.run().frames[0].queues["microtasks"] == ("produce", "again", "partial")


@pytest.mark.parametrize("kind", [TwoQueueLoop, OneQueueLoop])
def test_an_error_stops_nobody(kind) -> None:
    """A function that raises is named in the output, and the next one runs."""
    loop = kind()
    loop.queue_microtask(lambda: 1 // 0, "wrong")
    loop.queue_microtask(lambda: loop.say("next"))
    assert loop.run().output == ["wrong raised ZeroDivisionError", "next"]


def test_a_microtask_that_queues_itself_starves_the_tasks() -> None:
    """The loop gives up in words, and the task has not run."""
    loop = TwoQueueLoop()

    def again() -> None:
        loop.queue_microtask(again)

    loop.queue_microtask(again)
    loop.set_timeout(lambda: loop.say("task"))
    with pytest.raises(RecursionError, match="the next one is again"):
        loop.run()
    assert loop.output == []


def test_a_frame_as_text() -> None:
    """A line for each lane."""
    loop = OneQueueLoop()
    on(loop)
    assert frame_text(loop.frames, 1).splitlines() == [
        "             step 2 of 5",
        "running now  a",
        "this pass    partial, partial",
        "next pass    partial",
        "timers",
        "output       sync, a",
    ]
    assert repr(TwoQueueLoop()) == "(nothing has run yet: call run())"


@pytest.mark.parametrize("kind", [TwoQueueLoop, OneQueueLoop])
def test_a_frame_as_html_says_what_its_text_says(kind) -> None:
    """Inline styles only, every text escaped, and what is new is marked by a sign too."""
    loop = kind()
    loop.queue_microtask(lambda: loop.say("</div><script>先看"), "<b>a")
    loop.queue_microtask(lambda: None, "b")
    loop.run()
    for index in range(len(loop.frames)):
        html = frame_html(loop.frames, index)
        assert not re.search("<(script|style|svg|b)[ >]", html)
        assert html.count("<div") == html.count("</div>")
        words = unescape(re.sub("<[^>]*>", " ", html)).replace("+ ", "").split()
        twin = frame_text(loop.frames, index).replace(",", "").split()
        assert sorted(word for word in words if word not in "■●▲◆★") == sorted(twin)
    assert "+ &lt;/div" in frame_html(loop.frames, 1)
    assert "+ &lt;/div" not in frame_html(loop.frames, 2)


def test_the_same_with_every_hash_seed() -> None:
    """The table does not depend on the order of a set or a dict."""
    code = (
        "from scripted_model.microtask import OneQueueLoop, frame_html\n"
        "loop = OneQueueLoop()\n"
        "loop.queue_microtask(lambda: loop.say('a'), 'a')\n"
        "loop.set_timeout(lambda: loop.say('t'), 't')\n"
        "loop.run()\n"
        "print(loop, frame_html(loop.frames, 2))"
    )
    printed = {
        subprocess.run(
            [sys.executable, "-X", "utf8", "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True, check=True,
        ).stdout
        for seed in "012"
    }  # fmt: skip
    assert len(printed) == 1
