"""``autoeval count run``: a counter over a folder, stopped and gone on with."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import cv2
import numpy as np
import pandas as pd
import pytest

from autoeval.cli import main
from autoeval.command_table import COMMANDS
from autoeval.commands.command_line import options_of, read_words
from autoeval.counting.commands.common_options import prediction_folders
from autoeval.errors import InputError

REPRODUCE = ("reproduce binned", "reproduce capture", "reproduce praco")
COUNTER = """
import numpy as np
from autoeval.counting.counters import CountResult

class Dots:
    '''Counts white pixels; keeps a list of what it was asked.'''

    name, capabilities = "dots", frozenset({"count", "points"})

    def __init__(self, fail=(), silent=False, name="dots", log="asked.txt"):
        self.fail, self.silent, self.name, self.log = fail, silent, name, log

    def count(self, image, prompt, context=None):
        with open(self.log, "a") as stream:
            stream.write(context["image_id"] + "\\n")
        if context["image_id"] in self.fail or "all" in self.fail:
            raise RuntimeError("out of memory")
        if self.silent:
            return CountResult(float("nan"), status="skipped", text="I cannot tell")
        y, x = np.nonzero(image[..., 0] > 200)
        points = np.column_stack([x, y]).astype(float)
        return CountResult(float(len(x)), points=points, scores=np.linspace(1, .5, len(x)))
"""


@pytest.fixture
def data(tmp_path, monkeypatch):
    """Images of 1, 2 and 3 dots, one of them in a folder of its own, and a file that is none."""
    for name, n in (("a.png", 1), ("b/c.png", 2), ("d.png", 3)):
        image = np.zeros((32, 40, 3), np.uint8)
        image[4, 4 : 4 + 2 * n : 2] = 255
        (tmp_path / "images" / name).parent.mkdir(parents=True, exist_ok=True)
        cv2.imwrite(str(tmp_path / "images" / name), image)
    (tmp_path / "white_dots.py").write_text(COUNTER)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def config(path, **options):
    text = "".join(f", {key}={value!r}" for key, value in options.items())
    path.write_text(f"counter = dict(type='white_dots.Dots'{text})")


def run(*words):
    return main(["count", "run", "--images", "images", *map(str, words)])


def predictions(name="dots"):
    return pd.read_csv(f"counts/{name}/predictions.csv", index_col="id")


def test_counts_and_points_go_straight_into_the_evaluation(data, capsys):
    config(data / "good.py")
    assert run("--counter", "good.py") == 0
    assert predictions()["pred"].to_dict() == {"a.png": 1, "b/c.png": 2, "d.png": 3}
    told = capsys.readouterr()
    assert "6 objects in 3 of 3 images" in told.out and "dots: 3 images" in told.err
    points = json.loads((data / "counts/dots/points.json").read_text())
    expected = {"points": [[4, 4], [6, 4]], "scores": [1.0, 0.5], "H": 32, "W": 40}
    assert points["b/c.png"] == expected
    truth = {name: entry["points"] for name, entry in points.items()}
    (data / "truth.json").write_text(json.dumps(truth))
    argv = ["counts/dots/points.json", "--truth", "truth.json", "--work-dir", "e"]
    assert main(["count", "evaluate", *argv]) == 0
    table = pd.read_csv("e/localisation.csv", index_col="measure")["dots"]
    assert table["GAME(3)"] == 0 and table["nAP"] == 1 and table["F1 within 4 px"] == 1
    argv = ["counts/dots/predictions.csv", "--truth", "truth.json", "--work-dir", "f"]
    assert main(["count", "evaluate", *argv]) == 0
    assert pd.read_csv("f/measures.csv").loc[0, "MAE"] == 0


def test_only_what_failed_is_asked_again(data, capsys):
    config(data / "bad.py", fail=["d.png"], log="first.txt")
    (data / "images" / "e.png").write_bytes(b"no image")
    assert run("--counter", "bad.py") == 1
    assert "2 failed (d.png, e.png)" in capsys.readouterr().out
    table = predictions()
    assert table.loc["d.png", "status"] == "failed: RuntimeError: out of memory"
    assert table.loc["e.png", "status"].startswith("failed: unreadable: not an image")
    assert np.isnan(table.loc["d.png", "pred"])
    (data / "images" / "e.png").unlink()
    (data / "first.txt").unlink()
    run("--counter", "bad.py")
    assert (data / "first.txt").read_text().split() == ["d.png"]


def test_images_of_another_folder_that_are_called_alike_are_counted(data):
    """And those of the first are not asked about again."""
    config(data / "good.py")
    run("--counter", "good.py")
    shutil.copytree(data / "images", data / "other")
    cv2.imwrite(str(data / "other" / "a.png"), np.full((2, 2, 3), 255, np.uint8))
    assert main(["count", "run", "--counter", "good.py", "--images", "other"]) == 0
    assert predictions()["pred"].to_dict() == {"a.png": 4, "b/c.png": 2, "d.png": 3}
    run("--counter", "good.py")
    assert predictions().loc["a.png", "pred"] == 1
    assert (data / "asked.txt").read_text().split() == ["a.png", "b/c.png", "d.png", "a.png"]


def test_points_of_an_earlier_run_do_not_stay_beside_counts_of_other_images(data):
    config(data / "good.py")
    run("--counter", "good.py")
    (data / "other").mkdir()
    (data / "other" / "e.png").write_bytes(b"no image")
    assert main(["count", "run", "--counter", "good.py", "--images", "other"]) == 1
    assert list(predictions().index) == ["e.png"]
    assert not (data / "counts/dots/points.json").exists()


def test_a_counter_that_is_broken_ends_the_run(data, capsys):
    config(data / "bad.py", fail=["all"])
    for k in range(12):
        (data / "images" / f"x{k}.png").write_bytes((data / "images" / "a.png").read_bytes())
    assert run("--counter", "bad.py") == 2
    assert "failed on 10 images in a row" in capsys.readouterr().err
    assert len((data / "asked.txt").read_text().split()) == 10


def test_skipped_answers_are_blank_and_no_failure(data):
    config(data / "silent.py", silent=True)
    assert run("--counter", "silent.py") == 0
    assert predictions()["pred"].isna().all() and set(predictions()["status"]) == {"skipped"}
    assert not (data / "counts/dots/points.json").exists()


def test_another_prompt_needs_another_folder(data, capsys):
    config(data / "good.py")
    run("--counter", "good.py", "--prompt", "cars")
    assert run("--counter", "good.py", "--prompt", "dogs") == 2
    assert "prompt: 'cars', now 'dogs'" in capsys.readouterr().err


def test_two_counters_of_one_name(data, capsys):
    config(data / "good.py")
    config(data / "other.py", name="other")
    assert run("--counter", "good.py", "--counter", "other.py") == 0
    assert predictions("other").equals(predictions())
    assert run("--counter", "good.py", "--counter", "good.py") == 2
    assert "dots came twice" in capsys.readouterr().err


@pytest.mark.parametrize("workers", [1, 3])
def test_a_limited_run_goes_on_to_the_end_with_any_number_of_workers(data, workers):
    config(data / "good.py")
    assert run("--counter", "good.py", "--limit", 2, "--workers", workers) == 0
    assert list(predictions().index) == ["a.png", "b/c.png"]
    assert run("--counter", "good.py", "--workers", workers) == 0
    assert (data / "asked.txt").read_text().split()[2:] == ["d.png"]
    assert predictions()["pred"].to_dict() == {"a.png": 1, "b/c.png": 2, "d.png": 3}


@pytest.mark.parametrize("option", ["--limit", "--workers", "--batch-size"])
def test_numbers_below_one_are_refused(data, option, capsys):
    config(data / "good.py")
    assert run("--counter", "good.py", option, 0) == 2
    assert f"Expected {option} of 1 or more" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["count evaluate", "count praco", *REPRODUCE])
def test_the_mode_is_paper_by_default(name):
    parameters = options_of(COMMANDS[name])
    # The code of CAPTURe's authors and its formulas agree, so it has no mode.
    assert ("mode" in parameters) == (name != "reproduce capture")
    if "mode" in parameters:
        assert parameters["mode"].default == "paper"


def test_folders_may_be_given_together_or_one_by_one_and_lists_by_commas(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in "abc":
        (tmp_path / name).mkdir()
    words = ["--predictions", "a", "b", "--predictions", "c", "--exclude", "a,b"]
    given = read_words("reproduce praco", COMMANDS["reproduce praco"], words).values
    assert given["predictions"] == ["a", "b", "c"]
    assert prediction_folders(given["predictions"]) == [Path(name) for name in "abc"]
    with pytest.raises(InputError, match="No folder nowhere: --predictions takes"):
        prediction_folders(["nowhere"])
    assert given["exclude"] == ["a", "b"]
