"""A monitor with a reference detector: each site is what `predict` gives with its boxes there."""

import json
import shutil

import cv2
import numpy as np
import pytest
from commands.predicted_world import write_world

import autoeval
from autoeval.detectors.detector_spec import DetectorSpec
from autoeval.errors import InputError
from autoeval.monitoring.read_sites import observe_images
from tests.labelled_colours import write_detector, write_distinct

SITES = {"north/gate": 0.6, "roof": 0.4}
FEW = {"n_images": 40, "n_categories": 3}
ENDS = ("value", "lower", "upper")


def write_site(folder, name, seed, skill):
    """Write NAME.json of a detector of that skill; the objects are those of the seed."""
    (folder / "made").mkdir(parents=True, exist_ok=True)
    _, made = write_world(folder / "made", "site", seed=seed, skill=skill, **FEW)
    boxes = json.loads(made.read_text())
    path = folder / f"{name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    named = [{**box, "file_name": f"{box.pop('image_id'):04}.jpg"} for box in boxes]
    path.write_text(json.dumps(named))


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """A fit with a much stronger reference, and two sites with the boxes of both."""
    folder = tmp_path_factory.mktemp("reference")
    (folder / "better").mkdir()
    labels, weak = write_world(folder, "val", seed=0, skill=0.5, **FEW)
    _, better = write_world(folder / "better", "val", seed=0, skill=0.98, **FEW)
    boxes = autoeval.Predictions(weak, reference=better)
    autoeval.fit(labels, boxes, work_dir=folder / "fit")
    autoeval.fit(labels, weak, work_dir=folder / "plain")
    for k, (name, skill) in enumerate(SITES.items()):
        write_site(folder / "sites", name, k + 1, skill)
        write_site(folder / "reference", name, k + 1, 0.98)
    for made in (folder / "sites/made", folder / "reference/made"):
        shutil.rmtree(made)
    return folder


def watch(world, work_dir, fit="fit", **given):
    boxes = autoeval.Predictions(world / "sites", **{"reference": world / "reference", **given})
    return autoeval.monitor(world / fit, boxes, work_dir=work_dir, by="folder")


def of_predict(world, name, reference=None):
    reference = reference or world / "reference" / f"{name}.json"
    boxes = autoeval.Predictions(world / "sites" / f"{name}.json", reference=reference)
    return autoeval.AccuracyEstimator.load(world / "fit").predict(boxes)


def test_a_site_is_estimated_as_by_predict_with_its_reference(world, tmp_path):
    assert "reference_ap" in autoeval.AccuracyEstimator.load(world / "fit").regression_.features_
    watched = watch(world, tmp_path)
    for name in SITES:
        expected, site = of_predict(world, name), watched[name]
        assert [getattr(site, end) for end in ENDS] == pytest.approx(
            [getattr(expected, end) for end in ENDS], abs=1e-6
        )
        assert site.per_category.keys() == expected.per_category.keys()


def test_a_reference_may_be_in_another_format_than_the_predictions(world, tmp_path):
    """It was asked for under the very name of the results file."""
    for name in SITES:
        rows = json.loads((world / "reference" / f"{name}.json").read_text())
        path = tmp_path / "reference" / f"{name}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    usual = watch(world, tmp_path / "usual")
    watched = watch(world, tmp_path / "work", reference=tmp_path / "reference")
    assert [watched[name].value for name in SITES] == [usual[name].value for name in SITES]


def test_a_reference_that_has_changed_is_read_again(world, tmp_path):
    """Half of the boxes of the roof's reference go: the estimate follows; the gate's stays."""
    shutil.copytree(world / "reference", tmp_path / "reference")
    given = {"reference": tmp_path / "reference"}
    before = watch(world, tmp_path / "work", **given)
    path = tmp_path / "reference/roof.json"
    path.write_text(json.dumps(json.loads(path.read_text())[::2]))
    after = watch(world, tmp_path / "work", **given)
    assert after["north/gate"].value == before["north/gate"].value
    assert after["roof"].value != pytest.approx(before["roof"].value, abs=1e-3)
    assert after["roof"].value == pytest.approx(of_predict(world, "roof", path).value, abs=1e-6)


def test_categories_without_a_box_of_the_reference_are_named(world, tmp_path):
    shutil.copytree(world / "reference", tmp_path / "reference")
    path = tmp_path / "reference/roof.json"
    boxes = [box for box in json.loads(path.read_text()) if box["category_id"] != 2]
    path.write_text(json.dumps(boxes))
    watched = watch(world, tmp_path / "work", reference=tmp_path / "reference")
    lacking = "has no box of 1 of 3 categories, which are estimated without it: thing 1"
    assert [lacking in str(watched[name].warnings) for name in SITES] == [False, True]


def test_what_does_not_belong_together_is_refused(world, tmp_path):
    refused = {
        "give the same one for these images": {"reference": None},
        "fitted without a reference detector": {"fit": "plain"},
        "the results of the reference detector of north/gate": {"reference": tmp_path},
        "detector of north/gate, but there is none": {"reference": "other.py:detector"},
        "`reference_names` belongs to": {"reference": None, "reference_names": {"1": "thing 0"}},
    }
    for k, (message, given) in enumerate(refused.items()):
        with pytest.raises(InputError, match=message):
            watch(world, tmp_path / f"{k}", **given)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A fit with a detector and a reference that are run, and the images of two sites."""
    folder = tmp_path_factory.mktemp("run")
    known = write_distinct(folder / "known", 0, n_images=40)
    reference = write_detector(folder, 60)
    text = (folder / "mine.py").read_text()
    (folder / "weak.py").write_text(text.replace("(255 - level) / 15", "(255 - level) / 15 + 4"))
    boxes = autoeval.Detector(f"{folder / 'weak.py'}:detector", reference=DetectorSpec(reference))
    labels, images = known / "annotations.json", known / "images"
    autoeval.fit(labels, boxes, img_dir=images, work_dir=folder / "fit")
    for k, name in enumerate(("gate", "yard")):
        new = write_distinct(folder / f"new{k}", k + 1, n_images=12)
        shutil.copytree(new / "images", folder / "cameras" / name)
    return folder


def test_a_reference_that_is_run_at_the_sites(run, tmp_path):
    estimator = autoeval.AccuracyEstimator.load(run / "fit")
    assert "reference_ap" in estimator.regression_.features_
    given = {"images": run / "cameras", "by": "folder"}
    of_fit = autoeval.monitor(run / "fit", work_dir=tmp_path / "of_fit", **given)
    reference = [f"{run / 'mine.py'}:detector"]
    named = autoeval.monitor(run / "fit", reference=reference, work_dir=tmp_path / "named", **given)
    for name in ("gate", "yard"):
        expected = estimator.predict(images=run / "cameras" / name).value
        assert [of_fit[name].value, named[name].value] == pytest.approx([expected] * 2, abs=1e-6)
    (tmp_path / "boxes.json").write_text("[]")
    by_files = {"reference": [f"{tmp_path / 'boxes.json'}"], "work_dir": tmp_path / "c"}
    with pytest.raises(InputError, match="its results files belong to"):
        autoeval.monitor(run / "fit", **by_files, **given)


def test_images_that_another_detector_lost_are_a_warning(run, tmp_path, monkeypatch):
    def with_a_lost_one(*given):
        images, vanished, counts = observe_images(*given)
        return images, [*vanished, "gate/9.png"], counts

    monkeypatch.setattr("autoeval.monitoring.read_sites.observe_images", with_a_lost_one)
    given = {"images": run / "cameras", "against": run / "fit", "work_dir": tmp_path}
    lost, *_ = autoeval.monitor(run / "fit", by="folder", **given).candidate[1]
    assert lost.code == "images-vanished"
    assert lost.startswith("candidate: ") and "gate/9.png" in lost


def test_a_reference_that_is_run_says_that_nothing_is_in_an_image(run, tmp_path):
    """It counts there as in a prediction: without it no image of the window had a reference."""
    shutil.copytree(run / "cameras/gate", tmp_path / "cameras/gate")
    cv2.imwrite(str(tmp_path / "cameras/gate/empty.png"), np.full((96, 96, 3), 20, np.uint8))
    expected = autoeval.AccuracyEstimator.load(run / "fit").predict(images=tmp_path / "cameras")
    assert expected.site.reference is not None
    given = {"images": tmp_path / "cameras", "by": "folder", "work_dir": tmp_path / "out"}
    watched = autoeval.monitor(run / "fit", **given)
    assert watched["gate"].value == pytest.approx(expected.value, abs=1e-6)


def test_another_detector_with_the_same_reference(world, tmp_path):
    """The comparison at a site is that of `compare` with the reference there."""
    (tmp_path / "other").mkdir()
    labels, other = write_world(tmp_path / "other", "val", seed=0, skill=0.7, **FEW)
    autoeval.fit(
        labels,
        autoeval.Predictions(other, reference=world / "better/val_predictions.json"),
        work_dir=tmp_path / "other_fit",
    )
    for k, name in enumerate(SITES):
        write_site(tmp_path / "other_sites", name, k + 1, 0.8)
    shutil.rmtree(tmp_path / "other_sites/made")
    watched = autoeval.monitor(
        world / "fit",
        autoeval.Predictions(world / "sites", reference=world / "reference"),
        against=tmp_path / "other_fit",
        against_predictions=tmp_path / "other_sites",
        categories={"thing 0": ["thing 0"]},
        work_dir=tmp_path / "out",
    )
    rows = watched.candidate[0]
    assert set(rows["site"]) == SITES.keys()
    for row in rows.to_dict("records"):
        result = autoeval.compare(
            {"current": world / "fit", "candidate": tmp_path / "other_fit"},
            [
                autoeval.Predictions(
                    folder / f"{row['site']}.json",
                    reference=world / f"reference/{row['site']}.json",
                )
                for folder in (world / "sites", tmp_path / "other_sites")
            ],
            categories={"thing 0": ["thing 0"]},
        )
        (expected,) = result.overall.to_dict("records")
        sign = 1 if expected["a"] == "candidate" else -1
        assert row["difference"] == pytest.approx(sign * expected["difference"])


def test_of_two_detectors_the_one_that_was_fitted_with_a_reference_has_it(world, tmp_path):
    """Whichever of both is the current one."""
    write_site(tmp_path / "other", "roof", 2, 0.8)
    write_site(tmp_path / "other", "north/gate", 1, 0.8)
    shutil.rmtree(tmp_path / "other/made")
    found = []
    for current, candidate, folders in (
        ("fit", "plain", (world / "sites", tmp_path / "other")),
        ("plain", "fit", (tmp_path / "other", world / "sites")),
    ):
        boxes = autoeval.Predictions(folders[0], reference=world / "reference")
        options = {"work_dir": tmp_path / current, "by": "folder", "categories": {"thing 0": []}}
        watched = autoeval.monitor(
            world / current,
            boxes,
            against=world / candidate,
            against_predictions=folders[1],
            **options,
        )
        rows, lost = watched.candidate
        assert not [notice for notice in lost if notice.code == "site-not-compared"]
        found.append(rows.set_index("site")["difference"])
    assert len(found[0]) == len(SITES)
    assert found[0].to_dict() == pytest.approx((-found[1]).to_dict())


def test_of_two_detectors_that_are_run_the_one_that_was_fitted_with_a_reference_has_it(
    run, tmp_path
):
    """In a plan of their difference, too, as in a comparison; whichever of both is the first."""
    labels = run / "known/annotations.json"
    mine = autoeval.Detector(f"{run / 'mine.py'}:detector")
    autoeval.fit(labels, mine, img_dir=run / "known/images", work_dir=tmp_path / "plain")
    fits = {"plain": tmp_path / "plain", "helped": run / "fit"}
    reference = [f"{run / 'mine.py'}:detector"]
    site = {"images": run / "cameras/gate", "reference": reference}
    (row,) = autoeval.compare(fits, **site).overall.to_dict("records")
    found = []
    for first, second in (("plain", "helped"), ("helped", "plain")):
        other = {"compare": fits[second], "n": 5}
        plan = autoeval.plan_labels(fits[first], **other, **site)
        sign = 1 if row["a"] == first else -1
        assert plan.difference.prior.value == pytest.approx(sign * row["label_free"], abs=1e-9)
        watched = autoeval.monitor(
            fits[first],
            images=run / "cameras",
            by="folder",
            against=fits[second],
            reference=reference,
            work_dir=tmp_path / first,
        )
        rows, _ = watched.candidate
        found.append(rows.set_index("site")["difference"])
    assert found[0].to_dict() == pytest.approx((-found[1]).to_dict())
    assert len(found[0]) == 2
