"""Several dropouts from one clean pass: boxes as of each alone, and shared stages run once."""

from collections import Counter
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from branching import SUBSETS, perturb, same

from autoeval.detectors import load_detector
from autoeval.detectors.predicting import Batch
from autoeval.stability.dropout_search.trial import PARTS
from autoeval.stability.network.forward.dropout_spec import DropoutSpec
from autoeval.stability.network.forward.passes import HookedPasses, part_costs
from autoeval.stability.network.forward.stages import chain_of_modules
from autoeval.stability.passes.presets import as_perturbable


@pytest.fixture(scope="module")
def detector():
    """The detector of the demo, which sees images as small as they are."""
    size = {"test_dataloader.dataset.pipeline.1.scale": (96, 64)}
    return as_perturbable(load_detector("roadworld_nano", cfg_options=size))


@pytest.fixture(scope="module")
def images():
    return [np.random.default_rng(k).integers(0, 255, (64, 96, 3), np.uint8) for k in (0, 1)]


def assert_as_alone(detector, images, specs, repeats):
    names = ["a", "b"][: len(images)]
    together = detector.observe_each(images, names, specs, repeats=repeats, seed=4)
    for spec in specs:
        alone = detector.observe(images, names, dropout=spec, repeats=repeats, seed=4)
        for one, each in zip(alone, together, strict=True):
            assert same(one.clean, each[spec].clean), spec
            assert all(map(same, one.perturbed, each[spec].perturbed)), spec


@pytest.mark.parametrize("position", ["after", "before"])
def test_each_dropout_sees_what_it_sees_alone(detector, images, position):
    """To the last bit, for every subset of stages, and for two rates side by side."""
    specs = [DropoutSpec(position, stages, 0.5) for stages in SUBSETS]
    specs += [DropoutSpec(position, stages, 0.1) for stages in SUBSETS[:3]]
    assert_as_alone(detector, images[:1], specs, repeats=1)


def test_several_images_and_repeats(detector, images):
    specs = [DropoutSpec("after", stages, 0.4) for stages in ((1,), (1, 2))]
    assert_as_alone(detector, images, specs, repeats=2)


@pytest.mark.parametrize("after", [(2,), (1, 2)])
def test_positions_mix(detector, images, after):
    """Also where both begin at one layer, and the draws of a stage have one shape for each."""
    specs = [DropoutSpec("before", (2,), 0.3), DropoutSpec("after", after, 0.3)]
    (both,) = detector.observe_each(images[:1], ["a"], specs, seed=4)
    for spec in specs:
        (alone,) = detector.observe(images[:1], ["a"], dropout=spec, repeats=1, seed=4)
        assert same(alone.perturbed[0], both[spec].perturbed[0])


def test_a_backbone_that_is_not_split_gives_the_same(detector, images, monkeypatch):
    specs = [DropoutSpec("after", stages, 0.3) for stages in ((0,), (0, 1), (3,))]
    (split,) = detector.observe_each(images[:1], ["a"], specs)
    hooked = HookedPasses(detector.model, detector._passes.staged.points)
    monkeypatch.setattr(detector, "_passes", hooked)
    (whole,) = detector.observe_each(images[:1], ["a"], specs)
    for spec in specs:
        assert same(split[spec].perturbed[0], whole[spec].perturbed[0])


def test_rates_are_nested(detector, images):
    """Common random numbers: what a low rate drops, a higher one drops, too."""
    staged, seen = detector._passes.staged, {}
    x = torch.rand(1, 3, 64, 96) + 1
    assert staged.outputs[3] == len(staged.layers) - 1
    for rate in (0.2, 0.5):
        clean, dropped = perturb(staged, x, DropoutSpec("after", (3,), rate), [7])
        seen[rate] = (dropped[-1] == 0) & (clean[-1] != 0)
    assert not (seen[0.2] & ~seen[0.5]).any()
    assert seen[0.5].sum() > seen[0.2].sum() > 0


def test_shared_stages_run_once(detector, images):
    """By hand, for three dropouts of one rate: [0], [0, 1] and [2]."""
    specs = [DropoutSpec("after", stages, 0.3) for stages in ((0,), (0, 1), (2,))]
    runs, handles = Counter(), []
    modules = [*detector._passes.staged.points.exits, detector.model.bbox_head]
    for name, module in zip(["0", "1", "2", "3", "head"], modules, strict=True):
        handles.append(module.register_forward_hook(lambda *_, name=name: runs.update([name])))
    detector.observe_each(images[:1], ["a"], specs)
    for handle in handles:
        handle.remove()
    # stage 1: clean and behind [0]; stage 2: also behind [0, 1]; stage 3: also behind [2]
    assert runs == {"0": 1, "1": 2, "2": 3, "3": 4, "head": 4}


@pytest.mark.parametrize("dropouts", [[], [DropoutSpec(), DropoutSpec()]])
def test_needs_different_dropouts(detector, images, dropouts):
    with pytest.raises(ValueError, match="different `dropouts`"):
        detector.observe_each(images[:1], ["a"], dropouts)


def test_costs_of_parts(detector, images):
    """By hand: the multiply-adds of the stem's convolution, among those of the whole network."""
    from torch.utils.flop_counter import FlopCounterMode

    costs = detector.part_costs(images[0])
    with FlopCounterMode(display=False) as counter:
        detector.observe(images[:1], ["a"])
    stem = detector.model.backbone.stem.conv.conv
    shape = detector._preprocess(images[0])["inputs"].shape
    outputs = shape[1] // 2 * (shape[2] // 2) * stem.out_channels
    by_hand = 2 * outputs * stem.in_channels * stem.kernel_size[0] * stem.kernel_size[1]
    assert len(costs) == 6 and sum(costs) == pytest.approx(1) and min(costs) > 0
    assert costs[0] == pytest.approx(by_hand / counter.get_total_flops())


@pytest.mark.parametrize(
    ("n_stages", "by_hand"),
    [(3, [1, 1, 1, 1, 0, 1]), (4, [1] * 6), (5, [1, 1, 1, 1, 1, 2])],
)
def test_costs_are_of_the_parts_that_a_search_counts(n_stages, by_hand):
    """Every layer costs the same; a fifth stage runs as often as neck and head."""
    layers = [torch.nn.Conv2d(3, 3, 1) for _ in range(n_stages + 2)]
    staged = chain_of_modules(layers[:1], [[layer] for layer in layers[1:-1]], [n_stages])
    passes = SimpleNamespace(staged=staged, finish=lambda batch, features: layers[-1](*features))
    costs = part_costs(passes, Batch(torch.zeros(1, 3, 8, 8), []))
    assert len(costs) == len(PARTS)
    assert costs == pytest.approx([n / sum(by_hand) for n in by_hand])
