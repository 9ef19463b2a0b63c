"""Every chapter in a real JupyterLab: it opens, and Run All reaches its end."""

import pytest

from tests.browser.lab import ROOT, Lab

CHAPTERS = sorted(path.name for path in (ROOT / "notebooks").glob("*.ipynb"))
LOST = ("model not found", "Error displaying widget", "Loading widget")


@pytest.mark.timeout(120)
@pytest.mark.parametrize("name", CHAPTERS)
def test_run_all_reaches_the_end(lab: Lab, name: str) -> None:
    """As handed out no view is missing; after Run All all counts are set, with no error."""
    lab.open(f"notebooks/{name}")
    for cell in lab.cells():
        assert not any(words in cell["shown"] for words in LOST), cell["shown"]
    lab.run_all()
    lab.settle()
    cells = lab.cells()
    for cell in cells:
        assert not any(words in cell["shown"] for words in LOST), cell["shown"]
        if "raises-exception" not in cell["tags"]:
            assert [o for o in cell["outputs"] if o["output_type"] == "error"] == []
    assert [cell["count"] for cell in cells] == list(range(1, len(cells) + 1))
    assert [cell["prompt"] for cell in cells] == [f"[{cell['count']}]:" for cell in cells]
