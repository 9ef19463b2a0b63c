"""The chapters as a course: one shape, checks that answer a blank, solutions that pass."""

import json
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

NOTEBOOKS = Path(__file__).parent.parent / "notebooks"
NAMES = [
    *("00_start_here", "01_cursor", "02_snapshot", "03_microtask", "04_event_stream"),
    *("05_partial", "06_scripted_model", "07_tool_call", "08_failures", "09_checkpoint"),
]
STUDENT = {"prediction", "answer"}
"""The tags of the cells that a student fills in; a solved notebook differs in these alone."""


NO_WORDS = r"<details>.*?</details>|\|.*?\||\]\([^)]*\)|```.*?```"
"""Folded hints, tables, links and quoted programs are no running text."""


def cells(name: str) -> list[dict[str, Any]]:
    notebook = json.loads((NOTEBOOKS / f"{name}.ipynb").read_text(encoding="utf-8"))
    found: list[dict[str, Any]] = notebook["cells"]
    return found


def source(cell: dict[str, Any]) -> str:
    return "".join(cell["source"])


def tags(cell: dict[str, Any]) -> set[str]:
    return set(cell["metadata"].get("tags", []))


def said(cell: dict[str, Any]) -> str:
    """The text of a code cell's outputs."""
    parts = []
    for output in cell["outputs"]:
        parts += output.get("text", []) or output.get("data", {}).get("text/plain", [])
    return "".join(parts)


def following(cells: list[dict[str, Any]], tag: str) -> list[dict[str, Any]]:
    """The cell right below each one with this tag."""
    return [after for cell, after in pairwise(cells) if tag in tags(cell)]


def test_the_chapters_are_all_there() -> None:
    """Ten of them, each with its solved twin, and nothing else."""
    assert sorted(path.stem for path in NOTEBOOKS.glob("*.ipynb")) == NAMES
    assert sorted(path.stem for path in NOTEBOOKS.glob("solutions/*.ipynb")) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_a_chapter_opens_in_the_same_way(name: str) -> None:
    """Title, navigation, what you do, learn and need, minutes; then the look around."""
    first, second = cells(name)[:2]
    number, text = name[:2], source(first)
    assert re.match(rf"# {number} · \S", text)
    assert navigation(name) in text
    for words in ("**You will**", "**You will learn**", "**You need**", "**Minutes:** "):
        assert words in text
    [minutes] = re.findall(r"\*\*Minutes:\*\* (\d+)", text)
    assert 20 <= int(minutes) <= 45
    assert "ready()" in source(second)
    assert said(second) == "Ready."


@pytest.mark.parametrize("name", NAMES)
def test_a_chapter_closes_in_the_same_way(name: str) -> None:
    """A recap of five lines, what the picture hides, where it bites, navigation."""
    text = source(cells(name)[-1])
    recap = text[text.index("## Recap") : text.index("**What this picture hides.**")]
    assert recap.count("\n- ") == 5
    assert "**Where it bites in real work.**" in text
    assert text.endswith(navigation(name))


def navigation(name: str) -> str:
    at = NAMES.index(name)
    parts = ["[Contents](../README.md#the-chapters)"]
    if at > 0:
        parts.insert(0, link(NAMES[at - 1], "← {}"))
    if at < len(NAMES) - 1:
        parts.append(link(NAMES[at + 1], "{} →"))
    return " | ".join(parts)


def link(name: str, form: str) -> str:
    title = name[:2] + " " + name[3:].replace("_", " ").capitalize()
    return f"[{form.format(title)}]({name}.ipynb)"


@pytest.mark.parametrize("name", NAMES)
def test_a_chapter_has_three_predictions_that_are_answered(name: str) -> None:
    """Asked under "Predict", written into a cell, answered by the cell right below."""
    chapter = cells(name)
    answers = following(chapter, "prediction")
    assert len(answers) >= 3
    for before, cell in pairwise(chapter):
        if "prediction" in tags(cell):
            assert "### Predict" in source(before)
            assert re.fullmatch(r"\w+ = \.\.\.", source(cell))
    for cell in answers:
        assert "predicted(" in source(cell)
        assert "not yet" in said(cell)


@pytest.mark.parametrize("name", NAMES)
def test_a_chapter_has_two_exercises_that_check_themselves(name: str) -> None:
    """Difficulty, two folded hints; the answer cell right below, the check right below that."""
    chapter = cells(name)
    stated = [i for i, cell in enumerate(chapter) if "## Exercise " in source(cell)]
    assert len(stated) >= 2
    for number, start in enumerate(stated, 1):
        answer = next(i for i in range(start, len(chapter)) if "answer" in tags(chapter[i]))
        text = "\n".join(source(c) for c in chapter[start:answer] if c["cell_type"] == "markdown")
        assert re.search(rf"^## Exercise {number} · .+ (★☆☆|★★☆|★★★)$", text, flags=re.M)
        assert text.count("<details>") == text.count("</details>") == 2
        assert chapter[answer - 1]["cell_type"] == "markdown"
        assert "not yet" in said(chapter[answer + 1])
    assert len(following(chapter, "answer")) == len(stated)


@pytest.mark.parametrize("name", NAMES)
def test_cells_are_small_and_words_are_few(name: str) -> None:
    """At most twenty lines of code in a cell, and about 120 words between two of them."""
    words = 0
    for cell in cells(name):
        text = re.sub(
            r"(?s)<details>.*?</details>|\|.*?\||\]\([^)]*\)|```.*?```", " ", source(cell)
        )
        if cell["cell_type"] == "code":
            words = 0
            assert "answer" in tags(cell) or len(text.splitlines()) <= 20, source(cell)
        else:
            words += len(text.split())
            assert "## Recap" in text or "# 00" in text or words <= 150, text


@pytest.mark.parametrize("name", NAMES)
def test_prose_lives_in_markdown(name: str) -> None:
    """No comments in code cells, so that another language can share every one of them."""
    for cell in cells(name):
        if cell["cell_type"] == "code":
            assert not re.search(r"^\s*#|  # ", source(cell), flags=re.M), source(cell)


@pytest.mark.parametrize("name", NAMES)
def test_a_solved_chapter_is_the_chapter_with_answers(name: str) -> None:
    """The same cells, links one folder up, and other text in the student's cells alone."""
    chapter, solved = cells(name), cells(f"solutions/{name}")
    assert [c["id"] for c in chapter] == [c["id"] for c in solved]
    for one, other in zip(chapter, solved, strict=True):
        assert tags(one) == tags(other)
        if STUDENT & tags(one):
            assert source(one) != source(other)
        else:
            assert re.sub(r"\]\([^)]*\)", "]()", source(one)) == re.sub(
                r"\]\([^)]*\)", "]()", source(other)
            )


@pytest.mark.parametrize("name", NAMES)
def test_a_solved_chapter_passes_its_own_checks(name: str) -> None:
    """Every prediction is right and every exercise passes."""
    solved = cells(f"solutions/{name}")
    for cell in following(solved, "prediction"):
        assert re.search("^yes: ", said(cell), flags=re.M), said(cell)
    for cell in following(solved, "answer"):
        assert re.search("^passed: ", said(cell), flags=re.M), said(cell)
        assert "not yet" not in said(cell)
        assert "not quite" not in said(cell)
