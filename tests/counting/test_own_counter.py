"""A counter of one's own in all three protocols, as the page shows it."""

import sys
from pathlib import Path

import pandas as pd

from autoeval.cli import main

DOCS = Path(__file__).parents[2] / "docs"


def test_the_counter_of_the_page_goes_through_all_three_evaluations(tmp_path, monkeypatch):
    """As a new user would: the function and the commands are those of the page."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(DOCS / "counting" / "examples")
    dots = __import__("coloured_dots")
    monkeypatch.setattr(dots, "IMAGES", 6)
    dots.write(tmp_path / "dots")
    sys.modules.pop("coloured_dots")
    page = (DOCS / "counting" / "counters.md").read_text(encoding="utf-8")
    section = page.split("## Your own counter")[1]
    code, commands = (
        section.split(f"```{language}\n")[1].split("```")[0] for language in ("python", "sh")
    )
    assert len(code.split("\n")) <= 10
    (tmp_path / "blobs.py").write_text(code)
    for line in commands.strip().split("\n"):
        assert main(line.split()[1:]) == 0, line
    measures = pd.read_csv("count_evaluation/measures.csv").iloc[0]
    assert measures["bias"] <= 0, "dots that touch are one"
    assert (
        pd.read_csv("count_evaluation/localisation.csv", index_col=0).loc["GAME(0)", "blobs"] >= 0
    )
    praco = pd.read_csv("praco/measures.csv").iloc[0]
    assert praco["NMN"] > 0.8 and 0.4 < praco["CntP"] < 0.6, "it counts all colours"
    assert pd.read_csv("capture_report/measures.csv").iloc[0]["exact %"] == 100
