"""Images that workers observe give what one process sees, to the last bit."""

import pickle

import pytest
from monitoring.fake_cameras import detector, estimator, write_camera

from autoeval.data.image_folder import load_image_folder
from autoeval.results.estimate.new_images import observe_unlabelled
from autoeval.results.estimate.shared_out import share_out
from autoeval.runtime.job import Outcome, attempt, prepare


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
    write_camera(tmp_path, 11, 180)
    (tmp_path / "0007.png").write_bytes(b"no picture")
    return load_image_folder(tmp_path)


@pytest.mark.parametrize("load", [None, detector], ids=["sent", "loaded there"])
def test_what_workers_saw_is_what_one_process_sees(load, images):
    fitted = estimator()
    observer = fitted.observer(detector())
    alone = observe_unlabelled(observer, fitted, images)
    shards = share_out(observer, images, Backwards(), load=load, in_part=4)
    together = observe_unlabelled(observer, fitted, images, shards=shards)
    assert together.estimate.to_dict() == alone.estimate.to_dict()
    seconds = {name for name in alone.row if name.endswith("_s")}
    for name in alone.row.keys() - seconds:
        assert together.row[name] == pytest.approx(alone.row[name], abs=0, nan_ok=True), name
    assert "0007.png" in together.row["unreadable"]


def test_a_part_that_was_lost_is_no_smaller_set(images):
    observer = estimator().observer(detector())
    with pytest.raises(OSError, match=r"images-0 to 3: WorkerDied"):
        share_out(observer, images, Failing(), in_part=4)
