"""Labels of images that a detector was trained on are recognised by what its config says."""

import json

import pytest
from mmengine.config import Config

from autoeval.detectors.building.training_images import trained_on

COCO = {"data_root": "data/coco/", "ann_file": "annotations/instances_train2017.json"}


def config_of(*datasets):
    wrapped = {"type": "RepeatDataset", "dataset": {"datasets": list(datasets)}}
    return Config({"train_dataloader": {"dataset": wrapped}, "test_dataloader": {"dataset": COCO}})


def labels(path, names):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"images": [{"file_name": name} for name in names]}))
    return path


@pytest.mark.parametrize(
    ("ann_file", "given", "seems"),
    [
        ("annotations/instances_train2017.json", "elsewhere/instances_train2017.json", True),
        ("annotations/instances_train2017.json", "annotations/instances_val2017.json", False),
        ("site/annotations.json", "site/annotations.json", True),
        ("site/annotations.json", "other/annotations.json", False),
    ],
)
def test_paths_tell_where_the_training_file_is_not_here(tmp_path, ann_file, given, seems):
    config = config_of({"data_root": "data/absent/", "ann_file": ann_file})
    reasons = trained_on(config, tmp_path / given, ["a.jpg"])
    assert [given.rpartition("/")[2] in reason for reason in reasons] == [True] * seems


def test_names_of_images_tell_where_it_is(tmp_path):
    labels(tmp_path / "train.json", [f"train/{k}.jpg" for k in range(10)])
    config = config_of(COCO, {"data_root": str(tmp_path), "ann_file": "train.json"})
    (reason,) = trained_on(config, tmp_path / "mine.json", ["3.jpg", "x/7.jpg", "11.jpg"])
    assert reason.startswith("2 of 3 images have the name of an image in")
    # the same file name says nothing once its images are known to be others
    assert not trained_on(config, tmp_path / "else/train.json", ["11.jpg", "12.jpg"])


def test_a_config_without_training_says_nothing(tmp_path):
    assert not trained_on(Config({"model": {}}), tmp_path / "instances_train2017.json", ["a.jpg"])
    broken = tmp_path / "train.json"
    broken.write_text("[1, 2]")
    config = config_of({"data_root": str(tmp_path), "ann_file": "train.json"})
    assert not trained_on(config, tmp_path / "mine.json", ["a.jpg"])
