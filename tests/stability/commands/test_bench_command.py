"""Comparing methods on score tables, from the command line."""

import pandas as pd
from score_tables import WORLDS, score_table

from autoeval.cli import main


def write_scores(folder, shift):
    folder.mkdir(parents=True)
    table = score_table(WORLDS, bos=lambda value, _, row: value + shift * (row % 3))
    table.to_parquet(folder / "scores.parquet")
    return str(folder)


def test_tables_of_folders_of_one_name_are_all_compared(tmp_path, capsys):
    folders = [write_scores(tmp_path / name / "run", shift) for name, shift in (("a", 0), ("b", 1))]
    words = ["--method", "bos", "constant", "--work-dir", str(tmp_path / "out")]
    assert main(["bench", *folders, *words]) == 0
    first, second = sorted((tmp_path / "out").glob("*run.csv"))
    assert first.stem.endswith("a_run") and second.stem.endswith("b_run")
    errors = [pd.read_csv(p).set_index("method").loc["bos", "a"] for p in (first, second)]
    assert errors[0] < 1e-9 < errors[1]
    for again in (folders[0], f"{folders[0]}/scores.parquet"):
        assert main(["bench", folders[0], again, *words]) == 2
        assert "given twice" in capsys.readouterr().err
