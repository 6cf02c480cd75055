"""A fit and an estimate from objects in memory are those from files of the same boxes."""

import json
from collections import Counter
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from by_coco import mean_average_precision
from labelled_site import estimate_labelled
from PIL import Image

import autoeval
from autoeval.boxes import DetectorRun
from autoeval.errors import InputError
from tests.commands.predicted_world import write_world


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    folder = tmp_path_factory.mktemp("memory")
    sizes = {"n_images": 40, "n_categories": 4}
    fit, new = (write_world(folder, name, seed=seed, **sizes) for seed, name in enumerate("ab"))
    return *fit, *new


@pytest.fixture(scope="module")
def fitted(world):
    return autoeval.fit(world[0], world[1])


def read(path):
    return json.loads(path.read_text())


def as_frame(path):
    table = pd.DataFrame(read(path))
    return table.assign(**dict(zip("xywh", np.stack(table.pop("bbox")).T, strict=True)))


def test_a_fit_and_an_estimate_are_those_of_the_files(world, fitted):
    labels, boxes, new_labels, new_boxes = map(read, world)
    in_memory = autoeval.fit(labels, boxes)
    np.testing.assert_array_equal(in_memory.table_["mAP"], fitted.table_["mAP"])
    wanted = fitted.predict(world[3], images=world[2])
    for given in (new_boxes, as_frame(world[3]), {**new_labels, "annotations": new_boxes}):
        estimate = in_memory.predict(given, images=new_labels)
        assert (estimate.value, estimate.lower) == (wanted.value, wanted.lower)
    labelled = estimate_labelled(in_memory, new_boxes, new_labels, images=new_labels)
    assert labelled.value == estimate_labelled(fitted, world[3], world[2], images=world[2]).value


def test_boxes_that_were_read_with_a_list_of_images_are_of_these(world, fitted, tmp_path):
    """The list was forgotten: images without a box counted as if there were none."""
    boxes = [row for row in read(world[3]) if row["score"] >= 0.2]
    ((fewest, _),) = Counter(row["image_id"] for row in boxes).most_common()[-1:]
    boxes = [row for row in boxes if row["image_id"] != fewest]
    (tmp_path / "boxes.json").write_text(json.dumps(boxes))
    file, images = tmp_path / "boxes.json", world[2]
    wanted = fitted.predict(file, images=images)
    numbers = {category["id"]: category["name"] for category in read(images)["categories"]}
    found = fitted.predict(autoeval.load_predictions(file, images=images, numbers=numbers))
    assert (found.value, found.lower) == (wanted.value, wanted.lower)
    assert found.n_images == wanted.n_images == 40
    assert [n.code for n in found.warnings] == [n.code for n in wanted.warnings]
    alone = fitted.predict(autoeval.load_predictions(file, numbers=numbers))
    assert alone.n_images == 39 and alone.value != wanted.value


def test_listed_images_that_predictions_say_nothing_of_are_left_out_of_boxes_in_memory(
    world, fitted, tmp_path
):
    """They came back as images in which nothing was found, whose labelled objects were missed.

    A fit on such labels had a mAP of .358, and one on the file of .363.
    """
    content, rows = read(world[2]), read(world[3])
    rows = [{**row, "file_name": f"{row['image_id']:06}.jpg"} for row in rows]
    (tmp_path / "boxes.json").write_text(json.dumps(rows))
    content["images"][-1] |= {"id": 100, "file_name": "another.jpg"}
    for label in content["annotations"]:
        label["image_id"] = 100 if label["image_id"] == 39 else label["image_id"]
    (tmp_path / "list.json").write_text(json.dumps(content))
    file, images = tmp_path / "boxes.json", tmp_path / "list.json"
    by_path = fitted.predict(file, images=images)
    boxes = autoeval.load_predictions(file, images=images)
    in_memory = fitted.predict(boxes)
    assert boxes.uncovered == (39,) and by_path.n_images == in_memory.n_images == 39
    assert [n.code for n in in_memory.warnings] == [n.code for n in by_path.warnings]
    of_file, of_boxes = (autoeval.fit(images, given).fit_result_ for given in (file, boxes))
    assert of_boxes.labelled_sets.equals(of_file.labelled_sets)
    assert of_boxes.labelled_sets["n_images"].tolist() == [39]


def test_some_images_of_a_run_are_as_if_it_was_run_on_these(world, fitted):
    """Blocks had gaps, drawn as empty ones, and a copy was left out without its original."""
    boxes = autoeval.load_predictions({**read(world[2]), "annotations": read(world[3])})
    n = len(boxes.images)
    is_copy = np.arange(n) == n - 1
    run = DetectorRun("any", {}, "", is_identified=True, backbone="", categories=boxes.categories)
    whole, part = replace(run, copies=is_copy, blocks=np.arange(n)), np.arange(3, n, 4)
    of_part = replace(boxes, run=whole).on_images(part)
    alone = replace(run, copies=np.zeros(len(part), bool), blocks=np.arange(len(part)))
    found, wanted = map(fitted.predict, (of_part, replace(of_part, run=alone)))
    assert found.n_images == wanted.n_images == len(part) and is_copy[part].any()
    assert found.sampling_std == wanted.sampling_std
    every = replace(boxes, run=whole).on_images(np.arange(n)[::-1])
    assert fitted.predict(every).n_images == n - 1


def test_category_numbers_that_were_guessed_are_so_in_memory(world, fitted, tmp_path):
    """The warning of what was read was no part of a fit or an estimate."""
    rows = [{**row, "category_id": row["category_id"] - 1} for row in read(world[3])]
    (tmp_path / "boxes.json").write_text(json.dumps(rows))
    boxes = autoeval.load_predictions(tmp_path / "boxes.json", images=world[2])
    for result in (fitted.predict(boxes), autoeval.fit(world[2], boxes).fit_result_):
        assert "category-numbers-guessed" in [notice.code for notice in result.warnings]


@pytest.mark.parametrize("pattern", ["", "*.jpg"])
@pytest.mark.parametrize(("form", "severity"), [("{}.jpg", "warning"), ("{:02}.jpg", "note")])
def test_items_in_the_order_of_a_folder_that_can_be_sorted_in_two_ways_are_warned_of(
    fitted, tmp_path, form, severity, pattern
):
    """2.jpg is before 10.jpg by their numbers, and behind it as Python sorts them."""
    item = {"boxes": [[10.0, 10, 60, 60]], "scores": [0.9], "labels": ["thing 1"]}
    for k in range(12):
        Image.new("L", (200, 200)).save(tmp_path / form.format(k))
    estimate = fitted.predict([item] * 12, images=tmp_path / pattern)
    notices = (*estimate.warnings, *estimate.site.left_out)
    assert {n.severity for n in notices if n.code == "images-by-place"} == {severity}


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ({"categories": ["Thing_1"]}, {"categories": ["thing 1"]}),
        (
            {"categories": {"any": ["THING 1", "thing-2"]}},
            {"categories": {"any": ["thing 1", "thing 2"]}},
        ),
        (
            {"categories": ["thing 1", "Thing 3"], "present": ["THING 3"]},
            {"categories": ["thing 1", "thing 3"], "present": ["thing 3"]},
        ),
        ({"present": ["Thing_3"]}, {"present": ["thing 3"]}),
    ],
)
def test_words_that_people_type_may_be_spelt_otherwise(world, fitted, typed, meant):
    """As those of files may: they were refused, or one of several left out with a warning."""
    by_words = [fitted.predict(world[3], images=world[2], **words) for words in (typed, meant)]
    one, other = (estimate.to_dict() for estimate in by_words)
    assert one == other and by_words[0].per_category.keys() == by_words[1].per_category.keys()
    assert not {"word-not-known"} & {notice.code for notice in by_words[0].all_warnings()}


def test_a_single_word_of_a_category_is_no_list_of_letters(world):
    one, several = (
        autoeval.fit(world[0], world[1], categories={"any": words}).context_["task"]["words"]
        for words in ("thing 1", ["thing 1"])
    )
    assert one == several == {"any": ["thing 1"]}


def test_a_detector_is_run_over_files_and_monitored_sites_are_files(world, fitted, tmp_path):
    detector = autoeval.BlackBoxDetector(lambda images: ([], [], []), ["thing 1"])
    with pytest.raises(autoeval.InputError, match="is run over the images of label files"):
        autoeval.fit(read(world[0]), detector)
    with pytest.raises(autoeval.InputError, match="predictions as files"):
        autoeval.monitor(fitted, read(world[3]), work_dir=tmp_path)


def test_a_list_of_images_in_memory_shows_images_without_a_box_as_its_file_does(world, fitted):
    document = read(world[2])
    seen = [image["id"] for image in document["images"]][::2]  # the detector was run on half
    boxes = [box for box in read(world[3]) if box["image_id"] in seen]
    names = [image["file_name"] for image in document["images"]]
    for images in (world[2], document, names):
        estimate = fitted.predict(boxes, images=images)
        assert estimate.n_images == len(seen), images
        assert "images-not-covered" in [warning.code for warning in estimate.warnings], images


def test_images_that_were_not_seen_are_found_by_all_boxes_of_a_file(world):
    """The fit begins at .25 and the file, of half of the images, at .01."""
    labels, boxes, new_labels, new_boxes = map(read, world)
    fitted = autoeval.fit(labels, [box for box in boxes if box["score"] >= 0.25])
    half = [image["id"] for image in new_labels["images"]][::2]
    estimate = fitted.predict(
        [box for box in new_boxes if box["image_id"] in half], images=new_labels
    )
    assert estimate.n_images == len(half)
    assert "images-not-covered" in [warning.code for warning in estimate.warnings]


def test_a_plan_and_its_labels_repeat_which_images_it_is_not_of(world, fitted, tmp_path):
    """Labels of images that the pool lacks are left out: the plan alone was silent about why."""
    _, _, new_labels, new_boxes = map(read, world)
    half = [image["id"] for image in new_labels["images"]][::2]
    seen = [box for box in new_boxes if box["image_id"] in half]
    plan = autoeval.plan_labels(fitted, seen, images=new_labels, n=10, work_dir=tmp_path)
    assert "images-not-covered" in [warning.code for warning in plan.warnings]
    labelled = autoeval.estimate_with_labels(tmp_path, new_labels)
    assert "images-not-covered" in [warning.code for warning in labelled.warnings]


@pytest.mark.parametrize("code", ["images-without-box-unknown", "boxes-limited"])
def test_a_plan_and_its_labels_repeat_which_images_and_boxes_are_not_known(
    world, fitted, tmp_path, code
):
    """An estimate said it of the same file, and a number that labels give is of that file, too."""
    _, _, new_labels, new_boxes = map(read, world)
    given = {}
    if code == "boxes-limited":
        given = {"images": new_labels}
        best = sorted(new_boxes, key=lambda box: -box["score"])
        of_images = [
            [box for box in best if box["image_id"] == image["id"]][:10]
            for image in new_labels["images"]
        ]
        new_boxes = [box for boxes in of_images for box in boxes]
    estimate = fitted.predict(new_boxes, **given)
    plan = autoeval.plan_labels(fitted, new_boxes, n=10, work_dir=tmp_path, **given)
    labelled = autoeval.estimate_with_labels(tmp_path, new_labels)
    of_sample = fitted.estimate_with_labels(estimate, new_labels)
    for result in (estimate, plan, labelled, of_sample):
        assert code in [warning.code for warning in result.warnings]


def test_an_item_without_a_box_is_of_an_image_that_was_seen(world, fitted):
    document = read(world[2])
    items = []
    for number, image in enumerate(document["images"]):
        rows = [row for row in read(world[3]) if row["image_id"] == image["id"] and number % 2]
        corners = np.array([row["bbox"] for row in rows]).reshape(-1, 4)
        corners[:, 2:] += corners[:, :2]
        scores, labels = ([row[key] for row in rows] for key in ("score", "category_id"))
        items.append({"boxes": corners, "scores": scores, "labels": labels})
    for images in (world[2], document):
        estimate = fitted.predict(items, images=images)
        assert estimate.n_images == len(items)
        assert "images-not-covered" not in [warning.code for warning in estimate.warnings]


def test_a_document_that_lists_its_images_knows_those_without_a_box(world, fitted):
    document, boxes = read(world[2]), read(world[3])
    listed = fitted.predict({**document, "annotations": boxes})
    alone = fitted.predict(boxes)
    codes = [[warning.code for warning in estimate.warnings] for estimate in (listed, alone)]
    assert ["images-without-box-unknown" in each for each in codes] == [False, True]
    assert listed.n_images == len(document["images"])


def test_numbers_of_the_list_of_images_are_not_silently_those_of_the_fit(world, fitted, tmp_path):
    """Results in COCO's form of a document that numbers the same categories the other way round."""
    document, boxes = read(world[2]), read(world[3])
    numbers = [category["id"] for category in document["categories"]]
    other = dict(zip(numbers, numbers[::-1], strict=True))
    turned = {
        **document,
        "annotations": [],
        "categories": [{**c, "id": other[c["id"]]} for c in document["categories"]],
    }
    boxes_by_list = [
        {"category_id": other[box["category_id"]], **{k: box[k] for k in box if "categ" not in k}}
        for box in boxes
    ]
    path = tmp_path / "turned.json"
    path.write_text(json.dumps(turned))
    wanted = fitted.predict(boxes, images=world[2]).per_category
    for images in (path, turned):
        files = autoeval.Predictions(boxes_by_list, numbering="images")
        assert fitted.predict(files, images=images).per_category == wanted
        try:
            estimate = fitted.predict(boxes_by_list, images=images)
        except autoeval.InputError as error:
            assert "--numbering images" in str(error)
        else:
            assert "category-numbers-guessed" in [w.code for w in estimate.warnings]


def test_a_reference_is_read_by_the_numbers_of_the_list_of_images_too(world, tmp_path):
    """Two detectors of one list number their boxes alike, whatever the numbers of the fit."""
    labels, found, images, boxes = world
    with_reference = autoeval.fit(labels, autoeval.Predictions(found, reference=found))
    document = read(images)
    numbers = [category["id"] for category in document["categories"]]
    other = dict(zip(numbers, numbers[::-1], strict=True))
    categories = [{**c, "id": other[c["id"]]} for c in document["categories"]]
    turned = {**document, "annotations": [], "categories": categories}
    by_list = tmp_path / "by_list.json"
    rows = [{**box, "category_id": other[box["category_id"]]} for box in read(boxes)]
    by_list.write_text(json.dumps(rows))
    wanted = with_reference.predict(autoeval.Predictions(boxes, reference=boxes), images=images)
    for numbering in ("images", ""):
        files = autoeval.Predictions(by_list, reference=by_list, numbering=numbering)
        try:
            estimate = with_reference.predict(files, images=turned)
        except autoeval.InputError as error:
            assert not numbering and "--numbering images" in str(error)
        else:
            assert estimate.per_category == wanted.per_category
    # words of its own go before
    own_words = tmp_path / "own_words.json"
    own_words.write_text(json.dumps({**document, "annotations": read(boxes)}))
    files = autoeval.Predictions(by_list, reference=own_words, numbering="images")
    assert with_reference.predict(files, images=turned).per_category == wanted.per_category


def test_labels_that_were_read_list_their_images_and_a_number_lists_none(world, fitted):
    wanted = fitted.predict(world[3], images=world[2])
    names = [image["file_name"] for image in read(world[2])["images"]]
    for images in (autoeval.load_labels(world[2]), iter(names)):
        estimate = fitted.predict(world[3], images=images)
        assert estimate.n_images == wanted.n_images == len(names)
    assert fitted.predict(world[3], images=autoeval.load_labels(world[2])).value == wanted.value
    with pytest.raises(autoeval.InputError, match=r"Expected images as a folder.*of int"):
        fitted.predict(world[3], images=5)
    entries = read(world[2])["images"]
    # a table was read as a list of images with the names of its columns
    for images, kind in (
        (pd.DataFrame(entries), "DataFrame"),
        ({"a": 1}, "dict"),
        (entries, "dict"),
    ):
        with pytest.raises(autoeval.InputError, match=rf"COCO dict .*of {kind}"):
            fitted.predict(world[3], images=images)


def test_boxes_that_are_called_by_the_name_of_a_category_are_of_it(world):
    """As where several words were made one before: all such boxes were left out in silence."""
    labels, boxes, new_labels, new_boxes = map(read, world)
    word_of = {entry["id"]: entry["name"] for entry in labels["categories"]}
    words = sorted({word_of[box["category_id"]] for box in boxes})
    categories = {"even": words[::2], "odd": words[1::2]}
    name_of = {word: name for name, of_name in categories.items() for word in of_name}
    number_of = {name: number for number, name in enumerate(categories, 1)}
    merged = {
        **labels,
        "categories": [{"id": number, "name": name} for name, number in number_of.items()],
        "annotations": [
            {**box, "category_id": number_of[name_of[word_of[box["category_id"]]]]}
            for box in labels["annotations"]
            if word_of[box["category_id"]] in name_of
        ],
    }
    called = [
        [{**box, "category": word_of[box["category_id"]]} for box in of_site]
        for of_site in (boxes, new_boxes)
    ]
    for box in (*called[0], *called[1]):
        del box["category_id"]
    fitted = autoeval.fit(merged, called[0], categories=categories)
    wanted = fitted.predict(called[1], images=new_labels)
    assert set(wanted.per_category) == {"even", "odd"}
    named = [{**box, "category": name_of[box["category"]]} for box in called[1]]
    for options in ({}, {"categories": ["even", "odd"]}, {"categories": categories}):
        estimate = fitted.predict(named, images=new_labels, **options)
        assert estimate.per_category == wanted.per_category and estimate.value == wanted.value


def test_a_reference_in_memory_is_that_of_the_file(world, tmp_path):
    """Rows, and columns of a table, were each taken for a reference of their own."""
    labels, found, images, boxes = world
    fitted = autoeval.fit(labels, found, reference=[found])
    wanted = fitted.predict(autoeval.Predictions(boxes, reference=boxes), images=images)
    items = [  # as torchvision has them, one item an image
        {
            "boxes": [box["bbox"] for box in read(boxes) if box["image_id"] == image["id"]],
            "scores": [box["score"] for box in read(boxes) if box["image_id"] == image["id"]],
            "labels": [box["category_id"] for box in read(boxes) if box["image_id"] == image["id"]],
        }
        for image in read(images)["images"]
    ]
    for item in items:
        corners = np.reshape(item["boxes"], (-1, 4))
        item["boxes"] = np.hstack([corners[:, :2], corners[:, :2] + corners[:, 2:]])
    for reference in (read(boxes), as_frame(boxes), [read(boxes)], [as_frame(boxes)], items):
        files = autoeval.Predictions(read(boxes), reference=reference)
        estimate = fitted.predict(files, images=images)
        assert estimate.value == pytest.approx(wanted.value, abs=1e-9)
    for reference in (read(found), as_frame(found)):
        again = autoeval.fit(labels, found, reference=reference)
        np.testing.assert_array_equal(again.table_["mAP"], fitted.table_["mAP"])
        assert again.predict(files, images=images).value == pytest.approx(wanted.value, abs=1e-9)
    chosen = autoeval.fit(labels, found, reference=[read(found), found]).fit_result_.warnings
    (note,) = (notice for notice in chosen if notice.code == "reference-chosen")
    assert "the list in memory" in note and len(note) < 400
    with pytest.raises(InputError, match="but got those of 2"):
        fitted.predict(autoeval.Predictions(boxes, reference=[boxes, boxes]), images=images)


def test_the_order_in_which_labels_list_images_changes_no_label_assistance(world, fitted):
    """The small-sample bias was measured on draws of places in the file."""
    labels = read(world[0])
    turned = autoeval.fit({**labels, "images": labels["images"][::-1]}, world[1])
    bias = fitted.label_assistance_.small_sample_bias
    assert bias and turned.label_assistance_.small_sample_bias == pytest.approx(bias, rel=1e-6)


def label_table(path):
    """One row an object, the rarest category first, so that words come in no usual order."""
    document = read(path)
    of_image = {image["id"]: image for image in document["images"]}
    rows = [
        {
            **{name: of_image[a["image_id"]][name] for name in ("file_name", "width", "height")},
            **{name: a[name] for name in ("image_id", "category_id", "bbox")},
            "category": f"thing {a['category_id'] - 1}",
        }
        for a in sorted(document["annotations"], key=lambda a: -a["category_id"])
    ]
    return pd.DataFrame(rows)


@pytest.mark.parametrize("kind", ["int64", "float64", "category", "Int64"])
def test_numbers_of_a_table_of_labels_are_those_of_the_predictions(world, kind):
    """Its numbers are its words, too, and no places in the order in which they come."""
    right = mean_average_precision(read(world[0]), read(world[1]))
    table = label_table(world[0]).drop(columns="category").astype({"category_id": kind})
    (row,) = autoeval.fit(table, world[1]).fit_result_.labelled_sets.to_dict("records")
    assert row["mAP"] == pytest.approx(right)


def test_words_of_labels_without_an_order_give_numbers_no_meaning(world):
    """Neither at the fit nor, where its predictions had words, at a new site."""
    table = label_table(world[0]).drop(columns="category_id")
    with pytest.raises(InputError, match="no word: 1, 2, 3, 4"):
        autoeval.fit(table, world[1])
    with_words = as_frame(world[1])
    with_words["category"] = [f"thing {k - 1}" for k in with_words.pop("category_id")]
    est = autoeval.fit(table, with_words)
    with pytest.raises(InputError, match="no word: 1, 2, 3, 4"):
        est.predict(world[3])
    listed = est.predict(world[3], images=world[2])  # the document of the images has numbers
    names = {str(k + 1): f"thing {k}" for k in range(4)}
    named = autoeval.fit(table, autoeval.Predictions(world[1], names=names))
    wanted = named.predict(world[3], images=world[2])  # which remembers them
    by_word = est.predict(autoeval.Predictions(world[3], names=names), images=world[2])
    assert by_word.value == wanted.value == listed.value
    one = table[table["category"] == "thing 2"]  # which any number is
    boxes = [{**row, "category_id": 0} for row in read(world[1]) if row["category_id"] == 3]
    assert len(autoeval.fit(one, boxes).fit_result_.labelled_sets) == 1


@pytest.mark.parametrize(("by_stems", "read_as"), [(False, "file names"), (True, "ids")])
def test_a_refused_fit_names_both_readings_of_numbers_of_images(world, by_stems, read_as):
    """Files count one further than ids; where both place as many images, numbers are ids."""
    labels, boxes = read(world[0]), read(world[1])
    for image in labels["images"]:
        image["file_name"] = f"{image['id'] + 1:06}.jpg"
    for box in boxes:
        if by_stems:
            box["image_id"] = min(box["image_id"] + 1, 39)  # 40 is no id
        elif box["image_id"] == 0:  # which is no file name
            box["image_id"] = 40  # of an image that is not labelled
    with pytest.raises(InputError, match="jpg by ids and 0000") as error:
        autoeval.fit(labels, boxes)
    assert f"by {read_as}, and their numbers" in str(error.value)


def test_places_in_the_list_of_a_fit_go_by_numbers_where_labels_have_none(world):
    """Labels of words alone, boxes with numbers and words: place 0 was the first object's word."""
    labels, boxes = read(world[0]), read(world[1])
    words = {category["id"]: category["name"] for category in labels["categories"]}
    images = {image["id"]: image for image in labels["images"]}
    table = pd.DataFrame(
        [
            {
                **{
                    side: images[row["image_id"]][side] for side in ("file_name", "width", "height")
                },
                **{"category": words[row["category_id"]], "bbox": row["bbox"]},
            }
            for row in sorted(labels["annotations"], key=lambda row: -row["category_id"])
        ]
    )
    rows = [
        {
            **{"file_name": images[row["image_id"]]["file_name"], "bbox": row["bbox"]},
            **{"category": words[row["category_id"]], "category_id": row["category_id"]},
            "score": row["score"],
        }
        for row in sorted(boxes, key=lambda row: -row["category_id"])
    ]
    known = autoeval.fit(table, rows).looks_.numbers
    assert list(known.items()) == [(str(number), words[number]) for number in sorted(words)]
