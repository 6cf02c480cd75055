"""Commands typed without a task run on the rendered road world, and say what they assumed."""

import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest
from rectangles import RectangleDetector, write_task

from autoeval import roadworld
from autoeval.cli import main
from autoeval.roadworld import DETECTOR, ENVIRONMENTS, environments_task
from autoeval.roadworld.environments import SEARCH_ENVIRONMENTS
from autoeval.runtime.progress import duration
from autoeval.stability.commands import estimate_map, road_world, running_time
from autoeval.stability.metasets import MetaSetConfig, load_recipes
from autoeval.stability.network.forward.dropout_spec import load_dropout, of_search
from tests.doc_pages import ROOT


def run_script(words, folder, **environment):
    """Run ``python tools/NAME.py ...`` from a folder of its own with few images a site."""
    script, *options = words.split()
    assert script.startswith("tools/")
    known = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", **environment}
    known.setdefault("AUTOEVAL_ROADWORLD_IMAGES", "2")
    if not (folder / "tools").exists():
        (folder / "tools").symlink_to(ROOT / "tools")
    command = [sys.executable, script, *options]
    return subprocess.run(command, cwd=folder, env=known, capture_output=True, text=True)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """One folder for all of them, as a user has: the world is rendered once."""
    return tmp_path_factory.mktemp("clone")


def test_what_is_repeated_here_is_what_the_demo_has():
    assert road_world.DETECTOR == DETECTOR
    assert road_world.HELD_BACK in ENVIRONMENTS


@pytest.mark.usefixtures("drawn_here")
def test_build_metaset_as_typed(few_images, few_sites, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["tools/build_metaset.py"])
    with pytest.raises(SystemExit) as stopped:
        runpy.run_path(str(ROOT / "tools/build_metaset.py"), run_name="__main__")
    assert stopped.value.code == 0
    first = capsys.readouterr().err.splitlines()[0]
    for word in ("--task FILE", "--n-sets 5", "--n-images 20"):
        assert word in first
    assert "--work-dir work_dirs/build_metaset" in first
    out = Path("work_dirs/build_metaset")
    assert (out / "contact_sheet.png").read_bytes()[:4] == b"\x89PNG"
    assert {path.stem for path in (out / "recipes").iterdir()} == set(few_sites)
    recipes = load_recipes(out / "recipes" / "fog.json")
    assert len(recipes) == 5 and all(len(recipe.image_ids) == 2 for recipe in recipes)


@pytest.mark.slow  # all sites; `test_estimate_map_of_few_sites` is of six, in this process
def test_estimate_map_as_typed_with_the_shipped_detector(folder):
    done = run_script("tools/estimate_map.py --detector roadworld_nano", folder)
    assert done.returncode == 0, done.stderr
    # Two images a site have too few labels for the default.
    check_estimate(done.stdout, done.stderr, folder, methods=("bos", "fused", "constant"))


def test_estimate_map_of_few_sites(few_images, few_sites, folder, capsys):
    sets = ["--n-sets", "1", "--n-images", "2"]
    assert main(["estimate-map", "--detector", "roadworld_nano", *sets]) == 0
    check_estimate(*capsys.readouterr(), folder, methods=("bos", "constant"))


def check_estimate(printed, errors, folder, methods):
    """Sample sets, dropout, scores, leave-one-out, an estimate of the site held back, a page."""
    first = errors.splitlines()[0]
    for word in ("--task FILE", "--preset paper", "--repeats 2", "--images work_dirs/roadworld/"):
        assert word in first
    assert "--detector" not in first  # was given
    first = printed.splitlines()[0]
    assert re.fullmatch(r"estimated mAP: [\d.]+ ± [\d.]+ \(repeats\), from 2 images.*", first)
    assert first.endswith("(method: bos)")
    assert "source dusk_city, on which the estimator was fitted" not in printed
    table = printed.split("mean abs. error")[1]
    assert all(method in table for method in methods)
    out = folder / "work_dirs" / "estimate_map"
    assert (out / "report.html").exists() and (out / "estimator.parquet").exists()


def test_a_download_that_fails_ends_in_one_message(few_images, folder, monkeypatch, capsys):
    monkeypatch.setenv("TORCH_HOME", str(folder / "home"))
    monkeypatch.setenv("https_proxy", "http://127.0.0.1:9")  # refuses at once
    monkeypatch.setattr(sys, "argv", ["tools/estimate_map.py"])
    assert main(["estimate-map", "--detector", "retinanet_r50"]) == 2
    printed, errors = capsys.readouterr()
    (message,) = [line for line in errors.splitlines()[1:] if line.strip()]
    name = "retinanet_r50_fpn_1x_coco_20200130-c2398f9e.pth"
    assert printed == ""
    assert message.startswith("error: ") and f"/retinanet_r50_fpn_1x_coco/{name}" in message
    assert f"{folder}/home/hub/checkpoints/{name}" in message and "--checkpoint FILE" in message
    assert "python tools/estimate_map.py --detector roadworld_nano" in message


@pytest.mark.slow  # a minute of computing; what is fast about it is `test_search_in_process`
def test_search_dropout_as_typed(folder):
    done = run_script("tools/search_dropout.py", folder)
    assert done.returncode == 0, done.stderr
    first = done.stderr.splitlines()[0]
    assert "--detector roadworld_nano" in first
    assert "searching by greedy will take about" in done.stderr
    assert load_dropout(folder / "work_dirs" / "search_dropout" / "dropout.py")


@pytest.fixture
def few_sites(monkeypatch):
    others = ("fog", "rain", "overpass", "highway_day", "night_highway")
    few = {name: ENVIRONMENTS[name] for name in (road_world.HELD_BACK, *others)}
    for module in (roadworld, environments_task):
        monkeypatch.setattr(module, "ENVIRONMENTS", few)
    return few


@pytest.fixture
def few_images(folder, monkeypatch):
    monkeypatch.chdir(folder)
    monkeypatch.setenv(road_world.IMAGES_VARIABLE, "2")


def test_search_in_process(few_images, capsys):
    words = ["--rates", "0.1", "--n-sets", "1", "--n-images", "1"]
    assert main(["search-dropout", *words]) == 0
    first = capsys.readouterr().err.splitlines()[0]
    assert f"--metaset {road_world.METASET}, " in first and "--rates" not in first
    assert load_dropout("work_dirs/search_dropout/dropout.py").rate == 0.1
    seen = of_search("work_dirs/search_dropout/dropout.py", "sources")
    assert seen and {*seen} <= {*SEARCH_ENVIRONMENTS} - {*ENVIRONMENTS}  # errors of unseen sites


def test_the_site_that_is_estimated_is_no_source(few_images):
    def sources(images):
        task = road_world.road_world_task({"images": images})
        return [files.name for files in task.seed_sets]

    for images in ("images/", "", "annotations.json", "images/00001.jpg", "images/*.jpg"):
        assert set(ENVIRONMENTS) - set(sources(f"work_dirs/roadworld/fog/{images}")) == {"fog"}
    assert sources("elsewhere") == sources(None) == list(ENVIRONMENTS)


def test_light_takes_no_sample_sets(few_images, capsys):
    """What is given decides what else is assumed."""
    options = {"preset": "light", "detector": "d", "images": "new"}
    estimate_map._assume(options)
    assert not {"n_sets", "repeats"} & options.keys() and options["images"] == "new"
    options = {"metaset": "configs/metasets/corruptions.py", "n_images": 7}
    estimate_map._assume(options)
    assert (options["detector"], options["preset"]) == (DETECTOR, "paper")
    assert options["n_images"] == 7 and options["repeats"] == road_world.REPEATS
    assert "n_sets" not in options
    first, second = capsys.readouterr().err.splitlines()
    assert first.endswith("and --work-dir work_dirs/estimate_map. Each is replaced by giving it.")
    assert "--n-sets" not in second


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        # Both parts that are missing stand in one message.
        (
            ["estimate-map", "--task", "configs/tasks/vehicle.py"],
            "--detector NAME.*--data-root DIR",
        ),
        (["search-dropout", "--task", "configs/tasks/vehicle.py"], "--detector.*--data-root DIR"),
        (["build-metaset", "--mapping", "car=vehicle"], "--mapping is for --seed-set"),
    ],
)
def test_what_is_missing_is_named_at_once(words, expected, monkeypatch, capsys):
    monkeypatch.delenv("AUTOEVAL_DATA_ROOT", raising=False)
    assert main(words) == 2
    shown = capsys.readouterr().err
    assert re.search(expected, shown) and shown.startswith("error: ")
    if words[0] != "build-metaset":
        assert f"this runs: autoeval {words[0]} --detector roadworld_nano" in shown


def test_a_number_of_images_that_is_none(few_images, monkeypatch, capsys):
    monkeypatch.setenv(road_world.IMAGES_VARIABLE, "many")
    assert main(["build-metaset"]) == 2
    assert "a number of images from 2, got 'many'" in capsys.readouterr().err


def test_too_few_images_for_the_default_name_how_more_are_rendered(few_images, capsys):
    """A pair of site and category needs boxes in five images, and there are two."""
    assert main(["estimate-map", "--preset", "light"]) == 2
    refused = capsys.readouterr().err.splitlines()[-1]
    assert "2 images a site: set AUTOEVAL_ROADWORLD_IMAGES higher" in refused


def test_a_long_run_says_so_before_it_starts(tmp_path, monkeypatch, capsys):
    """Four worlds of 6 images at one image in twenty seconds take eight minutes."""
    from autoeval.estimation.observation.observing import Observer
    from autoeval.estimation.observation.pass_settings import PassSettings
    from autoeval.io.tasks.task import load_task

    task = load_task(write_task(tmp_path))
    seed_sets = task.load_seed_sets()
    total = sum(len(seed_set.images) for seed_set in seed_sets)
    observer = Observer(RectangleDetector(), task, PassSettings())
    observer.detector.device = "cpu"
    monkeypatch.setattr(running_time, "images_a_second", lambda *a, **k: 0.05)
    running_time.warn_of_long_run(observer, seed_sets, None)
    assert capsys.readouterr().err == ""  # few images
    monkeypatch.setattr(running_time, "FEW_IMAGES", 1)
    running_time.warn_of_long_run(observer, seed_sets, None)
    shown = capsys.readouterr().err
    assert f"{total} images at 0.05 a second on cpu" in shown and "--n-sets" not in shown
    # 50 sample sets of 6 images each make 51 times as many images; five sets 6 times as
    # many, of three passes each in place of one.
    running_time.warn_of_long_run(observer, seed_sets, MetaSetConfig(n_sets=50))
    shown = capsys.readouterr().err
    assert f"about {duration(51 * total / 0.05)}: {51 * total} images" in shown
    small = f"--n-sets 5 --n-images 20 --repeats 2: about {duration(6 * total * 3 / 0.05)}"
    assert small in shown
    assert f"--preset light, without box stability: about {duration(total / 0.05)}" in shown
