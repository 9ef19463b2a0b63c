"""Recording: how a timeline sees the steps of a call without changing their order.

Nothing here adds an await or a callback. The model and its stream stay the same objects; they
get a subclass of their own class, made for the occasion, whose methods note the step and then
call the original.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from scripted_model.errors import NotRecordableError
from scripted_model.event_stream import PendingResult

if TYPE_CHECKING:
    from scripted_model.timeline import Timeline


class Call:
    """One call of a model: notes what it does, and then what happens to its stream."""

    def __init__(
        self, timeline: "Timeline", number: int, model: Any, context: Any, seen: dict[str, int]
    ) -> None:
        self._timeline = timeline
        self._tag = f" #{number}" if number > 1 else ""
        self._model = model
        self._context = context
        self._seen = seen  # shared by the calls of a model, so that each change is noted once
        self._seen.update(_numbers(model))
        self._pushing = False

    def note(self, lane: str, what: str) -> None:
        self._timeline.mark(what + self._tag, lane)

    def note_changes(self, lane: str) -> None:
        """Note which of the model's numbers are not what they were at the last look."""
        before, numbers = dict(self._seen), _numbers(self._model)
        self._seen.update(numbers)
        changes = [
            self._snapshot() if name == "snapshots" else f"{name} {before.get(name)} to {now}"
            for name, now in numbers.items()
            if now != before.get(name)
        ]
        if changes:
            self.note(lane, ", ".join(changes))

    def _snapshot(self) -> str:
        seen, given = self._model.requests[-1:], self._context
        if any(
            s is given or getattr(s, "messages", s) is getattr(given, "messages", 0) for s in seen
        ):
            return "reference kept"
        return "snapshot taken"

    def watched(self, stream_method: Callable[[], Any]) -> Any:
        self.note("caller", "stream() called")
        try:
            stream = stream_method()
        except BaseException as error:
            self.note_changes("caller")
            self.note("caller", f"stream() raised {type(error).__name__}")
            raise
        self.note_changes("caller")
        already = getattr(stream, "events", getattr(stream, "_events", ()))
        for event in already if isinstance(already, list | tuple) else ():
            self.note("caller", f"push {_name(event)}")
        seen = self._watch(stream)
        self.note("caller", f"stream returned{'' if seen else ', its pushes are not seen'}")
        return stream

    def _watch(self, stream: Any) -> bool:
        """Note what happens to the stream from now on; False where no push can be seen."""
        kind: Any = own_class(stream)

        def push(stream: Any, event: Any, *rest: Any) -> Any:
            self._note_push(event)
            self._pushing = True
            try:
                return kind.push(stream, event, *rest)
            finally:
                self._pushing = False

        def __aiter__(stream: Any) -> AsyncIterator[Any]:
            reader = partial(self.note, self._timeline.next_reader())
            reader("async for begins")
            return _Reader(kind.__aiter__(stream), reader)

        def result(stream: Any, *args: Any) -> Any:
            pending = kind.result(stream, *args)
            if isinstance(pending, asyncio.Future):  # a coroutine in its place has other passes
                self.note("result", "awaited")
                if pending.done():
                    self.note("result", "resolved")
                else:
                    pending.add_done_callback(lambda _: self.note("result", "resolved"))
                return pending
            if isinstance(pending, PendingResult):
                return PendingResult(lambda: self._settled(pending))
            return self._settled(pending)

        methods: dict[str, Callable[..., Any]] = {
            "push": push,
            "__aiter__": __aiter__,
            "result": result,
        }
        methods = {name: m for name, m in methods.items() if hasattr(kind, name)}
        extend(stream, **methods)
        seen = "push" in methods
        for name, value in list(getattr(stream, "__dict__", {}).items()):
            # A callback may hold the push that it found before; the list still sees the event.
            if name.strip("_") == "events" and isinstance(value, list):
                setattr(stream, name, _Noted(value, self._note_push))
                seen = True
        return seen

    def _note_push(self, event: Any) -> None:
        if not self._pushing:
            self.note_changes("producer")
            self.note("producer", f"push {_name(event)}")

    async def _settled(self, pending: Any) -> Any:
        self.note("result", "awaited")
        try:
            value = await pending
        except BaseException as error:
            self.note("result", f"raised {type(error).__name__}")
            raise
        self.note("result", f"resolved: {getattr(value, 'stop_reason', type(value).__name__)}")
        return value


class _Reader(AsyncIterator[Any]):
    """A reader whose steps are noted; it awaits what the reader awaits, and nothing else."""

    def __init__(self, reader: AsyncIterator[Any], note: Callable[[str], None]) -> None:
        self._reader = reader
        self._note = note

    async def __anext__(self) -> Any:
        try:
            event = await self._reader.__anext__()
        except StopAsyncIteration:
            self._note("async for ends")
            raise
        except BaseException as error:
            self._note(f"read raised {type(error).__name__}")
            raise
        self._note(f"read {_name(event)}")
        return event


class _Noted(list[Any]):
    """A stream's list of events: it notes what is appended."""

    def __init__(self, events: Iterable[Any], note: Callable[[Any], None]) -> None:
        super().__init__(events)
        self._note = note

    def append(self, event: Any) -> None:
        self._note(event)
        super().append(event)


class _Passes:
    """Counts the passes of a loop, from the first question on."""

    def __init__(self, loop: Any) -> None:
        self._count = 0
        self._asked = False
        self._run_once = getattr(type(loop), "_run_once", None)
        if self._run_once is not None:
            loop._run_once = partial(self._next, loop)

    def _next(self, *loop: Any) -> None:
        self._count += 1
        self._asked = False
        if self._run_once is not None:
            self._run_once(*loop)

    def number(self) -> int:
        if self._run_once is None and not self._asked:
            self._asked = True
            asyncio.get_running_loop().call_soon(self._next)
        return self._count


_passes: WeakKeyDictionary[asyncio.AbstractEventLoop, _Passes] = WeakKeyDictionary()


def moment() -> object:
    """The loop that runs and the number of its pass; None where no loop runs."""
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        return None
    if loop not in _passes:
        _passes[loop] = _Passes(loop)
    return _passes[loop], _passes[loop].number()


def own_class(thing: object) -> type:
    """The class that an object had before it was recorded."""
    kind: type = getattr(type(thing), "_own_class", type(thing))
    return kind


def extend(thing: Any, **methods: Callable[..., Any]) -> None:
    """Make an object one of a subclass of its own class, with these methods."""
    kind = own_class(thing)
    same = {"__module__": kind.__module__, "__doc__": kind.__doc__, "__slots__": ()}
    try:
        thing.__class__ = type(kind.__name__, (kind,), {**same, "_own_class": kind, **methods})
    except TypeError:
        hint = ""
        if asyncio.iscoroutine(thing):
            thing.close()
            hint = " Is it written with `async def`? Write `def`: it returns at once."
        raise NotRecordableError(
            f"stream() returned {a_thing(thing)}, which cannot be recorded; wanted is an object of"
            f" a class of your own with push(), result() and `async for`.{hint}"
        ) from None


def _numbers(model: object) -> dict[str, int]:
    """The numbers in a model: how many requests, and where its cursor is."""
    requests = getattr(model, "requests", None)
    numbers = {"snapshots": len(requests) if isinstance(requests, list | tuple) else 0}
    for name, value in getattr(model, "__dict__", {}).items():
        number = getattr(value, "position", value)
        if type(number) is int:
            numbers[name.strip("_")] = number
    return numbers


def _name(event: Any) -> str:
    """The type of an event, and its content index if it has one."""
    get = event.get if isinstance(event, dict) else partial(getattr, event)
    kind = event if isinstance(event, str) else get("type", None) or type(event).__name__
    index = get("content_index", None)
    return f"{kind}" if index is None else f"{kind}[{index}]"


def a_thing(thing: object) -> str:
    return "None" if thing is None else f"a {type(thing).__name__}"
