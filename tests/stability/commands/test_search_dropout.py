"""search-dropout from the command line to its files, with a stand-in detector."""

import pandas as pd
import pytest
from rectangles import write_task
from shaken_rectangles import ShakenRectangles

from autoeval.cli import main
from autoeval.io.tasks.task import load_task
from autoeval.runtime.progress import duration
from autoeval.stability.commands import search_dropout
from autoeval.stability.commands.meta_set_options import note_sources_of_search
from autoeval.stability.network.forward.dropout_spec import load_dropout, of_search


@pytest.fixture
def words(tmp_path, monkeypatch):
    load = "autoeval.detectors.loading.load_detector"
    monkeypatch.setattr(load, lambda *of, **options: ShakenRectangles())
    words = ["search-dropout", "--detector", "rectangles", "--task", str(write_task(tmp_path))]
    return [*words, "--n-sets", "1", "--n-images", "2", "--work-dir", str(tmp_path / "out")]


@pytest.mark.usefixtures("drawn_here")
def test_writes_table_pictures_and_configuration(words, tmp_path, capsys):
    config = tmp_path / "out" / "dropout.py"
    assert main([*words, "--strategy", "greedy"]) == 0
    out = tmp_path / "out"
    table = pd.read_parquet(out / "greedy.parquet")
    csv = pd.read_csv(out / "greedy.csv", dtype={"stages": str}, keep_default_na=False)
    pd.testing.assert_frame_equal(table, csv, check_dtype=False)
    assert (out / "greedy.md").read_text().count("\n") == len(table) + 2
    assert (out / "greedy.png").read_bytes()[:4] == b"\x89PNG"
    best = load_dropout(config)
    assert table.loc[0, ["position", "rate", "fate"]].tolist() == ["after", best.rate, "chosen"]
    assert table.loc[0, "stages"] == ",".join(map(str, best.stages))
    printed = capsys.readouterr().out
    assert "4 sample sets of 4 sources, 8 images, 90 dropouts" in printed
    naive = 8 * 90 * 2 * 6
    assert f" {naive} " in printed and str(config) in printed
    assert (out / "summary.md").read_text().splitlines()[0] in printed


def test_a_second_run_observes_nothing(words, tmp_path, monkeypatch, capsys):
    assert main([*words, "--strategy", "greedy"]) == 0
    first = capsys.readouterr().out
    monkeypatch.setattr(ShakenRectangles, "observe_each", None)
    assert main([*words, "--strategy", "greedy"]) == 0
    assert capsys.readouterr().out == first
    assert load_dropout(tmp_path / "out" / "dropout.py").position == "after"


def test_the_cost_is_said_before_the_first_pass(words, monkeypatch, capsys):
    """Greedy measures 15 sets of stages and 6 rates, at most twice, on 8 images.

    Executions of the six parts of the network, with what dropouts share run once: 1 + 1 + 2 + 4 + 8
    + 16 for the sets of stages; 1 + 4 + 7 for six rates after the last stage, 1 + 1 + 3 * 7 + 7
    after the first.
    """
    monkeypatch.setattr(search_dropout, "_seconds_of_a_pass", lambda bench, samples: 1.0)
    monkeypatch.setattr(ShakenRectangles, "observe_each", None)
    assert main(words) != 0  # cannot observe
    least, most = 8 * (32 + 12) / 6, 2 * 8 * (32 + 30) / 6
    said = f"will take about {duration(least)} to {duration(most)}"
    assert said in capsys.readouterr().err


def test_sources_are_left_out_and_those_seen_are_named(words, tmp_path, capsys):
    assert main([*words, "--leave-out", "w1"]) == 0
    capsys.readouterr()
    config = tmp_path / "out" / "dropout.py"
    assert of_search(config, "sources") == ("w0", "w2", "w3")
    note_sources_of_search(str(config), load_task(tmp_path / "task.py"))
    assert "was chosen on w0, w2, w3, which are evaluated here" in capsys.readouterr().err
    assert main([*words, "--leave-out", "w9"]) == 2
    assert "there is no source w9" in capsys.readouterr().err


def test_needs_a_detector(tmp_path, words, capsys):
    assert main([word for word in words if word not in ("--detector", "rectangles")]) == 2
    assert "--detector NAME" in capsys.readouterr().err
