"""What is searched, what it costs, and which of two equally good dropouts wins."""

from itertools import combinations

import numpy as np
import pytest

from autoeval.detectors import load_detector
from autoeval.stability.dropout_search.search import RATES, best_of, grid
from autoeval.stability.dropout_search.trial import executions, naive_executions
from autoeval.stability.network.forward.dropout_spec import DropoutSpec
from autoeval.stability.passes.presets import as_perturbable


def test_the_grid_of_the_paper():
    assert len(set(grid())) == 285
    assert RATES[0] == 0.05 and RATES[-1] == 0.95 and np.allclose(np.diff(RATES), 0.05)
    stages = list(dict.fromkeys(spec.stages for spec in grid()))
    assert len(stages) == 15 and stages[0] == (0,) and stages[-1] == (0, 1, 2, 3)
    assert {spec.position for spec in grid("before")} == {"before"}


def test_other_rates():
    assert len(grid("after", [0.3, 0.1, 0.3])) == 30
    assert set(grid("after", [0.15])) < set(grid())


@pytest.mark.parametrize(
    ("winner", "loser"),
    [
        # the first dropout comes later: less to run again
        (DropoutSpec("after", (3,), 0.5), DropoutSpec("after", (2,), 0.5)),
        (DropoutSpec("after", (2, 3), 0.5), DropoutSpec("after", (1,), 0.5)),
        # as late, but fewer stages
        (DropoutSpec("after", (1,), 0.5), DropoutSpec("after", (1, 2), 0.5)),
        # the same stages, lower rate
        (DropoutSpec("after", (1,), 0.1), DropoutSpec("after", (1,), 0.5)),
    ],
)
def test_ties_prefer_the_cheaper(winner, loser):
    for pair in ((winner, loser), (loser, winner)):
        assert best_of(pair, np.array([0.7, 0.7])) == winner
        behind = np.array([0.7 - 0.0009 * (spec == winner) for spec in pair])
        assert best_of(pair, behind) == winner
        far_behind = np.array([0.7 - 0.0011 * (spec == winner) for spec in pair])
        assert best_of(pair, far_behind) == loser


def test_work_of_all_by_hand():
    """After stage k, 2^k - 1 sets of earlier stages can be dropped, for each of 19 rates."""
    by_hand = [1, 1, 1 + 19 * 1, 1 + 19 * 3, 1 + 19 * 7, 1 + 19 * 15]
    assert executions(grid()).tolist() == by_hand
    # before stage k, the stage itself sees one more
    by_hand = [1, 1 + 19 * 1, 1 + 19 * 3, 1 + 19 * 7, 1 + 19 * 15, 1 + 19 * 15]
    assert executions(grid("before")).tolist() == by_hand


def test_work_of_repeats_and_of_whole_passes():
    specs = [DropoutSpec("after", (2,), 0.1), DropoutSpec("after", (2,), 0.2)]
    assert executions(specs, repeats=3).tolist() == [1, 1, 1, 1, 1 + 3 * 2, 1 + 3 * 2]
    assert executions(specs, repeats=3, splits_backbone=False).tolist() == [1 + 3 * 2] * 6
    assert naive_executions(2, repeats=3).tolist() == [2 + 3 * 2] * 6
    assert naive_executions(2, repeats=3, share_clean=True).tolist() == [1 + 3 * 2] * 6


@pytest.mark.parametrize("position", ["after", "before"])
def test_work_is_what_the_network_does(position):
    """Counted by hooks in a real detector, for ten dropouts of two rates."""
    detector = as_perturbable(load_detector("roadworld_nano"))
    subsets = [s for n in (1, 2, 3) for s in combinations(range(4), n)][::3]
    specs = [DropoutSpec(position, stages, rate) for stages in subsets for rate in (0.2, 0.4)]
    runs = [0] * 6
    backbone = detector.model.backbone
    stages = detector._passes.staged.points.exits
    for i, module in enumerate([backbone.stem, *stages, detector.model.bbox_head]):
        module.register_forward_hook(lambda *_, i=i: runs.__setitem__(i, runs[i] + 1))
    image = np.full((64, 64, 3), 99, np.uint8)
    detector.observe_each([image], ["a"], specs, repeats=2)
    assert runs == executions(specs, repeats=2).tolist()
