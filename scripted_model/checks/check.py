"""A check: what it finds, and what it is built of."""

import asyncio
import contextvars
import dis
import functools
import inspect
import re
import signal
import sys
import sysconfig
import threading
import traceback
import warnings
from collections.abc import Callable, Coroutine, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType, FunctionType, MethodType
from typing import Any, ParamSpec

P = ParamSpec("P")
LIMIT = 2.0
"""Seconds that an awaited step may take."""


@dataclass(frozen=True, repr=False)
class Check:
    """What a check found: `passed` is True, False, or None for a blank; the repr is words."""

    passed: bool | None
    said: str

    def __repr__(self) -> str:
        return self.said


class Blank(Exception):
    """Nothing was answered yet."""


class Divergence(Exception):
    """The first step that went otherwise, in words."""


def shown(value: Any) -> str:
    """`repr` without memory addresses, and of modest length."""
    said = re.sub(r" at 0x[0-9a-fA-F]+", "", repr(value))
    return said if len(said) <= 200 else f"{said[:98]}…{said[-98:]}"


_OF_AN_EMPTY_BODY = re.compile(
    "RESUME|NOP|CACHE|LOAD_CONST|RETURN_CONST|RETURN_VALUE|RETURN_GENERATOR|POP_TOP|MAKE_CELL"
    "|COPY_FREE_VARS|CALL_INTRINSIC_1|RERAISE|NOT_TAKEN"
)


def is_blank(answer: Any) -> bool:
    """Whether this is `...`, None, an empty string, or a function or class with an empty body."""
    match answer:
        case FunctionType():
            steps = list(dis.get_instructions(answer))
            given = [step.argval for step in steps if step.opname.endswith("_CONST")]
            return all(_OF_AN_EMPTY_BODY.fullmatch(step.opname) for step in steps) and all(
                value is None or value is ... for value in given
            )
        case MethodType():
            return is_blank(answer.__func__)
        case type():
            members = [m for cls in answer.__mro__[:-1] for m in vars(cls).values()]
            return all(is_blank(m) for m in members if isinstance(m, FunctionType))
        case str():
            return not answer.strip()
        case _:
            return answer is None or answer is ...


def need(answer: Any, what: str = "the answer") -> Any:
    """The answer, or Blank."""
    if is_blank(answer):
        raise Blank(f"{what} is still blank.")
    return answer


def equal(what: str, got: Any, wanted: Any, hint: str = "") -> None:
    """Divergence, unless the two are equal."""
    if got != wanted:
        raise Divergence(f"{what}: expected {shown(wanted)}, got {shown(got)}{hint}")


def attempt(what: str, function: Callable[..., Any], *args: Any) -> Any:
    """Call the student's code; Divergence, with the line of it, when it raises."""
    try:
        return function(*args)
    except (Blank, Divergence, NotImplementedError):
        raise
    except Exception as error:
        raise Divergence(f"{what}: {in_words(error)}") from error


def call(what: str, function: Callable[..., Any], *args: Any) -> Any:
    """The same for a function that has to be a plain one."""
    given = attempt(what, function, *args)
    if inspect.iscoroutine(given):
        given.close()
        raise Divergence(f"{what}: it gives a coroutine. Write `def`, not `async def`.")
    return given


def returned(value: Any, what: str) -> Any:
    """What the student's code gave back; Blank when that is nothing."""
    if value is None:
        raise Blank(f"{what} gives back None. Is a `return` missing?")
    return need(value, what)


_NOT_THE_STUDENTS = (str(Path(__file__).parent.parent), sysconfig.get_path("stdlib"), "<frozen")


def in_words(error: BaseException) -> str:
    """An exception in one sentence, with the student's line that it passed last."""
    if isinstance(error, Divergence):
        return str(error)
    frames = traceback.extract_tb(error.__traceback__)
    lines = [f for f in frames if not f.filename.startswith(_NOT_THE_STUDENTS)]
    where = f" (line {lines[-1].lineno}: `{lines[-1].line}`)" if lines and lines[-1].line else ""
    said = re.sub(r" at 0x[0-9a-fA-F]+", "", str(error))
    return f"your code raised {type(error).__name__}{': ' if said else ''}{said}{where}"


def _verdict(error: Exception) -> Check:
    if isinstance(error, Blank | NotImplementedError):
        return Check(None, f"not yet: {error if str(error) else 'the answer is still blank.'}")
    return Check(False, f"not quite: {in_words(error)}")


def check(test: Callable[P, str]) -> Callable[P, Check]:
    """Make a check of a function that raises Blank or Divergence, or says what it tested."""

    @functools.wraps(test)
    def checked(*args: P.args, **options: P.kwargs) -> Check:
        try:
            with endless_loops_stopped(LIMIT):
                return Check(True, f"passed: checked {test(*args, **options)}.")
        except Exception as error:
            return _verdict(error)

    return checked


@contextmanager
def endless_loops_stopped(limit: float) -> Iterator[None]:
    """Raise Divergence in student's code that runs for so many seconds without an `await`.

    Such code cannot hear a time limit of the loop, nor an Interrupt. Counted is processor time, of
    which waiting takes none. (Where the system has no such timer, nothing is stopped.)
    """

    def stop(signum: int, frame: FrameType | None) -> None:
        while frame is not None and not frame.f_code.co_filename.endswith("base_events.py"):
            if not frame.f_code.co_filename.startswith(_NOT_THE_STUDENTS):
                raise Divergence(f"your code ran on for {limit:g} seconds: a loop without an end?")
            frame = frame.f_back

    if not hasattr(signal, "setitimer") or threading.current_thread() != threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, limit, 0.2)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


class Pending:
    """An awaited check. Without the `await`, its repr says so, and nothing was started."""

    def __init__(self, name: str, start: Callable[[], Coroutine[Any, Any, Any]]) -> None:
        self._name = name
        self._start = start

    def __await__(self) -> Generator[Any, Any, Any]:
        return self._start().__await__()

    def __repr__(self) -> str:
        return f"This check has to be awaited: write `await {self._name}(…)`."


def async_check(test: Callable[P, Coroutine[Any, Any, str]]) -> Callable[P, Pending]:
    """The same for a coroutine function: the check is awaited at the top level of a cell."""

    @functools.wraps(test)
    def checked(*args: P.args, **options: P.kwargs) -> Pending:
        async def run() -> Check:
            try:
                return Check(True, f"passed: checked {await test(*args, **options)}.")
            except Exception as error:
                return _verdict(error)

        return Pending(test.__name__, run)

    return checked


def _raised(task: "asyncio.Future[Any]") -> BaseException | None:
    return task.exception() if task.done() and not task.cancelled() else None


_watched: contextvars.ContextVar[bool] = contextvars.ContextVar("_watched", default=False)


async def watched(scenario: Callable[[], Coroutine[Any, Any, Any]], limit: float) -> Any:
    """Run a scenario with student's code in it, and leave the loop as it was.

    What a callback or a task of the scenario raises is raised here, instead of being printed by
    asyncio; the tasks that it leaves are cancelled; Divergence when it takes too long. Other
    tasks of the loop, such as a kernel's own, are not touched.
    """
    loop = asyncio.get_running_loop()
    handler, factory = loop.get_exception_handler(), loop.get_task_factory()
    tasks: list[asyncio.Future[Any]] = []
    raised: list[BaseException] = []
    reasons: list[str] = []

    def make_task(loop: Any, coroutine: Any, **options: Any) -> Any:
        make: Any = factory or (lambda loop, c, **o: asyncio.Task(c, loop=loop, **o))
        task = make(loop, coroutine, **options)
        if _watched.get():  # made by the scenario, or by what it started
            tasks.append(task)
        return task

    def note(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        raised.append(context.get("exception") or Divergence(context["message"]))

    async def run() -> Any:
        try:
            return await scenario()
        finally:  # what is raised later is no part of this scenario
            everything = [*raised, *filter(None, map(_raised, tasks))]
            reasons.extend(in_words(e) for e in everything if e is not sys.exc_info()[1])

    def start() -> asyncio.Task[Any]:
        _watched.set(True)
        return loop.create_task(run())

    with warnings.catch_warnings(record=True) as noted:
        warnings.simplefilter("always")
        loop.set_exception_handler(note)
        loop.set_task_factory(make_task)
        main = contextvars.copy_context().run(start)
        try:
            with endless_loops_stopped(limit + 1):
                await asyncio.wait({main}, timeout=limit)
            in_time = main.done()
        finally:
            for task in (main, *tasks):
                task.cancel()
            await asyncio.wait({main, *tasks}, timeout=limit)
            for _ in range(10):  # what was scheduled already runs now, not in a later cell
                await asyncio.sleep(0)
            loop.set_exception_handler(handler)
            loop.set_task_factory(factory)
            for task in tasks:
                _raised(task)  # looked at, so that asyncio does not print it
    error = _raised(main)
    if not in_time or main.cancelled():
        error = Divergence(f"nothing more came within {limit:g} seconds")
    reasons += [
        f"{w.message} (is `await` missing, or is it `async def` where `def` is wanted?)"
        for w in noted
        if "never awaited" in str(w.message)
    ]
    if reasons and error is None:
        error = Divergence(reasons[0])
    elif reasons and isinstance(error, Divergence):
        error.args = (f"{error}; {reasons[0]}",)
    if error:
        raise error
    return main.result()
