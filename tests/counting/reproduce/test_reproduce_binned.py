"""Tables, bins and figures of the paper on binned counting, from released and made files."""

import numpy as np
import pandas as pd
import pytest

from autoeval.cli import main
from autoeval.counting.binning import published_bins
from autoeval.counting.measures.count_errors import pooled
from autoeval.counting.predictions import read_predictions
from autoeval.runtime.files import read_paper


def reproduce(tmp_path, *words):
    assert main(["reproduce", "binned", "--work-dir", str(tmp_path / "out"), *map(str, words)]) == 0
    return tmp_path / "out"


def own(report, name):
    """Our figures of a table, by its row and column."""
    table = pd.read_csv(report / f"table_{name}.csv").dropna(subset=["own"])
    return table.set_index([table.columns[0], "column"])


def test_the_printed_tables_are_whole():
    tables, _ = read_paper("binned")
    rows = tables["2"]["rows"]
    assert len(rows) == 45 and {len(values) for values in rows.values()} == {8}
    # Without binning loss, pooling changes the std alone: MAE and global MAE are one figure in
    # print, but where the last column is of models that others released, and in five rows more.
    same = [row for row, values in rows.items() if values[4] == values[6]]
    assert len(same) == 45 - len(tables["2"]["global_of_others"]) - 5
    for name in "345":
        widths = {len(values) for values in tables[name]["rows"].values()}
        assert widths == {len(tables[name]["columns"])}
    assert len(tables["3"]["rows"]) == 15
    # The cells that repeat Table II are the same in print.
    for name in "45":
        columns = list(tables[name]["columns"])
        pooled = dict(zip(tables["2"]["columns"], rows["NWPU DM-Count"], strict=True))
        for row, cells in tables[name]["cells"].items():
            printed = dict(zip(columns, tables[name]["rows"][row], strict=True))
            for column, scheme in cells.items():
                for measure in ("MAE", "std"):
                    assert printed[f"{column} {measure}"] == pooled[f"{scheme} {measure}"]


def test_table_2_to_the_printed_digit(shared, tmp_path, capsys):
    golden = shared / "golden" / "bincrowd"
    report = reproduce(tmp_path, "--table", "2", "--predictions", golden)
    assert "NOT AS PRINTED: predictions for 3 of 45 rows" in capsys.readouterr().out
    rows = own(report, "2")
    assert len(rows) == 12
    assert rows.index[~rows["same"].astype(bool)].tolist() == [
        ("STA BL", "global MAE"),  # in print that of the model which BL's authors released
        ("STA BL", "global std"),
    ]


@pytest.mark.parametrize(("dataset", "n_edges"), [("NWPU", 19), ("STA", 16)])
def test_bins_to_the_printed_digit(shared, tmp_path, dataset, n_edges):
    golden = shared / "golden" / "bincrowd"
    report = reproduce(tmp_path, "--table", "bins", "--data-root", golden)
    rows = pd.read_csv(report / "table_bins.csv")
    rows = rows[(rows["column"] == dataset) & rows["printed"].notna()]
    assert len(rows) == n_edges and rows["same"].astype(bool).all()


@pytest.mark.parametrize(
    ("dataset", "low", "high", "n_edges"), [("ucf", 49, 12865, 18), ("stb", 13, 578, 12)]
)
def test_bins_follow_from_the_range_of_training_counts(tmp_path, dataset, low, high, n_edges):
    """Smallest and largest training count of the released files; validation counts do not enter."""
    (tmp_path / f"Train_{dataset}.txt").write_text(f"1,{low}\n2,{high}\n3,100\n")
    (tmp_path / f"Val_{dataset}.txt").write_text(f"1,{low - 1}\n2,{high + 1}\n")
    report = reproduce(tmp_path, "--table", "bins", "--data-root", tmp_path)
    rows = pd.read_csv(report / "table_bins.csv")
    rows = rows[(rows["column"] == dataset.upper()) & rows["printed"].notna()]
    assert len(rows) == n_edges and rows["same"].astype(bool).all()


# Mean and std of |error| by bin of NWPU, from the outputs of the authors' notebook
# (evaluation/Plot_generation_notebook.ipynb), rounded there to three decimals.
DM_COUNT = {
    "no binning": (
        "38.284 .1 38.1 2.707 30.061 3.424 6.311 10.013 16.595 31.618 54.053 69.474 165.142 "
        "215.853 354.793 502.098 1220.637 4922.327",
        "78.75 0 60.63 1.865 109.043 3.402 5.61 11.797 20.597 58.217 56.489 51.597 154.578 132.118 "
        "146.738 91.139 750.193 3090.938",
    ),
    "RS": (
        "60.772 .136 61.123 4.018 6.855 3.691 9.869 16.936 20.933 38.223 48.044 68.495 125.386 "
        "181.057 398.748 368.186 1913.192 6749.723",
        "111.1 0 94.378 1.566 9.666 2.845 9.229 18.133 26.364 66.934 48.356 50.462 139.52 150.918 "
        "242.799 111.477 874.78 3405.064",
    ),
    "RR": (
        "29.859 .223 41.271 4.685 5.907 3.373 6.827 11.228 16.755 30.702 45.059 65.631 126.273 "
        "190.398 401.994 262.58 1670.83 5760.124",
        "59.887 0 64.002 2.283 11.644 3.105 5.978 12.424 19.39 53.365 44.01 51.432 138.704 187.039 "
        "252.64 184.509 762.514 2910.446",
    ),
}


@pytest.mark.parametrize("scheme", DM_COUNT)
def test_dm_count_pooled_from_the_authors_bins(shared, scheme):
    """Six figures of Tables II, IV and V: the authors' bins, and how many images are in each."""
    path = shared / "golden" / "bincrowd" / "nwpu_unbinned_tar_pred_error.txt"
    bins = published_bins("nwpu")
    n = np.bincount(bins.assign(read_predictions(path).target), minlength=len(bins))
    mean, std = (np.array(text.split(), float) for text in DM_COUNT[scheme])
    found = pooled(pd.DataFrame({"n": n, "mean": mean, "std": std}))
    entry = read_paper("binned", ["2"])[0]["2"]
    printed = dict(zip(entry["columns"], entry["rows"]["NWPU DM-Count"], strict=True))
    assert [round(value, 1) for value in found] == [
        printed[f"{scheme} {m}"] for m in ("MAE", "std")
    ]


def test_files_of_the_authors_evaluation_folder_are_bl_and_dm_count(tmp_path):
    """|error| 2 and 4 of DM-Count in one bin of NWPU, (10.5, 18.5]: mean 3, std 1."""
    (tmp_path / "nwpu_rr.txt").write_text("1,2,12,10\n2,-4,15,19\n")
    (tmp_path / "nwpu_rr_tar_pred_error.txt").write_text("1,1,12,11\n")
    report = reproduce(tmp_path, "--table", "2", "4", "5", "--predictions", tmp_path)
    tables = {name: own(report, name)["own"] for name in "245"}
    assert tables["2"]["NWPU DM-Count", "RR MAE"] == 3 and tables["2"]["NWPU BL", "RR MAE"] == 1
    assert tables["4"].to_dict() == {("λ1 = 1", "λ2 = 1 MAE"): 3, ("λ1 = 1", "λ2 = 1 std"): 1}
    assert tables["5"].to_dict() == {("Multinomial", "RR MAE"): 3, ("Multinomial", "RR std"): 1}


def test_figure_10_in_either_convention(tmp_path, capsys):
    """Errors of 5 objects on 10 and of 60 on 2: half and thirty times the count."""
    (tmp_path / "stb_unbinned_tar_pred_error.txt").write_text("a,5,10,5\nb,-60,2,62\n")
    (tmp_path / "jhu_rr_tar_pred_error.txt").write_text("a,5,10,5\n")
    figures = {}
    for mode in ("paper", "released"):
        words = ["--figure", "10", "--predictions", tmp_path, "--mode", mode]
        report = reproduce(tmp_path, *words)
        curve = pd.read_csv(report / "figure_10_curves.csv")
        figures[mode] = curve.set_index("threshold")["share"]
        assert not (report / "table_2.csv").exists()
    assert (figures["paper"] == 0.5).sum() == 6, "at 5, 10, ..., 30 times the count"
    assert figures["released"][5] == 1 and figures["released"][60] == 0.5
    assert figures["released"][65] == 0
    shown = capsys.readouterr().out
    assert "Measured in the mode paper: the formulas as printed" in shown
    assert "is at least θ, in objects." in shown


@pytest.mark.parametrize("dataset", ["JHU", "NWPU", "STA"])
def test_figure_10_on_the_released_predictions(shared, tmp_path, dataset):
    """Errors of 100 objects counted here from the file, and images without objects, which enter."""
    golden = shared / "golden" / "bincrowd"
    words = ["--figure", "10", "--predictions", golden, "--mode", "released"]
    table = pd.read_csv(reproduce(tmp_path, *words) / "figure_10.csv").set_index("predictions")
    lines = (golden / f"{dataset.lower()}_unbinned_tar_pred_error.txt").read_text().split()
    error, target = np.array([line.split(",")[1:3] for line in lines], float).T
    share = np.mean((np.abs(error) >= 100) | (target == 0))
    assert table.loc[dataset, "share at 100"] == share and 0.1 < share < 0.22


def test_game_of_density_maps(tmp_path):
    """One object in the wrong quarter of one of two images: GAME 2 and 0, mean 1, std 1."""
    for name, at in (("a", (0, 0)), ("b", (5, 5))):
        for folder, place in (("maps/stb", at), ("FIDTM/maps/stb_rr", (5, 5))):
            (tmp_path / folder).mkdir(parents=True, exist_ok=True)
            density = np.zeros((8, 8))
            density[place] = 1
            np.save(tmp_path / folder / f"{name}.npy", density)
    words = ["--table", "3", "--data-root", tmp_path, "--predictions", tmp_path]
    found = own(reproduce(tmp_path, *words), "3")["own"]
    columns = [f"L={k} RR {m}" for k in (1, 2, 3) for m in ("mean", "std")]
    assert found.to_dict() == {("STB FIDTM", column): 1 for column in columns}


def test_maps_of_other_images_are_refused(tmp_path, capsys):
    for folder, name in (("maps/stb", "a"), ("BL/maps/stb_rs", "b"), ("FIDTM/maps/stb_rs", "b")):
        (tmp_path / folder).mkdir(parents=True)
        np.save(tmp_path / folder / f"{name}.npy", np.zeros((8, 8)))
    reproduce(tmp_path, "--table", "3", "--data-root", tmp_path, "--predictions", tmp_path)
    assert "they differ by a.npy, b.npy" in capsys.readouterr().out


def test_files_of_several_models_and_schemes(tmp_path, capsys):
    """Two images in one bin of STB, (19.5, 25.5], and one in the next."""
    text = "a,1,21,20\nb,-2,22,24\nc,3,30,27\n"
    for folder, name in (("DM-Count_txt", "stb_rr_tar_pred_error.txt"), ("bl", "stb_rs.csv")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / name).write_text(text)
    (tmp_path / "bl" / "jhu_unbinned.txt").write_text("a,b\n")
    report = reproduce(tmp_path, "--table", "2", "--predictions", tmp_path)
    found = own(report, "2")["own"]
    assert found["STB DM-Count", "RR MAE"] == pytest.approx(2) and len(found) == 4
    # Within the first bin |error| is 1 and 2: variance 1/4 on two of three images.
    assert found["STB BL", "RS std"] == pytest.approx((2 / 4 / 3) ** 0.5)
    assert "jhu_unbinned.txt of BL is left out" in capsys.readouterr().out


def test_a_second_file_of_the_same_predictions_is_left_out_and_named(tmp_path, capsys):
    """Errors of 1, and in the second folder of 9: the first counts, whose mean error is 1."""
    for folder, error in (("one", 1), ("two", 9)):
        (tmp_path / folder / "bl").mkdir(parents=True)
        (tmp_path / folder / "bl/stb_rs.csv").write_text(f"a,{error},21,{21 - error}\n")
    words = ["--predictions", tmp_path / "one", tmp_path / "two", "--mode", "released"]
    found = own(reproduce(tmp_path, "--table", "2", *words), "2")["own"]
    assert found["STB BL", "RS MAE"] == pytest.approx(1)
    assert f"{tmp_path / 'two/bl/stb_rs.csv'} of BL is left out" in capsys.readouterr().out


def test_nothing_at_hand(tmp_path, capsys):
    reproduce(tmp_path)
    shown = capsys.readouterr().out
    assert "table 2: No predictions: expected files DATASET_unbinned" in shown
    assert "UCF: no Train_ucf.txt" in shown and "table 3: No density maps" in shown
    assert "https://github.com/atmacvit/bincrowd" in shown
