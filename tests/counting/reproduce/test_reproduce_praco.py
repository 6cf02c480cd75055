"""PrACo's tables from files made by hand: the worked case of `test_praco_measures`, in files."""

import pandas as pd
import pytest
from counting_files import write_fsc147

from autoeval.cli import main
from autoeval.runtime.files import read_paper

GROUND = {"1.jpg": ("a", 10), "2.jpg": ("b", 4), "3.jpg": ("c", 5), "4.jpg": ("a", 2)}
NEGATIVE = """,a,b,c
1.jpg,8,2,4
2.jpg,0,0,0
3.jpg,6,0,7.5
4.jpg,2,,1
"""
UPPER = """,a,b,c
1.jpg,,8,12
2.jpg,0,,0
3.jpg,5,0,
4.jpg,,1,
"""
LOWER = """,a,b,c
1.jpg,,2,8
2.jpg,0,,3
3.jpg,0,5,
4.jpg,,1,
"""


@pytest.fixture
def root(tmp_path):
    """FSC-147's files of four images of both splits, without images; files of two models."""
    objects = {name: (kind, [[k, 1] for k in range(n)]) for name, (kind, n) in GROUND.items()}
    write_fsc147(tmp_path, objects, splits=("test", "val"), classes=["a", "b", "c"])
    folder = tmp_path / "files"
    (folder / "CLIPCount").mkdir(parents=True)
    (folder / "CLIPCount" / "Inference_Test1_CLIPCount_test.csv").write_text(NEGATIVE)
    for part, text in (("Upper", UPPER), ("Lower", LOWER)):
        path = folder / "CLIPCount" / f"Inference_Test2_{part}_CLIPCount_test.csv"
        path.write_text(text)
    (folder / "Inference_Test1_mine_test.csv").write_text(NEGATIVE)
    return tmp_path


def reproduce(root, *words):
    given = ["--data-root", root, "--predictions", root / "files", "--work-dir", root / "out"]
    return main(["reproduce", "praco", *map(str, given), *map(str, words)])


def figures(root, table):
    return pd.read_csv(root / "out" / f"table_{table}.csv").set_index(["model", "column"])


def test_own_figures_stand_beside_the_printed_ones(root, capsys):
    assert reproduce(root, "--table", "1", "--mode", "released") == 0
    shown = capsys.readouterr().out
    assert "CLIP-Count on 4 images (1175 in print)" in shown
    rows = figures(root, 1)
    own, printed = rows["own"], rows["printed"]
    # Worked out in test_praco_measures; the recall has a 1 for each empty cell.
    assert own["CLIP-Count", "NMN"] == pytest.approx((3 / 10 + 0 + 3 / 5 + 1 / 2) / 4)
    assert own["CLIP-Count", "PCCN"] == 50
    assert own["CLIP-Count", "CntP"] == pytest.approx(0.4125)
    assert own["CLIP-Count", "CntR"] == pytest.approx((2.8 / 3 + 1 / 3 + 2 / 3 + 2.5 / 3) / 4)
    assert own["CLIP-Count", "CntF1"] == pytest.approx(((0.8 + 2 / 3) / 2 + 1 + 0.5) / 3)
    assert printed["CLIP-Count", "NMN"] == 1.27
    assert rows.loc[("CLIP-Count", "NMN"), "difference"] == pytest.approx(0.35 - 1.27)
    # A model that print does not have, without mosaics, comes behind.
    assert own["mine", "MAE"] == pytest.approx((2 + 4 + 2.5) / 4)
    assert pd.isna(own["mine", "CntP"]) and pd.isna(printed["mine", "MAE"])
    assert pd.isna(own["DAVE", "NMN"]) and printed["DAVE", "NMN"] == 0.08


def test_the_paper_mode_is_the_default_and_marked_and_exclusions_hold(root, capsys):
    assert reproduce(root, "--table", "1") == 0
    shown = capsys.readouterr().out
    assert "not as its figures were made" in shown
    assert "Measured in the mode paper: the formulas as printed." in shown
    rows = figures(root, 1)
    assert rows.loc[("CLIP-Count", "PCCN"), "own"] == 75
    (root / "several.txt").write_text("4\n")
    assert reproduce(root, "--table", "1", "--exclude", f"{root / 'several.txt'}") == 0
    assert "CLIP-Count on 3 images" in capsys.readouterr().out


def test_what_is_truncated_or_missing_is_said_with_where_it_is_had(root, capsys):
    path = root / "files" / "CLIPCount" / "Inference_Test2_Upper_CLIPCount_test.csv"
    path.unlink()
    assert reproduce(root, "--table", "1") == 0
    assert "needs its other half" in capsys.readouterr().out
    rows = figures(root, 1)
    assert pd.notna(rows.loc[("mine", "MAE"), "own"])  # the other model is measured all the same
    assert reproduce(root) == 0
    shown = capsys.readouterr().out
    assert "table 2: No prediction file Inference_Test1_MODEL_val.csv" in shown
    assert "Get the data from https://github.com/cvlab-stonybrook" in shown
    (root / "ImageClasses_FSC147.txt").unlink()
    assert reproduce(root, "--table", "1") == 0
    assert "table 1: No class file" in capsys.readouterr().out
    assert main(["reproduce", "praco", "--work-dir", str(root / "none")]) == 0
    assert "give --data-root DIR" in capsys.readouterr().out
    assert reproduce(root, "--table", "9") == 2


def test_the_first_folder_that_has_a_model_counts_and_the_other_is_named(root, capsys):
    """In the second folder every count is 0, of which the mean error would be 21 / 4."""
    (root / "more").mkdir()
    zeros = "".join([",a,b,c\n", *(f"{k}.jpg,0,0,0\n" for k in range(1, 5))])
    (root / "more" / "Inference_Test1_mine_test.csv").write_text(zeros)
    assert reproduce(root, "--table", "1", "--predictions", root / "files", root / "more") == 0
    assert figures(root, 1)["own"]["mine", "MAE"] == pytest.approx((2 + 4 + 2.5) / 4)
    assert f"{root / 'more' / 'Inference_Test1_mine_test.csv'} of mine" in capsys.readouterr().out


def test_daves_settings_by_folder(root, capsys):
    """The same counts in two of the four folders, and a folder of another name."""
    for folder in ("DAVE_mod_thr_0.10", "DAVE_thr_0.17", "DAVE_other"):
        (root / "files" / folder).mkdir()
        path = root / "files" / folder / "Inference_Test1_DAVE_test.csv"
        path.write_text(NEGATIVE if folder != "DAVE_thr_0.17" else NEGATIVE.replace(",8,", ",9,"))
    assert reproduce(root, "--table", "3", "1") == 0
    rows = figures(root, 3)
    assert rows.loc[("DAVE_mod_thr_0.10", "MAE"), "own"] == pytest.approx((2 + 4 + 2.5) / 4)
    assert rows.loc[("DAVE_thr_0.17", "MAE"), "own"] == pytest.approx((1 + 4 + 2.5) / 4)
    assert rows.loc[("DAVE_thr_0.17", "MAE"), "printed"] == 15.16
    assert rows["own"].notna().sum() == 2 * 4, "NMN, PCCN, MAE and RMSE of two settings"
    assert "DAVE_other" not in capsys.readouterr().out
    table = figures(root, 1)
    assert table.loc[("DAVE", "MAE"), "own"] == pytest.approx((2 + 4 + 2.5) / 4)
    tables, _ = read_paper("praco")
    assert tables["3"]["rows"]["DAVE_mod_thr_0.10"] == tables["1"]["rows"]["DAVE"]


def test_drift_and_negative_classes_as_figures(root, capsys):
    assert reproduce(root, "--figure", "4", "6") == 0
    assert not (root / "out" / "table_1.csv").exists()
    table = pd.read_csv(root / "out" / "figure_4.csv").set_index("model")
    # The drifts of test_praco_measures: 0, .5, 1/3, 1 and .5.
    assert table.loc["CLIP-Count", "n"] == 5
    assert table.loc["CLIP-Count", "mean"] == pytest.approx((0.5 + 1 / 3 + 1 + 0.5) / 5)
    assert list(table.index) == ["CLIP-Count"], "the other model has no mosaics"
    assert (root / "out" / "figures" / "figure_4.png").is_file()
    # No class of the figure is in this set.
    assert pd.read_csv(root / "out" / "figure_6.csv")["eggs"].isna().all()
    assert "DAVE consistently counts none" in capsys.readouterr().out


def test_a_negative_class_by_hand(root):
    """Asked for eggs: 2 for ten objects, 0 for five, no answer for two; 2.jpg holds eggs itself."""
    for path in [*root.glob("*.json"), *root.glob("*.txt"), *root.glob("files/*/*.csv")]:
        text = path.read_text()
        path.write_text(
            text.replace('"b"', '"eggs"').replace(",b,", ",eggs,").replace("\tb", "\teggs")
        )
    assert reproduce(root, "--figure", "6") == 0
    table = pd.read_csv(root / "out" / "figure_6.csv").set_index("model")
    assert table.loc["CLIP-Count", "eggs"] == pytest.approx((2 / 10 + 0 / 5) / 2)
