"""Predictions: what was said before the run, beside what happened."""

import re
from collections.abc import Sequence
from typing import Any

from scripted_model.checks.check import Check, shown

ORDINALS = [
    "first",
    "second",
    "third",
    "fourth",
    "fifth",
    "sixth",
    "seventh",
    "eighth",
    "ninth",
    "tenth",
]
NUMBERS = {
    word: number
    for number, word in enumerate(
        ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]
    )
}


def predicted(prediction: Any, actual: Any, because: str = "") -> Check:
    """Compare a prediction with what happened; `because` says why it happened.

    Spelling is no matter: a list may be a tuple or "a, b → c", a number or an exception may be
    its name, a widget stands for its value. `...` is a blank.

    >>> predicted(" Start → text_delta,done", ("start", "text_delta", "done"))
    yes: start, text_delta, done.
    >>> predicted(IndexError, "IndexError", because="A list ends.")
    yes: IndexError. A list ends.
    >>> predicted(1, 2)
    not quite: you said 1; it was 2.
    """
    chosen = getattr(prediction, "value", prediction)
    nothing_chosen = chosen is None and prediction is not None  # of a widget's options
    prediction = chosen
    if prediction in (..., "") or nothing_chosen or str(prediction).isspace():
        return Check(
            None, "not yet: write your prediction into the cell above, and run both cells again."
        )
    why = f" {because}" if because else ""
    if same(prediction, actual):
        return Check(True, f"yes: {read_out(actual)}.{why}")
    part = ""
    if isinstance(actual, list | tuple) and not isinstance(prediction, int):
        at = parting(prediction, actual)[0]
        part = f" They part at the {ORDINALS[at] if at < len(ORDINALS) else f'{at + 1}th'}."
    said, was = read_out(prediction), read_out(actual)
    return Check(False, f"not quite: you said {said}; it was {was}.{part}{why}")


def words_of(value: Any) -> list[str]:
    """The words of an answer, without brackets, quotes, commas, arrows and capitals."""
    bare = read_out(value).replace("->", " ").replace("=>", " ").casefold()
    return re.findall(r"[^\s,，、;；→()\[\]'\"`]+", bare)


def read_out(value: Any) -> str:
    """An answer as one would read it out."""
    match value:
        case str() if value.strip():
            return " ".join(value.split())
        case type():
            return value.__name__
        case Exception():
            return type(value).__name__
        case list() | tuple() if value:
            return ", ".join(map(read_out, value))
    return shown(value)


def same(said: Any, actual: Any) -> bool:
    if isinstance(actual, bool) and isinstance(said, str):
        said = {"yes": True, "no": False}.get(said.strip().casefold(), said)
    if isinstance(said, bool) == isinstance(actual, bool) and said == actual:
        return True
    if words_of(said) == words_of(actual):
        return True
    return isinstance(said, str) and _means(said, actual)


def _means(said: str, actual: Any) -> bool:
    """Whether a text says it in other words: "two", "about 100", "text delta", "an IndexError"."""
    name = read_out(actual)
    if isinstance(actual, Exception | type) or re.fullmatch(r"\w+(Error|Interrupt)", name):
        return name.casefold() in re.sub(r"[\s_-]", "", said).casefold()
    numbers = [str(NUMBERS.get(word, word)) for word in words_of(said)]
    if isinstance(actual, int | list | tuple) and name.replace(", ", "").isdigit():
        return [n for n in numbers if n.isdigit()] == words_of(actual)
    bare = [re.sub(r"[\W_]", "", text).casefold() for text in (said, name)]
    return bare[0] == bare[1] and not bare[1].isdigit()


def parting(answer: Any, expected: Sequence[Any]) -> tuple[int, str]:
    """The first item of a list that an answer does not have there, and what it has."""
    left = words_of(answer)
    for index, item in enumerate(expected):
        these = words_of(item)
        if left[: len(these)] != these:
            return index, " ".join(left[: len(these)]) or "nothing"
        left = left[len(these) :]
    return len(expected), " ".join(left)
