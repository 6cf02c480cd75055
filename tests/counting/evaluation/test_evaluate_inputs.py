"""Where bins and truths come from, and predicted points, from the command line."""

import json

import cv2
import numpy as np
import pandas as pd
import pytest

from autoeval import cli
from autoeval.counting.binning import released_bins
from autoeval.counting.binning.paper import PUBLISHED, published_bins
from autoeval.counting.evaluation.localisation import evaluate_points, read_point_predictions
from autoeval.counting.measures.tper import tper_curve
from autoeval.counting.true_counts import read_truth
from autoeval.errors import InputError

# As the authors list them for gamma = 0.6.
UCF = (
    "49 49.5 51.5 55.5 62.5 73.5 92.5 123.5 175.5 261.5 405.5 644.5 1043.5 1708.5 2816.5 4662.5 "
    "7738.5 12865"
)
STB = "13 13.5 15.5 19.5 25.5 36.5 54.5 83.5 132.5 214.5 351.5 578"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pred.csv").write_text("a,14,15\nb,40,44\nc,570,500\n")
    return tmp_path


def evaluate(*argv):
    return cli.main(["count", "evaluate", *map(str, argv)])


def bins_used():
    with open("count_evaluation/bins.json", encoding="utf-8") as stream:
        return json.load(stream)


@pytest.mark.parametrize(("name", "edges"), [("ucf", UCF), ("stb", STB)])
def test_published_bins_by_name(name, edges):
    assert list(published_bins(name).edges) == [float(edge) for edge in edges.split()]
    assert len(PUBLISHED) == 5


def test_published_bins_on_the_command_line(folder, capsys):
    assert evaluate("pred.csv", "--bins", "stb") == 0
    assert bins_used()["edges"] == [float(edge) for edge in STB.split()]
    assert bins_used()["data_set"] == "stb"
    assert evaluate("pred.csv", "--bins", "shanghai") == 2
    assert "No file of bins shanghai" in capsys.readouterr().err


def test_bins_of_several_files_together(folder):
    (folder / "train.csv").write_text("x,20\ny,33\n")
    (folder / "val.csv").write_text("z,900\n")
    assert evaluate("pred.csv", "--fit-bins", "train.csv", "val.csv") == 0
    assert bins_used()["edges"] == list(released_bins(20, 900).edges)


def test_bins_of_fractional_counts_hold_their_extremes(folder, capsys):
    (folder / "pred.csv").write_text("a,2.4,3\nb,5.5,5\nc,10.4,10\n")
    assert evaluate("pred.csv") == 0
    assert (bins_used()["edges"][0], bins_used()["edges"][-1]) == (2, 11)
    assert "outside the bins" not in capsys.readouterr().out


def test_a_range_beyond_all_memory_is_refused(folder, capsys):
    (folder / "pred.csv").write_text("a,0,1\nb,2000000000,5\n")
    assert evaluate("pred.csv") == 2
    assert "at most 100000 distinct counts" in capsys.readouterr().err
    assert evaluate("pred.csv", "--binning", "paper") == 2


def write_coco(path):
    document = {
        "images": [{"id": k, "file_name": f"day/{k}.jpg"} for k in (1, 2)],
        "categories": [{"id": 1, "name": "car"}, {"id": 2, "name": "person"}],
        "annotations": [
            {"id": k, "image_id": i, "category_id": c, "bbox": [1, 1, 2, 2]}
            for k, (i, c) in enumerate([(1, 1), (1, 1), (1, 2), (2, 1)])
        ],
    }
    path.write_text(json.dumps(document))


@pytest.mark.parametrize("names", [("1", "2"), ("day/1.jpg", "day/2.jpg"), ("1.jpg", "2.jpg")])
def test_coco_truth_by_ids_or_file_names(folder, names):
    write_coco(folder / "coco.json")
    (folder / "pred.csv").write_text(f"{names[0]},2\n{names[1]},5\n")
    assert evaluate("pred.csv", "--truth", "coco.json", "--category", "cars") == 0
    measures = pd.read_csv("count_evaluation/measures.csv")
    assert measures.loc[0, "MAE"] == 2, "2 for 2 and 5 for 1"


def test_an_unknown_category_is_called_so(folder, capsys):
    write_coco(folder / "coco.json")
    assert evaluate("pred.csv", "--truth", "coco.json", "--category", "dogs") == 2
    said = capsys.readouterr().err
    assert "has no category 'dogs'" in said and "car, person" in said and "prompt" not in said
    assert evaluate("pred.csv", "--category", "cars") == 2
    assert "neither --truth nor --fit-bins is a COCO file" in capsys.readouterr().err
    with pytest.raises(InputError, match="can be chosen of COCO annotations only"):
        read_truth(folder / "pred.csv", "cars")


def test_tper_as_printed():
    """Equation 12: an image without objects counts at every threshold, even when it is right."""
    curve = tper_curve([0, 10], [0, 15], convention="paper")
    assert curve.thresholds[[0, -1]].tolist() == [0, 100]
    # The error is half the count: below 5 times the count, the second threshold.
    assert curve.ratio.tolist() == [1, *[0.5] * 20]
    assert tper_curve([0, 10], [0, 15]).ratio[1] == 0.5


POINTS = {
    "a": [[10, 10], [50, 10], [10, 50]],
    "b": {"points": [[5, 5], [60, 60]], "H": 64, "W": 64},
}


@pytest.fixture
def points(folder):
    (folder / "truth.json").write_text(json.dumps(POINTS))
    of_a = {"points": [[11, 10], [50, 17]], "scores": [0.9, 0.8]}
    found = {"a": of_a, "b": [[5, 5, 0.7], [60, 60, 0.95]], "z": None}
    (folder / "net.json").write_text(json.dumps(found))
    return folder


def test_predicted_points_are_counted_and_placed(points, capsys):
    assert evaluate("net.json", "--truth", "truth.json", "--match-distance", "2", "8") == 0
    printed = capsys.readouterr().out
    table = pd.read_csv("count_evaluation/localisation.csv", index_col="measure")["net"]
    # Within 2 px: one of a, both of b, of 4 predicted and 5 true points; within 8 all four.
    assert table["precision within 2 px"] == 3 / 4 and table["recall within 2 px"] == 3 / 5
    assert table["F1 within 8 px"] == pytest.approx(8 / 9)
    assert table["GAME(0)"] == table["GAME(3)"] == 0, "b alone has a size"
    assert "GAME leaves out 1 images of unknown size (a)" in printed
    measures = pd.read_csv("count_evaluation/measures.csv")
    assert measures.loc[0, "MAE"] == 0.5 and "Where it counts" in page()


def page():
    with open("count_evaluation/report.html", encoding="utf-8") as stream:
        return stream.read()


def test_sizes_from_the_images(points):
    (points / "images").mkdir()
    cv2.imwrite("images/a.jpg", np.zeros((64, 64, 3), np.uint8))
    found = read_point_predictions("net.json")
    truth = read_truth(points / "truth.json")
    result = evaluate_points("net", found, truth, images=points / "images")
    table = result.table.set_index("measure")
    # a: of GAME(0) one is missing; the second prediction is in the same tile of 8 only by luck: no.
    assert table.loc["GAME(0)", "value"] == 0.5 and table.loc["GAME(0)", "images"] == 2
    assert table.loc["GAME(3)", "value"] == pytest.approx((1 + 2 + 0) / 2)
    assert result.notes == ("1 images without true or predicted points: z",)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{}", "expected an object with the points"),
        ('{"a": [[1]]}', r"1 of 1 images are malformed \(a: expected"),
        ('{"a": {"points": [[1, 2]], "scores": []}}', "1 points and 0 scores"),
        ('{"a": 7}', "malformed"),
    ],
)
def test_malformed_points(folder, content, message):
    (folder / "p.json").write_text(content)
    with pytest.raises(InputError, match=message):
        read_point_predictions("p.json")


def test_points_need_a_truth(points, capsys):
    assert evaluate("net.json") == 2
    assert "give --truth FILE" in capsys.readouterr().err
