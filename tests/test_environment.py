"""The two ways to install give the same versions, and importing the kit stays light."""

import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
CONDA = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))

CONDA_NAMES = {"matplotlib": "matplotlib-base"}  # where conda-forge has another name
ONLY_CONDA = {"pip", "python"}
HEAVY = {
    "IPython",
    "aiohttp",
    "httpx",
    "ipykernel",
    "ipywidgets",
    "matplotlib",
    "nest_asyncio",
    "numpy",
    "requests",
    "traitlets",
    "urllib3",
}


def specifiers(lines: list[str]) -> dict[str, SpecifierSet]:
    requirements = [Requirement(line) for line in lines]
    return {
        CONDA_NAMES.get(requirement.name, requirement.name): requirement.specifier
        for requirement in requirements
    }


EXTRAS = PROJECT["optional-dependencies"]
RUN = specifiers(PROJECT["dependencies"])
LAB = specifiers(EXTRAS["lab"])
TEST = specifiers(EXTRAS["test"])
PACKAGES = [line for line in CONDA["dependencies"] if isinstance(line, str)]
# conda's `python=3.12` means any 3.12, which pip writes as ==3.12.*
PYTHON = next(line.removeprefix("python=") for line in PACKAGES if line.startswith("python="))
CONDA_PACKAGES = specifiers([line for line in PACKAGES if not line.startswith("python=")])


def test_conda_has_the_same_versions_as_pip() -> None:
    """A package that both files name has the same range of versions in both."""
    pip = {**TEST, **LAB, **RUN}
    shared = CONDA_PACKAGES.keys() - ONLY_CONDA
    assert {name: str(CONDA_PACKAGES[name]) for name in shared} == {
        name: str(pip[name]) for name in shared
    }


def test_conda_has_everything_that_the_notebooks_need() -> None:
    """environment.yml names what the kit and its notebooks need, nbval to check them, no more."""
    assert set(CONDA_PACKAGES) == {*RUN, *LAB, "nbval", "pip"}


@pytest.mark.parametrize("name", sorted({*LAB, "nbval"}))
def test_what_decides_the_outputs_has_an_upper_limit(name: str) -> None:
    """A new release of what draws or runs the notebooks does not reach a class by itself."""
    operators = {specifier.operator for specifier in {**TEST, **LAB}[name]}
    assert operators == {">=", "<"}


def test_conda_has_a_python_that_the_kit_supports() -> None:
    """Binder's Python is one that the package allows and names as tested."""
    assert f"{PYTHON}.0" in SpecifierSet(PROJECT["requires-python"])
    assert f"Programming Language :: Python :: {PYTHON}" in PROJECT["classifiers"]


def test_conda_installs_the_kit_itself() -> None:
    """The kit comes from this folder, as it does with `make lab`."""
    (pip,) = [line["pip"] for line in CONDA["dependencies"] if isinstance(line, dict)]
    assert pip == ["-e ."]


def test_the_core_has_one_dependency() -> None:
    """msgspec is all that the package needs at run time."""
    assert set(RUN) == {"msgspec"}


def test_the_oldest_python_is_the_same_everywhere() -> None:
    """The script that looks for a Python and the package agree on what is too old."""
    oldest = PROJECT["requires-python"].removeprefix(">=")
    script = (ROOT / ".ci" / "venv").read_text(encoding="utf-8")
    assert f"sys.version_info < ({oldest.replace('.', ', ')})" in script


def test_importing_the_kit_loads_nothing_heavy() -> None:
    """`import scripted_model` loads no plotting, notebook or HTTP library."""
    code = "import json, sys, scripted_model; print(json.dumps(sorted(sys.modules)))"
    run = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    loaded = {name.partition(".")[0] for name in json.loads(run.stdout)}
    assert "scripted_model" in loaded
    assert {name for name in loaded if name in HEAVY or name.startswith("jupyter")} == set()
