"""The training domain, observed with a stand-in whose boxes are right or wrong on purpose."""

from dataclasses import replace

import numpy as np
import pytest
from rectangles import BOXES, RectangleDetector, write_world

from autoeval.detections import Detections
from autoeval.errors import InputError
from autoeval.estimation.observation.observing import Observer
from autoeval.estimation.observation.samples import ImageLoading
from autoeval.io.tasks.seed_set import load_seed_set
from autoeval.stability.fitting.kept_domain import correct_boxes, observe_source_domain
from autoeval.stability.metasets import SampleSet, own_images
from autoeval.stability.passes.presets import ScoredSettings, SourceDomain, preset

N_IMAGES = 4


class HalfWrong(RectangleDetector):
    """Beside each right box of score .8 it finds one of score .4 in a corner, and .03 anywhere."""

    def observe(self, images, image_ids, *, wants=(), repeats=0, **options):
        self.asked = tuple(wants), repeats
        return [
            replace(
                evidence,
                clean=Detections(
                    np.vstack([evidence.clean.boxes, [[0, 0, 3, 3], [1, 1, 2, 2]]]),
                    np.array([0.8, 0.4, 0.03]),
                    np.zeros(3),
                ),
                features=np.array([float(evidence.image_id), 1.0]),
            )
            for evidence in super().observe(images, image_ids)
        ]


@pytest.fixture
def samples(tmp_path):
    world = write_world(tmp_path, 250, n_images=N_IMAGES)
    seed_set = load_seed_set(
        "home", world / "annotations.json", world / "images", ("box",), {"box": "box"}
    )
    return SampleSet(seed_set, own_images(seed_set))


def test_the_threshold_leaves_as_many_boxes_below_as_are_wrong(samples):
    detector, done = HalfWrong(), []
    observer = Observer(detector, BOXES, preset("paper", repeats=3))
    domain = observe_source_domain(observer, samples, advance=done.append)
    # four boxes of .4 are wrong and those of .03 do not count, so the fifth lowest is the threshold
    assert domain.threshold == pytest.approx(0.8)
    assert domain.name == "home" and sum(done) == N_IMAGES
    assert detector.asked == (("features",), 0)  # one clean pass, whatever the settings say


def test_its_features_are_the_mean_and_spread_of_the_images(samples):
    domain = observe_source_domain(Observer(HalfWrong(), BOXES, ScoredSettings()), samples)
    np.testing.assert_allclose(domain.features.mean, [2.5, 1.0])
    assert domain.features.covariance[0, 0] == pytest.approx(np.var([1, 2, 3, 4], ddof=1))


@pytest.mark.parametrize("with_features", [True, False])
def test_it_is_the_same_from_a_file(samples, tmp_path, with_features):
    domain = observe_source_domain(Observer(HalfWrong(), BOXES, ScoredSettings()), samples)
    features = replace(domain.features, prototypes=np.eye(2, 3)) if with_features else None
    domain = replace(domain, features=features)
    domain.save(tmp_path / "home.npz")
    read = SourceDomain.load(tmp_path / "home.npz", "home")
    assert read.digest == domain.digest
    if with_features:
        assert read.features.n == N_IMAGES
        np.testing.assert_array_equal(read.features.prototypes, np.eye(2, 3))


NO_MEAN = {"threshold": 0.5, "n": 3, "covariance": np.eye(3)}


@pytest.mark.parametrize("content", [None, b"", b"mean", b"PK\x03\x04", {"n": 3}, NO_MEAN])
def test_a_file_that_holds_something_else_is_refused(tmp_path, content):
    path = tmp_path / "home.npz"
    if isinstance(content, dict):
        np.savez(path, **content)
    elif content is not None:
        path.write_bytes(content)
    with pytest.raises(InputError, match=r"home\.npz"):
        SourceDomain.load(path, "home")


@pytest.mark.parametrize("batch_size", [1, 3])
def test_the_batch_size_changes_nothing(samples, batch_size):
    digests = {
        observe_source_domain(
            Observer(HalfWrong(), BOXES, ScoredSettings(), reading=ImageLoading(size)), samples
        ).digest
        for size in (batch_size, 4)
    }
    assert len(digests) == 1


def test_a_domain_without_a_box_is_refused_by_name(samples):
    blind = preset("paper")
    blind = replace(blind, stability=replace(blind.stability, score_thr=0.95))
    with pytest.raises(InputError, match="'home' cannot stand for the training domain"):
        observe_source_domain(Observer(HalfWrong(), BOXES, blind), samples)


def test_each_object_is_found_once_and_by_its_own_category():
    boxes = np.array([[0.0, 0, 4, 4], [0, 0, 4, 4], [10, 10, 14, 14], [0, 0, 4, 4]])
    found = Detections(boxes, np.array([0.5, 0.9, 0.7, 0.95]), np.array([0, 0, 0, 1]))
    truth = np.array([[0.0, 0, 4, 4], [10, 10, 13, 14]])
    # the best of category 0 takes the first object; .75 of the second is enough
    correct, ignored = correct_boxes(found, truth, np.zeros(2), np.zeros(2, bool))
    assert correct.tolist() == [False, True, True, False] and not ignored.any()


def test_a_box_in_an_area_to_ignore_is_neither_right_nor_wrong():
    """As in COCO's evaluation: any number in a crowd of the category, with half of each in it."""
    boxes = np.array([[0.0, 0, 4, 4], [4, 4, 8, 8], [0, 0, 8, 8], [7, 0, 11, 4], [0, 0, 4, 4]])
    found = Detections(boxes, np.array([0.5, 0.9, 0.8, 0.7, 0.95]), np.array([0, 0, 0, 0, 1]))
    truth = np.array([[0.0, 0, 8, 8], [4, 4, 8, 8]])
    correct, ignored = correct_boxes(found, truth, np.zeros(2), np.array([True, False]))
    assert correct.tolist() == [False, True, False, False, False]
    assert ignored.tolist() == [True, False, True, False, False]


def test_the_threshold_leaves_out_boxes_in_an_area_to_ignore(samples):
    """Of two images the box of .4 lies in a crowd: two are wrong, so the third lowest is it."""
    crowd = {"labels": np.zeros(2, int), "iscrowd": np.array([False, True])}
    records = [
        replace(record, boxes=np.vstack([record.boxes, [[0, 0, 4, 4]]]), **crowd)
        for record in samples.records[:2]
    ]
    samples.records = (*records, *samples.records[2:])
    observer = Observer(HalfWrong(), BOXES, preset("paper"))
    assert observe_source_domain(observer, samples).threshold == pytest.approx(0.8)
