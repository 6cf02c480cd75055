"""Detectors that are run, or one that is run and files of another: the comparison of the files."""

import json
import shutil

import pytest

import autoeval
from autoeval.cli import main
from autoeval.detectors.detector_spec import load_black_box
from autoeval.estimation.observation.kept_observer import OBSERVED
from autoeval.labels.plan_folder import load_plan
from autoeval.monitoring.monitor_store import MonitorStore
from tests.labelled_colours import write_detector, write_distinct, write_predictions

SHAKEN = {"keen": 15, "blunt": 5}  # contrast over the pixels by which boxes are off


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """Both detectors, fitted as detectors and on their files of the same labelled set."""
    root = tmp_path_factory.mktemp("detectors")
    known = write_distinct(root / "known", 0, n_images=60)
    new = write_distinct(root / "new", 1, n_images=40)
    for name, contrast in SHAKEN.items():
        (root / name).mkdir()
        detector = write_detector(root / name, 60)
        code = root / name / "mine.py"  # with low scores, too, as files hold them
        text = code.read_text().replace("level / 256", "(level - 60) ** 2 / 40000")
        code.write_text(text.replace("(255 - level) / 15", f"(255 - level) / {contrast}"))
        loaded, labels = load_black_box(detector), known / "annotations.json"
        predictions = write_predictions(loaded, known)
        autoeval.fit(labels, predictions, work_dir=root / f"{name}_files")
        run, images = autoeval.Detector(detector), known / "images"
        autoeval.fit(labels, run, img_dir=images, work_dir=root / f"{name}_run")
        shutil.move(write_predictions(loaded, new), root / f"{name}.json")
    return root


def estimators(world, *ways):
    return {name: world / f"{name}_{way}" for name, way in zip(SHAKEN, ways, strict=True)}


def differences(result):
    return result.pairs[["a", "category", "difference", "lower", "upper"]]


@pytest.mark.parametrize("ways", [("run", "run"), ("run", "files"), ("files", "run")])
def test_boxes_of_a_run_and_of_files_give_one_comparison(world, ways):
    files = [world / f"{name}.json" for name in SHAKEN]
    images = world / "new/images"
    by_files = autoeval.compare(estimators(world, "files", "files"), files, images=images)
    given = [None if way == "run" else path for way, path in zip(ways, files, strict=True)]
    result = autoeval.compare(estimators(world, *ways), given, images=images)
    assert result.detectors == by_files.detectors == ("keen", "blunt")
    assert result.n_images == by_files.n_images == 40
    expected, found = differences(by_files), differences(result)
    assert found["category"].tolist() == ["car", "bus", "all"] == expected["category"].tolist()
    for name in ("difference", "lower", "upper"):
        assert found[name].tolist() == pytest.approx(expected[name].tolist(), abs=1e-5)
    if ways[0] == "run":
        listed = sorted((world / "new/images").iterdir())
        again = autoeval.compare(estimators(world, *ways), given, images=listed)
        assert differences(again)["difference"].tolist() == found["difference"].tolist()


def test_the_command_runs_one_detector_and_reads_the_other(world, tmp_path, capsys):
    pool = ["--images", str(world / "new/images"), "--work-dir", str(tmp_path / "out")]
    both = [f"keen={world / 'keen_run'}", f"blunt={world / 'blunt_files'}"]
    boxes = ["--predictions", "-", str(world / "blunt.json")]
    labels = ["--labels", str(world / "new/annotations.json")]
    assert main(["compare", *both, *boxes, *pool, *labels]) == 0
    assert "1. keen: about" in capsys.readouterr().out
    assert (tmp_path / "out/keen" / OBSERVED).is_dir()  # a second call observes nothing


def test_a_plan_for_two_detectors_that_are_run(world, tmp_path, capsys):
    saved = ["--estimator", str(world / "keen_run/estimator.parquet"), "--n", "12"]
    pool = ["--images", str(world / "new/images"), "--work-dir", str(tmp_path / "plan")]
    other = ["--compare", str(world / "blunt_run")]
    assert main(["label", "plan", *saved, *pool, *other]) == 0
    assert load_plan(tmp_path / "plan").n == 12


def test_a_monitor_runs_the_other_detector_on_the_images_of_its_sites(world, tmp_path, capsys):
    """What it says of a site is the comparison on the images there."""
    images = sorted((world / "new/images").iterdir())
    for name, own in {"gate": images[:20], "yard": images[20:]}.items():
        (tmp_path / "cameras" / name).mkdir(parents=True)
        for path in own:
            shutil.copy(path, tmp_path / "cameras" / name)
    words = ["monitor", "--estimator", str(world / "blunt_run/estimator.parquet")]
    words += ["--images", str(tmp_path / "cameras"), "--category", "car", "--category", "bus"]
    words += ["--against", str(world / "keen_run"), "--work-dir", str(tmp_path / "out")]
    assert main(words) == 0
    assert "The candidate is better at" in capsys.readouterr().out
    rows = json.loads((tmp_path / "out/result.json").read_text())["candidate"]
    assert {row["site"] for row in rows} == {"gate", "yard"}
    for row in rows:
        result = autoeval.compare(
            {"current": world / "blunt_run", "candidate": world / "keen_run"},
            images=tmp_path / "cameras" / row["site"],
            categories={"car": ["car"], "bus": ["bus"]},
        )
        (expected,) = result.overall.to_dict("records")
        assert expected["a"] == "candidate" and row["n_images"] == 20
        assert row["difference"] == pytest.approx(expected["difference"], abs=1e-5)


def test_of_both_detectors_at_a_site_the_same_boxes_are_kept(world, tmp_path):
    """With --keep those of the other detector stayed for ever, though nothing reads them."""
    (tmp_path / "cameras/gate").mkdir(parents=True)
    for path in sorted((world / "new/images").iterdir())[:20]:
        shutil.copy(path, tmp_path / "cameras/gate")
    given = {"images": tmp_path / "cameras", "against": world / "keen_run", "keep": "5"}
    given |= {"by": "every:5", "baseline": "8", "work_dir": tmp_path / "out"}
    monitored = autoeval.monitor(world / "blunt_run", **given)
    first, second = (
        MonitorStore(folder).index().set_index("name")
        for folder in (tmp_path / "out", tmp_path / "out/candidate")
    )
    dropped = first.index[~first["kept"]]
    assert len(dropped) and set(dropped) <= {f"gate/{k}.png" for k in range(10, 15)}
    assert not (second["kept"] & second["found"])[dropped].any()
    assert second["kept"].drop(dropped).all()
    again = autoeval.monitor(world / "blunt_run", **given)
    assert again.n_new == 0 and again.candidate[0].equals(monitored.candidate[0])
