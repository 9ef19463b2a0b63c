"""Driving JupyterLab: a server of our own, a browser that is installed, and what a class does.

Nothing here sleeps. Each wait names what it waits for, and has a limit.
"""

import json
import os
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from playwright.sync_api import Browser, BrowserContext, Locator, Page, Playwright, sync_playwright

ROOT = Path(__file__).resolve().parent.parent.parent
LIMIT = 30_000
"""Milliseconds after which a wait has failed, with words: before the test's own limit is over."""
RUN_ALL = 90_000
"""The same for all cells of a notebook."""
NAMES = (
    *("chromium", "chromium-browser", "google-chrome", "google-chrome-stable"),
    *("chrome", "microsoft-edge", "msedge"),
)
QUIET = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",  # no name leads anywhere
)


def browser_path() -> str | None:
    """The Chromium-like browser of this machine, or the one that BROWSER_PATH names."""
    if path := os.environ.get("BROWSER_PATH"):
        return path
    return next(filter(None, map(shutil.which, NAMES)), None)


# The server


def environment_of(folder: Path) -> dict[str, str]:
    """Where our Jupyter keeps its things, and nothing of the user's."""
    own = {
        "JUPYTER_CONFIG_DIR": "config",
        "JUPYTER_DATA_DIR": "data",
        "JUPYTER_RUNTIME_DIR": "runtime",
        "IPYTHONDIR": "ipython",
        "JUPYTERLAB_SETTINGS_DIR": "settings",
        "JUPYTERLAB_WORKSPACES_DIR": "workspaces",
    }
    return {
        **os.environ,
        **{name: str(folder / place) for name, place in own.items()},
        "JUPYTER_PREFER_ENV_PATH": "1",
        "SCRIPTED_MODEL_PACE": "0",  # somebody watches, though CI is set, and is in no hurry
    }


@contextmanager
def server(folder: Path) -> Iterator[str]:
    """JupyterLab as `make lab` starts it, on `folder/files`, without the settings of the user."""
    (folder / "files").mkdir(parents=True)
    settings = folder / "settings" / "@jupyterlab" / "notebook-extension"
    settings.mkdir(parents=True)
    # All cells are in the page, also those that one would have to scroll to.
    (settings / "tracker.jupyterlab-settings").write_text('{"windowingMode": "none"}')
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root"),
            *("--expose-app-in-browser", "--ServerApp.ip=127.0.0.1", f"--ServerApp.port={port}"),
            *("--ServerApp.port_retries=0", f"--ServerApp.root_dir={folder / 'files'}"),
            *("--IdentityProvider.token=", "--ServerApp.disable_check_xsrf=True"),
            "--LabApp.app_settings_dir=.ci/lab",
        ],
        cwd=ROOT,
        env=environment_of(folder),
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
    )
    log: list[str] = []
    up = threading.Event()

    def read() -> None:
        assert process.stderr is not None
        for line in process.stderr:
            log.append(line)
            if f"http://127.0.0.1:{port}/lab" in line:
                up.set()
        up.set()

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    try:
        if not up.wait(LIMIT / 1000) or process.poll() is not None:
            raise RuntimeError("JupyterLab did not start:\n" + "".join(log[-20:]))
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()  # it stops its kernels before it goes
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        reader.join()
        if process.stderr is not None:
            process.stderr.close()


# The browser


@contextmanager
def browser(path: str) -> Iterator[Browser]:
    with sync_playwright() as playwright:
        yield from _launched(playwright, path)


def _launched(playwright: Playwright, path: str) -> Iterator[Browser]:
    browser = playwright.chromium.launch(executable_path=path, args=list(QUIET))
    try:
        yield browser
    finally:
        browser.close()


class Guard:
    """What a page must not do: ask for anything that is not on this machine, or raise errors."""

    def __init__(self, context: BrowserContext) -> None:
        self.faults: list[str] = []
        context.on("request", lambda request: self._look_at(request.url))
        context.on("weberror", lambda error: self.faults.append(f"error: {error.error}"))
        context.on("page", lambda page: page.on("websocket", lambda ws: self._look_at(ws.url)))
        context.set_default_timeout(LIMIT)

    def _look_at(self, url: str) -> None:
        parts = urlsplit(url)
        local = parts.hostname in ("127.0.0.1", "localhost")
        if not local and parts.scheme not in ("file", "data", "blob", "about"):
            self.faults.append(f"asked for {url}")

    def assert_quiet(self) -> None:
        faults, self.faults = self.faults, []
        assert faults == []


# JupyterLab in the browser

_OPEN = """async path => {
    const panel = await jupyterapp.commands.execute('docmanager:open', {path});
    await panel.context.ready;
    await panel.sessionContext.ready;
    window.panel = panel;
}"""
_CELLS = """() => panel.content.widgets.filter(cell => cell.model.type === 'code').map(cell => ({
    count: cell.model.executionCount,
    prompt: cell.node.querySelector('.jp-InputPrompt').innerText.trim(),
    outputs: cell.model.outputs.toJSON(),
    tags: cell.model.getMetadata('tags') ?? [],
    shown: cell.outputArea.node.innerText,
}))"""
_IDLE = """() => {
    const kernel = panel.sessionContext.session?.kernel;
    return kernel?.status === 'idle' && kernel.connectionStatus === 'connected';
}"""
_CLOSE = """async () => {
    for (const panel of [...jupyterapp.shell.widgets('main')]) {
        if (panel.context && panel.sessionContext) {
            await panel.sessionContext.shutdown();
            panel.context.model.dirty = false;
        }
        panel.close();
    }
}"""


def notebook(*sources: str) -> str:
    """An unrun notebook with these cells, as text."""
    cells = [
        {
            "cell_type": "code",
            "execution_count": None,
            "id": f"cell-{number}",
            "metadata": {},
            "outputs": [],
            "source": source.strip(),
        }
        for number, source in enumerate(sources, start=1)
    ]
    kernel = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}
    whole = {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4}
    return json.dumps({**whole, "nbformat_minor": 5})


class Lab:
    """One JupyterLab in one tab, and the notebook that is open in it."""

    def __init__(self, page: Page, address: str, files: Path) -> None:
        self.page, self.address, self.files = page, address, files

    def load(self) -> None:
        """Load the page anew, as after closing the tab: with nothing open."""
        self.page.goto(f"{self.address}/lab?reset")
        self.page.wait_for_function("window.jupyterapp?.restored")
        self.page.evaluate("jupyterapp.restored")

    def open(self, path: str) -> None:
        self.page.evaluate(_OPEN, path)
        self.page.wait_for_function(_IDLE)

    def make(self, *sources: str, name: str = "made.ipynb") -> None:
        """Make a notebook with these cells, and open it."""
        (self.files / name).write_text(notebook(*sources), encoding="utf-8")
        self.open(name)

    def trust(self, path: Path) -> None:
        """What `jupyter trust` does, which a student can do too."""
        command = [sys.executable, "-m", "jupyter", "trust", str(path)]
        environment = environment_of(self.files.parent)
        subprocess.run(command, env=environment, check=True, capture_output=True)

    def close(self) -> None:
        """Close every notebook, without saving, and stop its kernel."""
        self.page.evaluate(_CLOSE)

    def command(self, name: str) -> None:
        self.page.evaluate("name => jupyterapp.commands.execute(name)", name)

    def start(self, command: str) -> None:
        """Run a command that is not waited for."""
        self.page.evaluate(
            "name => { window.over = false;"
            " jupyterapp.commands.execute(name).finally(() => { window.over = true; }); }",
            command,
        )

    def run_all(self) -> None:
        """Run > Run All Cells; over when every cell is.

        JupyterLab calls it over at the first error, also one that is meant. So something more is
        queued behind the last cell, and waited for.
        """
        self.start("notebook:run-all-cells")
        self.page.wait_for_function("window.over", timeout=RUN_ALL)
        self.page.evaluate(
            "window.over = false;"
            " panel.sessionContext.session.kernel.requestExecute({code: '', silent: true})"
            ".done.finally(() => { window.over = true; }); undefined"
        )
        self.page.wait_for_function("window.over", timeout=RUN_ALL)

    def choose(self, index: int) -> None:
        self.page.evaluate("index => { panel.content.activeCellIndex = index; }", index)

    def run(self, index: int) -> None:
        """Run one cell to its end."""
        self.choose(index)
        self.start("notebook:run-cell")
        self.page.wait_for_function("window.over")

    def cells(self) -> list[dict[str, Any]]:
        """The code cells: their counts and outputs as the notebook holds them, and as shown."""
        found: list[dict[str, Any]] = self.page.evaluate(_CELLS)
        return found

    def said(self, index: int) -> str:
        """What a cell printed."""
        outputs = self.cells()[index]["outputs"]
        return "".join(output.get("text", "") for output in outputs)

    def cell(self, index: int) -> Locator:
        """The part of the page where this cell's outputs are."""
        return self.page.locator(".jp-Notebook .jp-Cell").nth(index).locator(".jp-OutputArea")

    def labels(self, views: Locator) -> Callable[[], list[str]]:
        """From now on, note each card that these views show; the result tells them in order."""
        views.first.evaluate(
            """view => {
                const shown = () => [...view.querySelectorAll('[role=group]')]
                    .filter(card => card.checkVisibility()).map(card => card.ariaLabel);
                let last = shown().join();
                window.seen = [];
                new MutationObserver(() => {
                    const now = shown();
                    if (now.length === 1 && now[0] !== last) window.seen.push(last = now[0]);
                }).observe(view, {subtree: true, childList: true, attributes: true});
            }"""
        )
        return lambda: list(self.page.evaluate("window.seen"))

    def widgets(self) -> tuple[int, int]:
        """How many widgets the kernel has, and how many channels to widgets the browser has."""
        kernel, page = self.page.evaluate(
            """async () => {
                const kernel = panel.sessionContext.session.kernel;
                const reply = await kernel.requestCommInfo({target_name: 'jupyter.widget'});
                return [Object.keys(reply.content.comms).length, kernel._comms.size];
            }"""
        )
        return kernel, page

    def settle(self) -> None:
        """Wait until no widget is still on its way."""
        self.page.wait_for_function("!panel.content.node.innerText.includes('Loading widget')")


# A stepper, wherever it is shown


class Steps:
    """A stepper in a page: a card, and what moves it."""

    def __init__(self, view: Locator) -> None:
        self.view = view
        self.card = view.locator("[role=group]:visible")

    def wait_for(self, words: str) -> None:
        self.view.locator("[role=group]:visible", has_text=words).wait_for()

    def at(self, number: int, total: int) -> None:
        """Wait until event `number` is shown."""
        self.wait_for(f"event {number} of {total}, just happened")

    def reach(self, number: int) -> None:
        """Wait until event `number`, or one after it, is shown: a moving view may skip a look."""
        self.view.page.wait_for_function(
            """([view, number]) => [...view.querySelectorAll('[role=group]')].some(card =>
                card.checkVisibility() && parseInt(card.ariaLabel.split(' ')[1]) >= number)""",
            arg=[self.view.element_handle(), number],
        )

    def button(self, name: str) -> Locator:
        return self.view.get_by_role("button", name=name, exact=True)

    def click(self, name: str) -> None:
        self.button(name).click()

    @property
    def current(self) -> str:
        """The line of the event that just happened."""
        return self.card.locator("[aria-current=step]").inner_text()

    @property
    def text(self) -> str:
        return self.card.inner_text()

    @property
    def slider(self) -> Locator:
        return self.view.get_by_role("slider")

    @property
    def number(self) -> Locator:
        return self.view.get_by_role("spinbutton")
