import io
import json
import os
import shutil
from contextlib import redirect_stdout

import pandas as pd
import pytest
from changed_words import changed
from rectangles import RectangleDetector, write_task, write_video, write_world

from autoeval.cli import main

SMALL = ["--n-sets", "1", "--n-images", "4", "--repeats", "2"]


@pytest.fixture(scope="module", autouse=True)
def stand_in():
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(
            "autoeval.detectors.loading.load_detector", lambda *a, **k: RectangleDetector()
        )
        yield


def command_in(folder):
    """Arguments that run on four small worlds with a stand-in detector."""
    words = [
        "--task",
        str(write_task(folder, n_images=8)),
        *SMALL,
        "--work-dir",
        str(folder / "work"),
    ]
    return ["estimate-map", "--detector", "rectangles", *words]


@pytest.fixture
def command(tmp_path):
    return command_in(tmp_path)


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    """A folder in which the command was run, and what it printed."""
    folder = tmp_path_factory.mktemp("ran")
    with redirect_stdout(io.StringIO()) as shown:
        assert main(command_in(folder)) == 0
    return folder, shown.getvalue()


@pytest.fixture
def again(ran, tmp_path):
    """Arguments that run once more: what was observed is kept."""
    shutil.copytree(ran[0], tmp_path, dirs_exist_ok=True)
    return command_in(tmp_path)


@pytest.fixture(scope="module")
def estimated(ran, tmp_path_factory):
    """The same run with new images, of which two are of a source and two have odd names."""
    folder = tmp_path_factory.mktemp("estimated")
    shutil.copytree(ran[0], folder, dirs_exist_ok=True)
    images = write_world(folder / "new", 205, n_images=4, seed=9) / "images"
    for k in (1, 2):
        shutil.copy(folder / f"worlds/w2/images/{k}.png", images / f"own{k}.png")
    (images / "1.png").rename(images / os.fsdecode(b"bad\xff.png"))
    (images / os.fsdecode(b"worse\xfe.png")).touch()
    with redirect_stdout(io.StringIO()) as shown:
        assert main([*command_in(folder), "--images", str(images), "--json"]) == 0
    return folder, json.loads(shown.getvalue())


def test_prints_the_held_out_table_and_names_the_files(ran):
    folder, shown = ran
    for word in ("w0", "w3", "constant", "interval", "mean abs. error"):
        assert word in shown
    for name in ("scores.parquet", "estimator.parquet", "report.html", "result.json"):
        assert str(folder / "work" / name) in shown and (folder / "work" / name).is_file()


def test_json_holds_what_the_score_table_holds(estimated):
    folder, result = estimated
    table = pd.read_parquet(folder / "work" / "scores.parquet")
    own = table[table["kind"] == "seed"].groupby("source")["mAP"].first()
    assert {r["source"]: r["true"] for r in result["per_source"]["bos"]} == own.to_dict()
    estimate = result["estimate"]
    assert estimate["lower"] <= estimate["value"] <= estimate["upper"]
    assert any("only 6 images" in warning for warning in estimate["warnings"])


def test_other_methods_stand_beside_box_stability(estimated, tmp_path, capsys):
    """Each as it estimates alone, from its own file; and one sentence on which to use."""
    folder, result = estimated
    assert result["estimate"]["method"] == "bos" and set(result["by_method"]) == {"bayes", "fused"}
    errors = {row["method"]: row["mean_absolute_error"] for row in result["held_out"]}
    assert list(errors) == ["bos", "bayes", "fused", "constant"]
    best = min(errors, key=errors.get)
    assert f"'{best}'" in result["recommendation"] or best == "constant"
    alone = ["estimate-map", "--detector", "rectangles", "--work-dir", str(tmp_path / "again")]
    alone += ["--images", str(folder / "new" / "images"), "--json", "--estimator"]
    estimates = {f"estimator_{name}": of for name, of in result["by_method"].items()}
    for name, estimate in {"estimator": result["estimate"], **estimates}.items():
        assert main([*alone, str(folder / "work" / f"{name}.parquet")]) == 0
        again_alone = json.loads(capsys.readouterr().out)["estimate"]
        for end in ("value", "lower", "upper"):
            assert again_alone[end] == estimate[end]
        if name == "estimator":  # the run that fitted warns of the fit, too
            of_fit = {"warnings", "warning_codes", "notes"}
            alike = {key: value for key, value in estimate.items() if key not in of_fit}
            assert {key: again_alone[key] for key in alike} == alike
    page = (folder / "work" / "report.html").read_text()
    assert "By method" in page


def test_mistyped_images_are_found_before_anything_runs(command, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(RectangleDetector, "observe", None)
    assert main([*command, "--images", str(tmp_path / "typo")]) == 2
    assert "typo" in capsys.readouterr().err
    assert not (tmp_path / "work").exists()


def test_a_saved_estimator_has_settings_and_a_pass_of_its_own(estimated, tmp_path, capsys):
    folder = estimated[0]
    images = ["--images", str(folder / "new" / "images")]
    saved = ["--estimator", str(folder / "work" / "estimator.parquet")]
    work = ["--work-dir", str(tmp_path / "again")]
    alone = ["estimate-map", "--detector", "rectangles", *saved, *images, *work]
    assert main([*alone, "--preset", "released"]) == 2
    assert "--preset is for a fit, and --estimator carries its own" in capsys.readouterr().err
    assert main([*alone, "--repeats", "3"]) == 2
    assert "Expected 1 to 2 `repeats`" in capsys.readouterr().err
    assert main([*alone, "--domain-source", "w0"]) == 2  # no reason to render the road world
    assert "Expected --task FILE with --estimator" in capsys.readouterr().err


def test_without_dropout_the_scores_that_need_none_remain(command, tmp_path, capsys):
    """For a detector whose backbone has nothing to drop: fitted, saved, and estimated with."""
    write_world(tmp_path / "new", 205, n_images=5, seed=9)
    images = ["--images", str(tmp_path / "new" / "images"), "--json"]
    plain = changed(command, "--repeats", "0", *images)
    assert main(plain) == 0
    result = json.loads(capsys.readouterr().out)
    table = pd.read_parquet(tmp_path / "work" / "scores.parquet")
    assert set(table["repeat"]) == {0} and "ac" in table and "bos" not in table
    assert "the pass has no repeats" in table["absent"][0]
    saved = ["--estimator", str(tmp_path / "work" / "estimator.parquet")]
    alone = ["estimate-map", "--detector", "rectangles", "--work-dir", str(tmp_path / "again")]
    assert main([*alone, *images, *saved]) == 0
    again = json.loads(capsys.readouterr().out)
    assert again["estimate"] == result["estimate"] and "std" not in result["estimate"]


@pytest.mark.parametrize(("methods", "is_read"), [(["bayes"], False), (["bayes", "fd"], True)])
def test_a_training_domain_that_no_method_reads_is_said(command, methods, is_read, capsys):
    """Of the methods named here, fd alone compares with it."""
    domain = ["--domain-source", "w1", "--preset", "light", "--method", *methods]
    plain = changed(command, "--repeats", "0")
    main([*plain, *domain])
    shown = capsys.readouterr().err
    assert ("--domain-source only adds" in shown) is not is_read
    assert "observing the training domain" in shown


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (["--task", "nowhere.py"], "nowhere.py"),
        (["--data-root", "nowhere"], "nowhere does not exist"),
        (["--images", "nowhere"], "No folder or annotation file nowhere"),
        (["--repeats", "-1"], "--repeats"),
        (["--method", "astrology"], "astrology"),
        (["--estimator", "nowhere.parquet"], "--estimator needs --images"),
    ],
)
def test_bad_input_is_one_clear_line(command, change, message, capsys):
    assert main(changed(command, *change)) == 2
    shown = capsys.readouterr().err.strip().splitlines()[-1]
    assert shown.startswith("error: ") and message in shown


def test_an_interrupt_says_how_to_go_on(command, monkeypatch, capsys):
    def interrupted(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(RectangleDetector, "observe", interrupted)
    assert main(command) == 130
    assert "it goes on from the 0 of 48 images that" in capsys.readouterr().err


def test_a_full_disk_is_told_without_a_traceback(command, monkeypatch, capsys):
    def no_space(*args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", no_space)
    assert main(command) == 1
    assert "No space left on device" in capsys.readouterr().err


def test_new_images_that_are_a_source_s_own_give_a_warning(estimated):
    warnings = estimated[1]["estimate"]["warnings"]
    (found,) = (warning for warning in warnings if "are images of source" in warning)
    assert found.startswith("2 of 7 new images are images of source w2 (own1.png, own2.png)")


def test_a_file_name_that_is_no_text_does_not_end_the_run(estimated):
    folder, result = estimated
    assert result["estimate"]["n_images"] == 6
    assert r"worse\xfe.png: the file is empty" in result["unreadable"]
    page = (folder / "work" / "report.html").read_text()
    assert r"bad\xff.png" in page


def test_a_video_is_taken_frame_by_frame(again, tmp_path, capsys):
    world = write_world(tmp_path / "new", 205, n_images=4, seed=9)
    video = write_video(tmp_path / "video.avi", world)
    images = ["--images", str(video), "--every", "1s", "--json"]
    assert main([*again, *images]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["estimate"]["n_images"] == 4
    assert "video.avi#2" in (tmp_path / "work" / "report.html").read_text()
    assert any("all images are neighbours in time" in g for g in result["estimate"]["warnings"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--ray-workers", "2"], "--ray-workers goes with --ray"),
        (["--ray", "local", "--ray-workers", "0"], "Expected --ray-workers above 0"),
        (["--ray", "local", "--ray-gpus", "-1"], "--ray-gpus above 0"),
    ],
)
def test_launchers_that_make_no_sense_are_refused(options, message, capsys):
    assert main(["estimate-map", "--detector", "x", "--task", "x.py", *options]) == 2
    assert message in capsys.readouterr().err
