"""Watching sites after a kill."""

import os
import signal

from forking import fork
from monitoring.fake_cameras import detector, estimator, write_camera

from autoeval.estimation.run_detector import Detector
from autoeval.io.image_lists import load_image_folder
from autoeval.monitoring.monitor_store import MonitorStore
from autoeval.monitoring.read_sites import (
    SitePass,
    observe_sites,
    site_images,
    site_observer,
)
from autoeval.monitoring.windows import Clock


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
        return SitePass(site_observer(estimator(), Detector(made, batch_size=1)), Clock("file"))

    child = fork(lambda: observe_sites(images, work(dies=True), store, in_batch=5))
    assert os.WTERMSIG(os.waitpid(child, 0)[1]) == signal.SIGKILL
    counts = observe_sites(images, work(dies=False), store, in_batch=5)
    assert (counts.done, len(seen)) == (2, 10)  # two of four batches were whole
    assert len(store.index()) == 20
