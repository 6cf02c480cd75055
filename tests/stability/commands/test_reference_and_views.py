"""The training domain and the altered views from the command line, with the demo's detector."""

import json
import shutil
from functools import cache

import pandas as pd
import pytest

from autoeval.cli import main
from autoeval.detectors import loading
from autoeval.roadworld import write_environment
from autoeval.stability.methods.published_estimator import PublishedEstimator

SOURCES = ["day_street", "overpass", "fog"]
NEW = "rain"
TASK = """
name = "roads"
categories = ["vehicle"]
data_root = "worlds"
detector_mapping = dict(vehicle="vehicle")
seed_sets = [
    dict(name=n, ann_file=n + "/annotations.json", img_dir=n + "/images",
         mapping=dict(vehicle="vehicle"))
    for n in {names}
]
"""
# The network itself; the scores have tests in `stability/scores`, the run in `test_estimate_map`.
DETECTOR = ["estimate-map", "--detector", "roadworld_nano", "--device", "cpu", "--json"]


@pytest.fixture(scope="module", autouse=True)
def loaded_once():
    """Load the network once: that every command loads it anew is half of what it takes here."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(loading, "load_detector", cache(loading.load_detector))
        yield


@pytest.fixture(scope="module")
def scored(tmp_path_factory):
    """Three small sources scored with a training domain and views, and a new place."""
    folder = tmp_path_factory.mktemp("roads")
    for name in (*SOURCES, NEW):
        write_environment(folder / "worlds", name, 3, 0)
    (folder / "task.py").write_text(TASK.format(names=SOURCES))
    sizes = ["--n-sets", "1", "--n-images", "2", "--repeats", "1"]
    sizes += ["--method", "fd", "das_prototypes"]
    task = ["--task", str(folder / "task.py"), "--domain-source", "day_street"]
    fit = [
        *DETECTOR,
        *task,
        *sizes,
        "--views",
        "--das",
        "--work-dir",
        str(folder / "work"),
    ]
    new = ["--images", str(folder / "worlds" / NEW / "images")]
    assert main([*fit, *new]) == 0
    return folder, [*fit, *new]


@pytest.fixture(scope="module")
def roads(scored):
    return scored[0]


def again(roads, *words, estimator="estimator", folder="again"):
    """Estimate on the new place with the saved estimator."""
    saved = ["--estimator", str(roads / "work" / f"{estimator}.parquet")]
    images = ["--images", str(roads / "worlds" / NEW / "images")]
    return main([*DETECTOR, *saved, *images, "--work-dir", str(roads / folder), *words])


def test_both_add_their_scores(roads):
    table = pd.read_parquet(roads / "work" / "scores.parquet")
    assert table[["fd", "atc_source", "view_consistency"]].notna().all(axis=None)
    own = table[(table["source"] == "day_street") & (table["kind"] == "seed")]
    assert own["fd"].iloc[0] == pytest.approx(0, abs=1e-6)  # the domain against itself
    assert (table.drop(own.index)["fd"] > 0.01).all()
    assert (table["das_flatness"] >= -1).all()
    assert (table.drop(own.index)["das_prototypes"] > 0).all()
    assert table["view_consistency"].between(-1, 1).all() and table["ccs"].between(0, 1).all()


def test_a_run_that_goes_on_does_not_observe_the_domain_again(scored, capsys):
    folder, words = scored
    (kept,) = (folder / "work" / "training_domain").iterdir()
    first = (folder / "work" / "estimator.parquet").read_bytes()
    assert main(words) == 0
    assert "training domain" not in capsys.readouterr().err
    assert (folder / "work" / "estimator.parquet").read_bytes() == first
    kept.write_bytes(kept.read_bytes()[:100])
    assert main(words) == 0
    assert "observing the training domain: 3 images" in capsys.readouterr().err


def test_a_saved_estimator_takes_the_domain_again_and_no_other(roads, capsys):
    task = ["--task", str(roads / "task.py")]
    assert again(roads, *task, "--domain-source", "day_street") == 0
    first = json.loads((roads / "work" / "result.json").read_text())["estimate"]
    assert json.loads(capsys.readouterr().out)["estimate"] == first
    for words, message in {
        (): "training domain",
        (*task, "--domain-source", "overpass"): "pass.domain",
        (
            *task,
            "--domain-source",
            "nowhere",
        ): "Expected --domain-source to name a seed set of task roads",
    }.items():
        assert again(roads, *words) == 2
        assert message in capsys.readouterr().err


def test_the_domain_has_the_prototypes_that_a_saved_estimator_reads(roads, capsys):
    """Where no run has kept it, too."""
    task = ["--task", str(roads / "task.py"), "--domain-source", "day_street"]
    shutil.copytree(roads / "work" / "training_domain", roads / "kept" / "training_domain")
    values = []
    for folder in ("kept", "prototypes"):
        assert again(roads, *task, estimator="estimator_das_prototypes", folder=folder) == 0
        values.append(json.loads(capsys.readouterr().out)["estimate"]["value"])
    assert values[0] == pytest.approx(values[1], abs=1e-9)


def test_the_domain_is_observed_by_the_detector_that_is_named(roads, monkeypatch):
    """And not by the one that the fit remembers, which may be gone from where it was."""

    def gone(estimator):
        raise AssertionError

    monkeypatch.setattr(PublishedEstimator, "load_detector", gone)
    task = ["--task", str(roads / "task.py"), "--domain-source", "day_street"]
    assert again(roads, *task, folder="named") == 0


def test_the_default_method_goes_first_beside_one_of_the_domain(roads, tmp_path, capsys):
    """Bayes has no use for the domain, which the other method is fitted with."""
    for name in SOURCES:
        write_environment(tmp_path / "worlds", name, 6, 0)
    (tmp_path / "task.py").write_text(TASK.format(names=SOURCES))
    task = ["--task", str(tmp_path / "task.py"), "--domain-source", "day_street"]
    sizes = ["--n-sets", "1", "--n-images", "2", "--preset", "light", "--method", "bayes", "fd"]
    new = ["--images", str(roads / "worlds" / NEW / "images")]
    assert main([*DETECTOR, *task, *sizes, *new, "--work-dir", str(tmp_path / "work")]) == 0
    assert 0 <= json.loads(capsys.readouterr().out)["estimate"]["value"] <= 1


@pytest.fixture(scope="module")
def domain_kept(roads, tmp_path_factory):
    """A work dir with the training domain, in which the same sample sets are scored once."""
    work = tmp_path_factory.mktemp("kept") / "work"
    shutil.copytree(roads / "work" / "training_domain", work / "training_domain")
    return work


@pytest.mark.parametrize("methods", [["atc"], ["atc", "fd"]])
def test_a_domain_is_taken_whichever_method_reads_it(roads, domain_kept, methods, capsys):
    """It adds columns to scores.parquet where none does; the estimate was refused after the fit."""
    task = ["--task", str(roads / "task.py"), "--domain-source", "day_street"]
    sizes = ["--n-sets", "2", "--n-images", "2", "--repeats", "1", "--method", *methods]
    new = ["--images", str(roads / "worlds" / NEW / "images")]
    assert main([*DETECTOR, *task, *sizes, *new, "--work-dir", str(domain_kept)]) == 0
    result = json.loads(capsys.readouterr().out)
    assert 0 <= result["estimate"]["value"] <= 1
    assert list(result["by_method"]) == methods[1:]
