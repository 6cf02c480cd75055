"""Where bins and truths come from, and predicted points, from the command line."""

import json
import os
import subprocess
import sys
from pathlib import Path

import cv2
import numpy as np
import pandas as pd
import pytest
from counting_files import write_boxes

from autoeval import cli
from autoeval.counting.binning import published_bins, released_bins
from autoeval.counting.evaluation.inputs import read_inputs
from autoeval.counting.evaluation.localisation import evaluate_points, read_point_predictions
from autoeval.counting.true_counts import read_truth
from autoeval.errors import InputError


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


WITHOUT_NETWORKS = """
import sys
sys.modules |= dict.fromkeys(("torch", "mmengine", "mmdet"))  # importing them is an error
from autoeval.cli import main
assert main("count evaluate pred.csv --work-dir out".split()) == 0
assert main("count leaderboard out".split()) == 0
assert main("count run --counter ones.py:ones --images images --work-dir counts".split()) == 0
places = "count evaluate counts/ones/points.json --truth boxes.json --category cars --bins nwpu"
assert main(places.split()) == 0
assert main("reproduce binned --predictions .".split()) == 0
"""


def test_files_and_functions_need_the_light_installation_only(folder):
    """What finds the category of a truth was in the module of detectors, which imports torch."""
    (folder / "images").mkdir()
    cv2.imwrite(str(folder / "images" / "a.png"), np.zeros((20, 20, 3), np.uint8))
    (folder / "ones.py").write_text("def ones(image, prompt):\n    return [[5, 5], [9, 9]]\n")
    boxes = [("a.png", "car", [4, 4, 2, 2]), ("a.png", "dog", [8, 8, 2, 2])]
    write_boxes(folder / "boxes.json", ["a.png"], ["car", "dog"], boxes, (20, 20))
    root = Path(cli.__file__).parents[1]
    command = [sys.executable, "-c", WITHOUT_NETWORKS]
    environment = {**os.environ, "PYTHONPATH": str(root)}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    measures = pd.read_csv(folder / "count_evaluation" / "measures.csv")
    assert measures["MAE"].tolist() == [1]


def test_where_bins_come_from(folder, capsys):
    assert evaluate("pred.csv", "--bins", "stb") == 0
    assert bins_used()["edges"] == list(published_bins("stb").edges)
    assert bins_used()["data_set"] == "stb"
    assert evaluate("pred.csv", "--bins", "shanghai") == 2
    assert "No file of bins shanghai" in capsys.readouterr().err
    (folder / "train.csv").write_text("x,20\ny,33\n")
    (folder / "val.csv").write_text("z,900\n")
    assert evaluate("pred.csv", "--fit-bins", "train.csv", "val.csv") == 0
    assert bins_used()["edges"] == list(released_bins(20, 900).edges)
    capsys.readouterr()
    (folder / "pred.csv").write_text("a,2.4,3\nb,5.5,5\nc,10.4,10\n")
    assert evaluate("pred.csv") == 0
    assert (bins_used()["edges"][0], bins_used()["edges"][-1]) == (2, 11)
    assert "outside the bins" not in capsys.readouterr().out
    (folder / "pred.csv").write_text("a,0,1\nb,2000000000,5\n")
    assert evaluate("pred.csv") == 2
    assert "at most 100000 distinct counts" in capsys.readouterr().err
    assert evaluate("pred.csv", "--binning", "paper") == 2


def test_bins_of_fsc_147_are_of_its_training_images(folder):
    n_points = {"1.jpg": 2, "2.jpg": 9, "3.jpg": 60}
    content = {name: {"points": [[1, 1]] * n} for name, n in n_points.items()}
    (folder / "annotation_FSC147_384.json").write_text(json.dumps(content))
    splits = {"train": ["1.jpg", "2.jpg"], "test": ["3.jpg"]}
    (folder / "Train_Test_Val_FSC_147.json").write_text(json.dumps(splits))
    assert evaluate("pred.csv", "--fit-bins", folder) == 0
    assert bins_used()["edges"] == list(released_bins(2, 9).edges)


def test_the_last_bin_may_be_open(folder):
    (folder / "open.json").write_text("[0, 40, Infinity]")
    assert evaluate("pred.csv", "--bins", "open.json") == 0
    table = pd.read_csv("count_evaluation/per_bin.csv")
    assert table["n"].tolist() == [2, 1] and table["mean"].tolist() == [2.5, 70]
    assert evaluate("pred.csv", "--bins", "count_evaluation/bins.json") == 0


def write_coco(path):
    first, second = names = ["day/1.jpg", "day/2.jpg"]
    found = [(first, "car"), (first, "car"), (first, "person"), (second, "car")]
    boxes = [(name, category, [1, 1, 2, 2]) for name, category in found]
    write_boxes(path, names, ["car", "person"], boxes)


@pytest.mark.parametrize("names", [("1", "2"), ("day/1.jpg", "day/2.jpg"), ("1.jpg", "2.jpg")])
def test_coco_truth_by_ids_or_file_names(folder, names):
    write_coco(folder / "coco.json")
    (folder / "pred.csv").write_text(f"{names[0]},2\n{names[1]},5\n")
    assert evaluate("pred.csv", "--truth", "coco.json", "--category", "cars") == 0
    measures = pd.read_csv("count_evaluation/measures.csv")
    assert measures.loc[0, "MAE"] == 2, "2 for 2 and 5 for 1"


def test_coco_truth_by_file_names_that_are_no_ids(folder):
    names = ["east.jpg", "west.jpg"]
    boxes = [(name, "car", [1, 1, 2, 2]) for name in ("east.jpg", "east.jpg", "west.jpg")]
    write_boxes(folder / "coco.json", names, ["car"], boxes)
    (folder / "pred.csv").write_text("east.jpg,2\nwest.jpg,4\n")
    assert evaluate("pred.csv", "--truth", "coco.json") == 0
    measures = pd.read_csv("count_evaluation/measures.csv")
    assert measures.loc[0, "MAE"] == 1.5, "2 for 2 and 4 for 1"


def test_an_unknown_category_is_called_so(folder, capsys):
    write_coco(folder / "coco.json")
    assert evaluate("pred.csv", "--truth", "coco.json", "--category", "dogs") == 2
    said = capsys.readouterr().err
    assert "has no category 'dogs'" in said and "car, person" in said and "prompt" not in said
    assert evaluate("pred.csv", "--category", "cars") == 2
    assert "neither --truth nor --fit-bins is a COCO file" in capsys.readouterr().err
    with pytest.raises(InputError, match="can be chosen of COCO annotations only"):
        read_truth(folder / "pred.csv", "cars")


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


def test_predicted_points_are_counted_and_placed_and_need_a_truth(points, capsys):
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
    assert evaluate("net.json") == 2
    assert "give --truth FILE" in capsys.readouterr().err


def test_a_point_alone_in_an_image_of_unknown_size_is_in_no_nap(folder):
    """Its distance to others is the diagonal, which was taken for that of a pixel."""
    truth = {"one": [[40, 40]], "two": [[0, 0], [0, 10]]}
    found = {"one": [[42, 40]], "two": [[0, 1], [0, 40]]}
    (folder / "truth.json").write_text(json.dumps(truth))
    (folder / "net.json").write_text(json.dumps(found))
    predicted = read_point_predictions("net.json")
    result = evaluate_points("net", predicted, read_truth(folder / "truth.json"))
    table = result.table.set_index("measure")
    # of two: the first of two equally scored predictions is 1 px off, a tenth of the distance
    assert table.loc["nAP@0.5", "images"] == 1 and table.loc["nAP@0.5", "value"] == 0.25
    assert any(note.startswith("nAP leaves out 1 ") and "one" in note for note in result.notes)
    sized = {name: {"points": points, "H": 60, "W": 80} for name, points in found.items()}
    (folder / "net.json").write_text(json.dumps(sized))
    predicted = read_point_predictions("net.json")
    table = evaluate_points("net", predicted, read_truth(folder / "truth.json")).table
    assert table.set_index("measure").loc["nAP@0.5", "images"] == 2


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


def test_an_image_with_fewer_pixels_than_tiles_is_named(folder):
    truth = {"a": {"points": [[3, 3]], "H": 7, "W": 64}, "b": {"points": [[9, 9]], "H": 8, "W": 8}}
    (folder / "truth.json").write_text(json.dumps(truth))
    (folder / "net.json").write_text(json.dumps({"a": [[3, 3]], "b": [[7, 7]]}))
    found, read = read_point_predictions("net.json"), read_truth(folder / "truth.json")
    result = evaluate_points("net", found, read)
    assert result.table.set_index("measure").loc["GAME(3)", "images"] == 1
    (note,) = result.notes
    assert note.startswith("GAME leaves out 1 images under 8 pixels") and note.endswith(": a")


def frames(folder, truth, found):
    (folder / "truth.json").write_text(json.dumps(truth))
    (folder / "net.json").write_text(json.dumps(found))
    return evaluate("net.json", "--truth", "truth.json", "--bins", "stb")


LEFT = [[100, 100]] * 40
RIGHT = [[400, 100]] * 40


def test_fsc_147s_points_in_the_wrong_half_are_wrong(folder):
    """Its H and W are those of original images; in that frame both halves would be one tile."""
    entry = {"H": 1536, "W": 2048, "points": LEFT, "box_examples_coordinates": []}
    assert frames(folder, {"2.jpg": entry}, {"2.jpg": RIGHT}) == 0
    table = pd.read_csv("count_evaluation/localisation.csv", index_col="measure")["net"]
    assert table["GAME(0)"] == 0 and table["GAME(1)"] == 80, "40 too few, 40 too many"


def test_frames_of_two_sizes_are_refused_or_rescaled(folder, capsys):
    truth = {"a": {"points": [[600, 400], [20, 700]], "H": 768, "W": 1024}}
    found = {"a": {"points": [[300, 200], [10, 350]], "H": 384, "W": 512}}
    assert frames(folder, truth, found) == 2
    said = capsys.readouterr().err
    assert "truth 768 x 1024, predictions 384 x 512" in said and "--rescale" in said
    assert evaluate("net.json", "--truth", "truth.json", "--rescale", "--bins", "stb") == 0
    table = pd.read_csv("count_evaluation/localisation.csv", index_col="measure")["net"]
    assert table["F1 within 4 px"] == 1 and table["GAME(3)"] == 0
    found["a"]["W"] = 384
    frames(folder, truth, found)
    assert evaluate("net.json", "--truth", "truth.json", "--rescale", "--bins", "stb") == 2
    assert "another shape" in capsys.readouterr().err


def test_points_beyond_the_only_size_that_is_known_are_of_another_frame(folder, capsys):
    truth = {"a": [[600, 400], [20, 700]]}
    assert frames(folder, truth, {"a": {"points": [[30, 20]], "H": 384, "W": 512}}) == 2
    assert "2 of 2 true points lie outside the images" in capsys.readouterr().err
    truth = {"a": {"points": [[30, 20]], "H": 384, "W": 512}}
    assert frames(folder, truth, {"a": [[600, 400], [20, 30]]}) == 2
    assert "1 of 2 predicted points" in capsys.readouterr().err


def test_points_as_shares_of_the_image_are_refused(folder, capsys):
    pixels = [[50 * k + 1, 30 * k + 1] for k in range(10)]
    truth = {"a": {"points": pixels, "H": 384, "W": 512}}
    shares = [[x / 512, y / 384] for x, y in pixels]
    assert frames(folder, truth, {"a": shares}) == 2
    assert "all 10 predicted points lie in [0, 1]" in capsys.readouterr().err
    assert frames(folder, truth, {"a": pixels}) == 0


def test_points_beyond_images_on_disk_are_of_another_frame(folder, capsys):
    """GAME put all of them into its last tile, and found them in one place."""
    cv2.imwrite(str(folder / "a.png"), np.zeros((64, 64, 3), np.uint8))
    (folder / "bins.json").write_text("[0, 5]")
    (folder / "maps").mkdir()
    np.save(folder / "maps" / "a.npy", np.full((8, 8), 3 / 64))
    given = ["--truth", "truth.json", "--bins", "bins.json", "--images", folder]
    true, found = [[60, 60], [5, 5], [30, 9]], [[60, 5], [5, 60], [30, 62]]
    for scale, code in ((1, 0), (10, 2)):
        for name, points in (("truth", true), ("net", found)):
            scaled = [[scale * x, scale * y] for x, y in points]
            (folder / f"{name}.json").write_text(json.dumps({"a": scaled}))
        for predictions in ("net.json", "maps"):
            assert evaluate(predictions, *given) == code
            text = "2 of 3 true points lie outside the images, whose sizes are 64 x 64"
            assert (text in capsys.readouterr().err) == (code == 2)
            if predictions == "net.json" and code == 0:
                table = pd.read_csv("count_evaluation/localisation.csv", index_col="measure")
                assert table.loc["GAME(3)", "net"] == 6


@pytest.mark.parametrize("file", ["a.png", "a.jpg", "a.JPEG", "a.bmp", "a.tif", "b/a.jpeg"])
def test_sizes_of_images_are_found_as_images_are_joined(folder, file):
    """GAME left out images with any other suffix as not there."""
    (folder / "images" / "b").mkdir(parents=True)
    cv2.imwrite(str(folder / "images" / file), np.zeros((64, 64, 3), np.uint8))
    (folder / "bins.json").write_text("[0, 5]")
    (folder / "truth.json").write_text(json.dumps({"a": [[60, 60], [5, 5], [30, 9]]}))
    (folder / "net.json").write_text(json.dumps({"x/a": [[60, 5], [5, 60], [30, 62]]}))
    given = ["--truth", "truth.json", "--bins", "bins.json", "--images", "images"]
    assert evaluate("net.json", *given) == 0
    table = pd.read_csv("count_evaluation/localisation.csv", index_col="measure")
    assert table.loc["GAME(3)", "net"] == 6


def test_density_maps_are_counted_and_placed(folder):
    (folder / "maps").mkdir()
    density = np.zeros((8, 8))
    density[0, 0], density[7, 7] = 2, 1.5
    np.save("maps/a.npy", density)
    truth = {"a.jpg": {"points": [[5, 5], [60, 5], [60, 60]], "H": 64, "W": 64}}
    (folder / "truth.json").write_text(json.dumps(truth))
    assert evaluate("maps", "--truth", "truth.json", "--bins", "stb") == 0
    assert pd.read_csv("count_evaluation/measures.csv").loc[0, "MAE"] == 0.5
    table = pd.read_csv("count_evaluation/localisation.csv", index_col="measure")["maps"]
    # Too many by 1 in the first tile and .5 in the last, one missed at the top right.
    assert table["GAME(0)"] == 0.5 and table["GAME(1)"] == table["GAME(3)"] == 2.5
    assert evaluate("maps") == 2
    np.save("maps/a.npy", density * 1j)
    assert evaluate("maps", "--truth", "truth.json", "--bins", "stb") == 2


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_map_that_is_not_finite_gives_no_count_and_spoils_no_mean(folder, capsys, bad):
    (folder / "maps").mkdir()
    density = np.zeros((8, 8))
    density[0, 0] = 2
    np.save("maps/a.npy", density)
    np.save("maps/b.npy", np.full((8, 8), bad))
    truth = {name: {"points": [[5, 5]], "H": 64, "W": 64} for name in "ab"}
    (folder / "truth.json").write_text(json.dumps(truth))
    assert evaluate("maps", "--truth", "truth.json", "--bins", "stb") == 0
    assert "1 images whose map is not finite (b)" in capsys.readouterr().out
    table = pd.read_csv("count_evaluation/localisation.csv", index_col="measure")["maps"]
    assert table["GAME(0)"] == table["GAME(3)"] == 1
    measures = pd.read_csv("count_evaluation/measures.csv").loc[0]
    assert (measures["MAE"], measures["skipped"]) == (1, 1)


OWN_NAMES = [
    ("images/IMG_1.jpg", "ground-truth/GT_IMG_1.mat", "ground-truth"),  # ShanghaiTech
    ("Test/img_0001.jpg", "Test/img_0001_ann.mat", "Test"),  # UCF-QNRF
    ("images/0001.jpg", "gt/0001.txt", "."),  # JHU-Crowd++
    ("images/0001.jpg", "jsons/0001.json", "jsons"),  # NWPU-Crowd
    ("images_384_VarV2/2.jpg", "annotation_FSC147_384.json", "."),  # FSC-147
]


@pytest.mark.parametrize(("image", "annotation", "truth"), OWN_NAMES)
def test_counts_of_a_folder_join_the_truth_of_each_data_set(folder, image, annotation, truth):
    """As `count run` calls images, and the data sets their annotations."""
    from scipy.io import savemat

    image, annotation = folder / image, folder / annotation
    for path in (image, annotation):
        path.parent.mkdir(exist_ok=True)
    cv2.imwrite(str(image), np.zeros((384, 512, 3), np.uint8))
    points = [[10.0, 20.0], [30.0, 40.0]]
    if annotation.suffix == ".mat":
        savemat(annotation, {"annPoints": np.array(points)})
    elif annotation.suffix == ".txt":
        annotation.write_text("10 20 5 5 1 0\n30 40 5 5 1 0\n")
    else:
        of_one = {"img_id": "0001.jpg", "human_num": 2, "points": points}
        many = {"2.jpg": {"H": 768, "W": 1024, "points": points}}
        annotation.write_text(json.dumps(of_one if "jsons" in truth else many))
    (folder / "three.py").write_text("def three(image, prompt):\n    return 3\n")
    images, counter = str(image.parent), "three.py:three"
    assert cli.main(["count", "run", "--counter", counter, "--images", images]) == 0
    assert evaluate("counts/three/predictions.csv", "--truth", truth, "--bins", "stb") == 0
    assert pd.read_csv("count_evaluation/measures.csv").loc[0, "MAE"] == 1


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


def test_one_image_to_rescale_lets_no_other_pass_in_another_frame(folder, capsys):
    """Image a has both sizes, b that of the truth alone, which its point is beyond."""
    small, large = {"H": 384, "W": 512}, {"H": 768, "W": 1024}
    truth = {"a": {"points": [[600, 400]], **large}, "b": {"points": [[30, 20]], **small}}
    frames(folder, truth, {"a": {"points": [[300, 200]], **small}, "b": [[600, 400]]})
    assert evaluate("net.json", "--truth", "truth.json", "--rescale", "--bins", "stb") == 2
    assert "1 of 1 predicted points" in capsys.readouterr().err


@pytest.mark.parametrize("order", [1, -1])
def test_separate_files_may_be_of_several_splits_of_one_truth(folder, order):
    """The split of the first file was that of all: files of another were refused, or cut."""
    points = {f"{k}.jpg": {"points": [[5, 5]] * k} for k in range(1, 7)}
    (folder / "annotation_FSC147_384.json").write_text(json.dumps(points))
    splits = {"val": ["1.jpg", "2.jpg"], "test": ["3.jpg", "4.jpg"], "train": ["5.jpg", "6.jpg"]}
    (folder / "Train_Test_Val_FSC_147.json").write_text(json.dumps(splits))
    (folder / "val.csv").write_text("1.jpg,9\n2.jpg,9\n")
    (folder / "test.json").write_text(json.dumps({"3": [[5, 5]], "4.jpg": [[5, 5]]}))
    (folder / "mixed.csv").write_text("2,9\n3,9\n")
    paths = [Path("val.csv"), Path("test.json"), Path("mixed.csv")][::order]
    inputs = read_inputs(paths, folder, category=None, separate=True)
    targets = {model.name: model.target.tolist() for model in inputs.models}
    assert targets == {"val": [1, 2], "test": [3, 4], "mixed": [2, 3]}
    notes = {model.name: len(model.notes) for model in inputs.models}
    assert notes == {"val": 0, "test": 0, "mixed": 1}  # of the other images of the truth
    assert sum("The truth is that of the split" in note for note in inputs.notes) == 2


@pytest.mark.parametrize(("folder_of", "n"), [("val", 2), ("test", 0), ("images", 0), ("", 0)])
def test_images_of_another_split_are_named(folder, folder_of, n):
    (folder / "truth.csv").write_text("id,count\ndata/test/1.jpg,2\ndata/test/2.jpg,4\n")
    names = [f"{folder_of}/{k}.jpg".lstrip("/") for k in (1, 2)]
    (folder / "m.csv").write_text("id,pred\n" + "".join(f"{name},3\n" for name in names))
    (folder / "p.json").write_text(json.dumps({name: [[1, 1]] for name in names}))
    paths = [Path("m.csv"), Path("p.json")]
    inputs = read_inputs(paths, Path("truth.csv"), category=None, separate=False)
    assert [model.target.tolist() for model in inputs.models] == [[2, 4], [2, 4]]
    named = [f"{name}: {n} images are of another split" for name in ("m", "p")] * bool(n)
    assert [note[: len(start)] for note, start in zip(inputs.notes, named, strict=True)] == named


def test_each_file_names_images_in_its_own_way_whatever_the_order_of_the_files(folder):
    """Ids from 0, files from 1: ids of a second file were taken for the files of other images."""
    images = [{"id": k, "file_name": f"{k + 1}.jpg", "width": 90, "height": 90} for k in range(4)]
    boxes = [
        {"id": 10 * k + j, "image_id": k, "category_id": 1, "bbox": [9 * j, 5, 4, 4], "area": 16}
        for k in range(4)
        for j in range(3 * k + 1)
    ]
    truth = {"images": images, "annotations": boxes, "categories": [{"id": 1, "name": "car"}]}
    (folder / "coco.json").write_text(json.dumps(truth))
    (folder / "files.csv").write_text("1.jpg,2\n2.jpg,5\n3.jpg,8\n4.jpg,11\n")
    (folder / "ids.csv").write_text("0,1\n1,4\n2,7\n3,10\n")
    placed = {str(k): [[9 * j + 2, 7] for j in range(3 * k + 1)] for k in range(4)}
    (folder / "places.json").write_text(json.dumps(placed))
    files = ["files.csv", "ids.csv", "places.json"]
    for given in (files, files[::-1]):
        assert evaluate(*given, "--truth", "coco.json") == 0
        measures = pd.read_csv("count_evaluation/measures.csv").set_index("model")
        assert measures["MAE"].to_dict() == {"files": 1, "ids": 0, "places": 0}
        assert measures["counted"].eq(4).all()
        table = pd.read_csv("count_evaluation/localisation.csv").set_index("measure")["places"]
        assert table["F1 within 4 px"] == 1 and table["GAME(3)"] == 0


def test_two_files_that_differ_in_their_suffix_are_two_models(folder):
    """The counts of the table were those of the points."""
    (folder / "truth.json").write_text(json.dumps({"a": [[1, 1], [9, 9]], "b": [[5, 5]]}))
    (folder / "net.json").write_text(json.dumps({"a": [[1, 1], [9, 9]], "b": [[5, 5]]}))
    (folder / "net.csv").write_text("a,0\nb,0\n")
    for more in ([], ["--separate"]):
        assert evaluate("net.csv", "net.json", "--truth", "truth.json", *more) == 0
        measures = pd.read_csv("count_evaluation/measures.csv").set_index("model")
        assert measures["MAE"].to_dict() == {"net.csv": 1.5, "net.json": 0}


def test_places_are_compared_on_the_images_that_all_models_answered(folder):
    """GAME(0) is the MAE; it was that of each model's own images."""
    truth = {i: {"points": [[9, 9], [40, 40]], "H": 64, "W": 64} for i in "abcd"}
    (folder / "truth.json").write_text(json.dumps(truth))
    both, none = truth["a"]["points"], list[list[int]]()
    (folder / "whole.json").write_text(json.dumps({"a": both, "b": both[:1], "c": none, "d": none}))
    (folder / "part.json").write_text(json.dumps({"a": both, "b": both, "c": None}))
    (folder / "bins.json").write_text("[0, 5]")
    given = ["whole.json", "part.json", "--truth", "truth.json", "--bins", "bins.json"]
    assert evaluate(*given) == 0
    table = pd.read_csv("count_evaluation/localisation.csv").set_index("measure")
    measures = pd.read_csv("count_evaluation/measures.csv").set_index("model")
    assert table.loc["GAME(0)"].to_dict() == measures["MAE"].to_dict() == {"whole": 0.5, "part": 0}
    assert table.loc["recall within 8 px"].to_dict() == {"whole": 0.75, "part": 1}
    assert evaluate(*given, "--separate") == 0
    table = pd.read_csv("count_evaluation/localisation.csv").set_index("measure")
    assert table.loc["GAME(0)"].to_dict() == {"whole": 1.25, "part": 0}
