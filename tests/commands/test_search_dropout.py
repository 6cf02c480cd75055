"""search-dropout from the command line to its files, with a stand-in detector."""

import pandas as pd
import pytest
from rectangles import write_task
from shaken_rectangles import ShakenRectangles

from autoeval.cli import main
from autoeval.stability.commands import search_dropout
from autoeval.stability.network.forward.dropout_spec import load_dropout

pytestmark = pytest.mark.usefixtures("drawn")


@pytest.fixture
def words(tmp_path, monkeypatch):
    monkeypatch.setattr(search_dropout, "load_named_detector", lambda args: ShakenRectangles())
    words = ["search-dropout", "--detector", "rectangles", "--task", str(write_task(tmp_path))]
    return [*words, "--metaset", "n_sets=1", "n_images=2", "--work-dir", str(tmp_path / "out")]


def test_writes_table_pictures_and_configuration(words, tmp_path, capsys):
    config = tmp_path / "out" / "dropout.py"
    assert main([*words, "--strategy", "coordinate"]) == 0
    out = tmp_path / "out"
    table = pd.read_parquet(out / "coordinate.parquet")
    csv = pd.read_csv(out / "coordinate.csv", dtype={"stages": str}, keep_default_na=False)
    pd.testing.assert_frame_equal(table, csv, check_dtype=False)
    assert (out / "coordinate.md").read_text().count("\n") == len(table) + 2
    assert (out / "coordinate.png").read_bytes()[:4] == b"\x89PNG"
    best = load_dropout(config)
    assert table.loc[0, ["position", "rate", "fate"]].tolist() == ["after", best.rate, "chosen"]
    assert table.loc[0, "stages"] == ",".join(map(str, best.stages))
    printed = capsys.readouterr().out
    assert "4 sample sets of 4 sources, 8 images, 285 dropouts" in printed
    naive = 8 * 285 * 2 * 6
    assert f" {naive} " in printed and str(config) in printed
    assert (out / "summary.md").read_text().splitlines()[0] in printed


def test_a_second_run_observes_nothing(words, tmp_path, monkeypatch, capsys):
    assert main([*words, "--strategy", "coordinate"]) == 0
    first = capsys.readouterr().out
    monkeypatch.setattr(ShakenRectangles, "observe_each", None)
    assert main([*words, "--strategy", "coordinate"]) == 0
    assert capsys.readouterr().out == first
    assert load_dropout(tmp_path / "out" / "dropout.py").position == "after"


def test_needs_a_detector(tmp_path, words, capsys):
    assert main([word for word in words if word not in ("--detector", "rectangles")]) == 2
    assert "--detector NAME" in capsys.readouterr().err
