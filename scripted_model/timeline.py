"""Timeline: in which order did things really happen? (from chapter 03 on)

A recorder notes each step of a model's call, whose step it was, and in which pass of the loop.

>>> from scripted_model import AgentContext, ScriptedModel, assistant_message, text, user_message
>>> import asyncio
>>> async def main(recorder):
...     model = recorder.record(ScriptedModel([assistant_message([text("先看")])]))
...     recorder.mark("before the call")
...     stream = model.stream(AgentContext([user_message("请求一")]))
...     recorder.mark("after the call")
...     async for event in stream:
...         pass
>>> recorder = Timeline()
>>> asyncio.run(main(recorder))
>>> recorder
step  tick  lane      what
   1     0  caller    before the call
   2     0  caller    stream() called
   3     0  caller    snapshot taken, cursor 0 to 1
   4     0  caller    stream returned
   5     0  caller    after the call
   6     0  reader 1  async for begins
   7     1  producer  push start
   8     1  producer  push text_delta[0]
   9     1  producer  push done
  10     2  reader 1  read start
  11     2  reader 1  read text_delta[0]
  12     2  reader 1  read done
  13     2  reader 1  async for ends

A tick is a pass of the event loop, not a time, so the table is the same on every run. Passes in
which no step was noted are not counted: how often a loop looks for timers, or serves a notebook,
is nobody's step.

Recording adds no await and no callback, so it cannot change the order that it records. The
model and its streams stay the same objects; they get a subclass of their own class, made for
the occasion, whose methods note the step and then call the original. The inside of `stream()`
is not seen: what it changed is noted when it is over. The passes are counted around the loop's
own `_run_once`; a loop without that method (in a browser, say) is asked with a callback that
does nothing but count.
"""

from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from scripted_model.errors import NotRecordableError
from scripted_model.look import LANES, text_table
from scripted_model.recording import Call, a_thing, extend, moment, own_class

if TYPE_CHECKING:
    from matplotlib.axes import Axes

M = TypeVar("M")

OTHER_LANE = ("#777777", "▶")
MARKERS = dict(zip("■●▲◆★▶", "so^D*>", strict=True))
"""For each sign the name that matplotlib has for it: it is drawn, not taken from a font."""


class Row(NamedTuple):
    """One step: its number, the pass of the loop, whose step it was, and what it did."""

    step: int
    tick: int
    lane: str
    what: str


class Timeline:
    """The steps of all models that it records. `print` shows a table, `plot` a picture."""

    def __init__(self) -> None:
        self._rows: list[Row] = []
        self._moment: object = None
        self._calls = 0
        self._readers = 0

    @property
    def rows(self) -> list[Row]:
        """The steps so far."""
        return list(self._rows)

    def mark(self, what: str, lane: str = "caller") -> None:
        """Note a step of your own."""
        now = moment()
        tick = self._rows[-1].tick + (now != self._moment) if self._rows else 0
        self._moment = now
        self._rows.append(Row(len(self._rows) + 1, tick, lane, " ".join(str(what).split())))

    def record(self, model: M) -> M:
        """The same model, whose calls are noted from now on. Any class with `stream` will do.

        A model has one recorder, the last one, so that a cell can be run again.

        Raises NotRecordableError for anything else, and later for a `stream()` that returns
        no stream.
        """
        kind: Any = own_class(model)
        if isinstance(model, type) or not callable(getattr(kind, "stream", None)):
            given = f"the class {model.__name__}" if isinstance(model, type) else a_thing(model)
            raise NotRecordableError(
                f"A timeline records a model, an object with a stream() method, not {given}."
                " Write model = timeline.record(ScriptedModel([…]))."
            )

        seen: dict[str, int] = {}

        def stream(model: Any, *args: Any, **options: Any) -> Any:
            self._calls += 1
            context = args[0] if args else options.get("context")
            call = Call(self, self._calls, model, context, seen)
            return call.watched(lambda: kind.stream(model, *args, **options))

        extend(model, stream=stream)
        return model

    def next_reader(self) -> str:
        """The lane of a reader that begins now."""
        self._readers += 1
        return f"reader {self._readers}"

    @property
    def lanes(self) -> list[str]:
        """From top to bottom: the usual lanes, even when empty, and what else was used."""
        used = dict.fromkeys(row.lane for row in self._rows)
        readers = [lane for lane in used if lane.startswith("reader ")]
        return list(dict.fromkeys(["caller", "producer", "reader 1", *readers, "result", *used]))

    def __repr__(self) -> str:
        if not self._rows:
            return "(no step yet: record a model, then call it)"
        return text_table(Row._fields, [tuple(map(str, row)) for row in self._rows])

    def alt_text(self) -> str:
        """The picture in words: a sentence for each lane."""
        ticks = len({row.tick for row in self._rows})
        said = [f"A timeline; steps: {len(self._rows)}, ticks: {ticks}."]
        for lane in self.lanes:
            steps = [f"{r.step} {r.what}" for r in self._rows if r.lane == lane]
            said.append(f"{lane}: {', '.join(steps) or 'no step'}.")
        return " ".join(said)

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Draw the steps on matplotlib axes: `ax`, or new ones of a size that fits.

        A row for each lane, a column for each step, a band for each tick. A text that is not
        ASCII appears as "mark 3", by its step number: there may be no font for it.
        """
        from matplotlib import pyplot, style

        rows, lanes, labels = self._rows, self.lanes, [_label(row) for row in self._rows]
        count = max(len(rows), 1)
        size = 13 if count <= 30 else 11
        if ax is None:
            slant = 0.006 * size * max(map(len, labels), default=0) + 0.4
            inches = max(0.024 * size * count + slant, 7), 0.55 * len(lanes) + slant
            # Made outside the style: the first figure also chooses how figures are shown.
            figure = pyplot.figure(figsize=inches, dpi=100, facecolor="white", layout="constrained")
        with style.context("default"):
            ax = ax or figure.add_subplot()
            ax.set_facecolor("white")
            for tick in dict.fromkeys(row.tick for row in rows):
                steps = [row.step for row in rows if row.tick == tick]
                ends = steps[0] - 0.5, steps[-1] + 0.5
                ax.axvspan(*ends, color="#E8E8E8" if tick % 2 else "white", zorder=0)
                ax.axvline(ends[0], color="#777777", linewidth=1, zorder=1)
                ax.text(sum(ends) / 2, -0.65, str(tick), ha="center", va="bottom", size=size)
            left = ax.get_yaxis_transform()
            ax.text(0, -0.65, "tick  ", ha="right", va="bottom", size=size, transform=left)
            heights = [lanes.index(row.lane) for row in rows]
            ax.plot(range(1, len(rows) + 1), heights, color="#777777", linewidth=1.2, zorder=2)
            for height, lane in enumerate(lanes):
                colour, sign = LANES.get(lane, OTHER_LANE)
                steps = [row.step for row in rows if row.lane == lane]
                ax.axhline(height, color="#BBBBBB", linewidth=0.8, zorder=1)
                ax.scatter(
                    steps, [height] * len(steps), s=260 if sign == "★" else 150, c=colour,
                    marker=MARKERS[sign], edgecolors="black", zorder=3,
                )  # fmt: skip
            names = [lane if _drawable(lane) else f"lane {n}" for n, lane in enumerate(lanes, 1)]
            ax.set_yticks(range(len(lanes)), names, size=size + 2, parse_math=False)
            ax.set_xticks(
                range(1, len(rows) + 1), labels, size=size, rotation=45, ha="right",
                rotation_mode="anchor", parse_math=False,
            )  # fmt: skip
            ax.set_xlim(0.5, count + 0.5)
            ax.set_ylim(len(lanes) - 0.4, -0.6)
            ax.spines[["top", "right"]].set_visible(False)
        return ax


def _drawable(text: str) -> bool:
    return text.isascii() and text.isprintable()


def _label(row: Row) -> str:
    if not _drawable(row.what):
        return f"mark {row.step}"
    return row.what if len(row.what) <= 34 else row.what[:31] + "..."
