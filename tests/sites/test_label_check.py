"""Labels of other images, or of resized ones, are refused by every door that takes labels."""

import json
from dataclasses import replace

import numpy as np
import pytest

import autoeval
from autoeval.boxes import Boxes, LabelledImage
from autoeval.cli import main
from autoeval.errors import InputError
from autoeval.report.labels import labelled_heads
from autoeval.sites.label_check import check_labels, contradicted, of_other_images, of_other_size
from tests.commands.predicted_world import write_world

N = 12
SIZE = 480, 640


def images(size=SIZE, n=N):
    return tuple(LabelledImage(str(k), f"{k}.jpg", size) for k in range(n))


def world(*, scores=0.9, places=None):
    """One object an image, on a diagonal, and a box on each."""
    corner = 50.0 * (np.arange(N) if places is None else np.full(N, places))[:, None]
    boxes = np.concatenate([np.tile(corner, 2), np.tile(corner, 2) + 20], axis=1)
    columns = np.arange(N), np.zeros(N, int), boxes
    truth = Boxes(images(), ("car",), *columns, crowd=np.zeros(N, bool))
    return truth, Boxes(images(), ("car",), *columns, np.full(N, scores))


def exchanged(truth, turn=1):
    return replace(truth, image=(truth.image + turn) % N)


def test_boxes_on_labels_of_their_image():
    truth, boxes = world()
    assert of_other_images(boxes, truth) == () and check_labels(truth, [boxes]) == ()


def test_labels_of_other_images():
    """No box of 12 is right, and all are at the one turn of eleven that puts the labels back."""
    truth, boxes = world()
    (notice,) = of_other_images(boxes, exchanged(truth))
    assert (notice.code, notice.severity) == ("labels-of-other-images", "refused")
    assert "of the 12 most confident boxes on 12 labelled images 0 lie" in notice
    assert "and up to 12 do" in notice
    with pytest.raises(InputError, match="do not belong together"):
        check_labels(exchanged(truth), [boxes])


def test_a_few_boxes_more_than_by_chance_are_a_weak_detector():
    """Less than a third is right, and hardly more than by chance; or more than a third."""
    truth, boxes = world()
    some = exchanged(truth)
    for n_right, refused in ((2, True), (4, False)):
        image = np.where(np.arange(N) < n_right, truth.image, some.image)
        mixed = replace(truth, image=image)
        assert bool(of_other_images(boxes, mixed)) is refused


def test_too_little_to_say():
    truth, boxes = world(scores=0.3)  # not a confident box
    assert of_other_images(boxes, exchanged(truth)) == ()
    truth, boxes = world()
    nine = boxes.on_images(np.arange(9)), exchanged(truth).on_images(np.arange(9))
    assert of_other_images(*nine) == ()


def test_a_still_camera_whose_objects_stay():
    truth, boxes = world(places=2)
    assert of_other_images(boxes, exchanged(truth)) == ()


def test_one_detector_of_two_that_lies_on_the_labels_is_enough():
    truth, boxes = world()
    other = replace(boxes, boxes=boxes.boxes[::-1] + 25)
    assert of_other_images(other, truth)
    assert check_labels(truth, [other, boxes]) == ()


@pytest.mark.parametrize("factor", [2, 0.5])
def test_labels_of_resized_images(factor):
    truth, boxes = world()
    size = int(factor * SIZE[0]), int(factor * SIZE[1])
    resized = replace(truth, images=images(size), boxes=factor * truth.boxes)
    (notice,) = of_other_size(boxes, resized)
    assert (notice.code, notice.severity) == ("labels-of-other-size", "refused")
    assert "In 12 of 12 labelled images" in notice and f", {factor:g} times as wide" in notice
    with pytest.raises(InputError, match="state another size"):
        check_labels(resized, [boxes])


def test_sizes_alone_are_a_warning_where_the_boxes_lie_on_the_labels():
    truth, boxes = world()
    (warning,) = check_labels(replace(truth, images=images((960, 1280))), [boxes])
    assert (warning.code, warning.severity) == ("labels-of-other-size", "warning")
    assert contradicted([warning])
    for size in (None, (480, 644)):  # not known, and by rounding
        assert check_labels(replace(truth, images=images(size)), [boxes]) == ()


def test_few_images_of_another_size_are_named():
    truth, boxes = world()
    turned = (LabelledImage("0", "0.jpg", SIZE[::-1]), *images()[1:])
    (warning,) = check_labels(replace(truth, images=turned), [boxes])
    assert "0.jpg: 480 x 640, not 640 x 480" in warning and warning.severity == "warning"


# ---- doors


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A fit, and a site with sound labels and others."""
    folder = tmp_path_factory.mktemp("doors")
    of_fit = write_world(folder, "fit", seed=0, n_categories=2)
    labels, boxes = write_world(folder, "site", seed=1, n_categories=2)
    autoeval.fit(*of_fit).save(folder / "estimator.parquet")
    content = json.loads(labels.read_text())
    ids = [image["id"] for image in content["images"]]
    turned = dict(zip(ids, np.roll(ids, 1).tolist(), strict=True))

    def changed(change):
        return {**content, "annotations": [row | change(row) for row in content["annotations"]]}

    wrong = {
        "mixed": changed(lambda row: {"image_id": turned[row["image_id"]]}),
        "twice": changed(lambda row: {"bbox": [2 * v for v in row["bbox"]]}),
    }
    wrong["twice"]["images"] = [
        {**image, "width": 1280, "height": 960} for image in content["images"]
    ]
    other = write_world(folder, "elsewhere", seed=2, n_categories=2)[0]  # the same file names
    paths = {"other site": other}
    for name, document in wrong.items():
        paths[name] = folder / f"{name}.json"
        paths[name].write_text(json.dumps(document))
    return folder, labels, boxes, paths


@pytest.mark.parametrize("kind", ["mixed", "twice", "other site"])
def test_every_door_refuses_them(files, kind, capsys):
    folder, labels, boxes, paths = files
    wrong, fit = paths[kind], folder / "estimator.parquet"
    refusal = "another size" if kind == "twice" else "do not belong together"
    site = {"images": labels}
    with pytest.raises(InputError, match="do not belong together"):
        autoeval.fit(wrong, boxes)  # the labels are all that it knows of the sizes
    estimator = autoeval.AccuracyEstimator.load(fit)
    with pytest.raises(InputError, match=refusal):
        estimator.predict(boxes, labels=wrong, **site)
    plan = autoeval.plan_labels(estimator, boxes, n=20, **site)
    with pytest.raises(InputError, match=refusal):
        autoeval.estimate_with_labels(plan, wrong)
    moved = folder / "moved.json"
    rows = json.loads(boxes.read_text())
    moved.write_text(json.dumps([{**row, "score": row["score"] * 0.9} for row in rows]))
    with pytest.raises(InputError, match=refusal):
        autoeval.compare({"a": fit, "b": fit}, [boxes, moved], labels=wrong, **site)
    words = ["threshold", "--labels", wrong, "--predictions", boxes, "--work-dir", folder / "t"]
    assert main([*map(str, words)]) != 0
    assert "do not belong together" in capsys.readouterr().err


def test_no_half_width_is_reached_with_labels_that_the_boxes_contradict(files, tmp_path):
    """A third of the images have labels of another one: too few to refuse, enough to warn."""
    folder, labels, boxes, _ = files
    content = json.loads(labels.read_text())
    turned = {k: (k + 3) % 20 for k in range(20)}
    for row in content["annotations"]:
        row["image_id"] = turned.get(row["image_id"], row["image_id"])
    (tmp_path / "third.json").write_text(json.dumps(content))
    estimator = autoeval.AccuracyEstimator.load(folder / "estimator.parquet")
    sound, third = (
        estimator.predict(boxes, images=labels, labels=path)
        for path in (labels, tmp_path / "third.json")
    )
    assert not contradicted(sound.warnings) and "±5 is reached" in labelled_heads(sound)[0]
    assert contradicted(third.warnings) and "±" not in labelled_heads(third)[0]


def test_a_category_that_the_predictions_do_not_know_is_left_out_of_a_fit(files, tmp_path):
    _, labels, boxes, _ = files
    known = [row for row in json.loads(boxes.read_text()) if row["category_id"] == 1]
    (tmp_path / "known.json").write_text(json.dumps(known))
    fitted = autoeval.fit(labels, tmp_path / "known.json")
    assert set(fitted.table_["category"]) == {"thing 0"}
    codes = [notice.code for notice in fitted.statistics_.warnings]
    assert "category-never-predicted" in codes
    both = {"thing 0": ["thing 0"], "thing 1": ["thing 1"]}
    named = autoeval.fit(labels, tmp_path / "known.json", categories=both)
    assert "category-never-predicted" in [notice.code for notice in named.statistics_.warnings]
