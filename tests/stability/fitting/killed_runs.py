"""Runs a meta-set in forked processes and kills them; prints what each life left, as JSON lines.

Usage: killed_runs.py FOLDER KILLS SEED. The first line is of a run that nobody disturbs.
"""

import json
import os
import random
import signal
import sys
import time
from pathlib import Path

from forking import fork
from rectangles import RectangleDetector, rectangle_task

from autoeval.estimation.observation.observing import Observer
from autoeval.runtime.store import RowStore
from autoeval.stability.fitting.meta_set import score_meta_set
from autoeval.stability.metasets import MetaSetConfig, draw_recipes, own_images
from autoeval.stability.passes.presets import preset

MEAN_JOBS_A_LIFE = 2


class LoggedStore(RowStore):
    """Tells which jobs were begun."""

    def clear(self, key):
        with open(self.folder / "begun.txt", "a") as log:
            log.write(f"{key}\n")
        super().clear(key)


class World:
    """The same 12 small jobs for any folder of rows."""

    def __init__(self, folder):
        self.task = rectangle_task(folder)
        self.seed_sets = self.task.load_seed_sets()
        self.recipes = [
            recipe
            for seed_set in self.seed_sets
            for recipe in [
                own_images(seed_set),
                *draw_recipes(seed_set, MetaSetConfig(n_sets=2, n_images=3)),
            ]
        ]

    def score(self, folder, n_jobs=None):
        folder.mkdir(exist_ok=True)
        table, _ = score_meta_set(
            Observer(RectangleDetector(), self.task, preset("paper", repeats=2)),
            self.seed_sets,
            self.recipes[:n_jobs],
            store=LoggedStore(folder),
        )
        timings = [name for name in table if name.endswith("_s")]
        table.drop(columns=timings).to_parquet(folder.with_suffix(".parquet"))


def live(world, folder, kill_after=None):
    """Score in a child that is killed after some seconds; say what it did."""
    lived_before = len(begun(folder))
    child = fork(lambda: world.score(folder))
    if kill_after is not None:
        time.sleep(kill_after)
        os.kill(child, signal.SIGKILL)
    status = os.waitpid(child, 0)[1]
    return {
        "killed": os.WIFSIGNALED(status),
        "failed": os.WIFEXITED(status) and bool(os.WEXITSTATUS(status)),
        "begun": begun(folder)[lived_before:],
        "done": sorted(done(folder)),
        "folder": str(folder),
    }


def begun(folder):
    log = folder / "begun.txt"
    return log.read_text().split() if log.exists() else []


def done(folder):
    return RowStore(folder).finished(path.stem for path in folder.glob("[!.]*.parquet"))


def main(root, kills, seed):
    world, chance = World(root / "worlds"), random.Random(seed)
    world.score(root / "warm-up", 5)  # what is imported late is not imported again by each child
    start = time.perf_counter()
    print(json.dumps(live(world, root / "undisturbed")))
    job_time = (time.perf_counter() - start) / len(world.recipes)
    runs = 0
    while kills:
        life = live(world, root / f"run{runs}", chance.uniform(0, 2 * MEAN_JOBS_A_LIFE) * job_time)
        print(json.dumps(life))
        kills -= life["killed"]
        runs += not life["killed"]
    print(json.dumps(live(world, root / f"run{runs}")))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
