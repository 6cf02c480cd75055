"""`fit --labels`, `estimate` and `label plan`: stopped with Ctrl-C, the same command goes on."""

import json
import shutil

import pandas as pd
import pytest
from brightness import BrightnessDetector, write_table
from labelled_colours import write_colours, write_detector, write_task

from autoeval.cli import main
from autoeval.detectors import detector_spec
from autoeval.estimation.observation.kept_observer import OBSERVED

pytestmark = pytest.mark.rare

N = 80


class CtrlC:
    """Comes when a detector has seen so many images."""

    limit = seen = 0

    @classmethod
    def see(cls, images):
        cls.seen += len(images)
        if cls.seen > cls.limit:
            raise KeyboardInterrupt


class StoppedDetector(BrightnessDetector):
    def observe(self, images, image_ids, **options):
        CtrlC.see(images)
        return super().observe(images, image_ids, **options)


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    folder = tmp_path_factory.mktemp("table")
    labels, images = write_table(folder, n_images=N)
    return ["fit", "--labels", labels, "--img-dir", f"{images}", "--detector", "brightness"]


@pytest.fixture(scope="module")
def places(tmp_path_factory):
    """A saved estimator of places by a black box, and a new place."""
    folder = tmp_path_factory.mktemp("places")
    detector, task = write_detector(folder), write_task(folder)
    words = ["--detector", detector, "--task", task, "--work-dir", folder / "work"]
    assert main(["estimate-map", *map(str, words)]) == 0
    new = write_colours(folder / "new", 2, n_images=N)
    for k, path in enumerate(sorted((new / "images").iterdir())):
        path.write_bytes(path.read_bytes() + bytes([k]))  # copies would be left out
    return folder / "work/estimator.parquet", new


def run(words, limit=10**9):
    CtrlC.limit, CtrlC.seen = limit, 0
    return main([str(word) for word in words])


def check_that_it_goes_on(words, folder, capsys):
    """Stop a command after 70 images, give it again, and count what it still had to see."""
    capsys.readouterr()
    assert run(words, 70) == 130
    said = capsys.readouterr().err.splitlines()[-1]
    before, kept, after = said.partition("it goes on from the ")
    assert before == "Interrupted. Give the same command again: "
    kept, _, rest = after.partition(f" of {N} images that ")
    assert rest == f"{folder / OBSERVED} keeps."
    assert run(words) == 0
    assert f"{N} images, {kept} of them kept" in capsys.readouterr().err
    assert 0 < int(kept) <= 70 and CtrlC.seen == N - int(kept)


@pytest.fixture
def stopped(monkeypatch):
    monkeypatch.setattr(
        "autoeval.detectors.loading.load_detector", lambda *a, **k: StoppedDetector()
    )


def assert_equal_files(one, other, names):
    """Compare files byte by byte; of results all but the command and its date."""
    for name in names:
        contents = [(folder / name).read_bytes() for folder in (one, other)]
        if name == "result.json":
            results = [json.loads(content) for content in contents]
            assert all(result.pop("about")["date"] for result in results)
            contents = [json.dumps(result) for result in results]
        assert contents[0] == contents[1]


def test_a_fit_and_an_estimate_by_it_go_on(stopped, table, tmp_path, capsys):
    once, twice = tmp_path / "once", tmp_path / "twice"
    assert run([*table, "--work-dir", once]) == 0
    check_that_it_goes_on([*table, "--work-dir", twice], twice, capsys)
    assert_equal_files(once, twice, ["scores.parquet", "estimator.parquet", "result.json"])
    assert len(pd.read_parquet(twice / "scores.parquet")) == 8
    words = ["estimate", "--images", table[4], "--estimator", once / "estimator.parquet"]
    new_once, new_twice = tmp_path / "new once", tmp_path / "new twice"
    assert run([*words, "--work-dir", new_once]) == 0
    check_that_it_goes_on([*words, "--work-dir", new_twice], new_twice, capsys)
    assert_equal_files(new_once, new_twice, ["result.json"])


def test_changed_labels_are_read_anew_though_no_image_is(stopped, table, tmp_path, capsys):
    content = json.loads(table[2].read_text())
    shutil.copytree(table[4], tmp_path / "images")
    for left_out in (None, 8):
        kept = [a for a in content["annotations"] if a["category_id"] != left_out]
        (tmp_path / "labels.json").write_text(json.dumps({**content, "annotations": kept}))
        words = [*table[:2], tmp_path / "labels.json", "--img-dir", tmp_path / "images"]
        words += [*table[5:], "--work-dir", tmp_path / "work"]
        assert run(words) == 0
        rows = pd.read_parquet(tmp_path / "work/scores.parquet")
        assert (len(rows), CtrlC.seen) == ((7, 0) if left_out else (8, N))
        assert ("spoon" in set(rows["category"])) == (left_out is None)


@pytest.fixture
def stopped_box(monkeypatch):
    load = detector_spec.load_black_box

    def load_stopped(text):
        detector = load(text)
        find = detector.find
        detector.find = lambda images: CtrlC.see(images) or find(images)
        return detector

    monkeypatch.setattr(detector_spec, "load_black_box", load_stopped)


def test_a_plan_by_an_estimator_of_places_goes_on(stopped_box, places, tmp_path, capsys):
    images = ["--images", places[1] / "images"]
    words = ["label", "plan", *images, "--estimator", places[0], "--work-dir"]
    assert run([*words, tmp_path / "once"]) == 0
    twice = tmp_path / "twice"
    check_that_it_goes_on([*words, twice], twice, capsys)
    assert_equal_files(tmp_path / "once", twice, ["plan.json", "pool.npz", "annotations.json"])


def test_a_black_box_of_another_file_is_another_detector(stopped_box, places, tmp_path, capsys):
    estimator, new = places
    words = [
        "estimate",
        "--images",
        new / "images",
        "--estimator",
        estimator,
        "--work-dir",
        tmp_path,
    ]
    assert run(words) == 0 and CtrlC.seen == N
    assert run(words) == 0 and CtrlC.seen == 0
    file = estimator.parents[1] / "mine.py"
    file.write_text(file.read_text() + "# changed\n")
    assert run(words) == 0 and CtrlC.seen == N
    assert f"also keeps {N} images as another detector saw them" in capsys.readouterr().err


def test_another_category_of_the_same_images_observes_nothing_anew(table, tmp_path, monkeypatch):
    monkeypatch.setattr(
        "autoeval.detectors.loading.load_detector", lambda *_, **__: StoppedDetector()
    )
    (tmp_path / "weights.pth").touch()
    fitted = ["--work-dir", tmp_path / "fit", "--checkpoint", tmp_path / "weights.pth"]
    assert run([*table, *fitted]) == 0
    words = [
        "estimate",
        "--images",
        table[4],
        "--estimator",
        tmp_path / "fit/estimator.parquet",
        "--category",
    ]
    assert run([*words, "drink=cup,mug", "--work-dir", tmp_path / "new"]) == 0 and CtrlC.seen == N
    assert run([*words, "pan", "--work-dir", tmp_path / "new"]) == 0 and CtrlC.seen == 0
    assert run([*words, "pan", "--work-dir", tmp_path / "alone"]) == 0
    assert_equal_files(tmp_path / "alone", tmp_path / "new", ["result.json"])
