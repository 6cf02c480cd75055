"""Watching many sites in several processes, and after a kill."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
from commands.test_estimate_map_execution import TESTS, end, free_port
from forking import fork
from monitoring import fake_cameras
from monitoring.fake_cameras import detector, estimator, write_camera

from autoeval.data.image_folder import load_image_folder
from autoeval.monitoring.observing.site_pass import (
    SitePass,
    observe_sites,
    site_images,
    site_observer,
)
from autoeval.monitoring.site_records import RecordStore
from autoeval.monitoring.times.clock import Clock

DETECTOR = str(Path(fake_cameras.__file__).with_name("fake_detector.py")) + ":detector"


@pytest.fixture
def site(tmp_path):
    for k, (name, level) in enumerate((("gate", 220), ("yard", 120))):
        write_camera(tmp_path / "images" / name, 70, level, seed=k, at=1_770_000_000)
    estimator(tmp_path / "estimator.parquet")
    return tmp_path


def start(site, work_dir, *options, **environment):
    words = ["--estimator", site / "estimator.parquet", "--detector", DETECTOR]
    words += ["--images", site / "images", "--work-dir", work_dir, "--json-lines", *options]
    return subprocess.Popen(
        [sys.executable, str(TESTS.parent / "tools" / "monitor.py"), *map(str, words)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": f"{TESTS}:{TESTS.parent}", **environment},
    )


def test_two_processes_of_torchrun_print_what_one_prints(site):
    group = {
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(free_port()),
        "GLOO_SOCKET_IFNAME": "lo",
        "WORLD_SIZE": "2",
    }
    launch = ["--launcher", "pytorch"]
    ranks = [
        start(site, site / "two", *launch, RANK=str(k), LOCAL_RANK=str(k), **group)
        for k in range(2)
    ]
    alone = start(site, site / "one")
    assert [end(alone), ""] == list(map(end, ranks))
    one, two = (pd.read_parquet(site / name / "groups.parquet") for name in ("one", "two"))
    pd.testing.assert_frame_equal(one, two, check_exact=True)
    assert two["n_images"].tolist() == [70, 70]


def test_a_killed_run_goes_on_where_it_was(tmp_path):
    write_camera(tmp_path / "images" / "gate", 20, 200, at=1_770_000_000)
    images, _ = site_images(load_image_folder(tmp_path / "images"))
    store, seen = RecordStore(tmp_path / "work"), []

    def work(dies):
        def signals(image):
            seen.append(1)
            if dies and len(seen) == 13:
                os.kill(os.getpid(), signal.SIGKILL)
            return {}

        return SitePass(site_observer(estimator(), detector()), Clock("file"), signals)

    child = fork()
    if not child:
        observe_sites(images, work(dies=True), store, in_batch=5)
        os._exit(0)
    assert os.WTERMSIG(os.waitpid(child, 0)[1]) == signal.SIGKILL
    counts = observe_sites(images, work(dies=False), store, in_batch=5)
    assert (counts.done, len(seen)) == (2, 10)  # two of four batches were whole
    assert len(store.index()) == 20
