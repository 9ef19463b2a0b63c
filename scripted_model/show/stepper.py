"""Stepper: step through a stream, forward and back, with a kernel and without one.

Each step is drawn beforehand as an HTML widget in a Stack, and the browser itself links the
slider, the number box, Play and the Stack (`jslink`). So nothing waits for Python: the stepper
works while a cell is running, and in a page made by `jupyter nbconvert --to html`.

Two things ipywidgets does not have without a kernel. A button that adds one to a number: a Button
tells only Python that it was clicked, and a link only copies. So these buttons are HTML, and two
statements of JavaScript, the only ones here, change the number box as a hand would. And a Play
whose buttons are text, for its icons are empty boxes in an exported page: here a ToggleButton is
linked to a Play that is not shown. An attribute keeps JupyterLab's own keys off our buttons.

Steps share frames where each its own would be more than BYTES, as in a stream of 1,000: with
a kernel each step is drawn when you come to it; without one you see evenly chosen ones.
"""

import html
import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import ipywidgets  # type: ignore[import-untyped]
from IPython.core.getipython import get_ipython

from scripted_model.microtask import TwoQueueLoop, frame_html, frames_text
from scripted_model.show.card import ROOM, card_html, events_of, film_html, film_text

BYTES = 800_000
"""What the frames of one stepper may take, as JSON; a page holds many steppers."""
PLAY_MS = 900
"""Milliseconds between two steps while it plays."""

_CLASS = "scripted-model-stepper"
_MOVE = (
    f"const n=this.closest('.{_CLASS}').querySelector('input[type=number]');n.value=%s;"
    "n.dispatchEvent(new Event('change',{bubbles:true}))"
)

_WORDS = "font:16px var(--jp-ui-font-family,system-ui,sans-serif)"


def _button(label: str, tip: str, value: str) -> str:
    return (
        f'<button type="button" class="jupyter-widgets jupyter-button widget-button" title="{tip}"'
        ' style="width:auto;margin:2px;padding:0 12px;font-size:16px" data-lm-suppress-shortcuts'
        f' aria-label="{tip}" onclick="{_MOVE % value}">{label}</button>'
    )


class Stepper(ipywidgets.VBox):  # type: ignore[misc]  # ipywidgets has no types
    """What `stepper` returns: a widget, and in its place a table or a text where none can be."""

    children: Any
    unit = "event"

    def __init__(self, events: Sequence[Any], footer: str = "") -> None:
        super().__init__()
        self.add_class(_CLASS)
        self._linked: list[Any] = []
        self.on_replaced: Callable[[], object] = lambda: None
        self.fill(events, footer)
        _replace_those_of_an_earlier_run(self)

    def fill(self, events: Sequence[Any], footer: str = "", at: int = 0) -> None:
        """Show these events from now on, event `at` first, and below them a line of HTML."""
        for widget in [*self._linked, *(p for child in self.children for p in _parts(child))]:
            widget.close()
        self._linked = []
        self.events = tuple(events)
        self.footer = footer
        count = len(self.events)
        if not count:
            self.children = [ipywidgets.HTML(card_html((), 0) + footer)]
            return
        frames, self._frame_at = self._drawn(count)
        self._frames = frames
        # The Stack counts from 0 and a person from 1, so its first child is never shown.
        steps = [frames[0], *(frames[self._frame_at(at)] for at in range(count))]
        first = at % count + 1
        stack = ipywidgets.Stack(steps, selected_index=first)
        number = ipywidgets.BoundedIntText(
            first, min=1, max=count, layout={"width": "84px"}, tooltip=f"number of the {self.unit}"
        )
        slider = ipywidgets.IntSlider(
            first, min=1, max=max(2, count), readout=False, tooltip="step with the arrow keys",
            layout={"flex": "1 1 200px", "min_width": "120px"},
        )  # fmt: skip
        play = ipywidgets.Play(
            first, min=1, max=count, interval=PLAY_MS, show_repeat=False, layout={"display": "none"}
        )
        toggle = ipywidgets.ToggleButton(
            False, description="play", tooltip="play or pause", layout={"width": "auto"}
        )
        toggle.style.font_size = "16px"
        self.play, self._numbers, self._stack = play, (number, slider, play), stack
        self._linked = [
            ipywidgets.jslink((toggle, "value"), (play, "playing")),
            ipywidgets.jslink((play, "value"), (number, "value")),
            ipywidgets.jslink((number, "value"), (slider, "value")),
            ipywidgets.jslink((number, "value"), (stack, "selected_index")),
        ]
        if count > len(frames):
            number.observe(self._draw, "value")
            footer += (
                f'<div style="{_WORDS}">All {count:,} steps are here while the notebook runs;'
                " a saved page has"
                f" {len(frames)} of them, evenly chosen.</div>"
            )
        buttons = [
            ipywidgets.HTML(
                _button("first", f"first {self.unit}", "1")
                + _button("back", f"one {self.unit} back", "+n.value-1")
            ),
            toggle,
            ipywidgets.HTML(
                _button("forward", f"one {self.unit} forward", "+n.value+1")
                + _button("last", f"last {self.unit}", str(count))
            ),
        ]
        ruler = [
            slider,
            number,
            ipywidgets.HTML(f'<span style="{_WORDS}">of {count:,}</span>'),
        ]
        controls = ipywidgets.HBox(
            [*buttons, *(ruler if count > 1 else [number]), play],
            layout={"flex_flow": "row wrap", "align_items": "center"},
        )
        self.children = [controls, stack, *([ipywidgets.HTML(footer)] if footer else [])]

    def _drawn(self, count: int) -> tuple[list[Any], Callable[[int], int]]:
        """The frames, and which of them stands for a step; the last step has its own."""
        self.room = ROOM if count <= 40 else ROOM // 4
        samples = [self._card(at) for at in range(0, count, 1 + count // 9)] + [self._card(-1)]
        largest = max(len(json.dumps(card)) for card in samples) + 800  # what a widget adds
        frames = max(2, min(count, BYTES // largest))
        layout, style = (
            ipywidgets.Layout(flex="1 1 100%", min_width="0"),
            ipywidgets.HTML.style.klass(),
        )

        def frame_at(at: int) -> int:
            return at * (frames - 1) // (count - 1) if count > 1 else 0

        first: dict[int, int] = {}
        for at in range(count):
            first.setdefault(frame_at(at), at)
        drawn = [
            ipywidgets.HTML(self._card(at), layout=layout, style=style) for at in first.values()
        ]
        return drawn, frame_at

    def _draw(self, change: Any) -> None:
        index = change["new"] - 1
        frame = self._frames[self._frame_at(index)]
        frame.value = self._card(index)

    def _card(self, index: int) -> str:
        return card_html(self.events, index % len(self.events), room=self.room)

    def _film(self) -> tuple[str, str]:
        return film_html(self.events), film_text(self.events)

    @property
    def index(self) -> int:
        """Which event is shown, from 0; -1 when there is none. Set it to show another."""
        return int(self._numbers[0].value) - 1 if self.events else -1

    @index.setter
    def index(self, index: int) -> None:
        if not self.events:
            return
        for widget in self._numbers:
            widget.value = index + 1
        self._stack.selected_index = index + 1

    def replaced(self) -> None:
        """Stop playing and close every part, for a newer view stands in its place."""
        self.on_replaced()
        if self.events:
            self.play.playing = False
        for widget in [*self._linked, *_parts(self)]:
            widget.close()

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None, **kwargs: Any) -> Any:
        bundle = super()._repr_mimebundle_(include=include, exclude=exclude, **kwargs)
        data, metadata = bundle if isinstance(bundle, tuple) else (bundle, None)
        data = dict(data or {})
        picture, text = self._film()
        data["text/html"], data["text/plain"] = picture + self.footer, text
        return data if metadata is None else (data, metadata)

    def __repr__(self) -> str:
        return f"<stepper: {len(self.events)} {self.unit}{'s'[: len(self.events) != 1]}>"


class LoopStepper(Stepper):
    """The queues of a toy loop (`microtask`), step by step: it has no message to show."""

    unit = "step"

    def _card(self, index: int) -> str:
        return frame_html(self.events, index % len(self.events))

    def _film(self) -> tuple[str, str]:
        text = frames_text(self.events)
        return f'<pre style="font-size:16px">{html.escape(text)}</pre>', text


def stepper(stream_or_events: Any) -> Stepper:
    """Step through the events that a stream has now: first, back, play, forward, last.

    stream_or_events: a stream, your own class too, as long as it has `events`; or the events,
        which may be your own objects with a `type` and a `partial`, or dicts. A toy loop of
        `microtask` that has run is shown with its queues.

    Running the cell again replaces the view. Raises NotEventsError for anything else.

    >>> stepper([{"type": "start"}, {"type": "done", "reason": "stop"}])
    <stepper: 2 events>
    """
    if isinstance(stream_or_events, TwoQueueLoop):
        return LoopStepper(stream_or_events.frames)
    return Stepper(events_of(stream_or_events))


# Running a cell again makes new widgets, and ipywidgets keeps the old ones, playing on.

_shown: dict[object, tuple[object, list[Stepper]]] = {}


class Running(NamedTuple):
    """Which cell is running, which run of it this is, and whether the client named the cell."""

    cell: object
    run: object
    named: bool


def running_cell() -> Running | None:
    """The cell that runs now; None outside a notebook.

    JupyterLab says which cell it is. A client that does not is told apart by the cell's text.
    """
    shell: Any = get_ipython()
    kernel = getattr(shell, "kernel", None)
    if kernel is None:
        return None
    request = kernel.get_parent("shell")
    name = request.get("metadata", {}).get("cellId")
    text = shell.user_ns.get("_ih", [""])[-1]
    return Running(name or text, request.get("header", {}).get("msg_id"), bool(name))


def _replace_those_of_an_earlier_run(view: Stepper) -> None:
    if (running := running_cell()) is None:
        return
    run, views = _shown.get(running.cell, (running.run, []))
    if run != running.run:
        for old in views:
            old.replaced()
        views = []
    _shown[running.cell] = running.run, [*views, view]


def _parts(widget: Any, seen: set[int] | None = None) -> Iterator[Any]:
    """A widget and every widget that it holds, each once."""
    seen = set() if seen is None else seen
    if id(widget) in seen:
        return
    seen.add(id(widget))
    for name in widget.keys:
        held = getattr(widget, name)
        for part in held if isinstance(held, list | tuple) else (held,):
            if isinstance(part, ipywidgets.Widget):
                yield from _parts(part, seen)
    yield widget
