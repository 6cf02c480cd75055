"""``autoeval estimate-map --target count_...``: how far a detector miscounts, without labels."""

import contextlib
import io
import json
import shutil

import pandas as pd
import pytest
from changed_words import changed
from rectangles import RectangleDetector, write_task, write_world

from autoeval.cli import main


@pytest.fixture(scope="module", autouse=True)
def stand_in():
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(
            "autoeval.detectors.loading.load_detector", lambda *a, **k: RectangleDetector()
        )
        yield


@pytest.fixture(scope="module")
def task(tmp_path_factory):
    """Four small worlds."""
    return write_task(tmp_path_factory.mktemp("worlds"))


def command_in(folder, task):
    """Arguments that run on the worlds with a stand-in detector."""
    small = ["--n-sets", "3", "--n-images", "2", "--repeats", "2"]
    small += ["--method", "bos", "bos_strict", "median"]  # its counts and confidence never vary
    detector = ["--detector", "rectangles", "--target", "count_mae"]
    folders = ["--task", str(task), "--work-dir", str(folder / "work")]
    return ["estimate-map", *detector, *folders, *small]


@pytest.fixture
def command(task, tmp_path):
    return command_in(tmp_path, task)


@pytest.fixture(scope="module")
def ran(task, tmp_path_factory):
    """The folder that the command wrote where none was named, and what it printed."""
    folder = tmp_path_factory.mktemp("ran")
    words = command_in(folder, task)
    place = words.index("--work-dir")
    with contextlib.chdir(folder), contextlib.redirect_stdout(io.StringIO()) as shown:
        assert main([*words[:place], *words[place + 2 :]]) == 0
    (work,) = (folder / "work_dirs").iterdir()
    return work, shown.getvalue()


def test_the_report_stands_beside_the_estimator_not_in_the_folder_of_map(ran):
    folder, _ = ran
    assert folder.name.endswith("_counting")
    assert {"estimator.parquet", "report.html"} <= {path.name for path in folder.iterdir()}


def test_tells_the_target_beside_the_constant_predictor(ran):
    folder, shown = ran
    assert "Cross-validation, one group of sites held out (count_mae, in objects an image)" in shown
    rows = pd.read_csv(folder / "report" / "held_out.csv")
    assert set(rows["method"]) == {"bos", "bos_strict", "median", "constant"}
    assert len(rows) == 4 * 4


def test_another_target_scores_nothing_again(ran, command, tmp_path, capsys):
    shutil.copytree(ran[0], tmp_path / "work")
    before = (tmp_path / "work" / "scores.parquet").read_bytes()
    again = [word if word != "count_mae" else "count_pooled_std" for word in command]
    assert main(again) == 0
    assert "count_pooled_std, in objects an image" in capsys.readouterr().out
    again = pd.read_parquet(tmp_path / "work" / "scores.parquet")
    assert again.equals(pd.read_parquet(io.BytesIO(before)))


def test_a_saved_estimator_needs_the_detector_and_the_images_alone(ran, command, tmp_path, capsys):
    shutil.copytree(ran[0], tmp_path / "work")  # what was observed is kept
    write_world(tmp_path / "new", 205, n_images=5, seed=9)
    images = ["--images", str(tmp_path / "new" / "images")]
    assert main([*command, *images, "--count-thr", "0.5", "--json"]) == 0
    first = json.loads(capsys.readouterr().out)["estimate"]
    assert first["target"] == "count_mae" and first["n_images"] == 5
    saved = ["--estimator", str(tmp_path / "work" / "estimator.parquet")]
    words = ["estimate-map", "--detector", "rectangles", "--work-dir", str(tmp_path / "again")]
    assert main([*words, *images, *saved, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["estimate"]["value"] == first["value"]
    assert main([*words, *images, *saved, "--target", "count_mae", "--count-thr", "0.7"]) == 2
    assert "is for a fit, and --estimator carries its own" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (["--bins", "nowhere.json"], "nowhere.json"),
        (["--target", "mAP", "--bins", "nwpu"], "--bins is for a counting error"),
    ],
)
def test_bad_input_is_one_clear_line(command, change, message, capsys):
    assert main(changed(command, *change)) == 2
    shown = capsys.readouterr().err.strip().splitlines()[-1]
    assert shown.startswith("error: ") and message in shown
