"""Several reference detectors: the strongest on the labelled images is read, everywhere."""

import pytest
from commands.predicted_world import write_world

import autoeval
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
