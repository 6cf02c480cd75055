"""Watching many sites in several processes, and after a kill."""

import os
import signal
from pathlib import Path

import pandas as pd
import pytest
from commands.test_estimate_map_execution import end, start, start_two
from forking import fork
from monitoring import fake_cameras
from monitoring.fake_cameras import detector, estimator, write_camera

from autoeval.io.image_folder import load_image_folder
from autoeval.monitoring.monitor_store import MonitorStore
from autoeval.monitoring.site_pass import (
    SitePass,
    observe_sites,
    site_images,
    site_observer,
)
from autoeval.monitoring.windows import Clock

DETECTOR = str(Path(fake_cameras.__file__).with_name("fake_detector.py")) + ":detector"


@pytest.fixture
def site(tmp_path):
    for k, (name, level) in enumerate((("gate", 220), ("yard", 120))):
        write_camera(tmp_path / "images" / name, 70, level, seed=k, at=1_770_000_000)
    estimator(tmp_path / "estimator.parquet")
    return tmp_path


def test_two_processes_of_torchrun_print_what_one_prints(site):
    words = ["--estimator", site / "estimator.parquet", "--detector", DETECTOR, "--json-lines"]
    words += ["--by", "folder", "--images", site / "images", "--work-dir"]
    ranks = start_two("tools/monitor.py", [*words, site / "two"])
    alone = start("tools/monitor.py", [*words, site / "one"])
    assert [end(alone), ""] == list(map(end, ranks))
    one, two = (pd.read_parquet(site / name / "windows.parquet") for name in ("one", "two"))
    pd.testing.assert_frame_equal(one, two, check_exact=True)
    assert two["n_images"].tolist() == [70, 70]


def test_a_killed_run_goes_on_where_it_was(tmp_path):
    write_camera(tmp_path / "images" / "gate", 20, 200, at=1_770_000_000)
    images, _ = site_images(load_image_folder(tmp_path / "images"))
    store, seen = MonitorStore(tmp_path / "work"), []

    def work(dies):
        class Dying(type(detector())):
            def observe(self, images, image_ids, **options):
                seen.extend(image_ids)
                if dies and len(seen) > 12:
                    os.kill(os.getpid(), signal.SIGKILL)
                return super().observe(images, image_ids, **options)

        made = detector()
        made.__class__ = Dying
        return SitePass(site_observer(estimator(), made, batch_size=1), Clock("file"))

    child = fork()
    if not child:
        observe_sites(images, work(dies=True), store, in_batch=5)
        os._exit(0)
    assert os.WTERMSIG(os.waitpid(child, 0)[1]) == signal.SIGKILL
    counts = observe_sites(images, work(dies=False), store, in_batch=5)
    assert (counts.done, len(seen)) == (2, 10)  # two of four batches were whole
    assert len(store.index()) == 20
