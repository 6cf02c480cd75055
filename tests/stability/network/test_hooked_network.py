"""Feature dropout in a network of another framework, by hooks at modules that are named."""

import copy
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

from autoeval.detectors.black_box import BlackBoxDetector
from autoeval.errors import InputError
from autoeval.estimation.observation.detector_identity import TravellingObserver
from autoeval.estimation.observation.observing import Observer
from autoeval.io.tasks.seed_set import Sample
from autoeval.io.tasks.task import Task
from autoeval.model.pair_table import SAMPLE
from autoeval.runtime.jobs import Job
from autoeval.runtime.store import RowStore
from autoeval.stability.dropout_search.search import (
    expected_work,
    grid,
    search_dropout,
    stages_of,
)
from autoeval.stability.dropout_search.trial import PARTS
from autoeval.stability.dropout_search.workbench import Workbench
from autoeval.stability.network.forward.dropout import drop_elements, sample_seed
from autoeval.stability.network.forward.dropout_spec import DropoutSpec
from autoeval.stability.network.forward.stages import hook_points
from autoeval.stability.passes.presets import as_perturbable, preset

IMAGE = np.full((8, 8, 3), 60, np.uint8)


class Network(nn.Module):
    """Two stages that double their input; the score of its one box is the mean of what is left."""

    def __init__(self):
        super().__init__()
        self.body = nn.ModuleDict({"layer1": nn.Identity(), "layer2": nn.Identity()})
        self.neck = nn.ModuleDict({"layer2": nn.Identity()})

    def forward(self, x):
        return self.neck["layer2"](self.body["layer2"](2 * self.body["layer1"](2 * x)))


def made():
    network = Network()

    def find(images):
        pixels = torch.from_numpy(np.stack(images)).permute(0, 3, 1, 2) / 255
        scores = (network(pixels) / 4).mean((1, 2, 3)).clamp(0, 1)
        return [[[0, 0, 4, 4]]] * len(images), [[s] for s in scores.tolist()], [[0]] * len(images)

    settings = {"framework": "made"}
    return BlackBoxDetector(find, ["car"], settings=settings, network=network)


def test_a_worker_loads_a_detector_with_the_stages_that_are_named():
    settings = replace(preset("paper", repeats=1), stages=("layer1", "body.layer2"))
    observer = Observer(made(), Task("t", ("car",), ()), settings)
    arrived = copy.copy(TravellingObserver(observer, load=made))  # as it is sent: unloaded
    arrived.prepare()
    assert arrived.observer is not observer
    assert arrived.observer.detector.settings == observer.detector.settings
    assert observer.detector.settings["dropout_stages"] == ["layer1", "body.layer2"]
    other = TravellingObserver(
        observer, load=lambda: BlackBoxDetector(str, ["car"], network=Network())
    )
    with pytest.raises(InputError, match=f"where this run is of {observer.detector.fingerprint}"):
        copy.copy(other).prepare()


def test_features_are_dropped_at_the_stages_that_are_named():
    """Worked out with the masks themselves: each stage's output, after the dropout before it."""
    detector = as_perturbable(made(), ("layer1", "body.layer2"))
    spec = DropoutSpec("after", (0, 1), 0.25)
    (seen,) = detector.observe([IMAGE], ["a"], dropout=spec, repeats=2, seed=3)
    x = torch.full((1, 3, 8, 8), 60 / 255)
    for repeat, found in enumerate(seen.perturbed):
        seeds = [sample_seed(3, "a", repeat)]
        first = drop_elements(2 * x, 0.25, seeds, 0)
        second = drop_elements(2 * first, 0.25, seeds, 1)
        assert found.scores[0] == pytest.approx(float((second / 4).mean()), abs=1e-6)
    assert seen.clean.scores[0] == pytest.approx(60 / 255)
    assert len({float(found.scores[0]) for found in seen.perturbed}) == 2


def test_each_part_of_a_pass_costs_alike():
    """A search counts what it executes by part: stem, four stages, neck and head."""
    costs = as_perturbable(made(), ["layer1"]).part_costs(IMAGE)
    assert costs == pytest.approx([1 / len(PARTS)] * len(PARTS))


def test_masks_depend_on_the_image_and_not_on_its_neighbours():
    detector = as_perturbable(made(), ["layer1"])
    options = {"dropout": DropoutSpec("after", (0,), 0.5), "repeats": 1}
    together = detector.observe([IMAGE, IMAGE], ["a", "b"], **options)
    (alone,) = detector.observe([IMAGE], ["b"], **options)
    scores = [float(seen.perturbed[0].scores[0]) for seen in (*together, alone)]
    assert scores[1] == scores[2] != scores[0]


def test_nothing_of_the_hooks_stays():
    detector = as_perturbable(made(), ["layer1"])
    detector.observe([IMAGE], ["a"], dropout=DropoutSpec("after", (0,), 0.5), repeats=1)
    (again,) = detector.observe([IMAGE], ["a"])
    assert again.clean.scores[0] == pytest.approx(60 / 255)
    assert again.perturbed == () and not detector.network.body["layer1"]._forward_hooks


def test_several_dropouts_share_the_clean_pass():
    detector = as_perturbable(made(), ["layer1"])
    low, high = (DropoutSpec("after", (0,), rate) for rate in (0.1, 0.9))
    (each,) = detector.observe_each([IMAGE], ["a"], [low, high], seed=1)
    for spec in (low, high):
        (alone,) = detector.observe([IMAGE], ["a"], dropout=spec, repeats=1, seed=1)
        np.testing.assert_array_equal(each[spec].perturbed[0].scores, alone.perturbed[0].scores)


def test_stages_are_settings_of_the_detector():
    plain, named = made(), as_perturbable(made(), ["layer1"])
    assert named.settings == {**plain.settings, "dropout_stages": ["layer1"]}
    assert as_perturbable(named, ["layer1"]) is named and as_perturbable(named) is named
    assert as_perturbable(named, ["body.layer2"]).stages == ("body.layer2",)


@pytest.mark.parametrize(
    ("names", "told"),
    [
        (["layer2"], r"'layer2' fits 2: body\.layer2, neck\.layer2"),
        (["layer9"], "'layer9' fits 0: .*layer1"),
        (["layer1"] * 5, "one to 4 stages but got 5"),
        (["layer1", "body.layer1"], "'body.layer1' is there twice"),
    ],
)
def test_names_that_fit_no_module_or_several(names, told):
    with pytest.raises(InputError, match=told):
        hook_points(Network(), names)


def searched(detector, folder):
    """The bench of a search at as many stages as the detector has."""
    observer = Observer(detector, Task("made", ("car",), ()), preset("paper", repeats=1))
    specs = grid(rates=[0.15, 0.5], n_stages=stages_of(observer.detector))
    samples = [(f"{k}", np.full((8, 8, 3), 40 + 30 * k, np.uint8)) for k in range(3)]
    return Workbench(observer, [set_of(*sample) for sample in samples], specs, RowStore(folder))


def set_of(name, image):
    """A sample set of one image; what is found on a dark one is wrong."""
    box = [[0, 0, 4, 4]] if image[0, 0, 0] > 60 else [[4, 4, 8, 8]]
    labelled = Sample(name, image, np.array(box, float), np.zeros(1, np.int64), np.zeros(1, bool))
    return Job(name, 1, [labelled], {"source": name, "sample_set": name, "kind": SAMPLE})


def test_a_search_chooses_among_the_stages_that_are_named(tmp_path):
    (result,) = search_dropout(
        searched(as_perturbable(made(), ["layer1", "body.layer2"]), tmp_path), ["greedy"]
    )
    assert set(result.table["stages"]) == {"0", "1", "0,1"}
    assert (
        expected_work(searched(as_perturbable(made(), ["layer1"]), tmp_path / "b"), "greedy")[0] > 0
    )


def test_a_search_needs_to_know_the_stages(tmp_path):
    with pytest.raises(InputError, match=r"features can be dropped but got .*--stages NAME"):
        searched(as_perturbable(made()), tmp_path)
    function = BlackBoxDetector(lambda images: ([], [], []), ["car"], name="answers")
    with pytest.raises(InputError, match=r"got answers: a black box has no features"):
        searched(as_perturbable(function), tmp_path)


def test_what_has_no_network_or_no_stages():
    function = BlackBoxDetector(lambda images: ([], [], []), ["car"])
    with pytest.raises(InputError, match="there is none to see"):
        as_perturbable(function, ["layer1"])
    with pytest.raises(InputError, match="name them, in the order they run: --stages"):
        as_perturbable(made()).observe([IMAGE], ["a"], dropout=DropoutSpec(), repeats=1)
