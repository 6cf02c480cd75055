"""The notebooks run on the sample; the scripts are what the pages show."""

import json
import shutil

import pytest

from tests.doc_pages import ROOT, python_of

EXAMPLES = ROOT / "examples"
NOTEBOOKS = sorted((EXAMPLES / "notebooks").glob("*.ipynb"))
SCRIPTS = (
    "fiftyone_round_trip",
    "supervision_boxes",
    "torchvision_detector",
    "ultralytics_detector",
)


def cells_of(path):
    """The code of a notebook, cell by cell."""
    cells = json.loads(path.read_text("utf-8"))["cells"]
    return ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """Run a notebook in a copy of its place, and return its names and what it prints."""
    here = tmp_path / "examples" / "notebooks"
    here.mkdir(parents=True)
    sample = "docs/getting-started/sample"
    shutil.copytree(ROOT / sample, tmp_path / sample)
    monkeypatch.chdir(here)

    def run(name):
        made = {"__name__": "__main__"}
        for number, code in enumerate(cells_of(EXAMPLES / "notebooks" / f"{name}.ipynb"), 1):
            exec(compile(code, f"{name}, cell {number}", "exec"), made)
        return made, capsys.readouterr().out

    return run


def test_quickstart(run):
    made, shown = run("quickstart")
    assert made["estimate"].lower <= made["truth"] <= made["estimate"].upper
    assert "inside the interval: True" in shown and shown.rstrip().endswith("True")


def test_few_labels(run):
    made, shown = run("few_labels")
    low, high = made["labelled"].interval
    assert high - low < (made["free"].upper - made["free"].lower) / 2
    assert "15 of 60 images" in shown and "with 15 labels:" in shown


def test_compare_detectors(run):
    made, shown = run("compare_detectors")
    assert shown.count("mAP of A less that of B") == 2
    assert made["free"].value > 0 and made["labelled"].lower > 0


def test_monitor_cameras(run):
    made, _ = run("monitor_cameras")
    sites = {site["name"]: site for site in made["result"]["sites"]}
    assert sites["yard"]["value"] < sites["gate"]["value"]
    assert sites["yard"]["change"] < 0 and sites["yard"]["state"] in ("fell", "changed")
    assert sites["gate"]["state"] == "ok"


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_hold_no_pictures_and_no_state(path):
    notebook = json.loads(path.read_text("utf-8"))
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
    assert f"test_{path.stem}" in globals()
    for cell in notebook["cells"]:
        assert cell["id"] and cell["cell_type"] in ("markdown", "code")
        assert not cell.get("outputs") and not cell.get("execution_count")


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_is_what_the_page_shows(name):
    text = (EXAMPLES / f"{name}.py").read_text("utf-8")
    docstring, _, code = text.partition('"""\n\n')
    page = (ROOT / "docs" / "how-to" / "predictions.md").read_text("utf-8")
    assert docstring.startswith('"""') and code in python_of(page)


def test_the_callback_is_what_the_page_shows():
    text = (EXAMPLES / "ultralytics_callback.py").read_text("utf-8")
    _, _, code = text.partition("import autoeval\n\n\n")
    function = code.partition("\n\n\nif __name__")[0]
    page = (ROOT / "docs" / "how-to" / "python.md").read_text("utf-8")
    assert "def on_train_end" in function and any(function in block for block in python_of(page))
