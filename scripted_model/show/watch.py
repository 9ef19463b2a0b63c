"""Watch: the same card, live, as the events arrive.

Somebody has to be there to watch. Nobody is when the environment has CI set, or when the run does
not come from a cell in a browser (nbclient, nbval and nbconvert do not say which cell they run).
Then there is no pace and no live view: the events are read, and a stepper is displayed once, at
the end. So the stored output is what any other run stores too.

SCRIPTED_MODEL_PACE=seconds in the environment is the teacher's word for a whole room. It wins over
the argument, and over CI (which is how the browser tests watch).
"""

import asyncio
import math
import os
from typing import Any

import ipywidgets  # type: ignore[import-untyped]
from IPython.display import display

from scripted_model.show.card import (
    NotEventsError,
    card_html,
    check_event,
    failure_html,
    message_of,
)
from scripted_model.show.stepper import Stepper, running_cell

PACE = 0.6
"""Seconds between two events, where neither the argument nor the environment says."""


def pace_of(asked: float | None) -> float | None:
    """Seconds between two events; None when nobody watches."""
    if word := os.environ.get("SCRIPTED_MODEL_PACE"):
        try:
            asked = float(word)
        except ValueError:
            raise ValueError(f"SCRIPTED_MODEL_PACE is a number of seconds, not {word!r}") from None
    pace = PACE if asked is None else asked
    if not isinstance(pace, int | float) or not 0 <= pace < math.inf:
        raise ValueError(f"pace is a number of seconds, 0 or more, not {pace!r}")
    if not word and (os.environ.get("CI") or not _in_a_browser()):
        return None
    return pace


def _in_a_browser() -> bool:
    running = running_cell()
    return running is not None and running.named


class _Live:
    """A view whose one card is drawn anew at each event, and which then becomes a stepper."""

    def __init__(self, signal: Any) -> None:
        self.view = Stepper(())
        self.view.on_replaced = self._stop
        self._task = asyncio.current_task()
        self._replaced = False
        (self._card,) = self.view.children
        if signal is not None:
            self.view.children = [self._card, self._abort(signal)]
        # In a browser an output can be put right at the end; nbval, which cannot, never gets here.
        self._shown = display(self.view, display_id=True)  # type: ignore[no-untyped-call]

    def _abort(self, signal: Any) -> Any:
        button = ipywidgets.Button(description="abort", tooltip="ask the model to stop")
        button.style.font_size = "16px"
        button.on_click(lambda _: signal.set())
        return button

    def draw(self, events: list[Any]) -> None:
        self._card.value = card_html(events, len(events) - 1, live=True)

    def end(self, events: list[Any], footer: str) -> None:
        self._task = None  # it goes on to other things, and may be the kernel's own
        if self._replaced:
            return
        self.view.fill(events, footer, at=-1)
        if self._shown is not None:
            self._shown.update(self.view)

    def _stop(self) -> None:
        """A newer run of the cell is here, so this one must not draw, nor read on."""
        self._replaced = True
        if self._task is not None:
            self._task.cancel()


async def watch(stream: Any, pace: float | None = None, *, signal: Any = None) -> Any:
    """Show the events of a stream as they arrive; return the final message.

    stream: anything that `async for` reads. What it returns is `await stream.result()`, or for a
        stream without `result` the message of its last event.
    pace: seconds to stay at each event.
    signal: an `asyncio.Event` that the stream was made with. The view then has an abort button,
        which sets it.

    Raises NotEventsError for what is no stream, and ValueError for a pace or a signal that is none.

    When the stream is over, the view can be stepped through. What reading raises is shown in the
    view, and raised. Running the cell again ends an older watch of the same cell.

    >>> from scripted_model import ScriptedModel, AgentContext, assistant_message, text
    >>> async def main():
    ...     stream = ScriptedModel([assistant_message([text("先看")])]).stream(AgentContext([]))
    ...     return await watch(stream)
    >>> asyncio.run(main())
    <stepper: 3 events>
    assistant_message([text('先看')])
    """
    if not hasattr(stream, "__aiter__"):
        raise NotEventsError(
            f"watch() reads a stream as it grows, and a {type(stream).__name__} does not grow."
            " Use stepper() for events that are there already."
        )
    if signal is not None and not hasattr(signal, "set"):
        raise ValueError("signal is an asyncio.Event, the one that the stream was made with.")
    seconds = pace_of(pace)
    live = None if seconds is None else _Live(signal)
    events: list[Any] = []
    footer = ""
    try:
        async for event in stream:
            check_event(event, len(events) + 1)
            events.append(event)
            if live is not None:
                live.draw(events)
                await asyncio.sleep(seconds or 0)
        if hasattr(stream, "result"):
            return await stream.result()
        return message_of(events[-1]) if events else None
    except BaseException as error:
        footer = failure_html(error)
        raise
    finally:
        if live is not None:
            live.end(events, footer)
        else:
            view = Stepper(events, footer)
            view.index = len(events) - 1
            display(view)  # type: ignore[no-untyped-call]
