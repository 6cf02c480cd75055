"""Fits of one detector, joined without running it again."""

import json

import pytest
from brightness import BrightnessDetector, write_table
from predicted_world import write_world

import autoeval
from autoeval.cli import main
from autoeval.estimation.estimator import AccuracyEstimator


def fit_on_predictions(folder, name, *, seed):
    labels, predictions = write_world(folder, name, seed=seed, n_categories=4)
    files = ["--labels", str(labels), "--predictions", str(predictions)]
    assert main(["fit", *files, "--work-dir", str(folder / name)]) == 0
    return str(folder / name)


def join(*folders, to):
    return main(["fit", "--join", *map(str, folders), "--work-dir", str(to)])


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    """Two labelled tables, fitted by a command with a stand-in detector."""
    folder = tmp_path_factory.mktemp("tables")
    (folder / "weights.pth").touch()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(
            "autoeval.detectors.loading.load_detector", lambda *_, **__: BrightnessDetector()
        )
        for seed, (name, n_images) in enumerate((("one", 12), ("two", 13))):
            labels, images = write_table(folder / name, n_images=n_images, seed=seed)
            labels = labels.rename(labels.with_name(f"{name}.json"))
            of = ["--labels", str(labels), "--img-dir", f"{images}"]
            detector = ["--detector", "brightness", "--checkpoint", str(folder / "weights.pth")]
            assert main(["fit", *detector, *of, "--work-dir", str(folder / f"fit_{name}")]) == 0
        yield folder


@pytest.mark.rare
def test_joined_fits_remember_the_detector_and_estimate_any_category(tables, tmp_path):
    assert join(tables / "fit_one", tables / "fit_two", to=tmp_path / "all") == 0
    estimator = ["--estimator", str(tmp_path / "all/estimator.parquet")]
    saved = AccuracyEstimator.load(estimator[1])
    assert len(saved.table_) == 16 and set(saved.table_["source"]) == {"one", "two"}
    where = ["--category", "cup", "--work-dir", str(tmp_path / "new")]
    assert main(["estimate", "--images", str(tables / "one/images"), *estimator, *where]) == 0
    told = json.loads((tmp_path / "new/result.json").read_text())["estimate"]
    assert told["lower"] < told["value"] <= told["upper"]


@pytest.mark.rare
def test_what_does_not_go_together_is_refused(tables, tmp_path, capsys):
    one, two, to = tables / "fit_one", tables / "fit_two", tmp_path / "all"
    on_boxes = fit_on_predictions(tmp_path, "val", seed=0)
    other = BrightnessDetector()
    other.settings = {"score_thr": 0.5}
    labels, images = tables / "two/two.json", tables / "two/images"
    autoeval.fit(labels, other, img_dir=images).save(tmp_path / "other.parquet")
    again = tmp_path / "again"
    again.mkdir()
    AccuracyEstimator.load(one / "estimator.parquet").save(again / "estimator.parquet")
    capsys.readouterr()
    for folders, words in (
        ((one, on_boxes), "fits with a detector are not joined"),
        ((one, tmp_path / "other.parquet"), "score_thr"),
        ((one, again), "labelled set one is in more than one"),
        ((one, one), "twice"),
        ((one,), "two work dirs or more"),
        ((one, tmp_path / "absent"), "make one with `autoeval fit"),
    ):
        assert join(*folders, to=to) == 2
        assert words in capsys.readouterr().err
    assert main(["fit", "--join", str(one), str(two), "--labels", "x.json"]) == 2
    assert "--labels is for a fit" in capsys.readouterr().err
    assert main(["fit", "--labels", "x.json", "--task", "t.py"]) == 2
    assert "then join both (--join)" in capsys.readouterr().err
