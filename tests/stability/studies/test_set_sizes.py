from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from observations import found, image, observations, shaky_world, shaky_worlds
from rectangles import rectangle_task

from autoeval.errors import InputError
from autoeval.stability.methods.leave_one_out import leave_one_source_out
from autoeval.stability.reports.box_quality import examples, examples_report
from autoeval.stability.studies.set_sizes import (
    StudySettings,
    size_of_sample_sets,
    size_of_test_set,
    subset_table,
    whole_sets,
)


def test_subsets_are_drawn_without_replacement_and_repeatably():
    made = observations(shaky_world("a", 2.0, n_sets=1))
    table = subset_table(made, [3, 8, 20], draws=2)
    assert table["n_images"].tolist() == [3] * 4 + [8] * 8 + [3] * 4 + [8] * 8
    again = subset_table(made, [3], draws=2)
    assert again["mAP"].tolist() == table.loc[table["size"] == 3, "mAP"].tolist()
    # all images, in any draw, are the whole set
    whole = whole_sets(made)
    for size in (8, 20):
        of_size = table[(table["size"] == size) & (table["draw"] == 1)]
        assert of_size["bos"].to_numpy() == pytest.approx(whole["bos"].to_numpy(), abs=1e-15)


def test_all_images_give_the_error_of_the_protocol():
    made = shaky_worlds(n_sets=2)
    expected = leave_one_source_out(whole_sets(made), "bos").summary()["mean_absolute_error"]
    by_sample = size_of_sample_sets(made, StudySettings(["bos"]), sizes=[2, 8], draws=2)
    by_test = size_of_test_set(made, StudySettings(["bos"]), sizes=[2, 8], draws=2)
    for result in (by_sample, by_test):
        assert result["images"].tolist() == [2, 8]
        last = result.iloc[-1]
        assert last["error"] == pytest.approx(expected) and last["std"] == pytest.approx(0)
        assert result.loc[0, "std"] > 0 and last["sources"] == 4 and last["no_estimate"] == 0
    assert by_test.loc[1, "error_same_images"] == pytest.approx(expected)


def test_a_constant_is_missed_by_the_same_at_every_size():
    made = shaky_worlds(n_sets=2)
    table = whole_sets(made)
    own = table[table["kind"] == "seed"].groupby("source")["mAP"].first()
    by_hand = np.mean([abs(own[name] - own.drop(name).mean()) for name in own.index])
    result = size_of_test_set(made, StudySettings(["constant"]), sizes=[1, 4], draws=3)
    assert result["error"].to_numpy() == pytest.approx([by_hand, by_hand])


def test_usual_sizes_end_with_all_images():
    result = size_of_test_set(shaky_worlds(n_sets=2), StudySettings(["ac"]), draws=1)
    assert result["images"].tolist() == [5, 8]


@pytest.mark.parametrize("sizes", [[0], [9]])
def test_sizes_that_are_not_there(sizes):
    with pytest.raises(InputError, match="sizes from 1 to 8, the images of the largest set"):
        size_of_sample_sets(shaky_worlds(), StudySettings(["bos"]), sizes=sizes)


def test_scores_that_boxes_do_not_give():
    own = observations(shaky_world("a", 1.0, n_sets=0))
    with pytest.raises(InputError, match="of kind 'sample' but there are none"):
        size_of_sample_sets(own, StudySettings(["bos"]))
    with pytest.raises(InputError, match="astrology"):
        size_of_test_set(shaky_worlds(), StudySettings(["astrology"]))


@pytest.mark.parametrize("study", [size_of_sample_sets, size_of_test_set])
def test_the_accuracy_of_one_category_is_not_estimated_by_scores_of_all(study):
    with pytest.raises(InputError, match="of all categories together but got mAP/car"):
        study(shaky_worlds(), StudySettings(["bos"], "mAP/car"))


@pytest.mark.parametrize("study", [size_of_sample_sets, size_of_test_set])
def test_a_source_without_objects_is_no_estimate_that_is_missing(study):
    labelled = shaky_worlds(n_sets=2)
    empty = shaky_world("empty", 2.0, n_sets=2, seed=9)
    for names, images in empty.items():
        empty[names] = [
            replace(i, boxes=i.boxes[:0], labels=i.labels[:0], iscrowd=i.iscrowd[:0])
            for i in images
        ]
    made = replace(labelled, sets=(*labelled.sets, *observations(empty).sets))
    settings, sizes = StudySettings(["bos", "constant"]), {"sizes": [4], "draws": 2}
    result = study(made, settings, **sizes)
    assert result["sources"].tolist() == [4, 4] and result["no_estimate"].tolist() == [0, 0]
    pd.testing.assert_frame_equal(result, study(labelled, settings, **sizes))


def moving(name, pixels, n_boxes=2):
    """An image whose boxes of side 60 move sideways by so many pixels."""
    boxes = np.array([[0.0, 0, 60, 60], [100, 0, 160, 60]])[:n_boxes]
    return image(name, found(boxes), [found(boxes + np.array([pixels, 0, pixels, 0]))], boxes)


def test_examples_are_the_extremes_of_different_sources():
    made = observations(
        {
            ("a", "a", "seed"): [moving("a0", 0), moving("a20", 20), moving("a40", 40)],
            ("b", "b", "seed"): [moving("b10", 10), moving("b30", 30)],
            ("c", "c", "seed"): [moving("alone", 59, n_boxes=1)],
        }
    )
    unstable, stable = examples(made, n_images=2)
    assert [e.image.evidence.image_id for e in unstable] == ["a40", "b30"]
    assert [e.image.evidence.image_id for e in stable] == ["a0", "b10"]
    # side 60 moved by 40: 20 / 100, and nothing of the enclosing box is wasted
    assert unstable[0].stability == pytest.approx(0.2) and unstable[0].mean_ap == 1
    unstable, _ = examples(made, n_images=2, per_source=2, min_boxes=1)
    assert [e.image.evidence.image_id for e in unstable] == ["alone", "a40"]


def test_examples_show_the_boxes_that_are_compared(tmp_path, monkeypatch):
    """Three boxes over .05 before dropout and two after it; those under it are not drawn."""
    boxes = np.array([[0.0, 0, 20, 20], [30, 0, 50, 20], [0, 30, 20, 50], [30, 30, 50, 50]])
    clean, lost = found(boxes, np.array([0.9, 0.5, 0.06, 0.04])), np.array([0.9, 0.5, 0.04, 0.02])
    made = image("1", clean, [found(boxes, lost), found(boxes, lost)], boxes)
    drawn = []

    def draw(picture, before, after):
        drawn.append((len(before), [len(one) for one in after]))
        return picture

    monkeypatch.setattr("autoeval.stability.reports.box_quality.draw_boxes", draw)
    task = rectangle_task(tmp_path, brightness=(250,), n_images=1)
    report = examples_report(observations({("w0", "w0", "seed"): [made]}), task, most=1)
    assert drawn == [(3, [2, 2])] * 2  # as the least and as the most stable one
    assert report.parts[0].table["boxes"].tolist() == [3, 3]


def test_no_image_with_enough_boxes():
    made = observations({("c", "c", "seed"): [moving("alone", 5, n_boxes=1)]})
    with pytest.raises(InputError, match="2 boxes or more"):
        examples(made)


def test_intervals_over_images_are_over_groups():
    made = shaky_worlds(n_sets=2)
    twins = [replace(one, source=f"{one.source}2", group=one.source) for one in made.sets]
    sets = (*(replace(one, group=one.source) for one in made.sets), *twins)
    for study in (size_of_sample_sets, size_of_test_set):
        by_group, alone = (
            study(each, StudySettings(["bos"]), sizes=[8], draws=1).iloc[-1]
            for each in (replace(made, sets=sets), made)
        )
        ends = ["error", "lower", "upper"]
        assert by_group["sources"] == 8
        assert by_group[ends].tolist() == pytest.approx(alone[ends].tolist())
