"""Files of predictions: forms, bad rows, joining with a truth, aligning models."""

import os

import numpy as np
import pandas as pd
import pytest

from autoeval.counting.predictions import (
    CountPredictions,
    align,
    match_ids,
    read_long,
    read_predictions,
)
from autoeval.counting.true_counts import read_truth
from autoeval.errors import InputError


def write(path, text):
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    "text",
    [
        "a,10,12.5\nb,0,1\n",
        "a,-2.5,10,12.5\nb,-1,0,1\n",
        "id,target,pred\na,10,12.5\nb,0,1\n",
        "prediction,stratum,image,gt\n12.5,x,a,10\n1,y,b,0\n",
        " a , 10, 12.5\n b , 0, 1\n",
        "\ufeffid,target,pred\na,10,12.5\nb,0,1\n",
    ],
)
def test_forms(tmp_path, text):
    path = tmp_path / "model.csv"
    path.write_text(text, encoding="utf-8")
    predictions = read_predictions(path)
    assert predictions.name == "model" and predictions.ids == ("a", "b") and predictions.notes == ()
    assert predictions.target.tolist() == [10, 0] and predictions.pred.tolist() == [12.5, 1]


@pytest.mark.parametrize(
    "text",
    [
        "id;target;pred\na;10;12,5\nb;0;1\n",
        "id\ttarget\tpred\na\t10\t12.5\nb\t0\t1\n",
        "a;10;12.5\nb;0;1\n",
        "filename,gt_count,predicted_count\na,10,12.5\nb,0,1\n",
        'image,gt,pred\n"a",10,12.5\n"b",0,1\n',
    ],
)
def test_semicolons_tabs_and_other_names_of_columns(tmp_path, text):
    predictions = read_predictions(write(tmp_path / "m.csv", text))
    assert predictions.ids == ("a", "b") and predictions.target.tolist() == [10, 0]
    assert predictions.pred.tolist() == [12.5, 1]


@pytest.mark.parametrize("names", ["name,label,id,target,pred", "label,target,name,id,pred"])
def test_of_several_columns_for_one_thing_the_plainest_counts_wherever_it_stands(tmp_path, names):
    cells = {"name": "net", "label": "7", "id": "a", "target": "10", "pred": "12.5"}
    row = ",".join(cells[name] for name in names.split(","))
    predictions = read_predictions(write(tmp_path / "m.csv", f"{names}\n{row}\n"))
    assert predictions.ids == ("a",) and predictions.target.tolist() == [10]


@pytest.mark.parametrize("names", ["id,count,gt", "id,gt,count"])
def test_a_counted_number_leaves_the_true_ones_to_be_compared(tmp_path, names):
    cells = {"id": "a", "count": "3", "gt": "5"}
    row = ",".join(cells[name] for name in names.split(","))
    path = write(tmp_path / "m.csv", f"{names}\n{row}\n")
    assert read_predictions(path, {"a": 5.0}).pred.tolist() == [3]
    with pytest.raises(InputError, match="differ from the truth"):
        read_predictions(path, {"a": 6.0})


def test_a_count_is_the_predicted_one_where_there_is_a_truth(tmp_path):
    path = write(tmp_path / "m.csv", "image,count\na.jpg,3\nb.jpg,4\n")
    assert read_predictions(path, {"a": 3.0, "b": 6.0}).pred.tolist() == [3, 4]
    with pytest.raises(InputError, match="taken for the true one unless there is a --truth"):
        read_predictions(path)
    with pytest.raises(InputError, match="pred: pred, prediction, predicted"):
        read_predictions(write(tmp_path / "m.csv", "picture,n\na,3\n"))


JOINED = [
    (["IMG_1.jpg", "IMG_2.jpg"], ["IMG_1", "IMG_3"], {"IMG_1.jpg": "IMG_1"}),
    (["0001"], ["val/images/0001.jpg"], {"0001": "val/images/0001.jpg"}),
    # folders tell images of one name apart, and those of other folders are other images
    (["a/1.jpg", "b/1.jpg"], ["a/1.png", "b/1.png"], {"a/1.jpg": "a/1.png", "b/1.jpg": "b/1.png"}),
    (["a/1.jpg", "b/2.jpg"], ["a/1.jpg", "a/2.jpg"], {"a/1.jpg": "a/1.jpg"}),
    (["1.jpg", "2.jpg"], ["a/1.jpg", "b/1.jpg"], {}),
    (["e\u0301.jpg", "\xe9.jpg", "b.jpg"], ["\xe9.jpg", "b.jpg"], {"b.jpg": "b.jpg"}),
    (["81.0", "8.2e+01"], ["81", "82"], {"81.0": "81", "8.2e+01": "82"}),
    (["IMG_1.JPG"], ["img_1.mat"], {"IMG_1.JPG": "img_1.mat"}),
    (["1", "1.jpg"], ["1"], {"1": "1"}),
    (["val\\1.jpg", "val\\2.jpg"], ["1", "2"], {"val\\1.jpg": "1", "val\\2.jpg": "2"}),
    (["cafe\u0301.jpg", "b.jpg"], ["caf\xe9", "b"], {"cafe\u0301.jpg": "caf\xe9", "b.jpg": "b"}),
    (["v1.0", "v1.1"], ["v1.0.jpg", "v1.1.jpg"], {"v1.0": "v1.0.jpg", "v1.1": "v1.1.jpg"}),
]


@pytest.mark.parametrize(("ids", "known", "joined"), JOINED)
def test_images_are_joined_by_name(ids, known, joined):
    assert match_ids(ids, known) == joined


def test_parquet_and_leading_zeros_of_ids(tmp_path):
    frame = pd.DataFrame({"id": [1, 2], "target": [3, 4], "pred": [3.5, None]})
    frame.to_parquet(tmp_path / "m.parquet")
    predictions = read_predictions(tmp_path / "m.parquet", name="mine")
    assert predictions.name == "mine" and predictions.ids == ("1", "2")
    assert predictions.answered.tolist() == [True, False]
    assert read_predictions(write(tmp_path / "m.csv", "0407,0,1\n")).ids == ("0407",)


def test_skipped_and_negative_predictions_are_named(tmp_path):
    predictions = read_predictions(write(tmp_path / "m.csv", "a,1,\nb,2,nan\nc,3,-0.5\nd,4,4\n"))
    assert np.isnan(predictions.pred).tolist() == [True, True, False, False]
    skipped, negative = predictions.notes
    assert skipped.startswith("2 of 4") and skipped.endswith("a, b")
    assert negative.startswith("1 of 4") and negative.endswith("c")


NO_COUNT = r"numbers up to 1e\+12, but 1 of 2 rows do not \(ids: b"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("id,target,pred\n", "no rows"),
        ("a,1,1\na,1,2\nb,1,1\n", "1 appear more often: a"),
        ("a,1,1\nb,,1\n", "missing or negative \\(ids: b\\)"),
        ("a,1,1\nb,-4,1\n", "missing or negative \\(ids: b\\)"),
        ("a,1,1\nb,2,12 cars\nc,3,3\n", "'pred'.*ids: b; first: '12 cars'"),
        *((f"a,1,1\nb,2,{n}\n", NO_COUNT) for n in ("1e300", "9" * 300, "inf")),
        ("a,5,1,1\n", "target - pred.*ids: a"),
        ("a,1\n", "no true counts"),
        ("a,1,2,3,4\n", "5 columns"),
        ("a,1,1\nb,2\nc,3,3,3\n", "Cannot read"),
        ("id,target\na,1\n", "no column 'pred'"),
    ],
)
def test_bad_files(tmp_path, text, message):
    with pytest.raises(InputError, match=message):
        read_predictions(write(tmp_path / "m.csv", text))


@pytest.mark.parametrize("encoding", ["utf-16", "latin-1"])
def test_another_encoding_is_answered_with_what_is_read(tmp_path, encoding):
    path = tmp_path / "m.csv"
    path.write_bytes("id,target,pred\nGröße,1,1\n".encode(encoding))
    with pytest.raises(InputError, match=r"not in UTF-8 .*encoding='utf-8'"):
        read_predictions(path)


def test_a_pipe_is_refused(tmp_path):
    """Of a table of 3000 rows, the first 681 were lost without a word."""
    path = tmp_path / "pipe"
    os.mkfifo(path)
    with pytest.raises(InputError, match="is a pipe"):
        read_predictions(path)


def test_bad_truths_and_missing_files(tmp_path):
    with pytest.raises(InputError, match="check the path"):
        read_predictions(tmp_path / "none.csv")
    with pytest.raises(InputError, match="Cannot read"):
        read_predictions(write(tmp_path / "m.parquet", "a,1,1\n"))
    path = write(tmp_path / "m.csv", "a,5,5\nb,6,6\n")
    with pytest.raises(InputError, match=r"First ids: a, b; of the truth: a\.jpg\.1"):
        read_predictions(path, {"a.jpg.1": 5.0})
    with pytest.raises(InputError, match="differ from the truth \\(ids: b\\)"):
        read_predictions(path, {"a": 5.0, "b": 7.0})
    with pytest.raises(InputError, match="one: a; two: b"):
        align([model("one", a=(1, 2)), model("two", b=(1, 2))])
    with pytest.raises(InputError, match=r"1 images differ.*ids: a"):
        align([model("one", a=(1, 2), b=(1, 1)), model("two", a=(2, 2), b=(1, 1))])


def test_a_truth_fills_in_and_both_sides_are_checked(tmp_path):
    path = write(tmp_path / "m.csv", "a,5\nb,6\nx,7\n")
    predictions = read_predictions(path, {"b": 1.0, "a": 2.0, "c": 3.0, "d": 4.0})
    assert predictions.ids == ("a", "b") and predictions.target.tolist() == [2, 1]
    assert predictions.notes == (
        "1 predictions without a true count were left out: x",
        "2 images of the truth have no prediction: c, d",
    )


def model(name, **rows):
    target, pred = np.array(list(rows.values()), float).T
    return CountPredictions(name, tuple(rows), target, pred)


def test_align_keeps_the_common_images_in_the_order_of_the_first():
    one = model("one", a=(1, 2), b=(3, 4), c=(5, 6))
    two = model("two", c=(5, 9), z=(0, 0), a=(1, np.nan))
    first, second = align([one, two])
    assert first.ids == second.ids == ("a", "c")
    assert first.pred.tolist() == [2, 6] and second.pred[1] == 9 and np.isnan(second.pred[0])
    assert first.notes == ("1 images that another file lacks were left out: b",)
    assert second.notes == ("1 images that another file lacks were left out: z",)


def test_files_that_name_images_in_their_own_ways_are_aligned():
    one = model("one", **{"a/1.jpg": (1, 2), "a/2.jpg": (3, 4)})
    two = model("two", **{"2": (3, 5), "1": (1, 0), "9": (7, 7)})
    first, second = align([one, two])
    assert first.ids == second.ids == ("a/1.jpg", "a/2.jpg")
    assert second.pred.tolist() == [0, 5]
    assert second.notes == ("1 images that another file lacks were left out: 9",)


@pytest.mark.parametrize("dtype", [int, float, str])
def test_ids_that_are_numbers_are_the_same_in_any_type(tmp_path, dtype):
    table = pd.DataFrame({"image": np.array([3, 10]).astype(dtype), "count": [1.0, 2.0]})
    table.to_parquet(tmp_path / "m.parquet")
    read = read_predictions(tmp_path / "m.parquet", {"3": 1.0, "10": 4.0})
    assert read.ids == ("3", "10") and read.target.tolist() == [1, 4]
    assert read_long(tmp_path / "m.parquet")["count"].to_dict() == {("3", ""): 1, ("10", ""): 2}


@pytest.mark.parametrize("names", [["a", None], [3.0, None]])
def test_a_row_without_a_name_in_parquet_is_of_no_image(tmp_path, names):
    """It ended in a traceback; in CSV its name is empty."""
    pd.DataFrame({"id": names, "pred": [1, 2]}).to_parquet(tmp_path / "m.parquet")
    read = read_predictions(tmp_path / "m.parquet", {"a": 4.0, "3": 4.0})
    assert read.pred.tolist() == [1] and read.ids[0] in ("a", "3")
    assert len(read_long(tmp_path / "m.parquet")) == 2


def test_the_index_of_a_parquet_file_names_images_and_classes(tmp_path):
    table = pd.DataFrame({"image": ["a", "b"], "class": "egg", "count": [1, 2]})
    table.set_index(["image", "class"]).to_parquet(tmp_path / "long.parquet")
    assert read_long(tmp_path / "long.parquet")["count"].to_dict() == {
        ("a", "egg"): 1,
        ("b", "egg"): 2,
    }
    table.set_index("image")[["count"]].to_parquet(tmp_path / "m.parquet")
    assert read_predictions(tmp_path / "m.parquet", {"a": 1, "b": 4}).pred.tolist() == [1, 2]


def test_a_first_row_with_a_number_is_no_header(tmp_path):
    skipped = read_predictions(write(tmp_path / "m.csv", "a,10,none\nb,0,1\n"))
    assert skipped.ids == ("a", "b") and skipped.pred[1] == 1 and np.isnan(skipped.pred[0])
    truth = read_truth(write(tmp_path / "t.csv", "a,10,rain\nb,0,sun\n"))
    assert truth.counts == {"a": 10, "b": 0}
