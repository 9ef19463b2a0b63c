"""Two queues: why does `stream()` return before anything is produced? (chapter 03)

A loop is a few lines: as long as something is queued, take the next function and call it.
The rule is which function is next. JavaScript has one rule, asyncio has another:

>>> def program(loop):
...     def a():
...         loop.say("a")
...         loop.queue_microtask(lambda: loop.say("a.child"), "a.child")
...     loop.set_timeout(lambda: loop.say("timer0"), "timer0")
...     loop.queue_microtask(a)
...     loop.queue_microtask(lambda: loop.say("b"), "b")
...     loop.say("sync")
...     return loop.run()
>>> program(TwoQueueLoop())
step  ran      microtasks  tasks   output
   1  script   a, b        timer0  sync
   2  a        b, a.child  timer0  sync, a
   3  b        a.child     timer0  sync, a, b
   4  a.child              timer0  sync, a, b, a.child
   5  timer0                       sync, a, b, a.child, timer0
>>> program(OneQueueLoop())
step  ran      this pass  next pass  timers  output
   1  script              a, b       timer0  sync
   2  a        b, timer0  a.child            sync, a
   3  b        timer0     a.child            sync, a, b
   4  timer0              a.child            sync, a, b, timer0
   5  a.child                                sync, a, b, timer0, a.child
"""

from collections.abc import Callable, Sequence
from html import escape
from typing import NamedTuple, Self

from scripted_model.look import LANES, PANEL, text_table

Job = tuple[str, Callable[[], object]]
"""A queued function, with the name that the queue is shown with."""


class Frame(NamedTuple):
    """What just ran, and how it left the queues and the output. Every frame stands alone."""

    ran: str
    queues: dict[str, tuple[str, ...]]
    output: tuple[str, ...]


class TwoQueueLoop:
    """JavaScript's rule: a task runs only when no microtask is left.

    A microtask that is queued by a microtask still runs before the next task. A function that
    raises stops nobody: the error is put out, and the loop goes on.
    """

    LIMIT = 1000
    """So many steps, and `run` gives up: the queues will never be empty."""

    def __init__(self) -> None:
        self.microtasks: list[Job] = []
        self.tasks: list[Job] = []
        self.output: list[str] = []
        self.frames: list[Frame] = []

    def queue_microtask(self, function: Callable[[], object], name: str = "") -> None:
        """Call `function` as soon as the code that runs now is through."""
        self.microtasks.append((name or _name(function), function))

    def set_timeout(self, function: Callable[[], object], name: str = "") -> None:
        """Call `function` as a task of its own: a timer of 0 seconds."""
        self.tasks.append((name or _name(function), function))

    def say(self, text: str) -> None:
        """Put out a text, as `print` would."""
        self.output.append(text)

    def run(self) -> Self:
        """Call what is queued, and what that queues, until nothing is left."""
        self._show("script")
        while self.microtasks or self.tasks:
            self._call((self.microtasks or self.tasks).pop(0))
        return self

    def _call(self, job: Job) -> None:
        name, function = job
        if len(self.frames) > self.LIMIT:
            raise RecursionError(
                f"The loop is still not empty after {self.LIMIT} steps; the next one is {name}."
                " Does a function queue itself again? A microtask that does lets no task run."
            )
        try:
            function()
        except Exception as error:
            self.say(f"{name} raised {type(error).__name__}")
        self._show(name)

    def _queues(self) -> dict[str, list[Job]]:
        return {"microtasks": self.microtasks, "tasks": self.tasks}

    def _show(self, ran: str) -> None:
        queues = {q: tuple(name for name, _ in jobs) for q, jobs in self._queues().items()}
        self.frames.append(Frame(ran, queues, tuple(self.output)))

    def __repr__(self) -> str:
        if not self.frames:
            return "(nothing has run yet: call run())"
        return frames_text(self.frames)


class OneQueueLoop(TwoQueueLoop):
    """asyncio's rule: one queue, in passes. What is queued in a pass waits for the next pass.

    A timer that is due joins the pass that begins, behind what is ready already.
    """

    def __init__(self) -> None:
        super().__init__()
        self.this_pass: list[Job] = []

    def run(self) -> Self:
        self._show("script")
        while self.microtasks or self.tasks:
            self.this_pass[:] = self.microtasks + self.tasks
            self.microtasks.clear()
            self.tasks.clear()
            while self.this_pass:
                self._call(self.this_pass.pop(0))
        return self

    def _queues(self) -> dict[str, list[Job]]:
        return {"this pass": self.this_pass, "next pass": self.microtasks, "timers": self.tasks}


def frames_text(frames: Sequence[Frame]) -> str:
    """All frames as a table, a line for each."""
    header = ("step", "ran", *frames[0].queues, "output")
    lines = [
        (str(step), *(", ".join(names) for _, names in _lanes(frame)))
        for step, frame in enumerate(frames, 1)
    ]
    return text_table(header, lines)


def frame_text(frames: Sequence[Frame], index: int) -> str:
    """One frame as text: a line for each lane."""
    lanes = [(lane, ", ".join(names)) for lane, names in _lanes(frames[index])]
    return text_table(("", f"step {index + 1} of {len(frames)}"), lanes)


def frame_html(frames: Sequence[Frame], index: int) -> str:
    """One frame as HTML with inline styles, for a stepper; `frame_text` is its twin.

    A name that was not in this lane a step before has a `+` and a thick border.
    """
    before = dict(_lanes(frames[index - 1])) if index else {}
    html = []
    for (lane, names), (colour, sign) in zip(_lanes(frames[index]), LANES.values(), strict=False):
        left = list(before.get(lane, ()))
        html.append(
            f'<div style="margin:8px 0;padding:4px 10px;border-left:6px solid {colour};'
            f'line-height:38px"><span style="display:inline-block;min-width:150px">'
            f"{sign} {escape(lane)}</span>"
        )
        for name in names:
            sign, edge = ("", 1) if name in left else ("+ ", 3)
            if not sign:
                left.remove(name)
            html.append(
                f'<span style="display:inline-block;margin:2px;padding:{5 - edge}px 8px;'
                f'line-height:26px;border:{edge}px solid {colour};border-radius:4px">'
                f"{sign}{escape(name)}</span>"
            )
        html.append("</div>")
    title = f'<div style="font-size:1.15em">step {index + 1} of {len(frames)}</div>'
    return f'<div style="{PANEL}">{title}{"".join(html)}</div>'


def _lanes(frame: Frame) -> list[tuple[str, tuple[str, ...]]]:
    return [("running now", (frame.ran,)), *frame.queues.items(), ("output", frame.output)]


def _name(function: Callable[[], object]) -> str:
    return getattr(function, "__name__", type(function).__name__)
