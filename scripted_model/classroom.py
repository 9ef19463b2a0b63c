"""What a notebook does first: look at its surroundings, and say in words what is missing.

`ready()` is the first line of every chapter. It also makes two things work that do not
without it: Interrupt on a cell that waits for something that never comes, and a hint beside
some errors that Python words for experts.
"""

import asyncio
import importlib.util
import sys
import weakref
from typing import Any

NEEDED = ("ipywidgets", "matplotlib")
HEARTBEAT = 0.2
"""Seconds after which an Interrupt is noticed at the latest."""

ASYNCIO_RUN = (
    "A notebook cell runs inside an event loop already, so asyncio.run() cannot start another."
    " Leave it out and await directly: write `await main()` where it says `asyncio.run(main())`."
)
AWAITED_STREAM = (
    "A stream is not awaited: model.stream(…) returns it at once. Read its events with"
    " `async for event in stream:`, or write `message = await stream.result()`."
)
EXPLAINED = {
    "asyncio.run() cannot be called": ASYNCIO_RUN,
    "Stream can't be used in 'await' expression": AWAITED_STREAM,
}
"""Words of Python's own errors, and the sentence that a beginner needs beside them."""


class Readiness(tuple[str, ...]):
    """What is not as it should be, one sentence each; empty when all is well."""

    def __repr__(self) -> str:
        return "Ready." if not self else "\n".join(["Not ready yet:", *self])


def ready() -> Readiness:
    """Prepare this kernel for a chapter. Safe to run again; `repr` says how things stand."""
    missing = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    problems = [
        f"- {name} is not installed for this Python. Close this window, and run `make clean lab`."
        for name in missing
    ]
    if hasattr(asyncio, "_nest_patched"):
        problems.append(
            "- nest_asyncio.apply() was called in this kernel, which changes the order of events."
            " Choose Kernel > Restart Kernel, and leave that call out."
        )
    _listen_for_interrupts()
    _explain_errors()
    return Readiness(problems)


def _listen_for_interrupts() -> None:
    """Wake the loop now and then: a loop that only waits does not notice an Interrupt."""
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        return  # not in a notebook
    if loop not in _beating:
        _beating.add(loop)
        _beat(loop)


_beating: weakref.WeakSet[asyncio.AbstractEventLoop] = weakref.WeakSet()


def _beat(loop: asyncio.AbstractEventLoop) -> None:
    loop.call_later(HEARTBEAT, _beat, loop)


def _explain_errors() -> None:
    """Let the errors of `EXPLAINED` say in the cell what to write instead."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    if shell is None:
        return

    def explain(shell: Any, kind: type, error: Any, traceback: Any, tb_offset: Any = None) -> None:
        if not getattr(error, "__notes__", []):
            for words, hint in EXPLAINED.items():
                if words in str(error):
                    error.add_note(hint)
        shell.showtraceback((kind, error, traceback), tb_offset=tb_offset)

    shell.set_custom_exc((RuntimeError, TypeError), explain)
