"""True counts from the layouts that data sets come in."""

import json

import numpy as np
import pytest
from counting_files import write_boxes
from scipy.io import savemat

from autoeval.counting.praco.data import load_counting_set
from autoeval.counting.true_counts import GroundTruth, ImageTruth, read_truth
from autoeval.errors import InputError

POINTS = [[1.5, 2.0], [30.0, 4.0], [7.0, 8.0]]


def struct(**fields):
    """A MATLAB struct of one element."""
    record = np.empty((1, 1), dtype=[(name, object) for name in fields])
    for name, value in fields.items():
        record[0, 0][name] = value
    return record


def shanghai(points, number):
    cell = np.empty((1, 1), dtype=object)
    cell[0, 0] = struct(location=np.array(points, float), number=np.array([[number]]))
    return {"image_info": cell}


@pytest.mark.parametrize(
    ("file", "content", "image_id"),
    [
        ("GT_IMG_7.mat", shanghai(POINTS, 3), "IMG_7"),
        ("img_0001_ann.mat", {"annPoints": np.array(POINTS)}, "img_0001"),
        ("0042.mat", {"annPoints": np.array(POINTS), "annBoxes": np.zeros((3, 4))}, "0042"),
        ("12.mat", {"gt": np.hstack([POINTS, np.zeros((3, 4))])}, "12"),
        ("13.mat", {"whatever": np.array(POINTS)}, "13"),
    ],
)
def test_matlab_layouts(tmp_path, file, content, image_id):
    savemat(tmp_path / file, content)
    truth = read_truth(tmp_path / file).images[image_id]
    assert truth.count == 3 and truth.points.tolist() == POINTS
    assert read_truth(tmp_path).counts == {image_id: 3}


def test_matlab_files_without_points_or_objects_or_against_themselves(tmp_path):
    savemat(tmp_path / "a.mat", {"x": np.array([[1.0]])})
    with pytest.raises(InputError, match=r"annPoints.*it holds x"):
        read_truth(tmp_path / "a.mat")
    savemat(tmp_path / "b.mat", shanghai(POINTS, 4))
    with pytest.raises(InputError, match="number = 4 but has 3"):
        read_truth(tmp_path / "b.mat")
    (tmp_path / "c.mat").write_bytes(b"no matlab")
    with pytest.raises(InputError, match="Cannot read"):
        read_truth(tmp_path / "c.mat")
    savemat(tmp_path / "0001.mat", {"annPoints": np.zeros((0, 2))})
    truth = read_truth(tmp_path / "0001.mat").images["0001"]
    assert truth.count == 0 and truth.points.shape == (0, 2)


def test_points_by_image_id_and_fsc_147(tmp_path):
    path = tmp_path / "points.json"
    path.write_text(json.dumps({"a.jpg": POINTS, "b.jpg": []}))
    truth = read_truth(path)
    assert truth.counts == {"a.jpg": 3, "b.jpg": 0}
    assert truth.images["a.jpg"].points.tolist() == POINTS
    entry = {"H": 384, "W": 512, "box_examples_coordinates": [], "points": POINTS, "r": [1, 2]}
    path = tmp_path / "annotation_FSC147_384.json"
    path.write_text(json.dumps({"2.jpg": entry}))
    truth = read_truth(path).images["2.jpg"]
    assert truth.count == 3 and truth.size == (384, 512)


FSC = {"H": 768, "W": 1024, "box_examples_coordinates": [], "points": POINTS}


@pytest.mark.parametrize(
    ("more", "size"),
    [
        ({}, (384, 512)),
        ({"ratio_h": 0.5, "ratio_w": 0.484375}, (384, 496)),
        ({"H": 384}, (384, 1024)),
    ],
)
def test_the_frame_of_fsc_147_is_384_high_whatever_its_sizes_say(tmp_path, more, size):
    (tmp_path / "annotation_FSC147_384.json").write_text(json.dumps({"2.jpg": {**FSC, **more}}))
    assert read_truth(tmp_path).images["2.jpg"].size == size
    assert read_truth(tmp_path / "annotation_FSC147_384.json").images["2.jpg"].size == size


def test_the_folder_of_fsc_147_gives_the_split_that_was_predicted(tmp_path):
    names = ["2.jpg", "3.jpg", "4.jpg"]
    (tmp_path / "annotation_FSC147_384.json").write_text(json.dumps(dict.fromkeys(names, FSC)))
    splits = {"train": ["4.jpg"], "test": ["2.jpg", "3.jpg"]}
    (tmp_path / "Train_Test_Val_FSC_147.json").write_text(json.dumps(splits))
    truth = read_truth(tmp_path)
    assert set(truth.named_as(["2.jpg"]).images) == {"2.jpg", "3.jpg"}
    assert "split 'test'" in truth.named_as(["2"]).notes[-1]
    assert set(truth.named_as(["2.jpg", "4.jpg"]).images) == set(names)


def truth_of_files(counts, file_names):
    images = {image_id: ImageTruth(count) for image_id, count in counts.items()}
    return GroundTruth(images, file_names=file_names)


@pytest.mark.parametrize("folder", ["", "images/"])
def test_names_of_files_are_no_ids_of_other_images(folder):
    """The id 1 is of 2.jpg: both ways join all, and one of them takes the counts of others."""
    truth = truth_of_files(
        {"1": 20.0, "2": 30.0, "3": 10.0}, {"1": "2.jpg", "2": "3.jpg", "3": "1.jpg"}
    )
    names = [f"{folder}{k}.jpg" for k in (1, 2, 3)]
    assert truth.named_as(names).counts == dict(zip(names, [10.0, 20.0, 30.0], strict=True))
    assert truth.named_as(["1", "2", "3"]).counts == truth.counts


@pytest.mark.parametrize("order", [["1", "2", "3"], ["3", "2", "1"]])
def test_an_image_that_nobody_names_takes_no_name_of_another(order):
    counts, files = {"1": 5.0, "2": 6.0, "3": 7.0}, {"1": "0.jpg", "2": "1.jpg", "3": "2.jpg"}
    truth = truth_of_files({k: counts[k] for k in order}, files)
    assert truth.named_as(["0", "2"]).counts == {"0": 5.0, "1.jpg": 6.0, "2": 7.0}


def test_points_twice_and_outside_the_image_are_named(tmp_path):
    (tmp_path / "p.json").write_text(
        json.dumps({"a": {"points": [[1, 1], [1, 1], [20, 1]], "H": 10, "W": 10}, "b": POINTS})
    )
    twice, outside = read_truth(tmp_path / "p.json").notes
    assert twice == "1 true points are given twice, in 1 images: a"
    assert outside == "1 true points lie outside their image, in 1 images: a"


def test_nwpu_crowd_one_file_an_image(tmp_path):
    for name, points in (("0001", POINTS), ("0002", [])):
        entry = {"img_id": f"{name}.jpg", "human_num": len(points), "points": points, "boxes": []}
        (tmp_path / f"{name}.json").write_text(json.dumps(entry))
    assert read_truth(tmp_path).counts == {"0001.jpg": 3, "0002.jpg": 0}
    (tmp_path / "0003.json").write_text(json.dumps({**entry, "human_num": 9}))
    with pytest.raises(InputError, match="human_num = 9"):
        read_truth(tmp_path)
    (tmp_path / "0003.json").write_text(json.dumps(entry))
    with pytest.raises(InputError, match=r"0002\.jpg appears twice"):
        read_truth(tmp_path)


def test_jhu_crowd_text_files(tmp_path):
    (tmp_path / "0001.txt").write_text("166 228 22 30 1 0\n414 218 15 22 1 0\n")
    (tmp_path / "0002.txt").write_text("")
    truth = read_truth(tmp_path)
    assert truth.counts == {"0001": 2, "0002": 0}
    assert truth.images["0001"].points.tolist() == [[166, 228], [414, 218]]
    (tmp_path / "0002.txt").write_text("5 6 7 8 0 0\n", encoding="utf-8-sig")
    assert read_truth(tmp_path).counts == {"0001": 2, "0002": 1}
    (tmp_path / "0003.txt").write_text("a b\n")
    with pytest.raises(InputError, match="x y w h o b"):
        read_truth(tmp_path)


def test_yolo_labels_are_counted_and_have_no_points(tmp_path):
    """Their class and x centre were taken for x and y of JHU-Crowd++'s points."""
    (tmp_path / "classes.txt").write_text("car\nbus\n")
    (tmp_path / "a.txt").write_text("0 0.5 0.25 0.1 0.1\n1 0.5 0.5 0.2 1.001\n")
    (tmp_path / "b.txt").write_text("1 0.1 0.1 0.4 0.1 0.4 0.3\n")  # a polygon
    (tmp_path / "c.txt").write_text("")
    (tmp_path / "d.txt").write_text("0 0.5 0.5 0.2 0.2 0.4 0.4 2 0.6 0.6 1\n")  # with keypoints
    truth = read_truth(tmp_path)
    assert truth.counts == {"a": 2, "b": 1, "c": 0, "d": 1}
    assert all(image.points is None for image in truth.images.values())
    assert len(truth.notes) == 1
    (tmp_path / "b.txt").write_text("1 40 20 5 6 1 0\n")  # pixels: not all are shares
    assert read_truth(tmp_path).images["a"].points.tolist() == [[0, 0.5], [1, 0.5]]


def test_jhu_crowds_own_folder_and_list_of_counts(tmp_path):
    (tmp_path / "image_labels.txt").write_text("0001,2,street,0,0\n0002,0,null,1,0\n")
    assert read_truth(tmp_path / "image_labels.txt").counts == {"0001": 2, "0002": 0}
    assert read_truth(tmp_path).counts == {"0001": 2, "0002": 0}
    (tmp_path / "gt").mkdir()
    (tmp_path / "gt" / "0001.txt").write_text("166 228 22 30 1 0\n")
    assert read_truth(tmp_path).images["0001"].points.tolist() == [[166, 228]]


def test_coco_boxes_of_a_category(tmp_path):
    found = [("1.jpg", "person", 0), ("1.jpg", "person", 8), ("1.jpg", "car", 0)]
    found += [("2.jpg", "car", 1), ("2.jpg", "car", 0, 1)]
    boxes = [(name, category, [x, 2, 4, 6], *crowd) for name, category, x, *crowd in found]
    names = ["1.jpg", "2.jpg", "3.jpg"]
    path = write_boxes(tmp_path / "ann.json", names, ["person", "car"], boxes)
    people = read_truth(path, "people")
    assert people.counts == {"1": 2, "2": 0, "3": 0} and people.notes == ()
    assert people.images["1"].points.tolist() == [[2, 5], [10, 5]]
    assert people.images["1"].size == (10, 20)
    cars = read_truth(path, "car")
    assert cars.counts == {"1": 1, "2": 1, "3": 0}
    assert "1 boxes that mark a crowd" in cars.notes[0] and "2" in cars.notes[0]
    assert read_truth(path).counts == {"1": 3, "2": 1, "3": 0}
    with pytest.raises(InputError, match="person, car"):
        read_truth(path, "dogs")


def test_images_of_lvis_in_which_nobody_looked_have_no_count(tmp_path):
    """Of 1 and 3 cars are labelled or absent; in 2 nobody looked for them."""
    boxes = [("1.jpg", "car", [x, 2, 4, 6]) for x in (0, 8)]
    path = write_boxes(tmp_path / "ann.json", ["1.jpg", "2.jpg", "3.jpg"], ["car", "dog"], boxes)
    content = json.loads(path.read_text())
    numbers = {category["name"]: category["id"] for category in content["categories"]}
    for image, absent in zip(content["images"], (["dog"], ["dog"], ["car"]), strict=True):
        image["neg_category_ids"] = [numbers[name] for name in absent]
    path.write_text(json.dumps(content))
    cars = read_truth(path, "car")
    assert cars.counts == {"1": 2, "3": 0} and "2" in cars.notes[0]
    assert read_truth(path).counts == {"1": 2}
    with pytest.raises(InputError, match="No image is left"):  # 1 alone has both, and is not there
        load_counting_set(path)
    kept = load_counting_set(path, need_images=False)
    assert [image.image_id for image in kept.images] == ["1.jpg"]


def test_plain_counts_with_and_without_header(tmp_path):
    path = tmp_path / "counts.csv"
    path.write_text("0001,12.0\n0002,0\n")
    assert read_truth(path).counts == {"0001": 12, "0002": 0}
    path.write_text("1.9e+01,707,1\n5.5e+01,206,1\n")
    assert list(read_truth(path).counts.values()) == [707, 206]
    path.write_text("count,id\n3,a\n")
    assert read_truth(path).counts == {"a": 3}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,-1\n", "missing or negative \\(ids: a\\)"),
        ("a,1\nb,\n", "missing or negative \\(ids: b\\)"),
        ("id,pred\na,3\n", "no column 'count'"),
        ("name only\nx\n", "expected 'id'"),
        ("a,1,2,3,4,5\n", "6 columns and no header"),
    ],
)
def test_bad_counts(tmp_path, text, message):
    path = tmp_path / "counts.csv"
    path.write_text(text)
    with pytest.raises(InputError, match=message):
        read_truth(path)


@pytest.mark.parametrize(
    "content", ["[]", "{}", '{"a": 3}', '{"a": {"n": 1}}', '{"a": [[1]]}', '{"a": [["x", 2]]}', "{"]
)
def test_bad_json(tmp_path, content):
    path = tmp_path / "points.json"
    path.write_text(content)
    with pytest.raises(InputError, match=r"points\.json"):
        read_truth(path)


def test_nothing_there(tmp_path):
    with pytest.raises(InputError, match="holds no"):
        read_truth(tmp_path)
    for name in ("a.json", "a.mat", "a.csv"):
        with pytest.raises(InputError, match="check the path"):
            read_truth(tmp_path / name)
