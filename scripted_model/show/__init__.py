"""Seeing it: the partial message as it grows, event by event.

Only this subpackage needs ipywidgets; `import scripted_model` does not load it. The modules, in
reading order: card (what a step looks like), stepper (step through it), watch (live).
"""

# ruff: isort: off
# The imports stand in reading order.
from scripted_model.show.card import NotEventsError, card_html, card_text, film_html, film_text
from scripted_model.show.stepper import Stepper, stepper
from scripted_model.show.watch import watch

# ruff: isort: on

__all__ = [
    "NotEventsError",
    "Stepper",
    "card_html",
    "card_text",
    "film_html",
    "film_text",
    "stepper",
    "watch",
]
