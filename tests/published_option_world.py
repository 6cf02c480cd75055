"""The small worlds, stand-ins and files that the cases of `published_option_cases` name."""

import json
import shutil
from dataclasses import replace

import torch
from fading_sites import fading_task
from labelled_colours import write_colours, write_detector
from labelled_colours import write_task as write_colour_task
from rectangles import TASK as RECTANGLES
from rectangles import write_task
from rectangles import write_world as write_rectangles
from shaken_rectangles import ShakenRectangles

from autoeval import roadworld
from autoeval.demo import sample, training
from autoeval.detectors import loading
from autoeval.runtime.files import shipped_config
from autoeval.stability.metasets import Recipe, save_recipes
from autoeval.stability.reports import method_page

SHIPPED = shipped_config("detectors", "roadworld_nano.pth")
CORRUPTIONS = 'transforms = ["gaussian_noise", "contrast"]\nn_transforms = 1\nin_turn = True\n'
DROPOUT = 'dropout = dict(position="before", stages=[1], rate=0.5)\n'


class TwoWords(ShakenRectangles):
    """Finds boxes, and crates under dropout."""

    categories = ("box", "crate")

    def _one(self, image, image_id, repeats, seed):
        evidence = super()._one(image, image_id, repeats, seed)
        others = tuple(replace(boxes, labels=boxes.labels + 1) for boxes in evidence.perturbed)
        return replace(evidence, perturbed=others)


STAND_INS = {"shaken": ShakenRectangles, "words": TwoWords}
load_network = loading.load_detector


def write_published(folder):
    """Write worlds and tasks, black boxes that print how many images they get, and small files."""
    (folder / "rectangles").mkdir()
    write_task(folder / "rectangles", ("w0", "w1"), n_images=4)
    four = (folder / "rectangles/task.py").read_text().replace("'w1'", "'w1', 'w2', 'w3'")
    (folder / "rectangles/four.py").write_text(four)
    one_word = (folder / "rectangles/task.py").read_text()
    both = one_word.replace('["box"]', '["box", "crate"]')
    (folder / "rectangles/both.py").write_text(both)
    write_rectangles(folder / "rectangles/new", brightness=235, seed=9, n_images=4)
    fading_task(folder / "fading/worlds", n_images=4)
    (folder / "fading/task.py").write_text(RECTANGLES.format(names=[f"w{k}" for k in range(5)]))
    write_colour_task(folder)
    for k in range(2):
        write_colours(folder / f"w{k}", k)
    write_detector(folder)
    text = (folder / "mine.py").read_text()
    text = text.replace("def find(images):", "def find(images):\n    print(len(images))")
    (folder / "mine.py").write_text(text)
    (folder / "second.py").write_text(text.replace("THRESHOLD = 100", "THRESHOLD = 150"))
    (folder / "words.txt").write_text("\n".join("bcdefg"))
    (folder / "bins.json").write_text(json.dumps([0, 5, 10, 1000]))
    lists = {"few": {"edges": [0, 5, 1000]}, "more": {"edges": [0, 2, 4, 8, 1000]}}
    (folder / "named_bins.json").write_text(json.dumps(lists))
    (folder / "corrupted.py").write_text(CORRUPTIONS)
    (folder / "dropout.py").write_text(DROPOUT)
    save_recipes(folder / "old_sets/recipes/old.json", [Recipe("old", ("1",), (), 0)])
    shipped = str(shipped_config("demo", "train_roadworld_nano.py"))
    (folder / "longer.py").write_text(f"_base_ = {shipped!r}\nload_from = None\nmax_epochs = 99\n")
    for name in ("weaker", "kept"):
        shutil.copy(SHIPPED, folder / f"{name}.pth")


def load_any(name, **options):
    """Load a stand-in by its name, or a network."""
    return STAND_INS[name]() if name in STAND_INS else load_network(name, **options)


def write_a_sample(folder):
    """Stand in for rendering the sample of the documentation."""
    folder.mkdir(parents=True)
    (folder / "val.json").write_text("{}")
    return [folder / "val.json"]


def make_short(monkeypatch):
    """Leave out training, measuring, rendering and charts: what is tried is what reaches them."""
    threads = []

    def train_at_once(config, work_dir):
        work_dir.mkdir(parents=True, exist_ok=True)
        shutil.copy("weaker.pth", work_dir / "epoch.pth")
        log = training.read_training_log(work_dir / "epoch.pth")
        trained = {"epochs": config.max_epochs, "threads": threads[-1:]}
        return work_dir / "epoch.pth", {**log, **trained}

    def measure(detector, environment, n_images, *, seed):
        return {"environment": environment, "images": n_images, "vehicles": 1} | dict.fromkeys(
            ("mAP", "mAP50", "mAP75"), 0.5
        )

    monkeypatch.setattr(roadworld, "ENVIRONMENTS", {"fog": roadworld.ENVIRONMENTS["fog"]})
    monkeypatch.setattr(torch, "set_num_threads", threads.append)  # or later tests had as many
    monkeypatch.setattr(method_page, "scatter_blocks", lambda *given: [])
    monkeypatch.setattr(training, "train_detector", train_at_once)
    monkeypatch.setattr(training, "measure", measure)
    monkeypatch.setattr(sample, "write_sample", write_a_sample)
    monkeypatch.setattr(loading, "load_detector", load_any)
