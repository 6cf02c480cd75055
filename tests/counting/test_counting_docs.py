"""docs/counting/: its links lead somewhere, and its worked examples say what they do."""

import re
import sys
from pathlib import Path

import pandas as pd
import pytest

from autoeval.cli import main
from autoeval.counting.counters.build import load_counter

DOCS = Path(__file__).parents[2] / "docs"
PAGES = sorted(DOCS.glob("counting/*.md"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    links = re.findall(r"\]\(([^)#:]+)(?:#([^)]+))?\)", page.read_text(encoding="utf-8"))
    assert links
    for target, anchor in links:
        found = page.parent / target
        assert found.exists(), target
        if anchor:
            headings = re.findall(r"^#+ (.+)$", found.read_text(encoding="utf-8"), re.MULTILINE)
            known = [re.sub(r"[^\w -]", "", h.lower()).replace(" ", "-") for h in headings]
            assert anchor in known, (target, anchor, known)


def test_the_table_of_the_counts_is_that_of_the_command(tmp_path):
    examples = DOCS / "counting" / "examples"
    files = sorted(map(str, examples.glob("*/predictions.csv")))
    argv = [*files, "--truth", str(examples / "overpass.csv"), "--out", str(tmp_path)]
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
