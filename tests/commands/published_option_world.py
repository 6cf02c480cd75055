"""Small road worlds, weights and tasks for the options of commands that run a network."""

import json
import math
import shutil
from dataclasses import replace
from functools import partial
from pathlib import Path

import torch
from fading_sites import FadingDetector, fading_task
from paper_layouts import coco, exdark, kitti, write_sets
from rectangles import TASK as RECTANGLES
from rectangles import write_task
from rectangles import write_world as write_rectangles
from shaken_rectangles import ShakenRectangles

from autoeval import roadworld
from autoeval.demo import training
from autoeval.detectors import loading
from autoeval.io.config_file import shipped_config
from autoeval.roadworld import ENVIRONMENTS, environments_task, write_environment
from autoeval.stability.commands import paper_runs
from autoeval.stability.metasets import Recipe, save_recipes

SHIPPED = shipped_config("detectors", "roadworld_nano.pth")
SITES = ("highway_day", "fog", "night_highway")
N_IMAGES = 2
TRAINED_ON = {name: ENVIRONMENTS[name] for name in ("dusk_city", "fog")}
FEW_CHANGES = 12  # images of a site
TASK = """
name = "{name}"
categories = {words}
data_root = "{root}"
seed_sets = [
    dict(name=n, ann_file=n + "/annotations.json", img_dir=n + "/images", mapping={mapping})
    for n in {sites}
]
"""
CORRUPTIONS = 'transforms = ["gaussian_noise", "contrast"]\nn_transforms = 1\nin_turn = True\n'
DROPOUT = 'dropout = dict(position="before", stages=[1], rate=0.5)\n'


def write_roads(folder):
    """Write sites of the road world, tasks of them, weights, and what options name."""
    for name in SITES:
        write_environment(folder / "roads", name, N_IMAGES)
    for name, words in {"road": ["vehicle"], "cars": ["car"], "both": ["car", "vehicle"]}.items():
        mapping = {"vehicle": words[0]}
        text = TASK.format(name=name, words=words, root="roads", mapping=mapping, sites=SITES)
        (folder / f"{name}.py").write_text(text)
    shipped = str(shipped_config("demo", "train_roadworld_nano.py"))
    (folder / "longer.py").write_text(f"_base_ = {shipped!r}\nload_from = None\nmax_epochs = 99\n")
    (folder / "weights").mkdir()
    (folder / "car.txt").write_text("car\n")
    (folder / "car_vehicle.txt").write_text("car\nvehicle\n")
    (folder / "corrupted.py").write_text(CORRUPTIONS)
    (folder / "brightness.py").write_text(CORRUPTIONS.replace("gaussian_noise", "brightness"))
    (folder / "dropout.py").write_text(DROPOUT)
    save_recipes(folder / "old_sets/recipes/old.json", [Recipe("old", ("1",), (), 0)])
    lists = {"few": {"edges": [0, 5, 1000]}, "more": {"edges": [0, 2, 4, 8, 1000]}}
    (folder / "named_bins.json").write_text(json.dumps(lists))
    write_weights(folder)
    for k, root in enumerate(("papers", "papers_elsewhere")):
        write_sets(folder / root, (coco, exdark, kitti)[:: 1 - 2 * k])
    (folder / "rectangles").mkdir()
    write_task(folder / "rectangles")
    write_rectangles(folder / "rectangles/new", brightness=235, seed=9)
    fading_task(folder / "fading/worlds", n_images=FEW_CHANGES)
    names = [f"w{k}" for k in range(5)]
    (folder / "fading/task.py").write_text(RECTANGLES.format(names=names))


def write_weights(folder):
    """Write weights that find less, that are safe only if trusted, and that have two classes."""
    shipped = torch.load(SHIPPED, weights_only=True)
    weaker = {name: of.clone() for name, of in shipped["state_dict"].items()}
    for name in (of for of in weaker if "multi_level_conv_cls" in of and of.endswith("bias")):
        weaker[name] -= 1
    save = {"weaker": shipped | {"state_dict": weaker}}
    save["pickled"] = save["weaker"] | {"anything": Path("x")}  # no plain value
    doubled = dict(shipped["state_dict"])
    for name in (of for of in doubled if "multi_level_conv_cls" in of):
        less = 0.3 if name.endswith("bias") else 0
        doubled[name] = torch.cat([doubled[name], doubled[name] * 1.1 - less])
    save["two"] = {"meta": {}, "state_dict": doubled}
    for name, content in save.items():
        torch.save(content, folder / f"{name}.pth")
    shutil.copy(folder / "weaker.pth", folder / "weights/retinanet_r50.pth")
    for name in ("shipped", "kept"):
        shutil.copy(SHIPPED, folder / f"{name}.pth")


class Cars(ShakenRectangles):
    """Finds cars, the surer of them the brighter they are."""

    categories = ("car", "person")

    def _one(self, image, image_id, repeats, seed):
        evidence = super()._one(image, image_id, repeats, seed)
        sure = image.max() / 256
        passes = tuple(replace(of, scores=of.scores * sure) for of in evidence.perturbed)
        clean = replace(evidence.clean, scores=evidence.clean.scores * sure)
        return replace(evidence, clean=clean, perturbed=passes)


STAND_INS = {"shaken": ShakenRectangles, "fading": FadingDetector, "cars": Cars}
load_network = loading.load_detector


def load_any(name, **options):
    """Load a stand-in by its name, or a network."""
    return STAND_INS[name]() if name in STAND_INS else load_network(name, **options)


def train_at_once(config, work_dir, *, threads):
    """Stand in for a training: weights that do not depend on the configuration, and a log."""
    work_dir.mkdir(parents=True, exist_ok=True)
    shutil.copy("weaker.pth", work_dir / "epoch.pth")
    log = training.read_training_log(work_dir / "epoch.pth")
    return work_dir / "epoch.pth", {**log, "epochs": config.max_epochs, "threads": list(threads)}


def make_short(monkeypatch):
    """Make training a copy, and the output free of what the clock says."""
    for module in (roadworld, environments_task):
        monkeypatch.setattr(module, "ENVIRONMENTS", TRAINED_ON)
    threads = []
    monkeypatch.setattr(torch, "set_num_threads", threads.append)  # or later tests had as many
    monkeypatch.setattr(training, "train_detector", partial(train_at_once, threads=threads))
    monkeypatch.setattr(loading, "load_detector", load_any)
    monkeypatch.setattr(paper_runs, "images_a_second", lambda *of: math.nan)
