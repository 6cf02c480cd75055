import itertools

import numpy as np
import pandas as pd
import pytest

from autoeval.cli import main
from autoeval.errors import InputError
from autoeval.stability.methods.leave_one_out import bench, paired_p_value
from autoeval.stability.reports.method_comparison import compare_methods

N_SOURCES = 6
N_SETS = 8
REPEATS = 2


def score_table(seed=0):
    """Make six sources whose mAP is a line in `ac`, and in `bos` up to noise."""
    rng = np.random.default_rng(seed)
    rows = []
    for source in range(N_SOURCES):
        for sample_set in range(N_SETS + 1):
            accuracy = 0.1 * source + rng.uniform(0.1, 0.3)
            rows += [
                {
                    "source": f"s{source}",
                    "sample_set": f"{source}-{sample_set}",
                    "kind": "sample" if sample_set else "seed",
                    "repeat": repeat,
                    "n_images": 60,
                    "ac": accuracy / 2,
                    "bos": accuracy + rng.normal(0, 0.1),
                    "mAP": accuracy,
                }
                for repeat in range(REPEATS)
            ]
    return pd.DataFrame(rows)


def test_the_sign_flip_test_counts_all_flips():
    difference = np.array([0.3, 0.1, -0.05, 0.2, 0.15])
    flips = [np.mean(difference * s) for s in itertools.product((1, -1), repeat=5)]
    expected = np.mean(np.abs(flips) >= abs(difference.mean()) - 1e-12)
    assert paired_p_value(difference + 1, np.ones(5)) == pytest.approx(expected)
    # equal errors are no difference, and one source says nothing
    assert paired_p_value(np.ones(4), np.ones(4)) == 1
    assert np.isnan(paired_p_value(np.array([1.0, np.nan]), np.array([2.0, 1.0])))


def test_the_exact_score_wins_and_is_what_others_are_tested_against():
    result = bench(score_table(), ["bos", "ac", "constant"])
    assert result.baseline == "ac"
    assert result.errors("ac").max() < 1e-9
    assert result.errors("constant").mean() > result.errors("bos").mean()
    assert result.p_values()["ac"] == 1
    assert result.p_values()["constant"] == pytest.approx(2 / 2**N_SOURCES)


def test_a_method_without_an_estimate_somewhere_is_no_baseline_for_that():
    """`min` over NaN takes whichever comes first."""
    table = score_table()
    own = (table["source"] == "s5") & (table["kind"] == "seed")
    result = bench(table.assign(bos=table["bos"].mask(own)), ["bos", "ac", "constant"])
    assert result.baseline == "ac"
    assert all(np.isfinite(p) for p in result.p_values().values())
    assert np.isfinite(result.errors("bos")).all()


def test_coverage_is_over_sources_and_repeats():
    table = score_table()
    result = bench(table, ["constant"])
    inside = []
    for repeat in range(REPEATS):
        rows = bench(table[table["repeat"] == repeat], ["constant"]).results["constant"].per_source
        inside += list((rows["lower"] <= rows["true"]) & (rows["true"] <= rows["upper"]))
    assert result.coverage["constant"] == np.mean(inside)


def test_a_repeat_whose_score_is_the_same_everywhere_has_no_coverage():
    """No line can be fitted on it alone; with the others the method is evaluated."""
    table = score_table()
    first = table["repeat"] == 0
    table = table.assign(bos=table["bos"].mask(first, 1.0))
    result = bench(table, ["bos", "constant"])
    assert set(result.results) == {"bos", "constant"} and not result.absent
    assert result.coverage["bos"] == bench(table[~first], ["bos"]).coverage["bos"]
    text = compare_methods({"table": table}, ["bos", "constant"]).text
    assert "| bos |" in text and "Not evaluated" not in text


def test_a_method_without_its_scores_is_named_and_the_others_go_on():
    result = bench(score_table(), ["energy", "ac"])
    assert list(result.results) == ["ac"]
    assert "energy" in result.absent["energy"]
    with pytest.raises(InputError, match="No method can be evaluated"):
        bench(score_table(), ["energy"])
    with pytest.raises(InputError, match=r"number over 0 and under 1.* got 2"):
        bench(score_table(), ["bos"], level=2)


def test_the_command_prints_and_writes_one_table_a_score_table(tmp_path, capsys):
    for name, seed in (("one", 0), ("two", 1)):
        (tmp_path / name).mkdir()
        score_table(seed).to_parquet(tmp_path / name / "scores.parquet")
    out = tmp_path / "out"
    words = [str(tmp_path / "one"), str(tmp_path / "two"), "--work-dir", str(out)]
    assert main(["bench", *words, "--method", "ac", "bos", "constant", "fd"]) == 0
    printed = capsys.readouterr().out
    assert "All tables together" in printed
    assert "`fd`: Expected the columns fd" in printed
    assert (out / "bench.md").read_text().strip() in printed
    cells = pd.read_csv(out / "one.csv")
    assert cells["method"].tolist() == ["ac", "bos", "constant"]
    assert cells[["s0", "s5"]].to_numpy()[0] == pytest.approx(0, abs=1e-6)


def test_the_folder_one_is_in_has_its_name(tmp_path, monkeypatch):
    (tmp_path / "mine").mkdir()
    score_table().to_parquet(tmp_path / "mine" / "scores.parquet")
    monkeypatch.chdir(tmp_path / "mine")
    for scores in (".", "scores.parquet"):
        assert main(["bench", scores, "--method", "ac", "--work-dir", str(tmp_path / "out")]) == 0
    assert {p.name for p in (tmp_path / "out").iterdir()} == {
        *("bench.md", "mine.csv", "mine_scores.csv"),
    }


def test_the_command_wants_score_tables(tmp_path, capsys):
    assert main(["bench", str(tmp_path)]) == 2
    assert "No score table" in capsys.readouterr().err


def test_tables_without_a_method_in_common_stand_one_by_one(tmp_path, capsys):
    for name, absent in (("one", "ac"), ("two", "bos")):
        (tmp_path / name).mkdir()
        score_table().drop(columns=absent).to_parquet(tmp_path / name / "scores.parquet")
    words = [str(tmp_path / "one"), str(tmp_path / "two"), "--work-dir", str(tmp_path / "out")]
    assert main(["bench", *words, "--method", "ac", "bos"]) == 0
    assert "All tables together" not in capsys.readouterr().out
    assert pd.read_csv(tmp_path / "out" / "two.csv")["method"].tolist() == ["ac"]


def test_a_group_counts_once_for_the_baseline_and_in_the_test():
    table = score_table()
    table["group"] = table["source"].replace({"s1": "s0", "s2": "s0", "s3": "s0"})
    alone = table["source"].isin(["s4", "s5"]) & (table["kind"] == "seed")
    table["ac"] = table["mAP"] + 0.2 * alone
    table["bos"] = table["mAP"] + 0.1 * (table["kind"] == "seed")
    result = bench(table, ["bos", "ac", "constant"])
    by_group = {
        name: held.per_source.groupby("group")["error"].mean().to_numpy()
        for name, held in result.results.items()
    }
    # over sources `ac` has the lower mean, over the three groups, as in the table, `bos`
    assert result.errors("ac").mean() < result.errors("bos").mean()
    assert by_group["bos"].mean() < by_group["ac"].mean()
    assert by_group["bos"].mean() == result.results["bos"].summary()["mean_absolute_error"]
    assert result.baseline == "bos"
    difference = by_group["constant"] - by_group["bos"]
    flips = [np.mean(difference * s) for s in itertools.product((1, -1), repeat=3)]
    expected = np.mean(np.abs(flips) >= abs(difference.mean()) - 1e-12)
    assert result.p_values()["constant"] == pytest.approx(expected)


def test_a_group_counts_once_over_all_tables_and_a_table_without_intervals_not_for_them():
    table = score_table()
    table["group"] = table["source"].replace({"s1": "s0", "s2": "s0"})
    few = table[table["source"].isin(["s0", "s3", "s4"])]  # two of three fit: no interval
    alone = bench(table, ["bos"])
    text = compare_methods({"one": table, "two": table, "few": few}, ["bos"]).text
    *_, row = text.split("All tables together")[1].strip().splitlines()
    error, inside, n = (float(cell) for cell in row.strip("| ").split("|")[1:])
    groups = [*alone.by_group("bos"), *alone.by_group("bos"), *bench(few, ["bos"]).by_group("bos")]
    assert error == pytest.approx(100 * np.mean(groups), abs=0.05)
    assert inside == pytest.approx(100 * alone.coverage["bos"], abs=0.5)
    assert n == 15
