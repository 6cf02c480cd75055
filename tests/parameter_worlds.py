"""Small worlds in which every parameter of the public functions can make a difference."""

import json
import shutil
from functools import cache

import numpy as np
from commands.predicted_world import write_world
from labelled_colours import write_colours, write_detector, write_predictions

import autoeval
from autoeval.detectors.detector_spec import load_black_box

SMALL = {"n_images": 24, "n_categories": 3, "boxes": 4.0}
SKILLS = {"strong": 0.85, "weak": 0.5}
TASK = """
name = "things"
categories = ["thing 0", "thing 1", "thing 2"]
data_root = "{root}"
seed_sets = [dict(name=n, labels=n + ".json") for n in ["one", "two"]]
"""
CONFIG = """
_base_ = "mmdet::yolox/yolox_nano_8xb8-300e_coco.py"
model = dict(bbox_head=dict(num_classes=2))
test_dataloader = dict(dataset=dict(metainfo=dict(classes={words})))
"""


def write_worlds(folder):
    """Write labels, predictions, fits and images for all cases into a folder, and return it."""
    for name, skill in SKILLS.items():
        for place, seed in (("one", 1), ("two", 2), ("new", 3)):
            labels, predictions = write_world(folder, "made", seed=seed, skill=skill, **SMALL)
            labels.rename(folder / f"{place}.json")  # the same for both detectors
            (folder / name).mkdir(exist_ok=True)
            predictions.rename(folder / name / f"{place}.json")
        found = folder / name / "one.json"
        autoeval.fit(folder / "one.json", found, work_dir=folder / f"fit_{name}")
    autoeval.fit(folder / "two.json", folder / "strong/two.json", work_dir=folder / "fit_two")
    for root in ("here", "there"):
        (folder / root).mkdir()
        (folder / f"{root}.py").write_text(TASK.format(root=root))
    for name in ("one", "two"):
        shutil.copy(folder / f"{name}.json", folder / "here")
        _with_some(folder / f"{name}.json", folder / "there" / f"{name}.json", range(12))
    _with_some(folder / "new.json", folder / "few.json", range(0, 24, 2))
    _write_variants(folder)
    write_colours(folder / "colours", 0, n_images=12)
    write_colours(folder / "others", 1, n_images=6)
    shutil.copy(write_detector(folder, threshold=110).partition(":")[0], folder / "other.py")
    write_detector(folder)
    write_predictions(black_box(folder), folder / "colours").rename(folder / "colours_found.json")
    _write_plans(folder)
    _write_network(folder / "net")
    return folder


def _write_plans(folder):
    """Write a plan for each detector, and the labels of the images of the first."""
    for name, of in (("strong", "plan"), ("weak", "plan_weak")):
        plan = autoeval.plan_labels(
            folder / f"fit_{name}",
            folder / name / "new.json",
            images=folder / "list.json",
            n=8,
            work_dir=folder / of,
        )
        if of == "plan":
            drawn = {int(plan.found.images[k].image_id) for k in plan.drawn}
            _with_some(folder / "new.json", folder / "plan_labels.json", drawn)


def _with_some(path, copy, images):
    """Copy the labels of some images."""
    content = json.loads(path.read_text())
    content["images"] = [image for image in content["images"] if image["id"] in images]
    content["annotations"] = [a for a in content["annotations"] if a["image_id"] in images]
    copy.write_text(json.dumps(content))


def _write_variants(folder):
    """Write predictions that are moved and less sure, cut, empty, without words; and a list."""
    found = json.loads((folder / "strong/new.json").read_text())
    # by a move alone nothing changes that is read without labels and sizes of images
    moved = [
        {**box, "bbox": np.add(box["bbox"], [3, 2, 0, 0]).tolist(), "score": 0.95 * box["score"]}
        for box in found
    ]
    fit_on = json.loads((folder / "strong/one.json").read_text())
    cut = [{**box} for box in fit_on if box["score"] > 0.35]
    outside = [{**found[0], "bbox": [600, 400, 500, 500]}, *found]
    names = {"moved": moved, "cut": cut, "outside": outside, "empty": []}
    names["worded"] = [{**box, "category": f"thing {box['category_id'] - 1}"} for box in moved]
    for name, boxes in names.items():
        (folder / f"{name}.json").write_text(json.dumps(boxes))
    content = json.loads((folder / "new.json").read_text())
    (folder / "list.json").write_text(json.dumps(content | {"annotations": []}))
    more = [*content["images"], {**content["images"][0], "id": 99, "file_name": "000099.jpg"}]
    (folder / "longer.json").write_text(json.dumps(content | {"images": more, "annotations": []}))
    words = [{**of, "name": of["name"].replace("thing", "object")} for of in content["categories"]]
    (folder / "words.json").write_text(json.dumps(content | {"categories": words}))
    (folder / "sites").mkdir()
    for name, skill in (("gate", "strong"), ("yard", "weak")):
        shutil.copy(folder / skill / "new.json", folder / "sites" / f"{name}.json")
    (folder / "alike_sites").mkdir()  # either may be the worst
    for name, boxes in (("gate", "strong/new.json"), ("yard", "moved.json")):
        shutil.copy(folder / boxes, folder / "alike_sites" / f"{name}.json")
    (folder / "cut_sites").mkdir()
    shutil.copy(folder / "cut.json", folder / "cut_sites/gate.json")


def black_box(folder, name="mine"):
    """Load the detector of a file that `write_worlds` wrote."""
    return load_black_box(f"{folder / name}.py:detector")


@cache
def fit_strong(folder):
    """Return the estimator of the stronger detector."""
    return autoeval.AccuracyEstimator.load(folder / "fit_strong")


@cache
def observed(folder, name="mine"):
    """Return an estimator that was fitted with the detector itself."""
    labels = folder / "colours/annotations.json"
    return autoeval.fit(labels, black_box(folder, name), img_dir=folder / "colours/images")


class BlackBoxes:
    """A detector of which it is known how many images it was shown together."""

    def __init__(self, folder, name="mine"):
        self.detector, self.sizes = black_box(folder, name), []
        find = self.detector.find

        def counted(images):
            self.sizes.append(len(images))
            return find(images)

        self.detector.find = counted

    def take_sizes(self):
        """Return the numbers of images, and forget them."""
        sizes, self.sizes[:] = list(self.sizes), []
        return sizes


def _write_network(folder):
    """Write a config, another one and weights of a small network; one file holds an object."""
    import torch

    from autoeval.detectors.loading import build_model, read_config

    folder.mkdir()
    torch.manual_seed(0)
    state = build_model(read_config("yolox_nano", {"model.bbox_head.num_classes": 2})).state_dict()
    other = {name: of + 0.5 if of.is_floating_point() else of for name, of in state.items()}
    torch.save({"state_dict": state}, folder / "a.pth")
    torch.save({"state_dict": other}, folder / "b.pth")
    torch.save({"state_dict": state, "by": Author()}, folder / "odd.pth")
    (folder / "config.py").write_text(CONFIG.format(words=("bus", "van")))
    (folder / "other.py").write_text(CONFIG.format(words=("ship", "boat")))


class Author:
    """An object that is not read from a checkpoint unless that is trusted."""


def load_trained(**options):
    """Load a detector; return what it depends on."""
    detector = autoeval.load_detector(**options)
    return detector.settings, detector.categories
