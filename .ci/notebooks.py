"""Run notebooks and store their outputs so that the same code always gives the same bytes.

    python .ci/notebooks.py            run all notebooks in place
    python .ci/notebooks.py --check    run them in memory; fail when a file would change

Saving from JupyterLab instead would store times, random ids, and output that came too late.
"""

import argparse
import base64
import difflib
import os
import struct
import sys
from collections.abc import Iterator
from pathlib import Path

import nbformat.v4
from jupyter_client import AsyncKernelManager
from jupyter_client.kernelspec import KernelSpecManager
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
from nbformat import NotebookNode

NOTEBOOKS = Path(__file__).resolve().parent.parent / "notebooks"
SECONDS_A_CELL = 60
WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"
# The same whichever Python ran the notebook.
METADATA = {
    "kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


class NotebookFailed(Exception):
    """A notebook could not be run to its end."""


def find(root: Path = NOTEBOOKS) -> list[Path]:
    """All notebooks below `root`, without the copies that JupyterLab keeps."""
    return sorted(path for path in root.rglob("*.ipynb") if ".ipynb_checkpoints" not in path.parts)


def read(path: Path) -> NotebookNode:
    # Not nbformat.read: that one warns about missing cell ids, and here they are put in.
    return nbformat.v4.reads(path.read_text(encoding="utf-8"))


def text_of(notebook: NotebookNode) -> str:
    """The notebook as it is stored: sorted keys, indented by one, Chinese left readable."""
    return nbformat.v4.writes(notebook) + "\n"


def code_cells(notebook: NotebookNode) -> list[NotebookNode]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def outputs_of(notebook: NotebookNode) -> Iterator[NotebookNode]:
    for cell in code_cells(notebook):
        yield from cell.outputs


def run(notebook: NotebookNode, folder: Path, *, keep_widgets: bool = False) -> None:
    """Run every cell on this Python, in `folder`, and put the outputs into `notebook`.

    keep_widgets: store what the widgets are at the end, for a page that has no kernel.
    """
    specs = KernelSpecManager(kernel_dirs=[])  # none installed: leaves the one of this Python
    client = NotebookClient(
        notebook,
        km=AsyncKernelManager(kernel_name="python3", kernel_spec_manager=specs),
        timeout=SECONDS_A_CELL,
        resources={"metadata": {"path": str(folder)}},
        extra_arguments=["--log-level=ERROR"],  # no word on encryption: nothing leaves the machine
        record_timing=False,
        store_widget_state=keep_widgets,
        coalesce_streams=True,
    )
    try:
        # The settings of whoever runs this must not show in the outputs.
        settings = {**os.environ, "MPLBACKEND": "module://matplotlib_inline.backend_inline"}
        client.execute(env=settings, cleanup_kc=True)
    except (CellExecutionError, CellTimeoutError, DeadKernelError) as error:
        raise NotebookFailed(str(error)) from error


def normalise(notebook: NotebookNode) -> None:
    """Take out what differs between two runs, two Pythons or two machines."""
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    notebook.metadata = nbformat.from_dict(METADATA)  # no widget state either
    for position, cell in enumerate(notebook.cells, start=1):
        cell.setdefault("id", f"cell-{position}")
        cell.metadata.pop("execution", None)  # times, from JupyterLab
    for number, cell in enumerate(code_cells(notebook), start=1):
        cell.execution_count = number
        for output in cell.outputs:
            if "execution_count" in output:
                output.execution_count = number
            if output.output_type == "error":
                # The rest of a traceback holds paths, and its layout moves with IPython.
                output.traceback = [f"{output.ename}: {output.evalue}"]
            data = output.get("data", {})
            if WIDGET_VIEW in data and "text/html" in data:
                # Opened without its kernel, a trusted notebook shows "model not found" where a
                # widget was, and not the table that stands beside it: so only that is stored.
                del data[WIDGET_VIEW]
            elif WIDGET_VIEW in data:
                data[WIDGET_VIEW]["model_id"] = "0" * 32


def rerun(path: Path) -> NotebookNode:
    """The notebook as a new run gives it. The file is left alone."""
    notebook = read(path)
    normalise(notebook)
    run(notebook, path.parent)
    normalise(notebook)
    return notebook


def png_size(data: str) -> tuple[int, ...]:
    return struct.unpack(">II", base64.b64decode(data)[16:24])


def difference(path: Path) -> str:
    """What a new run would change in the file, as a diff; empty when nothing."""
    stored, fresh = read(path), rerun(path)
    for old, new in zip(outputs_of(stored), outputs_of(fresh), strict=False):
        pictures = [output.get("data", {}).get("image/png") for output in (old, new)]
        # Fonts are drawn a little differently on each system, so a picture has to be there and of
        # the same size; what it says is compared in the text that stands beside it.
        if all(pictures) and png_size(pictures[0]) == png_size(pictures[1]):
            new.data["image/png"] = pictures[0]
    return "".join(
        difflib.unified_diff(
            path.read_bytes().decode("utf-8").splitlines(keepends=True),
            text_of(fresh).splitlines(keepends=True),
            f"{path.name} (stored)",
            f"{path.name} (a new run)",
            n=1,
        )
    )


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="change nothing; fail on a difference")
    parser.add_argument("paths", nargs="*", type=Path, help="notebooks; all of them by default")
    options = parser.parse_args(arguments)

    paths = options.paths or find()
    if not paths:
        print(f"No notebook under {NOTEBOOKS.name}/.", file=sys.stderr)
        return 1
    failed = False
    for path in paths:
        try:
            if options.check:
                changes = difference(path)
            else:
                path.write_text(text_of(rerun(path)), encoding="utf-8", newline="\n")
                changes = ""
        except NotebookFailed as error:
            print(f"{path.name}: failed\n{error}", file=sys.stderr)
            failed = True
            continue
        print(f"{path.name}: {'differs' if changes else 'ok'}")
        for line in changes.splitlines():
            print(line if len(line) <= 200 else f"{line[:200]}...")
        failed = failed or bool(changes)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
