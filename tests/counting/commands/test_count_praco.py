"""``autoeval count praco`` from the command line to the files it leaves."""

import shutil

import cv2
import numpy as np
import pandas as pd
import pytest
from counting_files import write_boxes, write_fsc147

from autoeval.cli import main

SIZE = 40
PER_CLASS = 4
CLASSES = ["red", "green", "blue"]

COUNTER = """
import cv2
import numpy as np
from autoeval.counting.counters import CountResult

class ColourCounter:
    '''Counts dots of the named colour; exact, also at half the height.'''

    def __init__(self, name="colours", always=None, kinds=("count", "points")):
        self.name, self.always, self.capabilities = name, always, frozenset(kinds)

    def count(self, image, prompt, context=None):
        channel = ["blue", "green", "red"].index(self.always or prompt)
        others = [k for k in range(3) if k != channel]
        hit = (image[..., channel] > 90) & (image[..., others] < 60).all(-1)
        points = cv2.connectedComponentsWithStats(hit.astype(np.uint8))[3][1:]
        if "points" not in self.capabilities:
            return CountResult(float(len(points)))
        return CountResult(float(len(points)), points=points)
"""


@pytest.fixture
def data(tmp_path, monkeypatch):
    """Black images with dots of one colour, in FSC-147's layout, and three counters."""
    root = tmp_path / "fsc"
    (root / "images_384_VarV2").mkdir(parents=True)
    rng = np.random.default_rng(0)
    objects = {}
    for k in range(PER_CLASS * len(CLASSES)):
        name, colour = f"{k}.png", CLASSES[k % 3]
        image = np.zeros((SIZE, SIZE, 3), np.uint8)
        at = rng.choice(100, 1 + k, replace=False)
        points = [[4 * int(p % 10) + 1, 4 * int(p // 10) + 1] for p in at]
        for x, y in points:
            image[y - 1 : y + 1, x - 1 : x + 1, ["blue", "green", "red"].index(colour)] = 255
        cv2.imwrite(str(root / "images_384_VarV2" / name), image)
        objects[name] = (colour, points)
    write_fsc147(root, objects)
    (tmp_path / "colour_counter.py").write_text(COUNTER)
    for name, more in (
        ("good", ""),
        ("stubborn", ", name='stubborn', always='red'"),
        ("speaks", ", name='speaks', kinds=['count']"),
    ):
        text = f"counter = dict(type='colour_counter.ColourCounter'{more})"
        (tmp_path / f"{name}.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*words):
    return main(["count", "praco", "--data", "fsc", "--n-resamples", "50", *map(str, words)])


@pytest.mark.usefixtures("drawn_here")
def test_two_counters_end_to_end(data, capsys):
    """The one reads its prompt, the other counts red dots whatever it is asked."""
    words = ["--counter", "good.py", "--counter", "stubborn.py", "--work-dir", "out"]
    assert run(*words, "--mode", "released") == 0
    shown = capsys.readouterr().out
    assert "colours" in shown and "Measured in the mode released" in shown
    table = pd.read_csv("out/measures.csv", index_col="model")
    assert table.loc["colours", ["NMN", "PCCN", "MAE"]].tolist() == [0, 100, 0]
    assert table.loc["colours", ["CntP", "CntR", "CntF1"]].tolist() == [1, 1, 1]
    # Right on red images, where it says as much of green and blue: NMN 1; 0 on all others.
    assert table.loc["stubborn", "NMN"] == pytest.approx(1 / 3)
    assert table.loc["stubborn", "PCCN"] == 0, "red: 0 < 0 is a tie; others: g < g is one, too"
    differences = pd.read_csv("out/differences.csv").set_index("measure")
    assert differences.loc["NMN", "better"] == "colours"
    page = (data / "out" / "report.html").read_text()
    assert page.count("data:image/") >= 3 + 12, "heat maps, a box plot and panels"
    assert "stubborn" in page and "spurious" in page
    assert (data / "out" / "colours" / "Inference_Test2_Upper_colours_test.csv").exists()
    per_class = pd.read_csv("out/stubborn/per_class.csv", index_col=0)
    assert per_class.loc["red", "NMN"] == 1
    assert per_class.loc["red", "most confused with"] in ("green", "blue")
    assert len(pd.read_csv("out/colours/per_image.csv")) == 12
    figures = {path.name for path in (data / "out" / "figures").iterdir()}
    names = ["confusion_colours", "confusion_stubborn", "drift"]
    assert figures == {f"{name}.{suffix}" for name in names for suffix in ("png", "svg")}
    for table in ("measures", "intervals", "differences", "undefined"):
        assert (data / "out" / f"{table}.csv").stat().st_size
    assert not (data / "out" / "figures" / "drift.svg").read_text().count("<dc:date>")


def test_its_own_prediction_files_give_the_same_measures_without_images(data):
    run("--counter", "stubborn.py", "--work-dir", "out")
    shutil.rmtree("fsc/images_384_VarV2")
    first = pd.read_csv("out/measures.csv")
    places = [name for name in first if name.startswith("localised")]
    assert len(places) == 4, "files of counts say nothing of places"
    for folder in ("out/stubborn", "out"):
        assert run("--predictions", folder, "--work-dir", "again") == 0
        second = pd.read_csv("again/measures.csv")
        pd.testing.assert_frame_equal(first.drop(columns=places), second)


def test_pairs_of_a_file_all_pairs_and_the_paper_mode(data, capsys):
    run("--counter", "good.py", "--work-dir", "out")
    words = ("--counter", "good.py", "--mode", "paper", "--pairs", "out/mosaic_pairs.csv")
    assert run(*words, "--work-dir", "paper") == 0
    assert "spurious" not in (data / "paper" / "report.html").read_text()
    pairs = [(data / name / "mosaic_pairs.csv").read_text() for name in ("out", "paper")]
    assert pairs[0] == pairs[1]
    words = ("--counter", "good.py", "--pairs", "all", "--layout", "paper")
    run(*words, "--mode", "paper", "--work-dir", "all")
    table = pd.read_csv("all/measures.csv", index_col="model")
    assert len(pd.read_csv("all/mosaic_pairs.csv")) == 12 * 8
    assert table.loc["colours", ["CntP", "CntR", "CntF1"]].tolist() == [1, 1, 1]
    (data / "multi.txt").write_text("0\n1.png\n")
    assert run("--counter", "good.py", "--exclude", "multi.txt", "--work-dir", "out") == 0
    assert "excluded, on the exclusion list: 2 images (0.png, 1.png)" in capsys.readouterr().out
    assert len(pd.read_csv("out/colours/per_image.csv")) == 10


def test_counts_only_take_the_negative_test_alone(data, capsys):
    assert run("--counter", "speaks.py", "--work-dir", "out") == 0
    table = pd.read_csv("out/measures.csv", index_col="model")
    assert table.loc["speaks", "PCCN"] == 100 and np.isnan(table.loc["speaks", "CntF1"])
    assert "speaks gives counts only" in capsys.readouterr().out
    assert "CntF1 nan" not in (data / "out" / "report.html").read_text()


@pytest.fixture
def coco(data):
    """Two images: two red dots and a green one, which is every class; one green dot."""
    (data / "coco" / "images").mkdir(parents=True)
    dots = [("x.png", "red", 3, 5), ("x.png", "red", 30, 5), ("x.png", "green", 10, 35)]
    dots.append(("y.png", "green", 30, 5))
    images = {name: np.zeros((SIZE, SIZE, 3), np.uint8) for name in ("x.png", "y.png")}
    for name, colour, x, y in dots:
        images[name][y, x, ["blue", "green", "red"].index(colour)] = 255
    for name, image in images.items():
        cv2.imwrite(str(data / "coco" / "images" / name), image)
    boxes = [(name, colour, [x - 0.5, y - 0.5, 1, 1]) for name, colour, x, y in dots]
    path = data / "coco" / "annotations.json"
    write_boxes(path, [*images], ["red", "green"], boxes, size=(SIZE, SIZE))
    return ["--data", "coco", "--multi-class", "--n-resamples", "50"]


def test_several_classes_in_an_image(data, coco, capsys):
    """PrACo++ on a COCO file with an image of two classes."""
    words = [*coco, "--counter", "stubborn.py", "--counter", "good.py", "--work-dir", "out"]
    assert main(["count", "praco", *words, "--mode", "released"]) == 0
    found = pd.read_csv("out/measures.csv", index_col="model").loc["stubborn"]
    # x: red 2 of 2, green 2 (red ones, in other tiles) for 1. y: 0 for 1.
    assert found["MAE macro"] == pytest.approx((0.5 + 1) / 2)
    assert found["MAE micro"] == pytest.approx((0 + 1 + 1) / 3)
    assert found["localised MAE macro"] == pytest.approx(((0 + 3) / 2 + 1) / 2)
    assert found["localised MAE micro"] == pytest.approx((0 + 3 + 1) / 3)
    assert found["localised TP micro"] == pytest.approx(2 / 3)
    places = pd.read_csv("out/stubborn/localised.csv").set_index(["image", "class"])
    assert places.loc[("x.png", "red"), "f1"] == 1 and places.loc[("x.png", "green"), "recall"] == 0
    assert "1 images hold every class (x.png): they count as 0" in capsys.readouterr().out
    page = (data / "out" / "report.html").read_text()
    assert "PrACo++ on coco" in page and "paired bootstrap" in page
    intervals = pd.read_csv("out/intervals.csv", index_col="measure")
    assert intervals.loc["localised MAE micro", "stubborn"].startswith("1.333 [")
    # x holds both classes; of y the counter is right and 0 < 1 is near.
    words = [*coco, "--counter", "good.py", "--work-dir", "paper"]
    assert main(["count", "praco", *words]) == 0
    for folder, near in (("out", 50), ("paper", 100)):
        table = pd.read_csv(f"{folder}/measures.csv", index_col="model")
        assert table.loc["colours", "PCCN one at a time"] == near


def test_multi_class_prediction_files_give_the_same_measures(data, coco):
    main(["count", "praco", *coco, "--counter", "stubborn.py", "--work-dir", "out"])
    answers = pd.read_parquet("out/stubborn/negative.parquet")
    (data / "theirs" / "stubborn" / "density_maps").mkdir(parents=True)
    table = answers.pivot(index="image", columns="class", values="count")
    table.to_csv("theirs/stubborn/multiclass_stubborn_test1.csv")
    for row in answers.itertuples():
        tiles = np.kron(np.reshape(row.tiles, (4, 4)), np.full((2, 2), 0.25))
        name = f"{row.image.removesuffix('.png')}_{row[2]}.npy"
        np.save(data / "theirs" / "stubborn" / "density_maps" / name, tiles.astype(np.float16))
    for image in (data / "coco" / "images").iterdir():
        image.unlink()
    (data / "test").mkdir()
    shutil.copy("coco/annotations.json", "test")
    words = ["--data", "test", "--predictions", "theirs", *coco[2:], "--work-dir", "again"]
    assert main(["count", "praco", *words]) == 0
    first, second = (pd.read_csv(f"{name}/measures.csv") for name in ("out", "again"))
    pd.testing.assert_frame_equal(first, second)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "give --counter FILE or --predictions DIR"),
        (("--counter", "none.py"), "No configuration file none.py"),
        (("--counter", "good.py", "--prompt", "dots"), "needs {} where the class goes"),
        (("--counter", "good.py", "--split", "val"), "has no split 'val'"),
        (("--predictions", "fsc"), "No file Inference_Test1_MODEL_test.csv"),
        (("--counter", "good.py", "--prompt", "dogs {}"), "failed on all 36 prompts"),
        (("--predictions", "fsc", "--multi-class"), "or multiclass_MODEL_test1.csv in fsc"),
    ],
)
def test_bad_input_ends_with_a_sentence(data, capsys, words, message):
    assert run(*words, "--work-dir", "out") == 2
    assert message in capsys.readouterr().err


def measures_of(*words):
    assert run("--counter", "good.py", *words) == 0


def test_a_limited_run_goes_on_and_workers_change_nothing(data):
    measures_of("--work-dir", "whole")
    measures_of("--work-dir", "parts", "--limit", 5, "--workers", 3)
    pairs = [pd.read_csv(f"{out}/mosaic_pairs.csv") for out in ("whole", "parts")]
    first = pairs[0][pairs[0]["positive"].isin([f"{k}.png" for k in range(5)])]
    assert first.reset_index(drop=True).equals(pairs[1]) and len(first) == 10
    table = pd.read_csv("parts/colours/per_image.csv")
    assert table["image"].tolist() == [f"{k}.png" for k in range(5)]
    measures_of("--work-dir", "parts", "--workers", 3)
    for name in ("measures.csv", "intervals.csv", "colours/per_image.csv"):
        assert (data / "parts" / name).read_bytes() == (data / "whole" / name).read_bytes()


def test_answers_of_other_settings_another_grid_or_other_data_are_not_taken(data, capsys):
    """Tiles of the first grid were reported as those of the second."""
    shutil.copytree("fsc", "copy")
    into = ["--counter", "good.py", "--work-dir", "out"]
    assert run(*into) == 0
    for words, named in (
        (["fsc", "--reference-class"], "reference: False, now True"),
        (["fsc", "--grid", "1"], "grid: 2, now 1"),
        (["copy"], "data: "),
        (["nowhere"], "Data set nowhere is not recognised"),
    ):
        assert main(["count", "praco", "--data", *words, *into]) == 2
        assert named in capsys.readouterr().err


def test_a_grid_that_is_too_fine_is_refused_or_named(data, capsys):
    """Localised measures were missing without a word; a huge grid ended in a traceback."""
    assert run("--counter", "good.py", "--work-dir", "fine", "--grid", "11") == 2
    assert "--grid" in capsys.readouterr().err
    assert run("--counter", "good.py", "--work-dir", "fine", "--grid", "10") == 0
    assert "localised MAE" not in pd.read_csv("fine/measures.csv")
    assert "24 of 24 mosaics have no localised measures" in capsys.readouterr().out
