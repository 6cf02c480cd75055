"""Ray on two CPUs and one logical GPU of this machine; one cluster for the whole file."""

import os
import signal
import sys
import threading
from pathlib import Path

import cv2
import numpy as np
import pandas as pd
import pytest
from fragile_work import fragile
from monitoring.fake_cameras import detector, estimator, write_camera
from rectangles import RectangleDetector, rectangle_task

import autoeval
from autoeval.errors import InputError
from autoeval.estimation.observation.observing import Observer
from autoeval.io.image_lists import load_image_folder
from autoeval.monitoring.monitor_store import MonitorStore
from autoeval.monitoring.read_sites import (
    SitePass,
    observe_sites,
    site_images,
    site_observer,
)
from autoeval.monitoring.windows import Clock
from autoeval.runtime.jobs import Job, run_jobs
from autoeval.runtime.ray_executor import RayExecutor
from autoeval.runtime.store import RowStore
from autoeval.stability.fitting.meta_set import score_meta_set
from autoeval.stability.metasets import MetaSetConfig, draw_recipes, own_images
from autoeval.stability.passes.presets import preset

pytestmark = pytest.mark.rare


@pytest.fixture(scope="module")
def cluster():
    """Two CPUs and a GPU that exists by name only."""
    # not what the executor sets for the user: workers find the modules of the tests
    os.environ["PYTHONPATH"] = os.pathsep.join(sys.path)
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    ray = pytest.importorskip("ray", reason="needs ray: pip install autoeval[ray]")
    hidden = os.environ.pop("CUDA_VISIBLE_DEVICES", None)  # Ray needs the GPUs it names
    try:
        ray.init("local", num_cpus=2, num_gpus=1, include_dashboard=False, log_to_driver=False)
    except Exception as error:  # Ray gives itself 30 s to start
        if "timed out during startup" not in str(error):
            raise
        pytest.skip(f"needs a machine with time to start Ray: {error}")
    finally:
        if hidden is not None:
            os.environ["CUDA_VISIBLE_DEVICES"] = hidden
    assert ray.nodes()[0]["NodeManagerAddress"] == "127.0.0.1"
    yield
    ray.shutdown()


class MortalDetector(RectangleDetector):
    """Kills its process before its third image, unless it was done before."""

    def __init__(self, tomb):
        super().__init__()
        self.tomb = Path(tomb)

    def observe(self, images, image_ids, **options):
        if self.observed >= 2 and not self.tomb.exists():
            self.tomb.write_text(str(os.getpid()))
            os.kill(os.getpid(), signal.SIGKILL)
        return super().observe(images, image_ids, **options)


def test_a_worker_killed_in_the_middle_changes_no_number(cluster, tmp_path):
    task = rectangle_task(tmp_path / "worlds")
    seed_sets = task.load_seed_sets()
    recipes = [
        recipe
        for seed_set in seed_sets
        for recipe in [
            own_images(seed_set),
            *draw_recipes(seed_set, MetaSetConfig(n_sets=2, n_images=4)),
        ]
    ]

    def table(name, detector, executor=None):
        store, settings = RowStore(tmp_path / name), preset("paper", repeats=2)
        scored, counts = score_meta_set(
            Observer(detector, task, settings), seed_sets, recipes, store=store, executor=executor
        )
        assert (counts.done, counts.failed) == (len(recipes), {})
        return scored.drop(columns=[c for c in scored if c.endswith("_s")])

    detector, tomb = RectangleDetector(), tmp_path / "tomb"
    by_ray = table("ray", MortalDetector(tomb), RayExecutor(gpus=0.5))
    assert int(tomb.read_text()) != os.getpid()
    assert by_ray.equals(table("local", detector))


def test_a_job_that_kills_or_fails_becomes_a_row(cluster, tmp_path, monkeypatch):
    monkeypatch.setattr("autoeval.runtime.ray_executor.MAX_TRIES", 1)
    jobs = [Job(key, 1, value) for key, value in {"a": 1, "b": "kill", "c": 0, "d": 4}.items()]
    store = RowStore(tmp_path)
    counts = run_jobs(
        jobs, fragile, store, activity="test", executor=RayExecutor(workers=1, cpus=2)
    )
    assert counts.done == 2
    assert counts.failed == {
        "b": "WorkerDied: 1 workers died at this job",
        "c": "ZeroDivisionError: division by zero",
    }
    assert store.table("abcd")["value"].dropna().tolist() == [1, 0.25]
    jobs = [Job("e", 1, "kill"), Job("f", 1, "kill"), Job("g", 1, "refuse")]
    with pytest.raises(InputError, match="no such data"):
        run_jobs(jobs, fragile, store, activity="test", executor=RayExecutor(workers=1))


def test_work_that_cannot_be_sent_is_told_to_be_named(cluster, tmp_path):
    lock = threading.Lock()

    def locked(job, advance):
        with lock:
            return [{"value": 1}]

    with pytest.raises(InputError, match="Name the detector"):
        run_jobs([Job("a", 1, 1)], locked, RowStore(tmp_path), activity="t", executor=RayExecutor())


def test_workers_that_find_no_room_are_refused():
    with pytest.raises(InputError, match="2 CPUs and 1 GPUs, no room for a worker with 1 and 3"):
        RayExecutor(gpus=3)._plan({"CPU": 2, "GPU": 1})
    growing = RayExecutor(gpus=1, workers=4)
    with pytest.raises(InputError, match="no room"):
        growing._plan({"CPU": 2})
    with pytest.warns(UserWarning, match="Waiting"):
        assert growing._plan({"CPU": 2}, may_grow=True)[1] == 4


@pytest.mark.parametrize(
    ("options", "cluster", "each", "number"),
    [
        ({}, {"CPU": 16}, (1, 0), 16),
        ({"cpus_without_gpu": 4}, {"CPU": 16}, (4, 0), 4),
        ({"cpus_without_gpu": 4}, {"CPU": 16, "GPU": 2}, (1, 1), 2),
        ({"gpus": 0.5}, {"CPU": 16, "GPU": 2}, (1, 0.5), 4),
        ({"gpus": 0.1}, {"CPU": 16, "GPU": 2}, (1, 0.1), 16),  # there are CPUs for no more
        ({"gpus": 0, "workers": 3}, {"CPU": 16, "GPU": 2}, (1, 0), 3),
    ],
)
def test_workers_fill_the_cluster(options, cluster, each, number):
    resources, workers = RayExecutor(**options)._plan(cluster)
    assert (resources["num_cpus"], resources["num_gpus"]) == each
    assert workers == number


def test_without_ray_the_error_names_the_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(InputError, match=r"pip install -e '\.\[ray\]'"):
        run_jobs(
            [Job("a", 1, 1)], fragile, RowStore(tmp_path), activity="t", executor=RayExecutor()
        )


def test_workers_observe_the_images_of_places_as_one_process_does(cluster, tmp_path):
    for name, level in (("gate", 220), ("yard", 120)):
        write_camera(tmp_path / "images" / name, 6, level, at=1_770_000_000)
    images, _ = site_images(load_image_folder(tmp_path / "images"))

    def rows(name, executor=None):
        store = MonitorStore(tmp_path / name)
        observer = site_observer(estimator(), autoeval.Detector(detector()))
        work = SitePass(observer, Clock("file"))
        counts = observe_sites(images, work, store, executor=executor, in_batch=4)
        assert (counts.done, counts.failed) == (3, {})
        kept = store.read(sorted(store.index()["name"]))
        return [(image.name, image.taken, image.size, image.boxes.tobytes()) for image in kept]

    assert rows("ray", RayExecutor(gpus=0.5)) == rows("local")


MORTAL = """
import os, pathlib, signal
import numpy as np
from autoeval.detectors import BlackBoxDetector
from level_of_mortal import level_of  # lies beside this file

TOMB, PIDS = pathlib.Path({tomb!r}), pathlib.Path({pids!r})
seen = [0]

def find(images):
    (PIDS / str(os.getpid())).touch()
    seen[0] += len(images)
    if {mortal} and seen[0] > 20 and not TOMB.exists():
        TOMB.write_text(str(os.getpid()))
        os.kill(os.getpid(), signal.SIGKILL)
    levels = [level_of(image) for image in images]
    boxes = [[[1, 1, 5 + level / 99, 7 + level / 7]] for level in levels]
    return boxes, [[(level + 1) / 256] for level in levels], [["car"]] * len(images)

detector = BlackBoxDetector(find, ["car"], name="mortal", settings={{"least": 1}})
"""


def test_detect_with_two_workers_of_which_one_is_killed(cluster, tmp_path):
    """Its file is that of one process, byte for byte; no image is lost or there twice."""
    tomb, pids = tmp_path / "tomb", tmp_path / "pids"
    pids.mkdir()
    (tmp_path / "level_of_mortal.py").write_text("level_of = lambda image: int(image[0, 0, 0])\n")
    (tmp_path / "site").mkdir()
    n = 150
    for k in range(n):
        image = np.full((16, 12, 3), k, np.uint8)
        cv2.imwrite(str(tmp_path / f"site/{k:03}.png"), image)

    def detect(name, mortal, executor=None):
        (tmp_path / f"{name}.py").write_text(
            MORTAL.format(tomb=str(tomb), pids=str(pids), mortal=mortal)
        )
        run = autoeval.Detector(f"{tmp_path / name}.py:detector", executor=executor)
        output = tmp_path / f"{name}.parquet"
        found = autoeval.detect(run, tmp_path / "site", output, work_dir=tmp_path / name)
        return found.boxes, found.scores, [image.file_name for image in found.images]

    by_ray = detect("ray", True, RayExecutor(workers=2, cpus=1, gpus=0))
    processes = {int(path.name) for path in pids.iterdir()}
    assert int(tomb.read_text()) in processes and len(processes) >= 2
    assert os.getpid() not in processes
    alone = detect("local", False)
    assert by_ray[2] == alone[2] and len(alone[2]) == n
    for one, other in zip(by_ray[:2], alone[:2], strict=True):
        np.testing.assert_array_equal(one, other)
    rows = [pd.read_parquet(tmp_path / f"{name}.parquet") for name in ("ray", "local")]
    assert rows[0].equals(rows[1]) and len(rows[0]) == n


def test_a_cluster_that_does_not_answer_is_refused_at_once(tmp_path):
    pytest.importorskip("ray").shutdown()  # the cluster of the tests before
    nowhere = RayExecutor(address="127.0.0.1:1")
    with pytest.raises(InputError, match=r"127\.0\.0\.1:1"):
        run_jobs([Job("a", 1, 1)], fragile, RowStore(tmp_path), activity="t", executor=nowhere)
