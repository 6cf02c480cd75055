"""Images that workers observe give what one process sees, to the last bit."""

import pickle
from dataclasses import replace

import pytest
from monitoring.fake_cameras import detector, estimator, write_camera

from autoeval.estimation.observation.kept_observer import Keeping
from autoeval.io.image_lists import load_image_folder
from autoeval.runtime.jobs import Outcome, attempt, prepare
from autoeval.sites.file_looks import Looks


class Backwards:
    """Does the last job first, each with a copy of the work that has travelled."""

    def run(self, jobs, work, advance):
        for job in reversed(list(jobs)):
            copy, sent = pickle.loads(pickle.dumps((work, job)))
            prepare(copy)
            outcome = attempt(copy, sent, lambda n: None)
            yield job, pickle.loads(pickle.dumps(outcome))


class Failing:
    """Loses every worker."""

    def run(self, jobs, work, advance):
        for job in jobs:
            yield job, Outcome([], 0.0, "WorkerDied: 3 workers died at this job")


@pytest.fixture
def images(tmp_path):
    folder = write_camera(tmp_path / "images", 11, 180)
    (folder / "0007.png").write_bytes(b"no picture")
    return load_image_folder(folder)


@pytest.mark.parametrize("load", [None, detector], ids=["sent", "loaded there"])
@pytest.mark.parametrize("executor", [Backwards(), Failing()], ids=["backwards", "failing"])
def test_what_workers_saw_is_what_one_process_sees(executor, load, images, tmp_path):
    """Images that a lost worker was to observe are observed here: the set is no smaller one."""
    looks = Looks(detector().categories, {}, detector=detector().settings)
    fitted = replace(estimator(), looks_=looks)
    alone = fitted.predict(detector(), images=images)
    keep = Keeping(tmp_path / "work", executor, load)
    together = fitted.predict(detector(), images=images, keep=keep)
    assert together.to_dict() == alone.to_dict()
    assert together.n_images == 10
    assert "0007.png" in together.site.row["unreadable"] == alone.site.row["unreadable"]
