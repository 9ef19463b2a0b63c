"""One server and one browser for all tests here; what leaves the machine fails the test."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests.browser import lab as driver
from tests.browser.lab import ROOT, Guard, Lab

# Scope "package", not "session": while Playwright is there, its loop counts as the running one,
# and the other tests call asyncio.run().


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    path = driver.browser_path()
    if path is None:
        why = (
            "No Chromium, Chrome or Edge was found."
            " Say where one is: BROWSER_PATH=/path/to/it make test"
        )
        if os.environ.get("CI"):
            pytest.fail(why)  # a skip would hide a gap
        pytest.skip(why)
    with driver.browser(path) as browser:
        yield browser


@pytest.fixture(scope="package")
def _lab(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Lab, Guard]]:
    folder = tmp_path_factory.mktemp("lab")
    with driver.server(folder) as address:
        files = folder / "files"
        shutil.copytree(ROOT / "notebooks", files / "notebooks")
        context = browser.new_context(viewport={"width": 1280, "height": 1000})
        guard = Guard(context)
        lab = Lab(context.new_page(), address, files)
        lab.load()
        yield lab, guard
        context.close()


@pytest.fixture
def lab(_lab: tuple[Lab, Guard]) -> Iterator[Lab]:
    """JupyterLab with nothing open."""
    lab, guard = _lab
    yield lab
    lab.close()
    guard.assert_quiet()


@pytest.fixture
def offline(browser: Browser) -> Iterator[Lab]:
    """A page with no network at all."""
    context = browser.new_context(offline=True)
    guard = Guard(context)
    yield Lab(context.new_page(), "", Path())
    context.close()
    guard.assert_quiet()
