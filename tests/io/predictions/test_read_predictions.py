"""Reading results files: what is kept, what is told, what is refused."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

from autoeval.boxes import LabelledImage
from autoeval.errors import InputError
from autoeval.io.predictions import read_predictions
from autoeval.io.predictions.reading import file_of, files_by_site

IMAGES = tuple(
    LabelledImage(str(k), f"street/{name}.jpg", (100, 200)) for k, name in enumerate("abc")
)


def box(**changes):
    entry = {"image_id": 0, "category_id": 1, "bbox": [10, 20, 30, 40], "score": 0.5}
    entry |= changes
    return {name: value for name, value in entry.items() if value is not None}


def write(tmp_path, content):
    path = tmp_path / "predictions.json"
    path.write_text(json.dumps(content))
    return path


def cars(tmp_path, rows, **options):
    return read_predictions(
        write(tmp_path, rows), images=IMAGES, **{"numbers": {"1": "car"}, **options}
    )


def test_columns(tmp_path):
    rows = [box(image_id=2, score=0.25), box(category_id=3)]
    read = cars(tmp_path, rows, numbers={"1": "car", "3": "person"})
    assert read.images == IMAGES
    assert [read.categories[k] for k in read.label] == ["car", "person"]
    np.testing.assert_array_equal(read.image, [2, 0])
    np.testing.assert_array_equal(read.boxes[0], [10, 20, 40, 60])
    assert (read.floor, read.left_out) == (0.25, ())
    assert read.numbers == {"1": "car", "3": "person"}


def test_a_list_of_images_in_coco_gives_the_words_of_numbers(tmp_path):
    listed = [
        {"id": int(image.image_id), "file_name": image.file_name, "height": 100, "width": 200}
        for image in IMAGES
    ]
    categories = [{"id": 1, "name": "car"}, {"id": 3, "name": "person"}]
    images = tmp_path / "images.json"
    images.write_text(json.dumps({"images": listed, "categories": categories}))
    file = write(tmp_path, [box(image_id=2), box(category_id=3)])
    read = read_predictions(file, images=images)
    assert [read.categories[k] for k in read.label] == ["car", "person"]
    given = read_predictions(file, images=images, numbers={"1": "bus", "3": "dog"})
    assert [given.categories[k] for k in given.label] == ["bus", "dog"]


def test_paths_are_no_list_of_images(tmp_path):
    with pytest.raises(InputError, match="sequence of LabelledImage"):
        read_predictions(write(tmp_path, [box()]), images=["street/a.jpg"])


def test_images_may_be_the_path_of_their_list(tmp_path):
    (tmp_path / "images.txt").write_text("\n".join(image.file_name for image in IMAGES))
    path = write(tmp_path, [box(image_id=None, file_name="street/c.jpg")])
    read = read_predictions(path, images=tmp_path / "images.txt", numbers={"1": "car"})
    assert len(read.images) == 3 and read.image.tolist() == [2]


def test_boxes_of_one_image(tmp_path):
    read = cars(tmp_path, [box(image_id=2, score=0.1), box(), box(image_id=2, score=0.3)])
    np.testing.assert_array_equal(read.detections(2).scores, [0.1, 0.3])
    assert len(read.detections(1)) == 0  # nothing was found there


def test_images_are_taken_from_the_file_where_no_list_is_given(tmp_path):
    path = write(tmp_path, [box(image_id="b"), box(image_id="a"), box(image_id="b")])
    read = read_predictions(path, numbers={"1": "car"})
    assert [image.image_id for image in read.images] == ["b", "a"]


def test_images_of_several_folders_that_have_one_id_are_called_by_their_names(tmp_path):
    names = ("north/a.jpg", "south/a.jpg", "south/b.jpg")
    rows = [box(image_id=k, file_name=name) for k, name in zip((1, 1, 2), names, strict=True)]
    read = read_predictions(write(tmp_path, rows), numbers={"1": "car"})
    assert [(image.image_id, image.file_name) for image in read.images] == [(n, n) for n in names]


def test_a_file_of_the_form_of_an_annotation_file_names_its_categories_and_images(tmp_path):
    content = {
        "images": [{"id": k, "file_name": f"{k}.jpg", "height": 90, "width": 90} for k in range(3)],
        "categories": [{"id": 1, "name": "car"}],
        "annotations": [box()],
    }
    read = read_predictions(write(tmp_path, content))
    assert len(read.images) == 3
    assert read.categories == ("car",)


@pytest.mark.parametrize(
    ("bad", "told"),
    [
        (box(score=None), r"without a score in \[0, 1\], left out: 1 \(numbers 3\)"),
        (box(score="high"), "without a score"),
        (box(score=1.5), "without a score"),
        (box(score=float("nan")), "without a score"),
        (box(bbox=[1, 2, 3]), "bbox is not four finite numbers"),
        (box(bbox=[1, 2, 3, float("inf")]), "bbox is not four finite numbers"),
        (box(bbox="1 2 3 4"), "bbox is not four finite numbers"),
        (box(bbox=[1, 2, -1, 4]), "bbox has a negative width"),
        (box(image_id=None), "without image_id"),
        (box(category_id=None), "without category_id"),
        ("no object", "without image_id"),
    ],
)
def test_bad_entries_are_counted_and_left_out(tmp_path, bad, told):
    read = cars(tmp_path, [box(), box(), box(), bad])
    assert len(read) == 3
    (warning,) = read.left_out
    assert re.search(told, warning)


def test_boxes_without_area_are_read_and_named(tmp_path):
    read = cars(tmp_path, [box(), box(bbox=[1, 2, 0, 4]), box(bbox=[1, 2, 0, 0])])
    np.testing.assert_array_equal(read.boxes[1:], [[1, 2, 1, 6], [1, 2, 1, 2]])
    (note,) = read.left_out
    assert (note.code, note.severity) == ("boxes-without-area", "note")


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ([], "holds no box"),
        ([box(), box(score=None)], "1 of its 2 entries"),  # half is not enough
        ({"boxes": []}, "expected a list of boxes"),
        (7, "expected a list of boxes"),
    ],
)
def test_what_is_no_results_file_is_refused(tmp_path, content, told):
    with pytest.raises(InputError, match=told):
        read_predictions(write(tmp_path, content), numbers={"1": "car"})


def test_a_missing_file(tmp_path):
    with pytest.raises(InputError, match="No predictions file"):
        read_predictions(tmp_path / "nothing.json")


def test_images_outside_the_list_are_named(tmp_path):
    rows = [box(), box(image_id=1), box(image_id="elsewhere")]
    read = cars(tmp_path, rows, where="val.json")
    assert len(read) == 2
    (note,) = read.left_out
    assert note.code == "images-not-placed" and "not in val.json: 1 (elsewhere)" in note
    assert read.uncovered == (2,)  # c has no box, and may be "elsewhere": no object was missed


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (
            [box(image_id="x"), box(image_id="y"), box()],
            r"other images than val.json: 2 of their 3.*\(x, y\)",
        ),
        # other units, corners in the place of sizes
        (
            [box(bbox=[0.1, 0.2, 0.3, 0.4], image_id=k % 3) for k in range(30)],
            r"all boxes lie in \[0, 1\]",
        ),
        (
            [box(bbox=[120, 60, 180, 90])] * 3,
            "100% of the boxes reach out of their images",
        ),
        # percentages and logits
        (
            [box(score=s) for s in (98.0, 31.5, 0.7, 12.0)],
            r"3 of 4 scores are not in \[0, 1\] .*divide percentages by 100",
        ),
        (
            [box(score=s) for s in (1.06, 1.79, 0.7, 1.2)],
            r"3 of 4 scores are not in \[0, 1\] .*Clip them.*or rescale all .*score / 1\.79",
        ),
        (
            [box(score=s) for s in (-3.0, 2.5, 0.7, -1.0)],
            r"3 of 4 scores are not in \[0, 1\] .*sig",
        ),
    ],
)
def test_other_images_and_units_are_refused(tmp_path, rows, message):
    with pytest.raises(InputError, match=message):
        cars(tmp_path, rows, where="val.json")


def test_two_detectors_in_one_file_are_refused(tmp_path):
    one = [box(bbox=[8 * k, 0, 7, 20], score=0.6) for k in range(20)]
    other = [box(bbox=[8 * k, 0, 7, 19.5], score=0.7) for k in range(20)]
    assert len(cars(tmp_path, one)) == 20
    with pytest.raises(InputError, match=r"40 of 40 boxes over .* lie on another one"):
        cars(tmp_path, one + other)


def test_any_format_is_found_once(tmp_path):
    names = ("a.json", "b.parquet", "c.v2.jsonl.gz", "d [1].json", "notes.txt", "d 1.json")
    for name in names:
        (tmp_path / name).touch()
    found = files_by_site(tmp_path)
    expected = dict(zip(("a", "b", "c.v2", "d [1]"), names, strict=False)) | {"d 1": "d 1.json"}
    assert {place: path.name for place, path in found.items()} == expected
    assert all(file_of(place, tmp_path) == path for place, path in found.items())
    (tmp_path / "a.parquet").touch()
    with pytest.raises(InputError, match=r"two files of a: a.json and a.parquet"):
        files_by_site(tmp_path)
    with pytest.raises(InputError, match=r"Expected one file a.json .* but found 2"):
        file_of("a", tmp_path)


def test_a_file_of_nothing_says_which_listed_images_it_is_not_of(tmp_path):
    """As a file with a box does; images of other names were read as ones with nothing in them."""

    def read(*names):
        listed = [{"id": k, "file_name": f"street/{name}.jpg"} for k, name in enumerate(names)]
        document = {"images": listed, "annotations": [], "categories": []}
        return read_predictions(write(tmp_path, document), images=IMAGES, words=["car"])

    first = read("a", "b")
    assert first.uncovered == (2,) and len(first) == 0 and first.images == IMAGES
    assert [notice.code for notice in first.left_out] == ["images-not-placed"]
    assert read("a", "b", "c").uncovered == ()
    with pytest.raises(InputError, match="of other images"):
        read("x", "y", "z")
