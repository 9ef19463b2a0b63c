"""The README tells the truth: its programs print what it says, its links lead somewhere."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
PROGRAMS = re.findall(r"```python\n(.*?)```\n+```text\n(.*?)```", README, flags=re.S)


def test_every_program_has_its_output() -> None:
    """No Python block stands without the block that says what it prints."""
    assert len(PROGRAMS) == README.count("```python") >= 2


@pytest.mark.parametrize(("program", "output"), PROGRAMS)
def test_a_program_prints_what_the_readme_says(program: str, output: str) -> None:
    """Run as a reader would run it, with warnings as errors."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        capture_output=True,
        encoding="utf-8",
        env=os.environ | {"PYTHONUTF8": "1"},
    )
    assert (done.stdout, done.stderr) == (output, "")


def test_links_lead_somewhere() -> None:
    """Every relative link is a file or folder of the kit."""
    links = re.findall(r"\]\(([^)#]+)\)", README)
    assert links
    for link in links:
        if not link.startswith("https://"):
            assert (ROOT / link).exists(), link


def test_the_map_names_every_module() -> None:
    """A module that is not in the reading order is found by nobody."""
    package = ROOT / "scripted_model"
    modules = {path.name for path in package.glob("*.py")} - {"__init__.py"}
    folders = {path.parent.name for path in package.glob("*/__init__.py")}
    assert modules | folders == set(re.findall(r"\(scripted_model/(\w+(?:\.py)?)\)", README))
