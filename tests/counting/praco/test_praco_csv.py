"""The authors' prediction files: written, read back, and every way they can be wrong."""

import json
import random
import shutil

import numpy as np
import pandas as pd
import pytest

from autoeval.counting.praco.data import (
    CountedImage,
    CountingSet,
    MosaicPool,
    load_fsc147,
    single_class,
)
from autoeval.counting.praco.mosaic_run import draw_pairs
from autoeval.counting.praco.released_csv import (
    evaluate_files,
    evaluate_table,
    file_name,
    find_released,
    write_released,
)
from autoeval.errors import InputError

COUNTING_SET = CountingSet(
    "test",
    ("sea shells", "eggs", "skis"),
    tuple(
        CountedImage(f"{k}.jpg", None, {name: np.zeros((k, 2))})
        for k, name in ((2, "sea shells"), (3, "eggs"), (5, "skis"))
    ),
)
IDS = ["2.jpg", "3.jpg", "5.jpg"]
COUNTS = pd.DataFrame(
    [[2.123, 0, 7], [1, 3.5, 0], [0, -0.25, 6]], IDS, list(COUNTING_SET.classes), dtype=float
)
MOSAICS = pd.DataFrame(
    [
        ("2.jpg", "eggs", 1.5, 0.0),
        ("2.jpg", "skis", 2.0, 3.0),
        ("3.jpg", "sea shells", 3.0, 0.0),
        ("3.jpg", "skis", 0.0, 0.0),
        ("5.jpg", "sea shells", 4.0, 1.0),
        ("5.jpg", "eggs", 9.0, 1.0),
    ],
    columns=["positive", "negative_class", "upper", "lower"],
)


@pytest.fixture
def folder(tmp_path):
    write_released(tmp_path, "DAVE", COUNTING_SET, COUNTS, MOSAICS)
    return tmp_path


def edit(folder, test, change):
    path = folder / file_name(test, "DAVE", "test")
    path.write_text(change(path.read_text()))


def test_the_files_are_the_authors_and_come_back(folder):
    """Three files; images by classes, an empty first header field, the positive cell empty."""
    assert sorted(path.name for path in folder.iterdir()) == [
        "Inference_Test1_DAVE_test.csv",
        "Inference_Test2_Lower_DAVE_test.csv",
        "Inference_Test2_Upper_DAVE_test.csv",
    ]
    lines = (folder / "Inference_Test1_DAVE_test.csv").read_text().splitlines()
    assert lines[0] == ",sea shells,eggs,skis"
    assert lines[1] == "2.jpg,2.12,0.0,7.0"
    upper = (folder / "Inference_Test2_Upper_DAVE_test.csv").read_text().splitlines()
    assert upper == [",sea shells,eggs,skis", "2.jpg,,1.5,2.0", "3.jpg,3.0,,0.0", "5.jpg,4.0,9.0,"]
    assert [*find_released(folder, "test")] == ["DAVE"] and find_released(folder, "val") == {}
    result = evaluate_files(folder, "DAVE", COUNTING_SET)
    assert result.notes == ()
    assert result.counts.equals(COUNTS.round(2).astype(float))
    assert result.mosaics[MOSAICS.columns].equals(MOSAICS)
    assert result.mosaics["positive_class"].tolist()[:2] == ["sea shells"] * 2
    # Integers, as counters of boxes write them.
    edit(folder, "Test1", lambda text: text.replace(".0,", ",").replace(".0\n", "\n"))
    assert evaluate_files(folder, "DAVE", COUNTING_SET).counts.equals(result.counts)


def test_a_row_without_a_name_is_of_no_image(folder):
    edit(folder, "Test1", lambda text: text + ",1,2,3\n")
    result = evaluate_files(folder, "DAVE", COUNTING_SET)
    assert result.counts.equals(COUNTS.round(2).astype(float))
    assert "1 rows of unknown images" in result.notes[0]


def test_files_of_an_earlier_run_with_mosaics_do_not_stay(folder):
    write_released(folder, "DAVE", COUNTING_SET, COUNTS, None)
    assert [path.name for path in folder.iterdir()] == ["Inference_Test1_DAVE_test.csv"]
    assert evaluate_files(folder, "DAVE", COUNTING_SET).mosaics is None


def test_mosaics_of_a_class_without_images_in_the_split_count(tmp_path):
    """The authors draw lower images from the class file, which has images of no split."""
    above = {image.image_id: image.category for image in COUNTING_SET.images}
    pool = MosaicPool(above, {**above, "9.jpg": "cups"})
    classes = (*COUNTING_SET.classes, "cups")
    counting_set = CountingSet("test", classes, COUNTING_SET.images, mosaic_pool=pool)
    cups = [(image_id, "cups", 1.0, 1.0) for image_id in IDS]
    mosaics = pd.concat([MOSAICS, pd.DataFrame(cups, columns=MOSAICS.columns)])
    write_released(tmp_path, "m", counting_set, COUNTS.assign(cups=0.0), mosaics)
    assert len(evaluate_files(tmp_path, "m", counting_set).mosaics) == 9
    prompt_only = CountingSet("test", classes, COUNTING_SET.images)
    assert len(evaluate_files(tmp_path, "m", prompt_only).mosaics) == 6


def test_a_table_of_image_class_and_count_is_read_like_the_authors_file(folder, tmp_path):
    long = COUNTS.round(2).rename_axis("file").melt(ignore_index=False, var_name="category")
    long = long.rename(columns={"value": "prediction"}).reset_index()
    long["file"] = "images/" + long["file"]
    long.to_csv(tmp_path / "mine.csv", index=False)
    long.to_parquet(tmp_path / "mine.parquet", index=False)
    expected = evaluate_files(folder, "DAVE", COUNTING_SET)
    for name in ("mine.csv", "mine.parquet"):
        result = evaluate_table(tmp_path / name, COUNTING_SET)
        assert result.name == "mine" and result.counts.equals(expected.counts)
        assert result.mosaics is None and result.measures()["NMN"] == expected.measures()["NMN"]


@pytest.mark.parametrize("separator", [",", ";", "\t"])
@pytest.mark.parametrize("named", ["{}", "images/{}.png", "{}.jpg"])
def test_images_by_classes_are_joined_as_rows_of_a_long_table_are(tmp_path, separator, named):
    table = COUNTS.rename(index=lambda name: named.format(name.removesuffix(".jpg")))
    table.iloc[::-1].to_csv(tmp_path / "mine.csv", sep=separator)
    result = evaluate_table(tmp_path / "mine.csv", COUNTING_SET)
    assert result.counts.equals(COUNTS) and result.notes == ()


def test_what_the_file_lacks_is_not_measured(folder):
    """Neither a missing row nor a missing column of the own class is a failure of the model."""
    edit(folder, "Test1", lambda text: "".join(text.splitlines(True)[:-1]))
    edit(folder, "Test2_Upper", lambda t: "\n".join(x.rsplit(",", 1)[0] for x in t.splitlines()))
    result = evaluate_files(folder, "DAVE", COUNTING_SET, mode="released")
    assert result.notes == (
        "Inference_Test1_DAVE_test.csv: no row for 1 images (5.jpg)",
        "Inference_Test2_Upper_DAVE_test.csv: no column for 1 classes (skis)",
    )
    assert result.truth.index.tolist() == ["2.jpg", "3.jpg"]
    assert result.measures()["PCCN"] == 100, "of the two images that were answered"
    assert result.undefined()["prompts without a count"] == 0
    assert result.undefined()["mosaics without a count"] == 0
    # 2.jpg and eggs: 1.5 of 2, and the spurious 1; 3.jpg and sea shells: 3 of 3. No skis.
    assert result.measures()["CntR"] == pytest.approx(((0.75 + 1) / 2 + 1) / 2)
    edit(folder, "Test1", lambda text: text.replace("eggs", "").replace(",1,", ",,"))
    path = folder / file_name("Test1", "DAVE", "test")
    table = pd.read_csv(path, index_col=0)
    table.drop(columns=table.columns[1]).to_csv(path)
    result = evaluate_files(folder, "DAVE", COUNTING_SET)
    assert result.truth.index.tolist() == ["2.jpg"] and result.counts["eggs"].isna().all()


@pytest.mark.parametrize(
    "changes",
    [
        [("2.12", "")],
        # 2.jpg without any count: it is one of three images, of which the others are near.
        [("2.jpg,2.12,0.0,7.0", "2.jpg,,,"), ("5.jpg,0.0,-0.25,6.0", "5.jpg,0.0,-0.25,5.0")],
    ],
)
def test_empty_cells_and_rows_are_failures_in_the_released_mode(folder, changes):
    for old, new in changes:
        edit(folder, "Test1", lambda text, old=old, new=new: text.replace(old, new))
    for mode, expected in (("released", 200 / 3), ("paper", 100)):
        result = evaluate_files(folder, "DAVE", COUNTING_SET, mode=mode)
        assert result.measures()["PCCN"] == pytest.approx(expected)


def test_an_empty_cell_of_a_mosaic_has_recall_1_in_the_released_mode(folder):
    """As in the authors' code, where the true count stands in for the missing upper count."""
    edit(folder, "Test2_Upper", lambda text: text.replace("2.jpg,,1.5,2.0", "2.jpg,,1.5,"))
    edit(folder, "Test2_Lower", lambda text: text.replace("3.jpg,0.0,,0.0", "3.jpg,,,0.0"))
    measures = evaluate_files(folder, "DAVE", COUNTING_SET, mode="released").measures()
    # 2.jpg: eggs .75, skis without a count, own class; 3.jpg: upper 3 of 3 (its lower count is
    # missing) and 0; 5.jpg: 4 of 5 and 9 of 5.
    rows = [(0.75 + 1 + 1) / 3, (1 + 0 + 1) / 3, (0.8 + 1 + 1) / 3]
    assert measures["CntR"] == pytest.approx(sum(rows) / 3)
    assert measures["CntR without the spurious cell"] == pytest.approx((0.75 + 0 + 0.9) / 3)
    paper = evaluate_files(folder, "DAVE", COUNTING_SET, mode="paper").measures()
    assert paper["CntR"] == pytest.approx((0.75 + 0 + 0.9) / 3)


def test_files_in_a_folder_for_each_model(folder):
    inner = folder / "benchmark_results" / "DAVE"
    inner.mkdir(parents=True)
    for path in folder.glob("*.csv"):
        path.rename(inner / path.name)
    files = find_released(folder / "benchmark_results", "test")
    assert files == {"DAVE": inner / "Inference_Test1_DAVE_test.csv"}
    other = inner.parent / "DAVE_thr_0.17" / "Inference_Test1_DAVE_test.csv"
    other.parent.mkdir()
    other.write_text("")
    left_out = {}
    assert find_released(inner.parent, "test", left_out) == files
    assert [*left_out] == ["DAVE"] and str(other) in left_out["DAVE"][0]
    (inner / "multiclass_DAVE++_test1.csv").write_text("")
    assert [*find_released(inner, "test", multi_class=True)] == ["DAVE", "DAVE++"]


def test_empty_and_infinite_cells_are_counted(folder):
    edit(folder, "Test1", lambda text: text.replace("7.0", "").replace("6.0", "inf"))
    result = evaluate_files(folder, "DAVE", COUNTING_SET)
    assert result.counts.isna().sum().sum() == 2
    assert result.notes == (
        "Inference_Test1_DAVE_test.csv: 1 cells without a count",
        "Inference_Test1_DAVE_test.csv: 1 infinite counts, taken as none",
    )


def test_rows_of_excluded_and_unknown_images(folder):
    result = evaluate_files(folder, "DAVE", COUNTING_SET.exclude(["3"]))
    assert result.counts.index.tolist() == ["2.jpg", "5.jpg"]
    assert result.notes == ()
    assert set(result.mosaics["positive"]) == {"2.jpg", "5.jpg"}
    edit(folder, "Test1", lambda text: text + "77.jpg,1,1,1\n")
    (warning,) = evaluate_files(folder, "DAVE", COUNTING_SET).notes
    assert "1 rows of unknown images (77.jpg)" in warning


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda text: text.replace("eggs", "egs"), "no class of test: egs"),
        (lambda text: text + "2.jpg,1,1,1\n", "these have more: 2.jpg"),
        (lambda text: text.replace("2.12", "two"), "Cannot read .*two"),
        (lambda text: text.replace(".jpg", "_b.jpg"), "has no row for any image of test"),
        (lambda text: "", "Cannot read"),
    ],
)
def test_refused_files(folder, change, message):
    edit(folder, "Test1", change)
    with pytest.raises(InputError, match=message):
        evaluate_files(folder, "DAVE", COUNTING_SET)


def test_refused_tables(tmp_path):
    """A list of records was read for minutes as a header of 34,510 columns."""
    (tmp_path / "m.json").write_text('[{"image": "2.jpg", "class": "eggs", "count": 1}]')
    with pytest.raises(InputError, match=r"m\.json is JSON"):
        evaluate_table(tmp_path / "m.json", COUNTING_SET)
    (tmp_path / "m.csv").write_text("image,class,count\n" + 2 * "2.jpg,eggs,1\n")
    with pytest.raises(InputError, match=r"^[^:]*m\.csv: 1 rows come twice: 2\.jpg eggs\.$"):
        evaluate_table(tmp_path / "m.csv", COUNTING_SET)


def test_missing_files(folder):
    (folder / "Inference_Test2_Lower_DAVE_test.csv").unlink()
    with pytest.raises(InputError, match="needs its other half, Inference_Test2_Lower"):
        evaluate_files(folder, "DAVE", COUNTING_SET)
    (folder / "Inference_Test2_Upper_DAVE_test.csv").unlink()
    assert evaluate_files(folder, "DAVE", COUNTING_SET).mosaics is None
    with pytest.raises(InputError, match="No prediction file"):
        evaluate_files(folder, "TFPOC", COUNTING_SET)


def test_classes_without_mosaics_and_several_mosaics_for_a_cell(tmp_path):
    wider = CountingSet("test", (*COUNTING_SET.classes, "zebra"), COUNTING_SET.images)
    write_released(tmp_path, "m", wider, COUNTS.assign(zebra=0.0), MOSAICS)
    result = evaluate_files(tmp_path, "m", wider)
    assert result.notes == () and len(result.mosaics) == 6
    with pytest.raises(InputError, match="one mosaic for each image and negative class"):
        write_released(tmp_path, "m", COUNTING_SET, COUNTS, pd.concat([MOSAICS, MOSAICS]))


def test_the_first_pracos_own_predictions(shared, tmp_path):
    """TFPOC's counts as the authors keep them, with neither their exclusions nor mosaics."""
    golden = shared / "golden" / "praco"
    objects = json.loads((golden / "gt_cnts_FSC147.json").read_text())
    points = {name: {"points": [[k, 0] for k in range(n)]} for name, n in objects.items()}
    (tmp_path / "annotation_FSC147_384.json").write_text(json.dumps(points))
    for name in ("Train_Test_Val_FSC_147.json", "ImageClasses_FSC147.txt"):
        shutil.copy(golden / name, tmp_path)
    file = golden / "tfpoc_test_counts.csv"
    counting_set = single_class(load_fsc147(tmp_path, need_images=False))
    result = evaluate_table(file, counting_set, mode="released")
    found = {name: round(value, 3) for name, value in result.measures().items()}
    assert found == {"NMN": 0.763, "PCCN": 65.378, "MAE": 24.662, "RMSE": 137.368}
    assert len(result.truth) == 1190
    assert result.notes == ("tfpoc_test_counts.csv: 58 cells without a count",), "two empty rows"


def test_the_whole_list_of_mosaic_pairs(shared, tmp_path):
    """All draws of the test split, by a transcription of the authors' loops."""
    golden = shared / "golden" / "praco"
    for name in ("Train_Test_Val_FSC_147.json", "ImageClasses_FSC147.txt"):
        shutil.copy(golden / name, tmp_path)
    file = golden / "tfpoc_test_counts.csv"
    classes = file.read_text().splitlines()[0].split(",")[1:]
    (tmp_path / "Split_Classes_FSC147.json").write_text(json.dumps({"test": classes}))
    objects = json.loads((golden / "gt_cnts_FSC147.json").read_text())
    points = {name: {"points": [[k, 0] for k in range(n)]} for name, n in objects.items()}
    (tmp_path / "annotation_FSC147_384.json").write_text(json.dumps(points))
    recipes = draw_pairs(single_class(load_fsc147(tmp_path, need_images=False)))
    lines = (golden / "ImageClasses_FSC147.txt").read_text().splitlines()
    class_of = dict(line.split("\t") for line in lines)
    images = json.loads((golden / "Train_Test_Val_FSC_147.json").read_text())["test"]
    of_class = {kind: [name for name, own in class_of.items() if own == kind] for kind in classes}
    rng = random.Random(123)
    expected = [
        (image, kind, rng.choice(of_class[kind]))
        for image in images
        for kind in classes
        if kind != class_of[image]
    ]
    assert [(r.positive, r.negative_class, r.negative) for r in recipes] == expected
    assert len(expected) == 33_320 and expected[2][2] == "2919.jpg"
