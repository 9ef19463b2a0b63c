"""Checks: what a chapter answers to a prediction and to an exercise (every chapter).

Each check returns a `Check`, and a cell that ends in one shows it. It never raises for what a
student wrote: a blank is "not yet", a wrong answer is "not quite" with the first step that
diverges, a right one is "passed" with what was tested, and no more than that. Events and items
are counted from 0, as in `events[2]`.

>>> predicted(..., 2)
not yet: write your prediction into the cell above, and run both cells again.
>>> predicted("start, done", ["start", "text_delta", "done"], because="A text has a delta.")
not quite: you said start, done; it was start, text_delta, done. They part at the second. \
A text has a delta.
"""

# ruff: isort: off
from scripted_model.checks.check import Check
from scripted_model.checks.predictions import predicted
from scripted_model.checks.traces import check_trace
from scripted_model.checks.exercises import (
    check_calls,
    check_cursor,
    check_order,
    check_partials,
    check_script,
    check_snapshot,
    check_stream,
    check_value,
)
from scripted_model.checks.carrier import check_event_stream
# ruff: isort: on

__all__ = [
    "Check",
    "check_calls",
    "check_cursor",
    "check_event_stream",
    "check_order",
    "check_partials",
    "check_script",
    "check_snapshot",
    "check_stream",
    "check_trace",
    "check_value",
    "predicted",
]
