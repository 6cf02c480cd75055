"""Commands of the pages that run a network, run on the small detector that ships.

The pages name detectors whose weights are downloaded, and data that nobody ships; here
`roadworld_nano` and rendered sites stand in their place (`RENAMED`), with fewer images. What is not
run at all is in `NOT_RUN`, with the reason.
"""

import json
import re
import runpy
import shutil
import sys
from glob import glob

import cv2
import pytest

from autoeval.cli import main
from autoeval.io.image_lists import load_image_folder
from autoeval.roadworld import make_picture, write_environment
from tests.doc_pages import PAGES, ROOT, name_of, shell_of
from tests.test_docs_commands import CUT_SHORT, commands_of
from tests.test_docs_run import block

SITES = {"harbour": "day_street", "tunnel": "night_highway", "market": "rain"}
RENAMED = {
    "retinanet_r50": "roadworld_nano",
    "yolox_nano": "roadworld_nano",
    "configs/tasks/vehicle.py": "my_task.py",
    "vehicle=car,bus,truck": "vehicle",
    "configs/counting/praco/roadworld_nano.py": "configs/counting/roadworld_nano.py",
}
LEFT_OUT = ("--checkpoint", "--cfg-options", "--data-root", "--n-sets", "--n-images")
FEWER = {
    "estimate-map": ["--n-sets", "2", "--n-images", "6"],
    "build-metaset": ["--n-sets", "2", "--n-images", "4"],
    "study": [],
    "count": [],
}
STUDY = ["--n-sets", "2", "--n-images", "6", "--set", "own_images=6", "repeats=1"]
NOT_RUN = {
    "docs/how-to/reproduce.md": "the published data sets of the papers, which are not shipped",
    "docs/counting/praco.md": "FSC-147, which is not shipped",
    "configs/counting/capture/endpoint.py": "a model that answers over the network",
    "count capture generate split": "1250 pairs for that model; the README of counting draws 500",
    "count capture report split capture": "the answers of that model",
    "estimate --fit-labels": "tests/commands/test_fit_and_estimate.py fits within estimate",
    "--detector best.pt": "Ultralytics is an extra: tests/detectors/adapters run its models",
    "docs/counting/counters.md": "tests/counting/test_own_counter.py runs the page",
    "count leaderboard nwpu=": "four earlier runs: tests/counting/test_leaderboard.py",
    "count evaluate predictions.csv": "a user's counts: test_counting_docs.py has others",
    "count evaluate roadworld_nano@*": "tests/counting/test_counting_docs.py compares its table",
    "--webhook https://": "a chat to post to: tests/commands/test_monitor.py has a server",
    "status WORK_DIR": "tests/runtime/test_status.py",
    "work_dirs/ex/estimator.parquet": "the real data sets of docs/results",
    "--work-dir work_dirs/ex": "the real data sets of docs/results",
    "label estimate --plan ex": "the real data sets of docs/results",
    "--labels labels/annotations.json": "a user's labels: tests/test_readme.py has the sample's",
    "_reference.json": "boxes of a second detector: tests/monitoring/test_reference_at_sites.py",
}


def named(words):
    return " ".join(words)


def documented():
    """Commands of all pages but the README (test_readme.py) and those of results (real data)."""
    for page in PAGES:
        if name_of(page) != "README.md" and not name_of(page).startswith("docs/results/"):
            for text in shell_of(page.read_text("utf-8")):
                for words in commands_of(text):
                    if CUT_SHORT not in words:
                        yield name_of(page), named(words)


def blocks_that_tests_run():
    """Commands of the blocks that a test takes from a page, as its source names them."""
    found = set()
    for file in (ROOT / "tests").glob("test_docs_*.py"):
        for page, text in re.findall(r'block\("([^"]+)", "([^"]+)"\)', file.read_text("utf-8")):
            found |= {(page, named(words)) for words in commands_of(block(page, text))}
    return found


def test_every_command_is_run_or_says_why_not():
    run, shown = blocks_that_tests_run(), set(documented())
    why = {
        key: {(page, text) for page, text in shown if key in text or key == page} for key in NOT_RUN
    }
    assert [key for key, commands in why.items() if not commands] == []
    assert sorted(shown - run - set().union(*why.values())) == []


def here_and_now(words):
    """A command of a page as it can be run here."""
    words = [*words]
    for old, new in RENAMED.items():
        words = [word.replace(old, new) for word in words]
    for option in LEFT_OUT:
        while option in words:
            at = words.index(option)
            del words[at : at + 2]
    if words[0] == "study":
        return words + (STUDY if "--task" in words else [])
    files = [sorted(glob(word)) if "*" in word else [word] for word in words]
    return [word for of in files for word in of] + FEWER.get(words[0], [])


def run_block(page, text):
    for words in commands_of(block(page, text)):
        if CUT_SHORT not in words:
            assert main(here_and_now(words)) == 0, words


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """Rendered sites under the names that the pages have."""
    folder = tmp_path_factory.mktemp("world")
    for seed, (name, environment) in enumerate({**SITES, "val": "day_street"}.items(), 1):
        write_environment(folder / "made", environment, 12, seed=seed)
        shutil.move(folder / "made" / environment, folder / name)
    shutil.copy(folder / "val/annotations.json", folder / "val.json")
    for image in (folder / "val/images").iterdir():
        image.rename(folder / "val" / image.name)
    for name in ("new_site", "cameras/gate", "cameras/yard"):
        (folder / name).mkdir(parents=True)
        for k in range(8):
            picture = make_picture("fog", k, seed=sum(map(ord, name)))
            cv2.imwrite(str(folder / name / f"{k}.jpg"), picture.image)
    height, width = picture.image.shape[:2]
    video = cv2.VideoWriter(
        str(folder / "crossing.mp4"), cv2.VideoWriter_fourcc(*"mp4v"), 1, (width, height)
    )
    for k in range(12):
        video.write(make_picture("fog", k, seed=9).image)
    video.release()
    for name, words in (("city", ["car", "bus", "truck"]), ("drone", ["auto"])):
        shutil.copytree(folder / "harbour", folder / name)
        path = folder / name / "annotations.json"
        labels = json.loads(path.read_text())
        labels["categories"] = [{"id": k, "name": word} for k, word in enumerate(words, 1)]
        path.write_text(json.dumps(labels))
    sets = [{"name": name, "labels": f"{name}/annotations.json"} for name in SITES]
    task = {"name": "vehicle", "categories": ["vehicle"], "data_root": str(folder)}
    lines = [f"{key} = {value!r}" for key, value in {**task, "seed_sets": sets}.items()]
    (folder / "my_task.py").write_text("\n".join(lines))
    (folder / "configs").symlink_to(ROOT / "configs")
    return folder


@pytest.fixture
def here(world, monkeypatch):
    monkeypatch.chdir(world)
    return world


@pytest.mark.slow
def test_first_steps_with_a_network(here):
    assert len(load_image_folder("new_site")) == 8
    run_block("docs/how-to/network.md", "fit --join")
    for name in ("fit", "estimate", "places", "all"):
        assert (here / "work_dirs" / name / "report.html").exists()


@pytest.mark.slow
def test_monitoring_with_a_network(here):
    run_block("docs/how-to/monitoring.md", "--images cameras/")
    assert (here / "work_dirs/monitor/report.html").exists()


@pytest.mark.slow
def test_a_video_counting_error_and_sample_sets(here):
    run_block("docs/how-to/data.md", "crossing.mp4")
    run_block("docs/counting/label-free.md", "--target count_mae")
    run_block("docs/counting/counters.md", "--prompt vehicles")
    run_block("meta_sets/README.md", "meta_sets/vehicle_mild")
    run_block("meta_sets/README.md", "--seed-set city")
    assert (here / "meta_sets/mine/recipes/drone.json").exists()


@pytest.mark.slow
def test_studies(here):
    fit = ["estimate-map", "--detector", "roadworld_nano", "--task", "my_task.py"]
    fit += ["--preset", "paper", "--repeats", "2", "--n-sets", "4", "--n-images", "6"]
    assert main([*fit, "--work-dir", "work_dirs/vehicle_roadworld_nano"]) == 0
    hard = ["--metaset", "configs/metasets/corruptions.py", "--work-dir", "work_dirs/corrupted"]
    assert main([*fit, *hard]) == 0
    run_block("docs/how-to/studies.md", "features=bos,ac")
    run_block("docs/how-to/studies.md", "study test-set-size")
    names = {path.stem for path in (here / "work_dirs/studies").glob("*.csv")}
    assert names == {"correlation", "test_set_size"}


@pytest.mark.slow
def test_the_examples_of_counting(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("configs", "examples"):
        (tmp_path / name).symlink_to(ROOT / name)
    write_environment("world", "overpass", 6)
    run_block("docs/counting/README.md", "count run")
    monkeypatch.setattr(sys, "argv", ["coloured_dots.py", "dots"])
    runpy.run_path(str(ROOT / "docs/counting/examples/coloured_dots.py"), run_name="__main__")
    run_block("docs/counting/README.md", "--counter dots/reads.py")
    run_block("docs/counting/README.md", "praco_again")
    run_block("docs/counting/README.md", "capture generate split")
    assert (tmp_path / "capture/report.html").exists()
