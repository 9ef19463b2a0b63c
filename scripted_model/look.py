"""The visual language, the same in every view: a lane, a colour, and a sign beside it.

Colour is never the only signal. The colours keep apart for colour-blind eyes and in print
(Okabe and Ito, 2008), and stand on a light as on a dark ground.
"""

import unicodedata
from collections.abc import Sequence

LANES = {
    "caller": ("#0072B2", "■"),
    "producer": ("#D55E00", "●"),
    "reader 1": ("#009E73", "▲"),
    "reader 2": ("#CC79A7", "◆"),
    "result": ("#7A6A00", "★"),
}
"""Who does something: the caller's own synchronous code, the scheduled callback, and readers."""

EVENTS = {
    "start": ("○", "#0072B2"),
    "text_delta": ("+", "#009E73"),
    "toolcall_delta": ("{", "#D55E00"),
    "toolcall_end": ("}", "#D55E00"),
    "done": ("✓", "#009E73"),
    "error": ("✗", "#B00020"),
}
"""What happened: a sign and a colour for each type of event."""

EDGE = "var(--jp-border-color1,rgba(128,128,128,.5))"
PANEL = (
    "font:18px/1.5 var(--jp-ui-font-family,system-ui,sans-serif);"
    "color:var(--jp-ui-font-color1,inherit);box-sizing:border-box;contain:inline-size;"
    f"border:1px solid {EDGE};border-radius:8px;padding:8px 14px;margin:4px 0"
)
"""The frame and the type of a view in HTML. Inline, and with JupyterLab's own colours where there
are any, so that it fits the light and the dark theme and stands in any other page too."""


def text_table(header: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """Aligned columns, numbers to the right, for letters of any width.

    >>> print(text_table(("n", "text", "more"), [("1", "先看", "x"), ("10", "ok", "y")]))
     n  text  more
     1  先看  x
    10  ok    y
    """
    columns = []
    for name, *cells in zip(header, *lines, strict=True):
        gaps = [" " * (max(map(_width, (name, *cells))) - _width(c)) for c in (name, *cells)]
        to_right = all(cell.isdigit() for cell in cells)
        columns.append(
            [g + c if to_right else c + g for g, c in zip(gaps, (name, *cells), strict=True)]
        )
    return "\n".join("  ".join(line).rstrip() for line in zip(*columns, strict=True))


def _width(text: str) -> int:
    """How many places a text takes in a console: a wide letter takes two, an accent none."""
    wide = sum(unicodedata.east_asian_width(letter) in "WF" for letter in text)
    return len(text) + wide - sum(unicodedata.combining(letter) > 0 for letter in text)
