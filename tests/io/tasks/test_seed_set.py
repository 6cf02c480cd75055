import cv2
import numpy as np
import pytest

from autoeval.errors import InputError
from autoeval.io.labels.any_format import load_labels
from autoeval.io.labels.content import labelled_boxes
from autoeval.io.tasks.seed_set import load_seed_set

CAR = {"car": "vehicle"}


def load(files, mapping=CAR, categories=("vehicle",)):
    return load_seed_set("street", *files, categories, mapping)


def test_boxes_become_xyxy_with_the_labels_of_the_task(make_coco):
    boxes = [(1, "car", 5, 6, 10, 20), (3, "person", 0, 0, 60, 40, 1), (3, "car", 1, 2, 3, 4)]
    mapping = {"car": "vehicle", "person": "human"}
    seed_set = load(make_coco(boxes), mapping, ("human", "vehicle"))
    assert seed_set.name == "street" and seed_set.categories == ("human", "vehicle")
    assert [image.image_id for image in seed_set.images] == ["1", "2", "3"]
    first, second, third = seed_set.images
    assert first.boxes.tolist() == [[5, 6, 15, 26]] and first.labels.tolist() == [1]
    assert (first.height, first.width) == (40, 60) and first.path.is_file()
    assert second.boxes.shape == (0, 4) and second.boxes.dtype == np.float64
    assert third.labels.tolist() == [0, 1] and third.iscrowd.tolist() == [True, False]
    assert seed_set.n_boxes == 3 and seed_set.warnings == ()


def test_several_categories_become_one_and_boxes_outside_the_mapping_are_counted(make_coco):
    vehicles = [(1, "car", 5, 6, 10, 20), (1, "bus", 5, 6, 10, 20)]
    people = [(1, "person", 1, 1, 2, 2), (2, "person", 1, 1, 2, 2)]
    files = make_coco([*vehicles, *people], categories=("car", "bus", "person"))
    seed_set = load(files, {"car": "vehicle", "bus": "vehicle"})
    assert seed_set.images[0].labels.tolist() == [0, 0] and seed_set.n_boxes == 2
    (warning,) = seed_set.warnings
    assert warning == "boxes of categories that the mapping lacks, left out: 2 (person 2)"


def test_bad_boxes_are_repaired_or_dropped_and_counted(make_coco):
    boxes = [
        (1, "car", 10, 10, 0, 5),  # no width
        (1, "car", 10, 10, 5, -5),  # negative height
        (2, "car", 60, 10, 5, 5),  # begins where the image ends
        (2, "car", -9, -9, 5, 5),  # ends before it begins
        (3, "car", -5, 30, 10, 30),  # partly outside
        (3, "car", 50.5, 0, 9.9, 40),  # .4 px over: rounding, clipped without a word
    ]
    seed_set = load(make_coco(boxes))
    assert [len(image.boxes) for image in seed_set.images] == [0, 0, 2]
    assert seed_set.images[2].boxes.tolist() == [[0, 30, 5, 40], [50.5, 0, 60, 40]]
    flat, outside, clipped = seed_set.warnings
    assert flat.startswith("boxes without area") and flat.endswith("dropped: 2 (image ids: 1)")
    assert outside == "boxes wholly outside their image, dropped: 2 (image ids: 2)"
    assert clipped.startswith("boxes that reached") and clipped.endswith("1 (image ids: 3)")


def test_images_missing_on_disk_are_named(make_coco):
    """Also behind a link in a circle, and under a name longer than the system allows."""
    ann_file, img_dir = make_coco([(1, "car", 1, 1, 5, 5), (2, "car", 1, 1, 5, 5)])
    (img_dir / "2.png").unlink()
    absent = load((ann_file, img_dir))
    (img_dir / "2.png").symlink_to(img_dir / "2.png")
    for seed_set in (absent, load((ann_file, img_dir))):
        assert [image.image_id for image in seed_set.images] == ["1", "3"]
        assert seed_set.n_boxes == 1
        assert seed_set.warnings == (f"images missing in {img_dir}: 1 (2.png)",)
    seed_set = load(make_coco(name="long", change=edit("images", file_name="x" * 999)))
    assert [image.image_id for image in seed_set.images] == ["2", "3"]


def test_no_image_left_is_a_failure(make_coco):
    ann_file, img_dir = make_coco()
    for path in img_dir.iterdir():
        path.unlink()
    with pytest.raises(InputError, match=r"none of its 3 images .*1\.png"):
        load((ann_file, img_dir))
    with pytest.raises(InputError, match="No image folder"):
        load((ann_file, img_dir / "typo"))
    with pytest.raises(InputError, match="lists no image"):
        load(make_coco((), n_images=0, name="void"))


@pytest.mark.parametrize(
    ("mapping", "message"),
    [
        ({"lorry": "vehicle"}, r"\(car, person\), but it names lorry"),
        ({"car": "vehicle", "lorry": "vehicle"}, r"\(car, person\), but it names lorry"),
        ({}, r"\(car, person\), but it is empty"),
        ({"car": "boat"}, r"leads to boat.*\(its categories: vehicle\)"),
    ],
)
def test_mapping_that_does_not_fit(make_coco, mapping, message):
    with pytest.raises(InputError, match=message):
        load(make_coco(), mapping)


def edit(key, position=0, **changes):
    def change(document):
        document[key][position].update(changes)

    return change


def drop(key, field):
    def change(document):
        del document[key][0][field]

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (edit("images", 1, id=1), "ids must be unique.*1"),
        (edit("annotations", image_id=99), "image_id 99 is not in the list"),
        (edit("annotations", category_id=99), "category_id 99 is not in the list"),
        (edit("annotations", bbox=[1, 2, 3]), "expected bbox"),
        (edit("annotations", bbox=[1, 2, 3, float("nan")]), "expected bbox"),
        (edit("annotations", bbox=None), r"annotations\[0\] is malformed"),
        (drop("annotations", "bbox"), r"annotations\[0\] is malformed: no field 'bbox'"),
        (drop("categories", "name"), r"categories\[0\] is malformed: no field 'name'"),
        (edit("images", file_name="../annotations.json"), "leaves the image folder"),
        (edit("images", file_name="/etc/hosts"), "leaves the image folder"),
        (edit("images", file_name="a\0.png"), "leaves the image folder"),
        (lambda document: document.update(images=3), "to be a list"),
        (lambda document: document.pop("images"), "not a COCO annotation file"),
    ],
)
def test_malformed_annotation_files(make_coco, change, message):
    with pytest.raises(InputError, match=message):
        load(make_coco(change=change))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"{", "is not a JSON file"),
        (b"\x89PNG\xff", "is not a JSON file"),
        (b"[]", "not a COCO annotation file"),
        (None, "No labels"),
    ],
)
def test_files_that_are_no_annotations(tmp_path, content, message):
    ann_file = tmp_path / "a.json"
    if content is not None:
        ann_file.write_bytes(content)
    with pytest.raises(InputError, match=message):
        load((ann_file, tmp_path))


@pytest.mark.parametrize("change", [drop("images", "height"), edit("images", height=None)])
def test_a_size_that_the_labels_lack_is_that_of_the_file(make_coco, change):
    """Label Studio exports null for an image without a label."""
    first = load(make_coco(size=(40, 60), change=change)).images[0]
    assert (first.height, first.width) == (40, 60)


def test_links(make_coco, tmp_path):
    """A linked folder is the user's wish; a link in it to a file elsewhere is not followed."""
    ann_file, img_dir = make_coco()
    (tmp_path / "linked").symlink_to(img_dir)
    assert len(load((ann_file, tmp_path / "linked")).images) == 3
    (tmp_path / "secret.png").write_bytes((img_dir / "1.png").read_bytes())
    (img_dir / "1.png").unlink()
    (img_dir / "1.png").symlink_to(tmp_path / "secret.png")
    with pytest.raises(InputError, match="leaves the image folder"):
        load((ann_file, img_dir))


def test_what_is_there_twice_is_counted(make_coco):
    box = (1, "car", 5, 6, 10, 20)
    boxes = [box, box, box, (1, "car", 5, 6, 10, 21), (2, *box[1:])]
    seed_set = load(make_coco(boxes, change=edit("images", 1, file_name="1.png")))
    assert seed_set.n_boxes == 5
    assert [w.code for w in seed_set.warnings] == ["images-listed-twice", "boxes-given-twice"]
    assert "have: 1 (1.png)" in seed_set.warnings[0]
    assert "kept: 2 (image ids: 1)" in seed_set.warnings[1]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("[5, 5,", f"[1{'0' * 400}, 5,", r"annotations\[0\] is malformed.*too large"),
        ('"id": 10', '"id": [10]', r"categories\[0\] is malformed.*unhashable"),
        ('"height": 40', f'"height": {"[" * 100_000}', "nested too deeply"),
        ('"1.png"', '"\\ud800.png"', "surrogates not allowed"),
    ],
)
def test_numbers_nesting_and_names_that_nothing_can_hold(make_coco, old, new, message):
    ann_file, img_dir = make_coco()
    ann_file.write_text(ann_file.read_text().replace(old, new, 1))
    with pytest.raises(InputError, match=message):
        load((ann_file, img_dir))


def test_an_area_ignored_for_any_category_is_so_for_each_of_the_task(tmp_path):
    for part in ("image_2", "label_2"):
        (tmp_path / part).mkdir()
    cv2.imwrite(str(tmp_path / "image_2" / "1.png"), np.zeros((20, 40, 3), np.uint8))
    tail = "1.5 1.6 3.7 1 2 30 -1.5"
    lines = [f"Car 0 0 0 1 2 11 8 {tail}", f"Van 0 0 0 2 2 5 8 {tail}"]
    lines += [f"DontCare -1 -1 -10 20 0 30 5 {tail}"]
    (tmp_path / "label_2" / "1.txt").write_text("\n".join(lines))
    mapping = {"Car": "vehicle", "Van": "vehicle", "Pedestrian": "person"}
    categories = ("vehicle", "person")
    (image,) = load_seed_set("k", tmp_path, None, categories, mapping, layout="kitti").images
    assert image.boxes.tolist() == [[1, 2, 11, 8], [2, 2, 5, 8], [20, 0, 30, 5], [20, 0, 30, 5]]
    assert image.labels.tolist() == [0, 0, 0, 1]
    assert image.iscrowd.tolist() == [False, False, True, True]
    # with boxes in files it was left out, so that what lies in it was wrong
    truth = labelled_boxes(load_labels(tmp_path, layout="kitti"), categories, mapping)
    assert truth.boxes.tolist() == image.boxes.tolist()
    assert truth.label.tolist() == [0, 0, 0, 1]
    assert truth.crowd.tolist() == [False, False, True, True]


def test_words_that_are_spelt_otherwise_are_those_of_the_task(make_coco):
    ann_file, img_dir = make_coco()
    wanted = load((ann_file, img_dir), None, ("car",))
    text = ann_file.read_text()
    ann_file.write_text(text.replace('"car"', '"Car "'))
    assert '"Car "' in ann_file.read_text()
    seed_set = load((ann_file, img_dir), None, ("car",))
    assert seed_set.n_boxes == wanted.n_boxes
    assert [w.code for w in seed_set.warnings if w not in wanted.warnings] == [
        "words-spelt-otherwise"
    ]
