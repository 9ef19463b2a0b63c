"""The picture stays: a notebook opened again without its kernel, and a page with no network."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.browser.lab import ROOT, Lab, Steps, notebook
from tests.browser.test_chapters import LOST
from tests.browser.test_views import HOSTILE, MAKE, TOTAL, assert_shown, views

SAID = f"said = [text(said) for said in {HOSTILE!r}]"
STEPPERS = MAKE, "stepper(events)", f"{SAID}\nstepper(project(assistant_message(said)))"


def run_script(name: str, *arguments: str | Path) -> None:
    done = subprocess.run(
        [sys.executable, ROOT / ".ci" / name, *arguments], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def assert_twin(lab: Lab) -> None:
    """In place of the stepper stands its table: all events, and the text of others as text."""
    assert views(lab).count() == 0
    table, hostile = (lab.cell(index).locator("table") for index in (1, 2))
    assert table.locator("tbody tr").count() == TOTAL
    assert "先看，再说。" in table.inner_text()
    assert "done, reason: toolUse" in table.inner_text()
    assert all(said in hostile.inner_text() for said in HOSTILE)
    assert lab.page.evaluate("typeof hacked") == "undefined"


def assert_nothing_lost(lab: Lab) -> None:
    lab.settle()
    for cell in lab.cells():
        assert not any(words in cell["shown"] for words in LOST), cell["shown"]


def saved_without_its_kernel(lab: Lab) -> Path:
    """A notebook that a student ran and saved; its kernel is gone and the tab was closed."""
    lab.make(*STEPPERS)
    lab.run_all()
    views(lab).first.wait_for()
    lab.command("docmanager:save")
    lab.close()
    lab.load()
    return lab.files / "made.ipynb"


def test_ones_own_notebook_shows_the_stepper_without_its_kernel(lab: Lab) -> None:
    """As `make lab` sets it, what was saved steps on, though its kernel is gone."""
    saved_without_its_kernel(lab)
    lab.open("made.ipynb")
    steps = Steps(views(lab).first)
    assert_shown(steps, 0)
    steps.click("one event forward")
    assert_shown(steps, 1)
    steps.slider.focus()
    lab.page.keyboard.press("End")
    assert_shown(steps, TOTAL - 1)
    assert_nothing_lost(lab)


def test_a_notebook_of_somebody_else_shows_the_table(lab: Lab) -> None:
    """Not trusted, as after a mail: the twin is there, sanitised by JupyterLab."""
    path = saved_without_its_kernel(lab)
    content = json.loads(path.read_text(encoding="utf-8"))
    content["metadata"]["from"] = "somebody else"  # the signature does not hold any more
    path.write_text(json.dumps(content), encoding="utf-8")
    lab.open("made.ipynb")
    assert_twin(lab)
    assert_nothing_lost(lab)


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A notebook as `make notebooks` stores it."""
    path = tmp_path_factory.mktemp("stored") / "stored.ipynb"
    path.write_text(notebook(*STEPPERS), encoding="utf-8")
    run_script("notebooks.py", path)
    return path.read_bytes()


@pytest.mark.parametrize("trusted", [False, True])
def test_a_stored_notebook_shows_the_table(lab: Lab, stored: bytes, trusted: bool) -> None:
    """Opened and not run, trusted or not: the twin is there, never an error."""
    path = lab.files / f"stored_{trusted}.ipynb"
    path.write_bytes(stored)
    if trusted:
        lab.trust(path)
    lab.open(path.name)
    assert lab.page.evaluate("panel.content.model.cells.get(1).trusted") is trusted
    assert_twin(lab)
    assert_nothing_lost(lab)


def test_a_page_steps_with_no_network(offline: Lab, tmp_path: Path) -> None:
    """As `make pages` makes it, one file: buttons, keys and Play work, and nothing is asked for."""
    if shutil.which("npm") is None and not os.environ.get("CI"):
        pytest.skip("npm was not found, which fetches the scripts that a page needs")
    path = tmp_path / "made.ipynb"
    path.write_text(notebook(*STEPPERS), encoding="utf-8")
    run_script("pages.py", "--to", tmp_path, path)
    (tmp_path / "alone").mkdir()
    alone = (tmp_path / "made.html").rename(tmp_path / "alone" / "made.html")
    offline.page.goto(alone.as_uri())
    steppers = offline.page.locator(".scripted-model-stepper")
    steps, hostile = Steps(steppers.nth(0)), Steps(steppers.nth(1))
    for index in range(TOTAL):
        assert_shown(steps, index)
        steps.click("one event forward")
    steps.click("one event back")
    assert_shown(steps, TOTAL - 2)
    steps.slider.focus()
    offline.page.keyboard.press("Home")
    assert_shown(steps, 0)
    steps.click("play")
    assert_shown(steps, TOTAL - 1)
    steps.click("first event")
    assert_shown(steps, 0)
    for said in HOSTILE:
        hostile.click("one event forward")
        hostile.wait_for(said)
    assert offline.page.evaluate("typeof hacked") == "undefined"
