"""In a class: cells are queued, run out of order, interrupted. A real kernel has to bear it."""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from jupyter_client.blocking import BlockingKernelClient
from jupyter_client.manager import KernelManager

NOTEBOOKS = Path(__file__).parent.parent / "notebooks"
CHAPTERS = sorted(NOTEBOOKS.glob("**/*.ipynb"))
LIMIT = 50

PROBE = '''
import asyncio as _asyncio

class _Probe:
    """What a cell has scheduled and not yet seen run."""
    def __init__(self):
        self.waiting = {}
        loop = _asyncio.get_running_loop()
        for name in ("call_soon", "call_later", "call_at"):
            setattr(loop, name, self.noting(getattr(loop, name), name != "call_soon"))
    def noting(self, schedule, delayed):
        def scheduled(*args, **options):
            args = list(args)
            callback = args[delayed]
            owner = getattr(callback, "__module__", None) or ""
            ours = owner == "__main__" or owner.startswith("scripted_model")
            if not ours or getattr(callback, "__name__", "") == "_beat":
                return schedule(*args, **options)
            key = object()
            def run(*given):
                self.waiting.pop(key, None)
                return callback(*given)
            self.waiting[key] = repr(callback)
            args[delayed] = run
            return schedule(*args, **options)
        return scheduled
    def left(self):
        tasks = []
        for task in _asyncio.all_tasks():
            code = getattr(task.get_coro(), "cr_code", None)
            name = code.co_filename if code else "scripted_model"
            if "scripted_model" in name or "ipykernel_" in name:
                if task is not _asyncio.current_task():
                    tasks.append(repr(task))
        return [*self.waiting.values(), *tasks]

_probe = _Probe()
'''


@contextmanager
def kernel(folder: Path) -> Iterator[tuple[KernelManager, BlockingKernelClient]]:
    """A kernel of this Python, started in the notebook's folder as JupyterLab does."""
    manager = KernelManager()
    manager.kernel_spec.argv[:1] = [sys.executable]
    manager.start_kernel(cwd=str(folder))
    client = manager.client()
    client.start_channels()
    try:
        client.wait_for_ready(timeout=LIMIT)
        yield manager, client
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)


def code_cells(path: Path) -> list[dict[str, Any]]:
    notebook = json.loads(path.read_text(encoding="utf-8"))
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def collected(client: BlockingKernelClient, ids: list[str]) -> dict[str, list[Any]]:
    """The outputs of requests that were sent, each in the form that `told` gives a stored one."""
    outputs: dict[str, list[Any]] = {id: [] for id in ids}
    open_ids = set(ids)
    while open_ids:
        message = client.get_iopub_msg(timeout=LIMIT)
        parent, content = message["parent_header"].get("msg_id"), message["content"]
        if parent not in outputs:
            continue
        if message["msg_type"] == "status" and content["execution_state"] == "idle":
            open_ids.discard(parent)
        elif message["msg_type"] in ("stream", "display_data", "execute_result", "error"):
            outputs[parent].append({"output_type": message["msg_type"], **content})
    return outputs


def told(outputs: list[Any]) -> list[str]:
    """What outputs say: text and errors; the pieces of one stream belong together."""
    streams: dict[str, str] = {}
    rest = []
    for output in outputs:
        if output["output_type"] == "stream":
            name = output["name"]
            streams[name] = streams.get(name, "") + "".join(output["text"])
        elif output["output_type"] == "error":
            rest.append(f"{output['ename']}: {output['evalue']}")
        else:
            rest.append("".join(output["data"].get("text/plain", "")))
    return [*(f"{name}: {text}" for name, text in sorted(streams.items())), *rest]


def send(client: BlockingKernelClient, cell: dict[str, Any], **options: Any) -> str:
    allowed = "raises-exception" in cell["metadata"].get("tags", [])
    code = "".join(cell["source"])
    return client.execute(code, stop_on_error=not allowed, **options)


@pytest.mark.timeout(120)
@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_run_all_gives_the_stored_outputs(path: Path) -> None:
    """All cells queued at once, as JupyterLab does it, say what they say one by one."""
    cells = code_cells(path)
    with kernel(path.parent) as (_, client):
        ids = [send(client, cell) for cell in cells]
        outputs = collected(client, ids)
    for cell, id in zip(cells, ids, strict=True):
        assert told(outputs[id]) == told(cell["outputs"]), "".join(cell["source"])


@pytest.mark.timeout(120)
@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_no_cell_leaves_a_callback_pending(path: Path) -> None:
    """When a cell has ended, nothing that it scheduled is still to come."""
    with kernel(path.parent) as (_, client):
        client.execute_interactive(PROBE, timeout=LIMIT, output_hook=lambda message: None)
        for cell in code_cells(path):
            reply = client.execute_interactive(
                "".join(cell["source"]),
                timeout=LIMIT,
                output_hook=lambda message: None,
                user_expressions={"left": "_probe.left()"},
            )
            left = reply["content"].get("user_expressions", {}).get("left")
            if left is not None:
                assert left["data"]["text/plain"] == "[]", "".join(cell["source"])


def test_the_probe_sees_what_is_left() -> None:
    """A callback and a task that outlive their cell are found."""
    code = """
import asyncio
asyncio.get_running_loop().call_soon(lambda: None)
async def later(): await asyncio.sleep(0)
task = asyncio.create_task(later())
"""
    with kernel(NOTEBOOKS) as (_, client):
        client.execute_interactive(PROBE, timeout=LIMIT, output_hook=lambda message: None)
        reply = client.execute_interactive(
            code, timeout=LIMIT, user_expressions={"left": "len(_probe.left())"}
        )
    assert reply["content"]["user_expressions"]["left"]["data"]["text/plain"] == "2"


WAITING_FOR_EVER = {
    "an event": "await asyncio.Event().wait()",
    "a result": "await EventStream(lambda e: False, lambda e: e).result()",
    "a reader": "async for e in EventStream(lambda e: False, lambda e: e): pass",
}


@pytest.mark.parametrize("waiting", WAITING_FOR_EVER.values(), ids=WAITING_FOR_EVER.keys())
def test_interrupt_ends_a_cell_that_waits_for_ever(waiting: str) -> None:
    """After `ready()`, Interrupt is noticed, and the next cell runs."""
    first = "from scripted_model.classroom import ready\nready()"
    with kernel(NOTEBOOKS) as (manager, client):
        client.execute_interactive(first, timeout=LIMIT, output_hook=lambda message: None)
        code = f"import asyncio\nfrom scripted_model import EventStream\nprint('now')\n{waiting}"
        interrupted: list[str] = []

        def interrupt(message: dict[str, Any]) -> None:
            if message["msg_type"] == "stream" and not interrupted:
                interrupted.append(message["content"]["text"])
                manager.interrupt_kernel()

        reply = client.execute_interactive(code, timeout=LIMIT, output_hook=interrupt)
        assert reply["content"]["ename"] in ("CancelledError", "KeyboardInterrupt")
        after = client.execute_interactive(
            "1 + 1", timeout=LIMIT, output_hook=lambda message: None, store_history=False
        )
        assert after["content"]["status"] == "ok"


@pytest.mark.parametrize(
    ("code", "name", "words"),
    [
        ("coroutine = asyncio.sleep(0)\nasyncio.run(coroutine)", "RuntimeError", "`await main()`"),
        (
            "model = ScriptedModel([])\nawait model.stream(AgentContext([]))",
            "TypeError",
            "`message = await stream.result()`",
        ),
    ],
    ids=["asyncio.run", "an awaited stream"],
)
def test_an_error_of_python_is_explained_in_the_cell(code: str, name: str, words: str) -> None:
    """The error keeps its name, and says what to write instead."""
    errors: list[dict[str, Any]] = []

    def keep(message: dict[str, Any]) -> None:
        if message["msg_type"] == "error":
            errors.append(message["content"])

    with kernel(NOTEBOOKS) as (_, client):
        first = "import asyncio\nfrom scripted_model import *\n"
        first += "from scripted_model.classroom import ready\nready()"
        client.execute_interactive(first, timeout=LIMIT, output_hook=lambda message: None)
        client.execute_interactive(code, timeout=LIMIT, output_hook=keep)
    assert errors[0]["ename"] == name
    assert words in "\n".join(errors[0]["traceback"])
