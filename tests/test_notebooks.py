"""Every notebook can be handed out as it is: clean, linked, and true to what its code does.

A rule is a function from a notebook to the list of its faults. The last part of this file breaks
a good notebook in many ways and expects each rule to say so.
"""

import copy
import importlib.util
import json
import re
import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import nbformat
import nbformat.v4
import pytest
from nbformat import NotebookNode

ROOT = Path(__file__).resolve().parent.parent


def load_the_runner() -> Any:
    """`.ci` is no package, so its one module is loaded from its path."""
    spec = importlib.util.spec_from_file_location("ci_notebooks", ROOT / ".ci" / "notebooks.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


runner = load_the_runner()
NOTEBOOKS = [pytest.param(path, id=path.stem) for path in runner.find()]

MAX_BYTES = 150_000
ALLOWED_HOSTS = {
    "docs.python.org",  # the one place to read on
    "matplotlib.org",  # named inside each SVG that matplotlib draws
    "www.w3.org",  # names of the SVG and XHTML languages, never fetched
}


@dataclass(frozen=True)
class Stored:
    """A notebook file: its bytes, and what they say."""

    path: Path
    raw: bytes
    notebook: NotebookNode


def load(path: Path) -> Stored:
    return Stored(path, path.read_bytes(), runner.read(path))


def tags(cell: NotebookNode) -> set[str]:
    return set(cell.metadata.get("tags", ()))


def texts_of_outputs(notebook: NotebookNode) -> Iterator[str]:
    """Every output as a reader sees it; pictures, whose letters mean nothing, left out."""
    for output in runner.outputs_of(notebook):
        yield output.get("text", "")
        yield from output.get("traceback", ())
        for kind, data in output.get("data", {}).items():
            if kind == "image/svg+xml" or not kind.startswith("image/"):
                yield data if isinstance(data, str) else json.dumps(data, ensure_ascii=False)


def all_texts(notebook: NotebookNode) -> Iterator[str]:
    yield from (cell.source for cell in notebook.cells)
    yield from texts_of_outputs(notebook)


def prose(cell: NotebookNode) -> str:
    """A Markdown cell without its code, in which brackets are no links."""
    return re.sub(r"```.*?```|`[^`\n]*`", "", cell.source, flags=re.DOTALL)


def slug(heading: str) -> str:
    """What a link calls a heading; GitHub and JupyterLab differ in case and punctuation."""
    return re.sub(r"\W+", "", heading.lower())


def anchors(path: Path) -> set[str]:
    if path.suffix == ".ipynb":
        lines = [c.source for c in runner.read(path).cells if c.cell_type == "markdown"]
        text = "\n".join(lines)
    else:
        text = path.read_text(encoding="utf-8")
    return {slug(heading) for heading in re.findall(r"^#+ +(.+)$", text, flags=re.MULTILINE)}


def format_faults(stored: Stored) -> list[str]:
    """A notebook is valid nbformat 4.5, and each cell has its own id."""
    written = json.loads(stored.raw)
    if (written.get("nbformat"), written.get("nbformat_minor")) != (4, 5):
        return ["not nbformat 4.5"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # missing and double ids are only warnings there
        try:
            nbformat.validate(copy.deepcopy(written))
        except (nbformat.ValidationError, Warning) as error:
            return [f"not valid: {str(error).splitlines()[0]}"]
    return []


def layout_faults(stored: Stored) -> list[str]:
    """A notebook is stored as the runner writes it, so a diff shows only what was changed."""
    tidy = copy.deepcopy(stored.notebook)
    runner.normalise(tidy)
    if runner.text_of(tidy).encode("utf-8") != stored.raw:
        return ["not in the stored form: run `make notebooks`"]
    return []


def count_faults(stored: Stored) -> list[str]:
    """The code cells are numbered from 1 to n: each was run, once, from top to bottom."""
    faults = []
    for number, cell in enumerate(runner.code_cells(stored.notebook), start=1):
        if not cell.source.strip():
            faults.append(f"code cell {number} is empty")
        counts = [cell.execution_count]
        counts += [o.execution_count for o in cell.outputs if "execution_count" in o]
        if set(counts) != {number}:
            faults.append(f"code cell {number} carries the counts {counts}")
    return faults


def widget_state_faults(stored: Stored) -> list[str]:
    """No widget state is stored: it is large, and breaks the rendering on other sites."""
    return ["metadata.widgets is stored"] if "widgets" in stored.notebook.metadata else []


def error_faults(stored: Stored) -> list[str]:
    """A cell fails only on purpose: with the tag `raises-exception`, and then it does."""
    faults = []
    for cell in runner.code_cells(stored.notebook):
        failed = any(output.output_type == "error" for output in cell.outputs)
        if failed != ("raises-exception" in tags(cell)):
            faults.append(f"cell {cell.id} {'fails' if failed else 'should fail and does not'}")
    return faults


def stderr_faults(stored: Stored) -> list[str]:
    """Nothing is written to stderr: a learner takes a warning for a fault of their own."""
    outputs = runner.outputs_of(stored.notebook)
    return [f"stderr: {o.text!r}" for o in outputs if o.get("name") == "stderr"]


def skip_faults(stored: Stored) -> list[str]:
    """No cell is left out of the comparison of outputs."""
    faults = []
    for cell in stored.notebook.cells:
        skips = [tag for tag in tags(cell) if re.match(r"nbval|skip", tag)]
        if cell.cell_type == "code":
            skips += re.findall(r"#\s*(?:NBVAL|PYTEST_VALIDATE)\w*", cell.source)
        faults += [f"cell {cell.id} is marked {skip}" for skip in skips]
    return faults


def semicolon_faults(stored: Stored) -> list[str]:
    """No cell ends in a semicolon to hide its value: nbval shows the value all the same."""
    cells = runner.code_cells(stored.notebook)
    return [f"cell {cell.id} ends in ;" for cell in cells if cell.source.rstrip().endswith(";")]


def size_faults(stored: Stored) -> list[str]:
    """A notebook stays small enough for every site that shows notebooks."""
    size = len(stored.raw)
    return [f"{size} bytes; the limit is {MAX_BYTES}"] if size > MAX_BYTES else []


def link_faults(stored: Stored) -> list[str]:
    """Each relative link and picture in the prose leads to a file, and to a heading in it."""
    faults = []
    for cell in stored.notebook.cells:
        if cell.cell_type != "markdown":
            continue
        links = re.findall(r"\]\(\s*<?([^)>\s]+)", prose(cell))
        links += re.findall(r"^\s*\[[^\]]+\]:\s*(\S+)", prose(cell), flags=re.MULTILINE)
        links += re.findall(r"""(?:href|src)\s*=\s*["']([^"']+)""", prose(cell))
        for link in links:
            if re.match(r"https?://|mailto:", link):
                continue
            name, _, anchor = unquote(link).partition("#")
            target = stored.path.parent / name if name else stored.path
            if Path(name).is_absolute() or not target.exists():
                faults.append(f"cell {cell.id}: no file for the link {link}")
            elif anchor and slug(anchor) not in anchors(target):
                faults.append(f"cell {cell.id}: no heading for the link {link}")
    return faults


def machine_path_faults(stored: Stored) -> list[str]:
    """No text names a folder of the machine that made the notebook."""
    pattern = r"(?<![\w.:/-])/(?:home|opt|private|root|tmp|Users|var|work)\b[^\s\"']*"
    pattern += r"|site-packages|[A-Z]:\\+Users"
    return [f"machine path {p}" for t in all_texts(stored.notebook) for p in re.findall(pattern, t)]


def address_faults(stored: Stored) -> list[str]:
    """No output shows a memory address: it differs in every run."""
    pattern = r"0x[0-9a-fA-F]{6,}"
    texts = texts_of_outputs(stored.notebook)
    return [f"address {found}" for text in texts for found in re.findall(pattern, text)]


def host_faults(stored: Stored) -> list[str]:
    """No text leads out to the internet, but for a few known places: a class may be offline."""
    pattern = r"""https?://([^\s/"'<>()\]\\]+)|(?:href|src)\s*=\s*["']//([^/"']+)"""
    faults = []
    for text in all_texts(stored.notebook):
        hosts = {plain or bare for plain, bare in re.findall(pattern, text)}
        faults += [f"leads to {host}" for host in sorted(hosts - ALLOWED_HOSTS)]
    return faults


def exemption_faults(stored: Stored) -> list[str]:
    """A cell that gives something else when run again (tag `shows-state`) is announced as such:
    the text above it has the word "state"."""
    faults, above = [], ""
    for cell in stored.notebook.cells:
        if cell.cell_type == "markdown":
            above = cell.source
        elif "shows-state" in tags(cell) and not re.search(r"\bstate\b", above, re.IGNORECASE):
            faults.append(f"cell {cell.id} is tagged shows-state, and the text above is silent")
    return faults


RULES: list[Callable[[Stored], list[str]]] = [
    format_faults,
    layout_faults,
    count_faults,
    widget_state_faults,
    error_faults,
    stderr_faults,
    skip_faults,
    semicolon_faults,
    size_faults,
    link_faults,
    machine_path_faults,
    address_faults,
    host_faults,
    exemption_faults,
]


def run_twice_faults(path: Path) -> list[str]:
    """Run every cell twice in a row; list the cells whose second run gives another output.

    Cells tagged `shows-state` are run once.
    """
    notebook = runner.read(path)
    doubled = copy.deepcopy(notebook)
    doubled.cells = []
    for cell in notebook.cells:
        doubled.cells.append(copy.deepcopy(cell))
        if cell.cell_type == "code" and "shows-state" not in tags(cell):
            again = copy.deepcopy(cell)
            again.id = f"{cell.id}-again"
            doubled.cells.append(again)
    runner.run(doubled, path.parent)
    runner.normalise(doubled)

    outputs: dict[str, list[NotebookNode]] = {}
    for cell in runner.code_cells(doubled):
        for output in cell.outputs:
            output.pop("execution_count", None)
        outputs[cell.id] = cell.outputs
    return [
        f"cell {cell_id}: {outputs[cell_id]} and then {again}"
        for cell_id, again in ((key.removesuffix("-again"), outputs[key]) for key in outputs)
        if again != outputs[cell_id]
    ]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__.removesuffix("_faults"))
@pytest.mark.parametrize("path", NOTEBOOKS)
def test_a_notebook_keeps_the_rules(path: Path, rule: Callable[[Stored], list[str]]) -> None:
    """Each notebook keeps each rule of this file; one notebook at least is found."""
    assert rule(load(path)) == []


@pytest.mark.timeout(180)
@pytest.mark.parametrize("path", NOTEBOOKS)
def test_running_a_notebook_again_gives_the_stored_bytes(path: Path) -> None:
    """A new run of a notebook changes no byte of its file."""
    assert runner.difference(path) == ""


@pytest.mark.timeout(180)
@pytest.mark.parametrize("path", NOTEBOOKS)
def test_running_each_cell_twice_shows_the_same_twice(path: Path) -> None:
    """A learner who runs a cell again sees the same output again."""
    assert run_twice_faults(path) == []


def good_notebook() -> NotebookNode:
    """A small notebook without a fault, as the runner stores it."""
    v4 = nbformat.v4
    notebook = v4.new_notebook(
        cells=[
            v4.new_markdown_cell(
                "# 开始 Start\n\n[Up](#开始-start), [next](next%201.md#part-two)."
            ),
            v4.new_code_cell("print('先看')", outputs=[v4.new_output("stream", text="先看\n")]),
            v4.new_markdown_cell("Here the *state* is the point, as in `[x](y)`."),
            v4.new_code_cell(
                "'值'", outputs=[v4.new_output("execute_result", {"text/plain": "'值'"})]
            ),
        ]
    )
    for number, cell in enumerate(notebook.cells):
        cell.id = f"cell-{number}"
    notebook.cells[3].outputs[0].execution_count = 2
    runner.normalise(notebook)
    return notebook


def save(notebook: NotebookNode, folder: Path) -> Path:
    (folder / "next 1.md").write_text("# Part one\n\n## Part two\n", encoding="utf-8")
    path = folder / "small.ipynb"
    path.write_text(runner.text_of(notebook), encoding="utf-8", newline="\n")
    return path


def set_source(cell: int, source: str) -> Callable[[NotebookNode], None]:
    def change(notebook: NotebookNode) -> None:
        notebook.cells[cell].source = source

    return change


def set_output(text: str, name: str = "stdout") -> Callable[[NotebookNode], None]:
    def change(notebook: NotebookNode) -> None:
        notebook.cells[1].outputs = [nbformat.v4.new_output("stream", name=name, text=text)]

    return change


def set_tag(cell: int, tag: str) -> Callable[[NotebookNode], None]:
    def change(notebook: NotebookNode) -> None:
        notebook.cells[cell].metadata.tags = [tag]

    return change


def lose_the_count(notebook: NotebookNode) -> None:
    notebook.cells[1].execution_count = None


def count_from_seven(notebook: NotebookNode) -> None:
    notebook.cells[1].execution_count = 7


def lose_an_id(notebook: NotebookNode) -> None:
    del notebook.cells[1]["id"]


def double_an_id(notebook: NotebookNode) -> None:
    notebook.cells[1].id = notebook.cells[0].id


def older_format(notebook: NotebookNode) -> None:
    notebook.nbformat_minor = 4


def keep_widget_state(notebook: NotebookNode) -> None:
    notebook.metadata.widgets = {}


def name_another_kernel(notebook: NotebookNode) -> None:
    notebook.metadata.kernelspec.name = "my-venv"


def fail_untagged(notebook: NotebookNode) -> None:
    notebook.cells[1].outputs = [nbformat.v4.new_output("error", ename="E", evalue="")]


BREAKS: list[tuple[str, Callable[[Stored], list[str]], Callable[[NotebookNode], None]]] = [
    ("old format", format_faults, older_format),
    ("cell without id", format_faults, lose_an_id),
    ("two cells with one id", format_faults, double_an_id),
    ("kernel of one machine", layout_faults, name_another_kernel),
    ("no execution count", count_faults, lose_the_count),
    ("count out of order", count_faults, count_from_seven),
    ("empty cell", count_faults, set_source(1, "\n")),
    ("widget state", widget_state_faults, keep_widget_state),
    ("error not asked for", error_faults, fail_untagged),
    ("asked for, no error", error_faults, set_tag(1, "raises-exception")),
    ("warning on stderr", stderr_faults, set_output("careful\n", name="stderr")),
    ("skip tag", skip_faults, set_tag(1, "nbval-skip")),
    ("ignore tag", skip_faults, set_tag(1, "nbval-ignore-output")),
    ("nbclient's skip tag", skip_faults, set_tag(1, "skip-execution")),
    ("skip comment", skip_faults, set_source(1, "# NBVAL_SKIP\nprint()")),
    ("ignore comment", skip_faults, set_source(1, "#NBVAL_IGNORE_OUTPUT\nprint()")),
    ("value hidden", semicolon_faults, set_source(1, "print('先看');")),
    ("too large", size_faults, set_output("字" * (MAX_BYTES // 3 + 1))),
    ("dead link", link_faults, set_source(0, "[next](no_such_file.ipynb)")),
    ("dead picture", link_faults, set_source(0, "![picture](no_such_file.png)")),
    ("dead HTML link", link_faults, set_source(0, '<a href="no_such_file.md">x</a>')),
    ("dead reference", link_faults, set_source(0, "[next][1]\n\n[1]: no_such_file.md")),
    ("dead heading here", link_faults, set_source(0, "# One\n\n[two](#two)")),
    ("dead heading there", link_faults, set_source(0, "[x](next%201.md#part-three)")),
    ("link from the root", link_faults, set_source(0, "[next](/files/next.ipynb)")),
    ("path in an output", machine_path_faults, set_output("File /home/ada/kit/model.py\n")),
    ("path in a source", machine_path_faults, set_source(1, "open('/tmp/trace.json')")),
    ("installed file", machine_path_faults, set_output("lib/site-packages/x.py")),
    ("Windows path", machine_path_faults, set_output(r"C:\Users\ada\kit")),
    ("address", address_faults, set_output("<object at 0x7f3a2c0011d0>")),
    ("host in a text", host_faults, set_source(0, "[x](https://example.org/page)")),
    ("host in an output", host_faults, set_output('<script src="https://cdn.example.org">')),
    ("host without https", host_faults, set_output('<img src="//cdn.example.org/x.png">')),
    ("state, not announced", exemption_faults, set_tag(1, "shows-state")),
]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__.removesuffix("_faults"))
def test_a_good_notebook_has_no_faults(rule: Callable[[Stored], list[str]], tmp_path: Path) -> None:
    """No rule finds a fault where there is none, so a red rule means something."""
    assert rule(load(save(good_notebook(), tmp_path))) == []


@pytest.mark.parametrize(
    ("rule", "damage"), [pytest.param(rule, damage, id=name) for name, rule, damage in BREAKS]
)
def test_a_broken_notebook_is_found_out(
    rule: Callable[[Stored], list[str]], damage: Callable[[NotebookNode], None], tmp_path: Path
) -> None:
    """Each way to break a notebook is seen by the rule that is there for it."""
    notebook = good_notebook()
    damage(notebook)
    assert rule(load(save(notebook, tmp_path))) != []


def test_every_rule_is_broken_once() -> None:
    """A rule that nothing ever breaks may be no rule at all."""
    assert {rule.__name__ for _, rule, _ in BREAKS} == {rule.__name__ for rule in RULES}


def test_an_announced_exemption_is_no_fault(tmp_path: Path) -> None:
    """A cell may show state when the text above it says so."""
    notebook = good_notebook()
    set_tag(3, "shows-state")(notebook)
    assert exemption_faults(load(save(notebook, tmp_path))) == []


def test_no_notebook_at_all_is_a_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pytestconfig: pytest.Config
) -> None:
    """A search that finds nothing fails, in the runner as in these tests."""
    assert runner.find(tmp_path) == []
    monkeypatch.setattr(runner, "find", list)
    assert runner.main(["--check"]) == 1
    assert pytestconfig.getini("empty_parameter_set_mark") == "fail_at_collect"


def test_a_changed_output_is_found_out_by_a_new_run(tmp_path: Path) -> None:
    """A stored output that the code does not give shows up as a difference, line by line."""
    path = save(good_notebook(), tmp_path)
    assert runner.difference(path) == ""

    changed = good_notebook()
    set_output("后看\n")(changed)
    assert "后看" in runner.difference(save(changed, tmp_path))


def test_a_new_run_repairs_the_file_and_keeps_ids(tmp_path: Path) -> None:
    """Running in place stores what the code gives, and a second time changes nothing more."""
    broken = good_notebook()
    set_output("后看\n")(broken)
    lose_the_count(broken)
    keep_widget_state(broken)
    path = save(broken, tmp_path)

    assert runner.main([str(path)]) == 0
    assert path.read_bytes() == runner.text_of(good_notebook()).encode("utf-8")
    assert runner.main(["--check", str(path)]) == 0


def test_a_failing_cell_is_reported_without_touching_the_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A notebook that cannot be run to its end fails with the cell's error, and stays as it was."""
    notebook = good_notebook()
    set_source(1, "missing_name")(notebook)
    path = save(notebook, tmp_path)
    before = path.read_bytes()

    assert runner.main([str(path)]) == 1
    assert "NameError" in capsys.readouterr().err
    assert path.read_bytes() == before


def test_a_cell_that_counts_its_runs_is_found_out(tmp_path: Path) -> None:
    """A cell whose second run differs is named, unless it is there to show state."""
    notebook = good_notebook()
    set_source(1, "runs = globals().get('runs', 0) + 1\nprint(runs)")(notebook)
    (fault,) = run_twice_faults(save(notebook, tmp_path))
    assert fault.startswith("cell cell-1:")

    set_tag(1, "shows-state")(notebook)
    assert run_twice_faults(save(notebook, tmp_path)) == []
