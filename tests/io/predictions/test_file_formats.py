"""The same boxes by any format are the same; what is wrong is named in each of them."""

from __future__ import annotations

import gzip
import json
import os
import re
import zipfile

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from autoeval.boxes import LabelledImage
from autoeval.errors import InputError
from autoeval.io.predictions import formats, read_predictions

IMAGES = tuple(LabelledImage(str(k), f"street/{k:03}.jpg", (200, 200)) for k in range(12))
WORDS = {"1": "car", "2": "bus", "3": "cat"}
SUFFIXES = ("json", "jsonl", "json.gz", "jsonl.gz", "parquet", "sides.parquet")


def boxes(n=300, **extra):
    rng = np.random.default_rng(0)
    for k in range(n):
        yield {
            "image_id": int(rng.integers(0, 12)),
            "category_id": int(rng.integers(1, 4)),
            "bbox": np.round([0, 0, 1, 1] + 90 * rng.random(4), 2).tolist(),
            "score": float(np.round(rng.random(), 4)),
            **extra,
            **({"odd": {"a": [{}, {"b": "},{"}]}} if k % 7 == 0 else {}),
        }


def write(folder, suffix, rows):
    path = folder / f"new.{suffix}"
    if suffix.endswith("parquet"):
        table = pa.Table.from_pylist([{k: v for k, v in r.items() if k != "odd"} for r in rows])
        if suffix == "sides.parquet":
            sides = list(zip(*table["bbox"].to_pylist(), strict=True))
            table = table.drop_columns("bbox")
            for name, values in zip("xywh", sides, strict=True):
                table = table.append_column(name, pa.array(values))
        pq.write_table(table, path, row_group_size=70)
        return path
    lines = "jsonl" in suffix
    text = "\n\n".join(map(json.dumps, rows)) if lines else json.dumps(rows, indent=1)
    path.write_bytes(gzip.compress(text.encode()) if suffix.endswith("gz") else text.encode())
    return path


def read_numbered(path):
    return read_predictions(path, images=IMAGES, numbers=WORDS)


def assert_columns(read, rows):
    """Compare with the columns of rows, taken out one by one."""
    xywh = np.array([row["bbox"] for row in rows])
    boxes = np.concatenate([xywh[:, :2], xywh[:, :2] + xywh[:, 2:]], axis=1)
    np.testing.assert_array_equal(read.image, [row["image_id"] for row in rows])
    np.testing.assert_array_equal(read.label, [row["category_id"] - 1 for row in rows])
    np.testing.assert_array_equal(read.boxes, boxes, strict=True)
    np.testing.assert_array_equal(read.scores, [row["score"] for row in rows])


@pytest.mark.parametrize("piece", [1 << 20, 997, 64])  # whole, and cut within entries
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_any_format_gives_the_columns(tmp_path, monkeypatch, suffix, piece):
    monkeypatch.setattr(formats, "PIECE", piece)
    rows = list(boxes())
    read = read_numbered(write(tmp_path, suffix, rows))
    assert_columns(read, rows)
    assert (read.images, read.categories, read.left_out) == (IMAGES, ("car", "bus", "cat"), ())


@pytest.mark.parametrize("piece", [1 << 20, 300])
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_names_in_the_place_of_numbers(tmp_path, monkeypatch, suffix, piece):
    monkeypatch.setattr(formats, "PIECE", piece)
    rows = list(boxes())
    words = ("car", "bus", "Kätzchen")
    named = [
        {"file_name": f"street/{row['image_id']:03}.jpg", "category": words[row["category_id"] - 1]}
        | {name: row[name] for name in ("bbox", "score")}
        for row in rows
    ]
    read = read_predictions(write(tmp_path, suffix, named), images=IMAGES)
    assert sorted(read.categories) == ["Kätzchen", "bus", "car"]
    assert [read.categories[k] for k in read.label] == [row["category"] for row in named]
    np.testing.assert_array_equal(read.image, [row["image_id"] for row in rows])


@pytest.mark.parametrize("suffix", SUFFIXES[:2])
@pytest.mark.parametrize(
    "odd",
    [
        *({"image_id": "3"}, {"image_id": 3.0}),  # a string and a float among whole numbers
        *({"score": "0.5"}, {"score": True}, {"bbox": [1, 2, "3", 4]}),
        *({"odd": float("nan")}, {"file_name": "a\ud800.jpg"}),
    ],
)
def test_irregular_entries_are_read_as_regular_ones(tmp_path, monkeypatch, suffix, odd):
    monkeypatch.setattr(formats, "PIECE", 700)
    rows = list(boxes(40))
    plain = rows[20] | {"image_id": 3, "score": 1.0 if odd.get("score") is True else 0.5}
    plain |= {"bbox": [1, 2, 3, 4]}
    strange = [*rows[:20], plain | odd, *rows[20:]]
    read = read_numbered(write(tmp_path, suffix, strange))
    assert_columns(read, [*rows[:20], plain, *rows[20:]])


@pytest.mark.parametrize("suffix", SUFFIXES[:2])
@pytest.mark.parametrize("bbox", [{}, {"bbox": None}, {"bbox": []}])
def test_an_entry_without_a_box_has_that_around_its_outline(tmp_path, suffix, bbox):
    rows = [{k: v for k, v in row.items() if k != "bbox" or i} for i, row in enumerate(boxes(5))]
    rows[0] |= {**bbox, "segmentation": [[1, 2, 30, 4, 5, 60.5]]}
    read = read_numbered(write(tmp_path, suffix, rows))
    assert len(read) == 5 and read.boxes[0].tolist() == [1, 2, 30, 60.5]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_bad_entries_are_counted_in_each_format(tmp_path, monkeypatch, suffix):
    monkeypatch.setattr(formats, "PIECE", 800)
    rows = list(boxes(60))
    bad = {7: {"score": None}, 9: {"bbox": [1.0, 2.0, float("nan"), 4.0]}}
    bad |= {11: {"bbox": [1.0, 2.0, 3.0, -1.0]}, 13: {"image_id": None}, 14: {"image_id": None}}
    bad |= {15: {"category_id": None}}
    for k, change in bad.items():
        rows[k] |= change
    read = read_numbered(write(tmp_path, suffix, rows))
    assert read.left_out == (
        "entries without image_id and file_name, left out: 2 (numbers 13, 14)",
        "entries without category_id and category, left out: 1 (numbers 15)",
        "entries whose bbox is not four finite numbers, left out: 1 (numbers 9)",
        "entries whose bbox has a negative width or height, left out: 1 (numbers 11)",
        "entries without a score in [0, 1], left out: 1 (numbers 7)",
    )
    assert_columns(read, [row for k, row in enumerate(rows) if k not in bad])


def test_numbers_with_gaps_and_categories_of_pandas(tmp_path):
    """Pandas writes integers with gaps as floats, and strings as a categorical."""
    rows = list(boxes(40))
    table = pa.Table.from_pylist([{k: v for k, v in r.items() if k != "odd"} for r in rows])
    ids = np.array([row["image_id"] for row in rows], float)
    ids[5] = np.nan
    words = pa.array([WORDS[str(row["category_id"])] for row in rows]).dictionary_encode()
    table = table.drop_columns(["image_id", "category_id"])
    table = table.append_column("image_id", pa.array(ids)).append_column("category", words)
    pq.write_table(table, tmp_path / "new.parquet")
    read = read_predictions(tmp_path / "new.parquet", images=IMAGES)
    assert read.left_out == ("entries without image_id and file_name, left out: 1 (numbers 5)",)
    good = [row for k, row in enumerate(rows) if k != 5]
    np.testing.assert_array_equal(read.image, [row["image_id"] for row in good])
    assert [read.categories[k] for k in read.label] == [WORDS[str(r["category_id"])] for r in good]


@pytest.mark.parametrize("piece", [1 << 20, 64])
@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('[{"image_id": 1', "Expecting"),
        ('[{"score": .5}]', "Expecting value"),
        ('[{"a": 1}, {"a": 2} {"a": 3}]', "Expecting ',' delimiter"),
        ('[{"a": 1},, {"a": 2}]', "Expecting value"),
        ('[{"a": 1}, {"a": 2}, ]', "bytes, near"),  # each Python says what in words of its own
        ('[{"a": 1}, {"a": 2}] [', "Extra data"),
        ('[{"a": 1}, {"a": 2}', "Expecting ',' delimiter"),
        ('[{"a": 1}, {"b": "', "Unterminated string"),
        ("[" + '{"a": 1}, ' * 50 + "x" + ', {"a": 1}' * 50 + "]", "after 500 bytes, near 'x, {"),
    ],
)
def test_what_is_no_json_is_refused(tmp_path, monkeypatch, text, told, piece):
    monkeypatch.setattr(formats, "PIECE", piece)
    (tmp_path / "new.json").write_text(text)
    with pytest.raises(InputError, match=f"is not a JSON file .*{re.escape(told)}"):
        read_numbered(tmp_path / "new.json")
    with pytest.raises(ValueError):  # by Python, too
        json.loads(text)


@pytest.mark.parametrize("piece", [1 << 20, 64])
@pytest.mark.parametrize("text", ["[]", " [ ] \n", "\n[\n]"])
def test_an_empty_list_holds_no_box(tmp_path, monkeypatch, text, piece):
    monkeypatch.setattr(formats, "PIECE", piece)
    (tmp_path / "new.json").write_text(text)
    with pytest.raises(InputError, match="holds no box"):
        read_predictions(tmp_path / "new.json")


def test_a_bad_line_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(formats, "PIECE", 500)
    lines = [json.dumps(row) for row in boxes(40)]
    lines[25] = lines[25][:-3]
    (tmp_path / "new.jsonl").write_text("\n".join(lines))
    with pytest.raises(InputError, match="line 26, is no JSON"):
        read_numbered(tmp_path / "new.jsonl")


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda t: t.drop_columns("score"), "no column score. It has: image_id, category_id, bbox"),
        (lambda t: t.drop_columns("bbox"), "no column x, y, w and h, or bbox"),
        (lambda t: t.drop_columns("image_id"), "no column image_id or file_name"),
        (lambda t: t.set_column(3, "score", pa.array(["a"] * 40)), "score is of type string"),
        (lambda t: t.set_column(2, "bbox", t["score"]), "lists of four numbers"),
        (lambda t: t.append_column("score", t["score"]), "several columns that are called score"),
        (lambda t: t.set_column(2, "bbox", pa.array(["1 2 3 4"] * 40)), "lists of four numbers"),
    ],
)
def test_parquet_with_other_columns_is_refused(tmp_path, change, told):
    rows = [{k: v for k, v in row.items() if k != "odd"} for row in boxes(40)]
    pq.write_table(change(pa.Table.from_pylist(rows)), tmp_path / "new.parquet")
    with pytest.raises(InputError, match=told):
        read_numbered(tmp_path / "new.parquet")


def test_half_a_character_of_a_name_is_spelt_out(tmp_path):
    row = {"file_name": "a\ud800.jpg", "category": "car", "bbox": [1, 2, 3, 4], "score": 0.5}
    (tmp_path / "new.json").write_text(json.dumps([row]))
    (image,) = read_predictions(tmp_path / "new.json").images
    assert image.file_name == r"a\ud800.jpg"


def test_a_pipe_is_refused(tmp_path):
    """What had been read to recognise the format was missing from what was read as boxes."""
    os.mkfifo(tmp_path / "new.jsonl")
    with pytest.raises(InputError, match="is a pipe"):
        read_numbered(tmp_path / "new.jsonl")


def test_damaged_files_are_refused(tmp_path):
    whole = write(tmp_path, "parquet", list(boxes())).read_bytes()
    (tmp_path / "half.parquet").write_bytes(whole[:-50])
    zipped = write(tmp_path, "jsonl.gz", list(boxes())).read_bytes()
    (tmp_path / "half.jsonl.gz").write_bytes(zipped[:-50])
    for name in ("half.parquet", "half.jsonl.gz"):
        with pytest.raises(InputError, match="Cannot read the predictions file"):
            read_numbered(tmp_path / name)


@pytest.mark.parametrize("suffix", ["jsonl", "jsonl.gz", "parquet"])
def test_the_content_counts_where_a_name_is_another(tmp_path, suffix):
    rows = list(boxes())
    path = write(tmp_path, suffix, rows).rename(tmp_path / "new.json")
    assert_columns(read_numbered(path), rows)


def test_a_dump_of_mmdetection_says_what_to_write_instead(tmp_path):
    (tmp_path / "new.pkl").write_bytes(b"\x80\x04")
    with pytest.raises(InputError, match=r"outfile_prefix=new`, which writes new\.bbox\.json"):
        read_predictions(tmp_path / "new.pkl", images=IMAGES)


def test_a_dump_of_detectron2_names_the_file_beside_it(tmp_path):
    with zipfile.ZipFile(tmp_path / "instances_predictions.pth", "w") as archive:
        archive.writestr("archive/data.pkl", "")
    with pytest.raises(InputError, match=r"coco_instances_results\.json"):
        read_predictions(tmp_path / "instances_predictions.pth", images=IMAGES)


def test_results_of_the_voc_devkit_are_named(tmp_path):
    for word in ("car", "person"):
        (tmp_path / f"comp4_det_test_{word}.txt").write_text("000 0.9 1 2 30 40\n")
    for path in (tmp_path, tmp_path / "comp4_det_test_car.txt"):
        with pytest.raises(InputError, match="VOC devkit"):
            read_predictions(path, images=IMAGES)


IMAGES_FOLDER = (
    LabelledImage("7", "x/13.jpg", (100, 200)),
    LabelledImage("13", "y/b.jpg", (50, 40)),  # an id that is the stem of another
    LabelledImage("9", "c.jpg", (100, 200)),
)
UNKNOWN = (LabelledImage("b", "b.jpg", None),)
NUMBERS = {"1": "person", "3": "car", "4": "bus"}


def write_folder(folder, **texts):
    (folder / "labels").mkdir(exist_ok=True)
    for stem, text in texts.items():
        (folder / "labels" / f"{stem.removeprefix('_')}.txt").write_text(text)
    return folder


def test_shares_become_pixels_and_classes_count_from_zero(tmp_path):
    boxes = {"_13": "1 0.5 0.5 0.5 0.2 0.75\n2 0.1 0.1 0.2 0.2 0.5\n", "b": "1 0.5 0.5 1 1 0.25\n"}
    for folder in (write_folder(tmp_path, **boxes), tmp_path / "labels"):
        read = read_predictions(folder, images=IMAGES_FOLDER, numbers=NUMBERS)
        assert [image.file_name for image in read.images] == ["x/13.jpg", "y/b.jpg", "c.jpg"]
        np.testing.assert_array_equal(read.image, [0, 0, 1])
        assert [read.categories[label] for label in read.label] == ["car", "bus", "car"]
        expected = [[50, 40, 150, 60], [0, 0, 40, 20], [0, 0, 40, 50]]
        np.testing.assert_allclose(read.boxes, expected, atol=1e-4)
        np.testing.assert_allclose(read.scores, [0.75, 0.5, 0.25])


def test_images_of_equal_stems_and_other_images_are_left_out(tmp_path):
    folder = write_folder(tmp_path, **dict.fromkeys("abc", "0 0.5 0.5 1 1 0.5"))
    more = LabelledImage("8", "z/c.png", (10, 10)), LabelledImage("6", "a.jpg", (9, 9))
    images = (*IMAGES_FOLDER, *more)
    read = read_predictions(folder, images=images, numbers=NUMBERS)
    assert sorted(images[k].file_name for k in read.image) == ["a.jpg", "y/b.jpg"]
    assert any("could be several of the list of images: 1 (c)" in note for note in read.left_out)
    assert {images[k].file_name for k in read.uncovered} >= {"c.jpg", "z/c.png"}


@pytest.mark.parametrize(
    ("text", "images", "message"),
    [
        (
            "0 0.5 0.5 1 1",
            IMAGES_FOLDER,
            "got 5 numbers in .0 0.5.* Run `yolo predict` with save_conf=True",
        ),
        ("0 .1 .1 .2 .2 .3 .3 .4 .4 .9", IMAGES_FOLDER, "got 10 numbers"),
        ("car 0.5 x 1 1 0.5", IMAGES_FOLDER, "got 4 numbers"),
        ("7 0.5 0.5 1 1 0.5", IMAGES_FOLDER, "have no word: 7.*Known are .*4 bus.*--names FILE"),
        ("3 0.5 0.5 1 1 0.5", IMAGES_FOLDER, "--numbering labels .*: car; --numbering 1 .*: bus"),
        ("0 0.5 0.5 1 1 0.5", None, "sizes of the images b are not known"),
        ("0 0.5 0.5 1 1 0.5", UNKNOWN, "images b are not known"),
    ],
)
def test_what_is_refused(tmp_path, text, images, message):
    with pytest.raises(InputError, match=message):
        read_predictions(write_folder(tmp_path, b=text), images=images, numbers=NUMBERS)


def test_a_folder_without_text_files(tmp_path):
    with pytest.raises(InputError, match=r"No text files in .*: expected a predictions file"):
        read_predictions(tmp_path, images=IMAGES_FOLDER, numbers=NUMBERS)


def test_lines_of_json_may_have_columns_for_the_sides_as_parquet_has(tmp_path):
    rows = [{"image_id": k, "category": "car", "score": 0.5, **SIDES} for k in range(3)]
    file = tmp_path / "lines.json"
    file.write_text("\n".join(map(json.dumps, rows)))
    assert read_predictions(file).boxes.tolist() == [[1, 2, 4, 6]] * 3
    (tmp_path / "odd.jsonl").write_text("\n".join(map(json.dumps, [*rows, {**rows[0], "w": "x"}])))
    read = read_predictions(tmp_path / "odd.jsonl")
    assert len(read) == 3 and "not four finite numbers, left out: 1" in read.left_out[0]


SIDES = {"x": 1, "y": 2, "w": 3, "h": 4.0}


def test_a_table_as_text_is_answered_with_what_is_read(tmp_path):
    (tmp_path / "p.csv").write_text("image_id,category,x,y,w,h,score\n1,car,1,2,3,4,.5\n")
    with pytest.raises(InputError, match=r"Predictions are read as .*\.jsonl.*Parquet.*YOLO"):
        read_predictions(tmp_path / "p.csv")


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le"])
@pytest.mark.parametrize("suffix", ["json", "jsonl"])
def test_another_encoding_is_named(encoding, suffix, tmp_path):
    row = {"image_id": 1, "category": "car", "score": 0.5, "bbox": [1, 2, 3, 4]}
    text = json.dumps(row if suffix == "jsonl" else [row])
    (tmp_path / f"p.{suffix}").write_bytes(text.encode(encoding))
    with pytest.raises(InputError, match=r"is encoded as UTF-16\. Expected UTF-8"):
        read_predictions(tmp_path / f"p.{suffix}")
