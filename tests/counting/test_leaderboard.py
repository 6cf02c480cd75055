"""Several counting runs on one page: who ranks where, read from what the commands write."""

import numpy as np
import pandas as pd
import pytest

from autoeval.cli import main
from autoeval.counting.leaderboard import overall, read_runs
from autoeval.errors import InputError


def write(folder, measures, intervals=None):
    folder.mkdir(parents=True)
    (folder / "measures.csv").write_text(measures)
    if intervals:
        (folder / "intervals.csv").write_text(intervals)
    return folder


@pytest.fixture
def runs(tmp_path):
    """An evaluation, a PrACo run and two tasks of CAPTURe."""
    crowd = write(
        tmp_path / "crowd",
        "model,pooled MAE,MAE,bias\none,4,4,-1\ntwo,2,2,0.5\nthree,4,5,0\n",
        'measure,one,two,three\npooled MAE,"4 [3, 5.5]","2 [1e-05, 2.5]",4\n',
    )
    praco = write(tmp_path / "praco", "model,NMN,PCCN,CntF1\none,0.2,90,0.8\ntwo,0.5,95,\n")
    capture = write(
        tmp_path / "capture",
        "model,task,n,sMAPE,low,high,MAE,accuracy\n"
        "one,total-occluded,9,12,10,14,3,\n"
        "two,total-occluded,9,,,,,\n"
        "two,pattern-occluded,9,,60,80,,70\n"
        "one,pattern-occluded,9,,20,30,,25\n",
    )
    return crowd, praco, capture


def test_a_run_of_several_classes_is_ranked_by_its_mean_over_images(tmp_path):
    run = write(tmp_path / "run", "model,MNP macro,NMN macro,MAE macro\none,9,0.2,7\ntwo,8,0.1,8\n")
    (standing,) = read_runs([run])
    assert standing.measure == "NMN macro" and not standing.rises
    assert standing.table["model"].tolist() == ["two", "one"]


def test_any_name_of_a_model_stays(tmp_path):
    (standing,) = read_runs([write(tmp_path / "run", "model,MAE\nNA,2\n007,1\nnull,3\n")])
    assert standing.table["model"].tolist() == ["007", "NA", "null"]
    assert overall([standing])["model"].tolist() == ["007", "NA", "null"]


def test_of_biases_the_nearest_to_0_is_best(runs):
    (crowd,) = read_runs(runs[:1], measures=["bias"])
    assert crowd.table["model"].tolist() == ["three", "two", "one"]
    assert crowd.table["value"].tolist() == [0, 0.5, -1]


def test_every_run_is_ranked_by_its_own_measure_and_the_ranks_averaged(runs):
    crowd, praco, total, pattern = read_runs(runs)
    names = ["crowd", "praco", "capture, total-occluded", "capture, pattern-occluded"]
    assert [s.run for s in (crowd, praco, total, pattern)] == names
    assert crowd.measure == "pooled MAE" and not crowd.rises
    assert crowd.table["model"].tolist() == ["two", "one", "three"]
    assert crowd.table["rank"].tolist() == [1, 2.5, 2.5], "equal values share a rank"
    assert crowd.table.loc[0, ["low", "high"]].tolist() == [1e-05, 2.5]
    assert np.isnan(crowd.table.loc[2, "low"]), "three has no interval"
    assert (praco.measure, praco.table["model"].tolist()) == ("NMN", ["one", "two"])
    assert total.measure == "sMAPE" and total.table.loc[0, ["low", "high"]].tolist() == [10, 14]
    assert np.isnan(total.table.loc[1, "rank"]), "two has no value"
    assert pattern.measure == "accuracy" and pattern.rises
    assert pattern.table["model"].tolist() == ["two", "one"]
    assert list(pattern.measures) == ["model", "n", "accuracy"]
    table = overall(read_runs(runs)).set_index("model")
    # one: 2.5, 1, 1, 2; two: 1, 2, none, 1; three: 2.5.
    assert table["runs"].to_dict() == {"one": 4, "two": 3, "three": 1}
    expected = pytest.approx({"one": 6.5 / 4, "two": 4 / 3, "three": 2.5})
    assert table["mean rank"].to_dict() == expected
    assert list(table.index) == ["one", "two", "three"], "who is in most runs comes first"


def test_another_measure_may_rank(runs):
    crowd, praco, *_ = read_runs(runs[:2], measures=["PCCN", "MAE"])
    assert crowd.measure == "MAE" and crowd.table["rank"].tolist() == [1, 2, 3]
    assert praco.measure == "PCCN" and praco.table["model"].tolist() == ["two", "one"]
    with pytest.raises(InputError, match="No run has the measure wit"):
        read_runs(runs, measures=["wit"])


def test_the_command_writes_page_and_tables(runs, tmp_path, capsys):
    folders = ["night=" + str(runs[0]), *map(str, runs[1:])]
    assert main(["count", "leaderboard", *folders, "--work-dir", str(tmp_path / "out")]) == 0
    shown = capsys.readouterr().out
    assert "night is ranked by pooled MAE" in shown and "mean rank" in shown
    ranks = pd.read_csv(tmp_path / "out/ranks.csv", index_col="model")
    assert ranks.loc["two", "night"] == 1 and np.isnan(ranks.loc["three", "praco"])
    long = pd.read_csv(tmp_path / "out/leaderboard.csv")
    assert len(long) == 3 + 2 + 2 + 2
    assert set(long["measure"]) == {"pooled MAE", "NMN", "sMAPE", "accuracy"}
    page = (tmp_path / "out/report.html").read_text()
    assert "night: pooled MAE, lower is better" in page
    assert "capture, pattern-occluded: accuracy, higher is better" in page
    assert "Models without a value, not drawn: 1." in page
    assert len(list((tmp_path / "out/figures").glob("*.png"))) == 4


@pytest.mark.parametrize(
    ("measures", "said"),
    [(None, "No file"), ("model,wit\na,1\n", "no measure to rank by"), ("MAE\n1\n", "no models")],
)
def test_folders_without_a_run_are_named(tmp_path, measures, said):
    folder = tmp_path / "run"
    if measures is None:
        folder.mkdir()
    else:
        write(folder, measures)
    with pytest.raises(InputError, match=said):
        read_runs([folder])
    with pytest.raises(InputError, match="came twice"):
        read_runs([folder, folder])


@pytest.mark.parametrize("content", [b"", b"model,MAE\none,4\n", b"\xff\xfem\x00"])
def test_intervals_of_another_form_are_refused(runs, content):
    (runs[0] / "intervals.csv").write_bytes(content)
    with pytest.raises(InputError, match=r"Cannot read the intervals .*intervals\.csv"):
        read_runs([runs[0]])


def test_a_measure_that_is_no_number_is_named(tmp_path):
    folder = write(tmp_path / "run", "model,MAE\none,4\ntwo,four\n")
    with pytest.raises(InputError, match=r"run: expected numbers in the column 'MAE'.*'four'"):
        read_runs([folder])


def test_real_runs_are_read(tmp_path):
    """What `count evaluate` writes, with its intervals."""
    for name, shift in (("near", 1), ("far", 5)):
        rows = "".join(f"{k},{k + 3},{k + 3 + shift * (-1) ** k}\n" for k in range(12))
        (tmp_path / f"{name}.csv").write_text("id,target,pred\n" + rows)
    files = [str(tmp_path / f"{name}.csv") for name in ("far", "near")]
    argv = [*files, "--bins", "sta", "--n-resamples", "20", "--work-dir", str(tmp_path / "run")]
    assert main(["count", "evaluate", *argv]) == 0
    [standing] = read_runs([tmp_path / "run"])
    assert standing.table["model"].tolist() == ["near", "far"]
    assert standing.table["value"].tolist() == [1, 5]
    assert standing.table["low"].tolist() == [1, 5], "all errors are equal"
