"""A stand-in detector whose boxes shake with dropout, more or less truly to its mistakes."""

from dataclasses import replace

import numpy as np
from rectangles import RectangleDetector

from autoeval.detections import Evidence
from autoeval.estimation.observation.observing import Observer
from autoeval.runtime.store import RowStore
from autoeval.stability.dropout_search.search import grid
from autoeval.stability.dropout_search.workbench import Workbench
from autoeval.stability.fitting.meta_set import sample_set_jobs
from autoeval.stability.metasets import MetaSetConfig, draw_recipes
from autoeval.stability.passes.presets import preset


class ShakenRectangles(RectangleDetector):
    """Shakes boxes by their own mistake and by noise; least noise at stages [1, 2], rate .3."""

    splits_backbone = True

    def part_costs(self, image):
        return (1 / 6,) * 6

    def observe_each(self, images, image_ids, dropouts, *, repeats=1, seed=0):
        found = []
        for image, image_id in zip(images, image_ids, strict=True):
            evidence = self._one(image, image_id, 0, seed)
            found.append({s: self._shaken(image, evidence, s, repeats, seed) for s in dropouts})
        return found

    def _shaken(self, image, evidence, spec, repeats, seed) -> Evidence:
        mistake = (255 - float(image[..., 0].max())) / 20
        far = abs(spec.rate - 0.3) + 0.3 * len(set(spec.stages) ^ {1, 2})
        name = [seed, int(image.astype(int).sum())]
        passes = []
        for k in range(repeats):
            rng = np.random.default_rng([*name, k])
            sideways = 0.3 + mistake + 8 * far * rng.random()
            boxes = evidence.clean.boxes + np.array([sideways, 0, sideways, 0])
            passes.append(self._detections(boxes))
        return replace(evidence, perturbed=tuple(passes))


def make_bench(task, folder, *, detector=None, n_sets=2, n_images=6, specs=None, **options):
    """Make a bench of sample sets that are rotated a little."""
    detector = detector or ShakenRectangles()
    settings, seed_sets = preset("paper", repeats=1), task.load_seed_sets()
    sizes = {"n_sets": n_sets, "n_images": n_images, "n_transforms": 1, "transforms": ["Rotate"]}
    recipes = [
        recipe
        for seed_set in seed_sets
        for recipe in draw_recipes(seed_set, MetaSetConfig(**sizes))
    ]
    observer = Observer(detector, task, settings)
    jobs = sample_set_jobs(observer, seed_sets, recipes)
    return Workbench(observer, jobs, specs or grid(), RowStore(folder), **options)
