"""New images of a site of the fit: its labelled accuracy, and the change that scores predict."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import autoeval
from autoeval.boxes import Boxes, LabelledImage
from autoeval.errors import InputError
from autoeval.estimation.category_scores import labelled_rows
from autoeval.estimation.label_planning import check_plan
from autoeval.estimation.labelled_sets import labelled_site
from autoeval.model import MixedModel, Pairs, Prior, Variances
from autoeval.model.pair_table import GROUP, SITE
from autoeval.model.priors import calibration_prior
from autoeval.model.regression import Regression
from autoeval.sites.site import Site
from tests.made_sites import N_IMAGES, WORDS, random_found, truth_from


def pair(x, sampling, *names):
    return Pairs(np.array([[x]]), np.array([sampling]), *(np.array([name]) for name in names))


def test_other_images_of_a_pair_share_all_its_effects():
    """Residual .1, variances of .001 each; with sampling .005 the pair is worth 4 parts of 9."""
    prior = Prior((0.0,), intercept=0.3, intercept_std=0.0, calibration_std=0.0)
    variances = Variances(0.001, 0.001, 0.001, 0.001, 0.0)
    model = MixedModel(prior, variances=[variances])
    model.fit(pair(0.0, 0.005, "f", "p", "c"), np.array([0.4]))
    same = model.predict(pair(0.0, 0.002, "f", "p", "c"))
    np.testing.assert_allclose(same.mean, [0.3 + 0.1 * 4 / 9])
    np.testing.assert_allclose(same.std**2, [0.004 - 0.004**2 / 0.009 + 0.002])
    for names, parts in ((("f", "p", "d"), 2), (("f", "q", "c"), 2), (("g", "p", "c"), 1)):
        other = model.predict(pair(0.0, 0.002, *names))
        np.testing.assert_allclose(other.mean, [0.3 + 0.1 * parts / 9])


@pytest.mark.parametrize("frames", [1, 3])  # of each image, in one block of time
def test_the_sampling_error_is_that_of_the_influence_of_images(frames):
    """One object in each of ten images, five of them found: the influences are .5 and -.5."""
    n, half = 10 * frames, 5 * frames
    images = tuple(LabelledImage(str(k), f"{k}.jpg", (40, 40)) for k in range(n))
    image, label = np.arange(n), np.zeros(n, int)
    corners, scores = np.tile([0.0, 0, 10, 10], (n, 1)), np.linspace(0.9, 0.5, half)
    truth = Boxes(images, ("car",), image, label, corners)
    found = Boxes(images, ("car",), image[:half], label[:half], corners[:half], scores)
    blocks = image // frames if frames > 1 else None
    labelled = labelled_site(Site(found, truth=truth, name="ten", blocks=blocks))
    (row,) = labelled_rows(labelled, calibration_prior().calibration).to_dict("records")
    assert row["mAP"] == pytest.approx(51 / 101)  # of the recalls 0, .01, ..., 1 those up to .5
    errors = {name: row[name] for name in ("mAP_std", "mAP50_std", "mAP75_std")}
    assert errors == pytest.approx(dict.fromkeys(errors, 0.5 / 9**0.5))
    assert row["n_images"] == 5  # in which it is found


def table(**columns):
    rows = {
        "kind": "seed",
        "source": ["a", "a", "b"],
        "group": ["f", "f", "g"],
        "category": ["car", "dog", "car"],
        "n_images": 40,
        "likely_share": 0.3,
        "box_size": -1.8,
        "mAP": [0.6, 0.3, 0.2],
        "expected_ap": [0.3, 0.25, 0.2],
    }
    return pd.DataFrame({**rows, "mAP_std": 0.02, **columns})


def asked(**columns):
    rows = table().iloc[:1].drop(columns=["group", "source", "mAP", "mAP_std"])
    return rows.assign(**columns)


def test_equal_scores_carry_the_labelled_accuracy_over_and_other_scores_move_it():
    fitted = Regression().fit(table())
    (new,) = fitted.predict(asked())
    (same,) = fitted.predict(asked(**{SITE: "a"}))
    assert abs(same.value - 0.6) < 0.02 < abs(new.value - 0.6)
    assert same.upper - same.lower < (new.upper - new.lower) / 2
    assert fitted.predict(asked(**{SITE: "a"}, likely_share=0.9, box_size=-1.0)) == [same]
    (lower,) = fitted.predict(asked(**{SITE: "a"}, expected_ap=0.2))
    assert lower.raw / same.raw == pytest.approx(0.22 / 0.32)
    assert lower.upper - lower.lower > same.upper - same.lower


def test_an_accuracy_that_few_images_measured_counts_for_less():
    noisy, exact = (
        Regression().fit(table(mAP_std=std)).predict(asked(**{SITE: "a"}))[0] for std in (0.1, 0.02)
    )
    assert noisy.raw < exact.raw and noisy.upper - noisy.lower > exact.upper - exact.lower
    fitted = Regression().fit(table().drop(columns="mAP_std"))
    assert np.isfinite(fitted.predict(asked(**{SITE: "a"}))[0].value)


@pytest.mark.parametrize("n_images", [5, 40, 400])
def test_sizes_of_images_that_are_not_known_say_nothing_of_a_known_site(n_images):
    """Its labelled pair stands for the size of boxes, so that it adds no error, nor removes any."""
    new = {SITE: "a", "n_images": n_images}
    (sized,) = Regression().fit(table()).predict(asked(**new))
    (unsized,) = Regression().fit(table(box_size=np.nan)).predict(asked(**new, box_size=np.nan))
    assert unsized.reach == pytest.approx(sized.reach, rel=1e-3)


def test_a_category_that_was_not_labelled_there_shares_the_place_alone():
    fitted = Regression().fit(table())
    (cat,) = fitted.predict(asked(**{SITE: "a"}, category="cat"))
    (new,) = fitted.predict(asked(category="cat"))
    (car,) = fitted.predict(asked(**{SITE: "a"}))
    assert car.upper - car.lower < cat.upper - cat.lower < new.upper - new.lower


def test_a_site_that_the_fit_does_not_contain_is_refused_with_those_that_it_does():
    with pytest.raises(InputError, match=r"no site 'gate'. It knows a, b"):
        Regression().fit(table()).predict(asked(**{SITE: "gate"}))


def test_a_site_of_a_group_is_off_the_line_as_the_labelled_one_is():
    """Its car is far above the line: so is another car of its group, less so a cat of it."""
    fitted = Regression().fit(table())
    asked_of = {"new": asked(), "group": asked(**{GROUP: "f"}), "site": asked(**{SITE: "a"})}
    new, group, site = (fitted.predict(rows)[0] for rows in asked_of.values())
    assert new.value < group.value < 0.6
    assert site.upper - site.lower < group.upper - group.lower < new.upper - new.lower
    cat, cat_of_group = (
        fitted.predict(asked(category="cat", **named))[0] for named in ({}, {GROUP: "f"})
    )
    assert 0 < cat_of_group.raw - cat.raw < group.raw - new.raw


def test_a_group_that_the_fit_does_not_contain_is_refused_with_those_that_it_does(tmp_path):
    labels, found = write_coco(tmp_path, 0)
    fitted = autoeval.fit(labels, found, group="dash cams")
    with pytest.raises(InputError, match=r"no group 'gate'. It has dash cams"):
        fitted.predict(found, group="gate")
    with pytest.raises(InputError, match="leave out `group`"):
        fitted.predict(found, site="gate0", group="dash cams")
    new, same = fitted.predict(found), fitted.predict(found, group="dash cams")
    assert same.upper - same.lower < new.upper - new.lower
    assert "group dash cams, in the fit gate0" in same.interval_method
    assert same.to_dict()["estimate/lower"] == same.lower


VEHICLE = {"vehicle": ["car", "bus"]}


@pytest.mark.parametrize(
    ("categories", "named"),
    [(None, None), (VEHICLE, None), (None, VEHICLE), (None, ["car"]), (VEHICLE, ["car"])],
)
def test_boxes_of_the_labelled_set_are_no_new_ones(tmp_path, categories, named):
    """The ids and sizes of another list fit, too: the boxes alone say that the file is another."""
    labels, found = write_coco(tmp_path, 0)
    other, new = write_coco(tmp_path, 1)
    fitted = autoeval.fit(labels, found, categories=categories)
    fitted.save(tmp_path / "fit.parquet")
    for of_fit in (fitted, autoeval.AccuracyEstimator.load(tmp_path / "fit.parquet")):
        mistaken, right = (
            of_fit.predict(boxes, images=other, categories=named) for boxes in (found, new)
        )
        assert "images-of-the-fit" in [warning.code for warning in mistaken.warnings]
        assert "images-of-the-fit" not in [warning.code for warning in right.warnings]


def test_boxes_of_the_labelled_set_are_no_new_ones_of_its_site_either(tmp_path):
    """Of all options `site` alone took the old file without a word."""
    labels, found = write_coco(tmp_path, 0)
    other, new = write_coco(tmp_path, 1)
    fitted = autoeval.fit(labels, found)
    mistaken = fitted.predict(found, images=labels, site="gate0")
    right = fitted.predict(new, images=other, site="gate0")
    assert "images-of-the-fit" in [warning.code for warning in mistaken.warnings]
    assert "images-of-the-fit" not in [warning.code for warning in right.warnings]


def test_a_numbered_group_is_a_name_as_on_the_command_line(tmp_path):
    """0 is one, too, and fits with numbers and with names are joined."""
    first, found = write_coco(tmp_path, 0)
    autoeval.fit(first, found, group=0, work_dir=tmp_path / "a")
    autoeval.fit(*write_coco(tmp_path, 1), group="gate", work_dir=tmp_path / "b")
    joined = autoeval.fit(join=[tmp_path / "a", tmp_path / "b"])
    assert joined.regression_.groups_ == ["0", "gate"]
    assert joined.predict(found, group=0).value == joined.predict(found, group="0").value
    by_number = autoeval.estimate(found, estimator=joined, group=0, images=first)
    assert by_number.to_dict() == joined.predict(found, group="0", images=first).to_dict()


def test_a_plan_of_a_site_of_a_group_is_of_that_group(tmp_path):
    labels, found = write_coco(tmp_path, 0)
    fitted = autoeval.fit(labels, found, group="dash cams")
    (tmp_path / "new").mkdir()
    _, new = write_coco(tmp_path / "new", 1)
    estimate = fitted.predict(new, group="dash cams")
    autoeval.plan_labels(fitted, new, group="dash cams", n=5, work_dir=tmp_path / "plan")
    plan = fitted.plan_labels(estimate, n=5)
    plan_without = fitted.plan_labels(fitted.predict(new), n=5)
    assert plan.priors["mAP"].error < plan_without.priors["mAP"].error
    check_plan(plan, estimate, tmp_path / "plan")
    with pytest.raises(InputError, match="a site of the group 'dash cams', not a site of no group"):
        check_plan(plan, fitted.predict(new), tmp_path / "plan")


def write_coco(folder, seed, every=1):
    """Write predictions of made boxes and labels, every one or fewer of them, as COCO."""
    found = random_found(seed)
    truth = truth_from(found)
    columns = {n: getattr(truth, n)[::every] for n in ("image", "label", "boxes", "crowd")}
    truth = replace(truth, **columns)
    numbers = {word: k + 1 for k, word in enumerate(WORDS)}

    def entries(of, **more):
        sides = np.column_stack([of.boxes[:, :2], of.boxes[:, 2:] - of.boxes[:, :2]])
        return [
            {"image_id": int(i), "category_id": int(c) + 1, "bbox": list(map(float, b)), **extra}
            for i, c, b, extra in zip(of.image, of.label, sides, more["each"], strict=True)
        ]

    labels = [{"id": k, "iscrowd": 0, "area": 1.0} for k in range(len(truth.label))]
    images = [
        {"id": k, "file_name": f"{k}.jpg", "width": 200, "height": 200} for k in range(N_IMAGES)
    ]
    content = {
        "images": images,
        "categories": [{"id": number, "name": word} for word, number in numbers.items()],
        "annotations": entries(truth, each=labels),
    }
    (folder / f"gate{seed}.json").write_text(json.dumps(content))
    scores = [{"score": float(score)} for score in found.scores]
    (folder / f"found{seed}.json").write_text(json.dumps(entries(found, each=scores)))
    return folder / f"gate{seed}.json", folder / f"found{seed}.json"


def test_a_site_is_named(tmp_path):
    labels, found = write_coco(tmp_path, 0)
    fitted = autoeval.fit(labels, found, work_dir=tmp_path / "fit")
    new, same = fitted.predict(found), fitted.predict(found, site="gate0")
    assert same.upper - same.lower < new.upper - new.lower
    labelled = fitted.table_.set_index("category")["mAP"]
    for category, of in same.per_category.items():
        assert of["value"] == pytest.approx(labelled[category], abs=0.1)
        assert of["lower"] < labelled[category] < of["upper"]
    assert "on the labelled images of gate0" in same.interval_method


def test_a_joined_fit_knows_the_sites_of_each(tmp_path):
    for seed in (0, 1):
        labels, found = write_coco(tmp_path, seed, every=1 + seed)
        autoeval.fit(labels, found, work_dir=tmp_path / f"fit{seed}")
    joined = autoeval.join([tmp_path / "fit0", tmp_path / "fit1"])
    values = [
        joined.predict(tmp_path / "found1.json", site=site).value for site in ("gate0", "gate1")
    ]
    labelled = joined.table_.groupby("source")["mAP"].mean()
    assert labelled["gate1"] < labelled["gate0"] - 0.1
    # by the calibration of both together, not by that of gate1 alone, which gave 4 points
    assert abs(values[1] - labelled["gate1"]) < 0.06 < values[0] - labelled["gate1"]
