"""Make pages of the notebooks that can be stepped through with no kernel and no network.

    python .ci/pages.py                   all chapters, into build/pages
    python .ci/pages.py --to DIR PATHS    these notebooks, into that folder

Each page is one file that holds all it needs, also the scripts that draw widgets, which would
otherwise come from a CDN. No package for Python has them as ipywidgets 8 needs them, so they are
fetched with npm, once, into build/. Nothing of them is installed or run here.
"""

import argparse
import hashlib
import html
import re
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

from nbconvert import HTMLExporter

from notebooks import NOTEBOOKS, NotebookFailed, read, run

BUILD = NOTEBOOKS.parent / "build"
# With the checksum of each file: what runs in every page is what was looked at.
SCRIPTS = (
    (
        "requirejs@2.3.8",
        "package/require.js",
        "777158e89275e16bd51aec3ef714fbcb5dc45789e7078659933bc814916d7dec",
    ),
    (
        "@jupyter-widgets/html-manager@1.0.15",
        "package/dist/libembed-amd.js",
        "2b9d65cb7913e1c7d671757a10008b32c9c2448d4429513371e55c07d6107638",
    ),
)
START = """
document.addEventListener("DOMContentLoaded", () =>
    require(["@jupyter-widgets/html-manager/dist/libembed-amd"], m => m.renderWidgets()));
"""
TEMPLATE = """\
{% extends 'lab/index.html.j2' %}
{% block html_head_js_requirejs %}{% endblock %}
{% block jupyter_widgets %}<script>{{ resources.scripts }}</script>{% endblock %}
{% block html_head_js_mathjax %}{% endblock %}
{% block html_head_js_mermaidjs %}{% endblock %}
"""


class NoScripts(Exception):
    """The scripts that draw widgets could not be fetched."""


def fetched(package: str, checksum: str) -> Path:
    """The archive of a package, as npm has it; fetched the first time."""
    folder = BUILD / "page_scripts"
    path = folder / (package.removeprefix("@").replace("/", "-").replace("@", "-") + ".tgz")
    if not path.exists():
        npm = shutil.which("npm")
        if npm is None:
            raise NoScripts("npm, which pages need once, was not found. Install Node.js.")
        folder.mkdir(parents=True, exist_ok=True)
        command = [npm, "pack", "--silent", "--pack-destination", str(folder), package]
        if subprocess.run(command, check=False, stdout=subprocess.DEVNULL).returncode:
            raise NoScripts(f"npm could not fetch {package}: see above. Is there a network?")
    if hashlib.sha256(path.read_bytes()).hexdigest() != checksum:
        path.unlink()
        raise NoScripts(f"{package} is not what it was when this kit was made.")
    return path


def scripts() -> str:
    """What draws widgets in a page, as one script."""
    parts = []
    for package, name, checksum in SCRIPTS:
        with tarfile.open(fetched(package, checksum)) as archive:
            file = archive.extractfile(name)
            assert file is not None
            parts.append(file.read().decode("utf-8"))
    # A script in a page ends at its first </script, wherever that stands.
    return re.sub(r"</(?=script)", r"<\\/", "\n".join([*parts, START]), flags=re.IGNORECASE)


def page(path: Path) -> str:
    """The notebook, run anew, as a page."""
    notebook = read(path)
    run(notebook, path.parent, keep_widgets=True)
    notebook.metadata.title = path.stem.replace("_", " ")
    exporter = HTMLExporter(raw_template=TEMPLATE, embed_images=True)
    resources = {"scripts": scripts(), "metadata": {"name": path.stem, "path": str(path.parent)}}
    body, _ = exporter.from_notebook_node(notebook, resources)
    body = body.replace('href="../README.md#the-chapters"', 'href="index.html"')
    body = body.replace('href="../', 'href="../../')  # build/pages is one folder deeper
    return re.sub(r'href="(\w+)\.ipynb(#[^"]*)?"', r'href="\1.html\2"', str(body))


def contents(paths: list[Path]) -> str:
    """A page with a link to each of the others."""
    links = "".join(
        f'<li><a href="{path.stem}.html">{html.escape(path.stem.replace("_", " "))}</a></li>'
        for path in paths
    )
    return (
        '<!DOCTYPE html><html lang="en"><meta charset="utf-8"><title>The chapters</title>'
        '<body style="font:20px/1.8 system-ui,sans-serif;margin:2em"><h1>The chapters</h1>'
        f"<ul>{links}</ul></body></html>\n"
    )


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--to", type=Path, default=BUILD / "pages", help="where the pages go")
    parser.add_argument("paths", nargs="*", type=Path, help="notebooks; all chapters by default")
    options = parser.parse_args(arguments)

    paths = options.paths or sorted(NOTEBOOKS.glob("*.ipynb"))
    options.to.mkdir(parents=True, exist_ok=True)
    for path in paths:
        try:
            text = page(path)
        except (NotebookFailed, NoScripts) as error:
            print(f"{path.name}: failed\n{error}", file=sys.stderr)
            return 1
        (options.to / f"{path.stem}.html").write_text(text, encoding="utf-8", newline="\n")
        print(f"{path.stem}.html: {len(text.encode()) / 1e6:.1f} MB")
    (options.to / "index.html").write_text(contents(paths), encoding="utf-8", newline="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
