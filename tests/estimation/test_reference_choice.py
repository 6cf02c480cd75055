"""Several reference detectors: the strongest on the labelled images is read, everywhere."""

import json

import pytest
from commands.predicted_world import write_world

import autoeval
from autoeval.cli import main
from autoeval.errors import InputError

FEW = {"n_images": 40, "n_categories": 3}
SKILLS = {"weak": 0.5, "worse": 0.3, "better": 0.98, "good": 0.8}


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """Labels and boxes of detectors of several skills, on labelled images and at a site."""
    folder = tmp_path_factory.mktemp("several")
    for name, seed in {"val": 0, "site": 1}.items():
        for detector, skill in SKILLS.items():
            (folder / detector).mkdir(exist_ok=True)
            write_world(folder / detector, name, seed=seed, skill=skill, **FEW)
    return folder


def boxes(world, name, *references):
    files = [world / of / f"{name}_predictions.json" for of in references]
    return autoeval.Predictions(world / f"weak/{name}_predictions.json", reference=files or None)


def fit(world, *references):
    return autoeval.fit(world / "weak/val_labels.json", boxes(world, "val", *references))


def test_the_strongest_is_read_and_named(world):
    several, alone = fit(world, "good", "better", "worse"), fit(world, "better")
    assert several.regression_.reference_weight_ == alone.regression_.reference_weight_ > 0
    (named,) = (of for of in several.fit_result_.warnings if "reference detectors" in of)
    assert "better/val_predictions.json; AP there" in named
    new = boxes(world, "site", "better")
    expected = alone.predict(new)
    assert several.predict(new).value == expected.value  # its boxes alone
    every = boxes(world, "site", "good", "better", "worse")  # those of all, in the same order
    assert several.predict(every).value == expected.value
    turned = several.predict(boxes(world, "site", "better", "good", "worse"))
    assert turned.value != expected.value  # the second is read


def test_other_numbers_of_references_than_the_fit_had_are_refused(world):
    both = boxes(world, "site", "good", "better")
    with pytest.raises(InputError, match="fitted with 3 reference detectors: give its boxes alone"):
        fit(world, "good", "better", "worse").predict(both)
    with pytest.raises(InputError, match="one reference detector or none"):
        fit(world, "better").predict(both)


def test_several_beside_a_detector_that_is_run_are_refused(world):
    run = autoeval.Detector("mine.py:detector", reference=["a.json", "b.json"])
    with pytest.raises(InputError, match="several are given by their boxes"):
        _ = run.loaded_reference


@pytest.mark.parametrize("twice", [False, True])
def test_the_option_takes_several_at_once_or_one_by_one(world, tmp_path, capsys, twice):
    files = [str(world / of / "val_predictions.json") for of in ("good", "better")]
    given = ["--reference", files[0], "--reference", files[1]] if twice else ["--reference", *files]
    words = ["fit", "--labels", str(world / "weak/val_labels.json"), "--predictions"]
    words += [str(world / "weak/val_predictions.json"), *given, "--work-dir", str(tmp_path)]
    words.append("--verbose")
    assert main(words) == 0
    printed = capsys.readouterr().out
    assert "2 reference detectors the strongest" in printed
    assert "--reference REFERENCE.json\n" in printed  # the next step: of the one that is read
    loaded = autoeval.AccuracyEstimator.load(tmp_path)
    assert loaded.context_["reference_chosen"] == {"number": 1, "of": 2}
    site = [str(world / of / "site_predictions.json") for of in ("weak", "good", "better")]
    words = ["estimate", "--estimator", str(tmp_path), "--predictions", site[0], "--json"]
    capsys.readouterr()
    assert main([*words, "--reference", *site[1:], "--work-dir", str(tmp_path / "e")]) == 0
    by_list = json.loads(capsys.readouterr().out)["estimate"]["value"]
    assert main([*words, "--reference", site[2], "--work-dir", str(tmp_path / "f")]) == 0
    assert json.loads(capsys.readouterr().out)["estimate"]["value"] == by_list
