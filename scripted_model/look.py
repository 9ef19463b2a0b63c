"""The visual language, the same in every view: a lane, a colour, and a sign beside it.

Colour is never the only signal. The colours keep apart for colour-blind eyes and in print
(Okabe and Ito, 2008), and stand on a light as on a dark ground.
"""

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
