"""The worked examples of docs/counting/ say what they do."""

import re
import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pandas as pd
import pytest

from autoeval.cli import main
from autoeval.counting.counters.build import load_counter

pytestmark = pytest.mark.usefixtures("drawn")

DOCS = Path(__file__).parents[2] / "docs"


def test_the_table_of_the_counts_is_that_of_the_command(tmp_path):
    examples = DOCS / "counting" / "examples"
    files = sorted(map(str, examples.glob("*/predictions.csv")))
    argv = [*files, "--truth", str(examples / "overpass.csv"), "--work-dir", str(tmp_path)]
    assert main(["count", "evaluate", *argv]) == 0
    found = pd.read_csv(tmp_path / "measures.csv", index_col="model")
    intervals = pd.read_csv(tmp_path / "intervals.csv", index_col="measure")
    table = (DOCS / "counting" / "README.md").read_text(encoding="utf-8")
    for name, row in found.iterrows():
        low, high = re.findall(r"[\d.]+", intervals.loc["MAE", name].split("[")[1])
        interval = f"{row['MAE']:.2f} [{float(low):.2f}, {float(high):.2f}]"
        expected = f"| {name} | {interval} | {row['bias']:.2f} | {row['pooled std']:.2f} |"
        assert expected in table, expected


def test_the_coloured_dots_are_made_and_counted(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(DOCS / "counting" / "examples")
    dots = __import__("coloured_dots")
    monkeypatch.setattr(dots, "IMAGES", 3)
    dots.write(tmp_path)
    reads, _ = load_counter(tmp_path / "reads.py")
    ignores, _ = load_counter(tmp_path / "ignores.py")
    import cv2

    image = cv2.imread(str(tmp_path / "images_384_VarV2" / "0.png"))  # of red dots
    assert reads.count(image, "red dots").count == ignores.count(image, "green dots").count > 0
    assert reads.count(image, "green dots").count == 0
    sys.modules.pop("coloured_dots")


def test_the_modules_of_counters_are_there():
    page = (DOCS / "counting" / "counters.md").read_text(encoding="utf-8")
    table = page.split("in `autoeval.counting.counters` | of what")[1].split("\n\n")[0]
    names = re.findall(r"^\| `([\w.]+)` \|", table, re.MULTILINE)
    assert len(names) == 8
    for name in names:
        module, _, member = name.rpartition(".")
        assert hasattr(import_module(f"autoeval.counting.counters.{module}"), member), name


def test_the_measures_stand_in_the_modules_that_are_named():
    page = (DOCS / "counting" / "evaluate.md").read_text(encoding="utf-8")
    table = page.split("| module | measures |")[1].split("\n\n")[0]
    modules = re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)
    assert modules
    assert [m for m in modules if not find_spec(f"autoeval.counting.measures.{m}")] == []
