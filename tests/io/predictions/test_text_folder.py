"""Text files of predictions: the order of columns is decided from the lines of all files."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from autoeval.boxes import LabelledImage
from autoeval.errors import InputError
from autoeval.io.predictions import read_predictions
from autoeval.io.predictions.text_folder import Lines, _order_of

N_IMAGES = 12
N_BOXES = 8
IMAGES = tuple(
    LabelledImage(str(k), f"street/{k:03}.jpg", (300 + 10 * k, 400)) for k in range(N_IMAGES)
)
NO_SIZES = tuple(LabelledImage(i.image_id, i.file_name, None) for i in IMAGES)
NUMBERS = {"1": "person", "2": "car", "3": "traffic light"}
WORDS = list(NUMBERS.values())


def made_boxes(seed=0):
    """Boxes of each image: class, score and xyxy in pixels, cut at the edges; sorted by score."""
    rng = np.random.default_rng(seed)
    for image in IMAGES:
        size = np.array(image.size[::-1], float)
        centres, sides = (
            size * rng.random((N_BOXES, 2)),
            size * rng.uniform(0.05, 0.5, (N_BOXES, 2)),
        )
        boxes = np.concatenate([centres - sides / 2, centres + sides / 2], axis=1)
        boxes = np.clip(boxes, 0, np.tile(size, 2))
        scores = np.sort(rng.uniform(0.02, 0.98, N_BOXES))[::-1]
        yield image, rng.integers(0, 3, N_BOXES), scores, boxes


FORMS = {
    "centre": lambda x, y, right, bottom: (
        (x + right) / 2,
        (y + bottom) / 2,
        right - x,
        bottom - y,
    ),
    "edges": lambda x, y, right, bottom: (x, y, right - x, bottom - y),
    "corners": lambda x, y, right, bottom: (x, y, right, bottom),
    "Open Images": lambda x, y, right, bottom: (x, right, y, bottom),
}


def write(folder, line, *, pixels, form, separator=" ", encoding="utf-8", end="\n"):
    """Write a file an image; `line` puts class, score and box into the order of a tool."""
    (folder / "labels").mkdir()
    for image, labels, scores, boxes in made_boxes():
        unit = np.ones(4) if pixels else np.tile(image.size[::-1], 2)
        text = ""
        for k, (label, score, box) in enumerate(zip(labels, scores, boxes, strict=True)):
            numbers = [f"{v:.6f}" for v in FORMS[form](*(box / unit))]
            text += separator.join(map(str, line(label, f"{score:.6f}", numbers, k))) + end
        path = folder / "labels" / f"{image.file_name[7:10]}.txt"
        path.write_text(text, encoding=encoding)
    return folder


def assert_right(read):
    """Compare with the boxes that were written."""
    assert len(read) == N_IMAGES * N_BOXES
    for k, (_, labels, scores, boxes) in enumerate(made_boxes()):
        mine = read.image == k
        np.testing.assert_allclose(read.boxes[mine], boxes, atol=2e-3)
        np.testing.assert_allclose(read.scores[mine], scores, atol=1e-6)
        assert [read.categories[label] for label in read.label[mine]] == [WORDS[n] for n in labels]


ORDERS = {
    "class box score": lambda c, s, box, k: (c, *box, s),
    "class score box": lambda c, s, box, k: (c, s, *box),
    "box score class": lambda c, s, box, k: (*box, s, c),
    "score box class": lambda c, s, box, k: (s, *box, c),
    "box class score": lambda c, s, box, k: (*box, c, s),
    "score class box": lambda c, s, box, k: (s, c, *box),
    "class box score track": lambda c, s, box, k: (c, *box, s, 100 + k),
    "class box track score": lambda c, s, box, k: (c, *box, 100 + k, s),
    "class track score box": lambda c, s, box, k: (c, 100 + k, s, *box),
}


@pytest.mark.parametrize("pixels", [True, False])
@pytest.mark.parametrize(("order", "form"), itertools.product(ORDERS, FORMS))
def test_any_order_gives_the_boxes(tmp_path, order, form, pixels):
    folder = write(tmp_path, ORDERS[order], pixels=pixels, form=form)
    read = read_predictions(folder, images=IMAGES, numbers=NUMBERS)
    assert_right(read)
    of_yolo = order.startswith("class box score") and form == "centre" and not pixels
    assert [notice.code for notice in read.left_out] == ["columns-recognised"] * (not of_yolo)


@pytest.mark.parametrize(("form", "pixels"), itertools.product(FORMS, [True, False]))
@pytest.mark.parametrize("last", [True, False])
def test_words_may_have_spaces(tmp_path, form, pixels, last):
    def line(label, score, box, _):
        return (score, *box, WORDS[label]) if last else (WORDS[label], score, *box)

    folder = write(tmp_path, line, pixels=pixels, form=form)
    assert_right(read_predictions(folder, images=IMAGES, numbers=NUMBERS))


def test_known_words_may_end_in_a_number(tmp_path):
    def line(label, score, box, _):
        return (f"class {label}", score, *box)

    folder = write(tmp_path, line, pixels=True, form="corners")
    known = {str(k): f"class {k}" for k in range(3)}
    read = read_predictions(folder, images=IMAGES, numbers=known)
    assert {read.categories[k] for k in read.label} == {"class 0", "class 1", "class 2"}


@pytest.mark.parametrize(
    ("separator", "encoding", "end"),
    [
        ("\t", "utf-8", "\n"),
        (",", "utf-8", "\n"),
        (", ", "utf-8", "\r\n"),
        (";", "utf-8", "\n\n"),
        ("  ", "utf-8-sig", " \n"),
    ],
)
def test_separators_and_blank_lines(tmp_path, separator, encoding, end):
    def line(label, score, box, _):
        return (WORDS[label], score, *box)

    layout = {"separator": separator, "encoding": encoding, "end": end}
    folder = write(tmp_path, line, pixels=True, form="corners", **layout)
    assert_right(read_predictions(folder, images=IMAGES, numbers=NUMBERS))


@pytest.mark.parametrize("form", ["corners", "Open Images"])
def test_corners_need_no_sizes_and_no_list_of_images(tmp_path, form):
    """Those of Open Images were left, top, width and height: two edges are positive, too."""
    folder = write(tmp_path, ORDERS["class score box"], pixels=True, form=form)
    assert_right(read_predictions(folder, images=NO_SIZES, numbers=NUMBERS))
    assert_right(read_predictions(folder, numbers=NUMBERS))


def test_what_fits_two_orders_is_refused_and_columns_decide(tmp_path):
    """Without sizes, centres in pixels may be left and top edges as well."""
    folder = write(tmp_path, ORDERS["class box score"], pixels=True, form="centre")
    with pytest.raises(InputError, match=r"fit in several orders.*--columns"):
        read_predictions(folder, images=NO_SIZES, numbers=NUMBERS)
    columns = ["class", "cx", "cy", "w", "h", "conf"]
    assert_right(read_predictions(folder, images=NO_SIZES, numbers=NUMBERS, columns=columns))


@pytest.mark.parametrize("form", FORMS)
def test_boxes_that_reach_beyond_images_of_unknown_sizes_are_never_read_in_another_order(
    tmp_path, monkeypatch, form
):
    """Detectors that do not cut boxes at the edges; centres were read as left and top edges."""

    def uncut(left, top, right, bottom):
        left -= (left < 1) * (right - left) / 10
        top -= (top < 1) * (bottom - top) / 10
        return FORMS[form](left, top, right, bottom)

    monkeypatch.setitem(FORMS, "uncut", uncut)
    folder = write(tmp_path, ORDERS["class box score"], pixels=True, form="uncut")
    if form == "centre":
        with pytest.raises(InputError, match=r"fit in several orders.*class, x, y, w, h, score"):
            read_predictions(folder, images=NO_SIZES, numbers=NUMBERS)
    else:
        read = read_predictions(folder, images=NO_SIZES, numbers=NUMBERS)
        right = np.concatenate([boxes[:, 2:] for _, _, _, boxes in made_boxes()])
        np.testing.assert_allclose(read.boxes[:, 2:], right, atol=2e-3)


def test_results_of_kitti_are_refused_with_the_columns_that_read_them(tmp_path):
    """Class, truncated, occluded, alpha, corners, three sizes, three places, rotation, score."""
    for image, labels, scores, boxes in made_boxes():
        lines = [
            f"{WORDS[k]} -1 -1 -10 {' '.join(f'{v:.4f}' for v in box)}{' -1' * 3}{' -1000' * 3} "
            f"-10 {score:.6f}"
            for k, score, box in zip(labels, scores, boxes, strict=True)
        ]
        (tmp_path / f"{image.file_name[7:10]}.txt").write_text("\n".join(lines))
    with pytest.raises(InputError, match="KITTI are read with --columns") as error:
        read_predictions(tmp_path, images=IMAGES, numbers=NUMBERS)
    columns = str(error.value).rpartition("--columns ")[2].strip(".").split(",")
    assert_right(read_predictions(tmp_path, images=IMAGES, numbers=NUMBERS, columns=columns))


def test_few_lines_of_the_usual_order_are_never_read_in_another(tmp_path):
    """One box has no area, which contradicts the usual order, and no line another one."""
    image = LabelledImage("1", "1.jpg", (256, 128))
    lines = """0 0.91796875 0.44287109375 0.0 0.3603515625 0.455078125
0 0.197265625 0.32177734375 0.375 0.1494140625 0.322265625
1 0.8193359375 0.21044921875 0.021484375 0.1142578125 0.369140625
1 0.5712890625 0.8349609375 0.470703125 0.02734375 0.296875
1 0.6806640625 0.44482421875 0.255859375 0.3955078125 0.40234375
2 0.7451171875 0.22412109375 0.244140625 0.4111328125 0.458984375
0 0.369140625 0.28076171875 0.234375 0.2998046875 0.5810546875
"""
    (tmp_path / "1.txt").write_text(lines)
    with pytest.raises(InputError, match="fit in several orders"):
        read_predictions(tmp_path, images=[image], numbers=NUMBERS)
    usual = ["class", "x", "y", "w", "h", "score"]
    read = read_predictions(tmp_path, images=[image], numbers=NUMBERS, columns=usual)
    np.testing.assert_allclose(read.boxes[-1], [32.25, 33.5, 62.25, 110.25])


def test_three_lines_of_the_usual_order(tmp_path):
    """By chance another column is sorted, and not the scores: three lines are no evidence of it."""
    lines = [
        "1 0.96630859375 0.28466796875 0.0673828125 0.265625 0.263671875",
        "1 0.394775390625 0.199462890625 0.34912109375 0.37060546875 0.71484375",
        "1 0.150146484375 0.570068359375 0.26416015625 0.21337890625 0.263671875",
    ]
    (tmp_path / "1.txt").write_text("\n".join(lines))
    image = LabelledImage("1", "1.jpg", (512, 512))
    read = read_predictions(tmp_path, images=[image], numbers=NUMBERS)
    np.testing.assert_allclose(read.boxes[0], [477.5, 77.75, 512, 213.75])


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (["class", "x", "y", "w", "h"], "Expected --columns with class, score"),
        (["class", "score", "left", "y", "w", "h"], "Expected --columns with class, score"),
        (["class", "score", "x", "y", "w", "h", "-"], "names 7 columns, and lines have 6"),
    ],
)
def test_columns_that_cannot_be(tmp_path, columns, message):
    folder = write(tmp_path, ORDERS["class box score"], pixels=False, form="centre")
    with pytest.raises(InputError, match=message):
        read_predictions(folder, images=IMAGES, numbers=NUMBERS, columns=columns)


def test_tracks_of_some_lines_and_tracks_without_scores(tmp_path):
    def with_some_tracks(label, score, box, k):
        return (label, *box, score, *([k] if k % 2 else []))

    def without_scores(label, score, box, k):
        return (label, *box, k)

    folder = write(tmp_path, with_some_tracks, pixels=False, form="centre")
    assert_right(read_predictions(folder, images=IMAGES, numbers=NUMBERS))
    (tmp_path / "tracks").mkdir()
    folder = write(tmp_path / "tracks", without_scores, pixels=False, form="centre")
    with pytest.raises(InputError, match=r"tracks of `yolo track`.*save_conf=True"):
        read_predictions(folder, images=IMAGES, numbers=NUMBERS)


def test_names_of_files_beside_and_of_images(tmp_path):
    folder = write(tmp_path, ORDERS["class box score"], pixels=False, form="centre")
    labels = folder / "labels"
    for k in range(0, N_IMAGES, 2):  # named after the whole name of the image
        (labels / f"{k:03}.txt").rename(labels / f"{k:03}.jpg.txt")
    (labels / "README.txt").write_text("Made by a tool.")
    (labels / "classes.txt").write_text("\n".join(WORDS))
    read = read_predictions(folder, images=IMAGES)
    assert_right(read)


@pytest.mark.parametrize("images", [IMAGES, None])
def test_files_in_subfolders_are_of_the_images_there(tmp_path, images):
    """Two cameras whose images have the same names; half of the files were passed over."""
    folder = write(tmp_path, ORDERS["class box score"], pixels=True, form="corners")
    (tmp_path / "labels").rename(tmp_path / "boxes")
    names = {}
    for k, image in enumerate(IMAGES):
        names[image.image_id] = f"{'ab'[k % 2]}/{k // 2:03}.jpg"
        place = (
            tmp_path / "boxes" / names[image.image_id].replace("jpg", "TXT" if k == 3 else "txt")
        )
        place.parent.mkdir(exist_ok=True)
        (tmp_path / "boxes" / f"{k:03}.txt").rename(place)
    if images:
        images = [LabelledImage(i.image_id, names[i.image_id], i.size) for i in IMAGES]
    read = read_predictions(folder / "boxes", images=images, numbers=NUMBERS)
    order = {image.file_name.removesuffix(".jpg"): k for k, image in enumerate(read.images)}
    wanted = [order[names[image.image_id].removesuffix(".jpg")] for image in IMAGES]
    assert_right(read.on_images(wanted))


def test_of_several_runs_one_is_to_be_named(tmp_path):
    for run in ("predict", "predict2"):
        (tmp_path / run).mkdir()
        write(tmp_path / run, ORDERS["class box score"], pixels=False, form="centre")
    with pytest.raises(InputError, match=r"several folders .*predict/labels, .*predict2/labels"):
        read_predictions(tmp_path, images=IMAGES, numbers=NUMBERS)
    assert_right(read_predictions(tmp_path / "predict", images=IMAGES, numbers=NUMBERS))


def test_files_of_nothing_are_images_without_a_box(tmp_path):
    for image in IMAGES:
        (tmp_path / f"{image.file_name[7:10]}.txt").touch()
    read = read_predictions(tmp_path, images=IMAGES, numbers=NUMBERS, words=WORDS)
    assert len(read) == 0 and len(read.images) == N_IMAGES


def test_lines_that_are_no_predictions_say_what_is_missing(tmp_path):
    rng = np.random.default_rng(0)
    lines = "\n".join(" ".join(f"{v:.1f}" for v in row) for row in rng.uniform(50, 300, (40, 6)))
    (tmp_path / "000.txt").write_text(lines)
    with pytest.raises(InputError, match=r"no column of its 40 lines holds scores in \[0, 1\]"):
        read_predictions(tmp_path, images=IMAGES, numbers=NUMBERS)


def test_a_line_that_was_cut_is_named_and_left_out(tmp_path):
    folder = write(tmp_path, ORDERS["class box score"], pixels=False, form="centre")
    with (folder / "labels" / "003.txt").open("a") as file:
        file.write("1 0.5 0.2")
    read = read_predictions(folder, images=IMAGES, numbers=NUMBERS)
    assert_right(read)
    (notice,) = read.left_out
    assert notice.code == "entries-malformed" and "003.txt, line 9" in notice


REAL = {  # by name: where the class, the box and the score stand
    "class box score": lambda c, s, box: [c, *box, s],
    "class score box": lambda c, s, box: [c, s, *box],
    "box score class": lambda c, s, box: [*box, s, c],
    "box class score": lambda c, s, box: [*box, c, s],
    "score class box": lambda c, s, box: [s, c, *box],
    "class box score track": lambda c, s, box: [c, *box, s, _track(s)],
}


def _track(column):
    return "-" if isinstance(column, str) else np.arange(len(column)) % 17


NAMES = {
    "centre": ("x", "y", "w", "h"),
    "edges": ("left", "top", "w", "h"),
    "corners": ("left", "top", "right", "bottom"),
    "Open Images": ("left", "right", "top", "bottom"),
}


@pytest.mark.slow
@pytest.mark.parametrize("least", [0.0, 0.25])
@pytest.mark.parametrize("detector", ["yolo26n", "nanodet_plus", "fastestdet", "yolov8n"])
def test_real_predictions_in_any_order(shared, detector, least):
    """Each is read as it was written, or refused; most are read."""
    outcomes = Counter()
    for path in sorted((shared / "real_predictions" / detector).glob("*/*.json")):
        rows = [row for row in json.loads(path.read_text()) if row["score"] >= least]
        if len(rows) < 20:
            continue
        set_of = shared / "real" / path.parent.name / path.stem / "annotations.json"
        images = json.loads(set_of.read_text())["images"]
        place = {image["id"]: k for k, image in enumerate(images)}
        file = np.array([place[row["image_id"]] for row in rows])
        rows = [rows[k] for k in np.argsort(file, kind="stable")]
        file = np.sort(file)
        sizes = np.array([(images[k]["width"], images[k]["height"]) for k in file], float)
        number = np.array([row["category_id"] - 1.0 for row in rows])
        score = np.array([row["score"] for row in rows])
        left, top, width, height = np.array([row["bbox"] for row in rows]).T
        corners = np.stack([left, top, left + width, top + height])
        for (order, line), form, pixels in itertools.product(REAL.items(), FORMS, [True, False]):
            unit = np.ones((4, 1)) if pixels else np.tile(sizes.T, (2, 1))
            box = FORMS[form](*(corners / unit))
            table = np.round(np.stack(line(number, score, box), axis=1), 6)
            wanted = line("class", "score", NAMES[form])
            lines = Lines((), False, table, file, sizes)
            try:
                found, _ = _order_of(Path(path.stem), lines, ())
            except InputError:
                outcomes["refused"] += 1
                continue
            right = all(found.column(n) == wanted.index(n) for n in ("score", *NAMES[form]))
            assert right and found.pixels == pixels, (path, order, form, pixels, found)
            outcomes["read"] += 1
    assert outcomes["read"] > 10 * outcomes["refused"]
