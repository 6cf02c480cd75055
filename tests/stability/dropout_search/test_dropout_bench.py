"""The search on a world of rectangles: exact, resumable, and as cheap as it says."""

import numpy as np
import pandas as pd
import pytest
from rectangles import rectangle_task
from shaken_rectangles import ShakenRectangles, make_bench

from autoeval.errors import InputError
from autoeval.runtime.store import RowStore
from autoeval.stability.dropout_search.search import full, grid, halving, search_dropout
from autoeval.stability.dropout_search.trial import Trial
from autoeval.stability.fitting.meta_set import score_meta_set
from autoeval.stability.network.forward.dropout_spec import DropoutSpec
from autoeval.stability.scores.box_stability import box_stability


class Interrupted(BaseException):
    """Raised where a person would press Ctrl-C."""


class Counting(ShakenRectangles):
    """Counts what it is shown, and stops after some images."""

    stop = None

    def __init__(self):
        super().__init__()
        self.shown = []

    def observe_each(self, images, image_ids, dropouts, **options):
        if self.stop is not None and len(self.shown) >= self.stop:
            raise Interrupted
        self.shown += [(name, spec) for name in image_ids for spec in dropouts]
        return super().observe_each(images, image_ids, dropouts, **options)


def test_scores_and_map_are_those_of_the_pass(boxes_task, tmp_path, few_specs):
    """mAP against the pass of estimate-map, box stability against its formula."""
    bench = make_bench(boxes_task, tmp_path / "a", n_sets=1, specs=few_specs)
    Trial(bench).measure(few_specs)
    recipes = [job.payload.recipe for job in bench.sample_sets]
    sets, store = boxes_task.load_seed_sets(), RowStore(tmp_path / "b")
    table, _ = score_meta_set(bench.observer, sets, recipes, store=store)
    assert np.array_equal(bench.accuracy, table["mAP"].to_numpy())
    sample = bench.sample_sets[3].payload[2]
    each = bench.observer.detector.observe_each([sample.image], [sample.image_id], few_specs)[0]
    expected = [box_stability(e.clean, e.perturbed[0]) for e in each.values()]
    assert bench.sums[3, 2] == pytest.approx(expected)


def test_halving_without_elimination_equals_full(boxes_task, tmp_path, few_specs):
    benches = (make_bench(boxes_task, tmp_path / n, n_sets=1, specs=few_specs) for n in "ab")
    whole, parts = map(Trial, benches)
    one, other = full(whole), halving(parts, confidence=1, keep=1)
    assert (one.best, one.r2) == (other.best, other.r2)
    assert whole.found == parts.found
    assert np.array_equal(whole.bench.sums, parts.bench.sums)


def test_a_share_of_the_images_is_a_random_part_of_them(boxes_task, tmp_path, few_specs):
    """Recipes list images in the order of their files, such as those of a first sequence first.

    Standard errors of halving are those of images drawn without replacement.
    """
    bench = make_bench(boxes_task, tmp_path, n_sets=10, specs=few_specs)
    trial = Trial(bench)
    trial.measure(few_specs[:1], 0.5)
    seen = bench.counts[..., 0] > 0
    assert bench.sizes.tolist() == [6] * 40 and (seen.sum(1) == 3).all()
    assert (abs(seen.mean(0) - 0.5) < 3 * np.sqrt(0.25 / 40)).all()  # of each image in its set
    trial.measure(few_specs[:1], 4 / 6)
    again = bench.counts[..., 0] > 0
    assert (again.sum(1) == 4).all() and (again & seen == seen).all()


def test_a_stage_that_the_backbone_lacks_is_not_executed(boxes_task, tmp_path, monkeypatch):
    bench = make_bench(boxes_task, tmp_path, n_sets=1, n_images=1)
    costs = (0.2, 0.2, 0.2, 0.2, 0.0, 0.2)
    monkeypatch.setattr(type(bench.observer.detector), "part_costs", lambda *_: costs)
    (result,) = search_dropout(bench, ["full"])
    assert result.executions[4] == 0 < result.executions[3]
    assert result.summary["executions"] == result.executions.sum()
    assert result.summary["naive"] == 285 * 2 * 5 * bench.sizes.sum()
    assert result.summary["share"] == pytest.approx(result.summary["share_weighted"])


def test_work_of_full_by_hand(boxes_task, tmp_path):
    """Clean once and 494 executions for 285 dropouts: 500 for each image."""
    bench = make_bench(boxes_task, tmp_path, n_sets=1, n_images=1)
    (result,) = search_dropout(bench, ["full"])
    assert result.executions.sum() == 500 * bench.sizes.sum()
    assert result.summary["naive"] == 285 * 2 * 6 * bench.sizes.sum()


def test_a_later_strategy_takes_over_what_is_known(boxes_task, tmp_path):
    detector, specs = Counting(), grid()[::15]
    bench = make_bench(boxes_task, tmp_path, detector=detector, specs=specs, n_sets=1)
    search_dropout(bench, ["full"])
    shown = len(detector.shown)
    (again,) = search_dropout(bench, ["halving"])
    assert len(detector.shown) == shown == len(specs) * bench.sizes.sum()
    alone_bench = make_bench(boxes_task, tmp_path / "alone", specs=specs, n_sets=1)
    (alone,) = search_dropout(alone_bench, ["halving"])
    assert again.executions.tolist() == alone.executions.tolist()
    pd.testing.assert_frame_equal(again.table, alone.table)


@pytest.mark.parametrize("strategy", ["full", "halving", "greedy"])
def test_an_interrupted_search_goes_on(boxes_task, tmp_path, strategy):
    detector, whole_detector, specs = Counting(), Counting(), grid()[::15]

    def bench_of(name, shown):
        return make_bench(boxes_task, tmp_path / name, detector=shown, specs=specs, n_sets=1)

    detector.stop = 100
    with pytest.raises(Interrupted):
        search_dropout(bench_of("cut", detector), [strategy, "full"])
    detector.stop = None
    resumed = search_dropout(bench_of("cut", detector), [strategy])
    bench = bench_of("whole", whole_detector)
    whole = search_dropout(bench, [strategy])
    assert resumed[0].choice == whole[0].choice
    pd.testing.assert_frame_equal(resumed[0].table, whole[0].table)
    assert resumed[0].executions.tolist() == whole[0].executions.tolist()
    lost = len(detector.shown) - len(whole_detector.shown)
    assert 0 <= lost <= bench.sizes[0] * len(specs)  # no more than the job in flight


def test_unreadable_images_and_failed_sets_are_named(tmp_path, few_specs):
    task = rectangle_task(tmp_path / "world")
    (tmp_path / "world" / "w1" / "images" / "3.png").write_bytes(b"no image")

    class Fragile(ShakenRectangles):
        def observe_each(self, images, image_ids, dropouts, **options):
            if images[0][..., 0].max() < 165:  # the darkest world
                raise RuntimeError("out of memory")
            return super().observe_each(images, image_ids, dropouts, **options)

    bench = make_bench(task, tmp_path / "rows", detector=Fragile(), n_sets=1, specs=few_specs)
    search_dropout(bench, ["full"])
    assert bench.usable().tolist() == [0, 1, 2]
    text = "\n".join(bench.warnings)
    assert "3.png" in text and "of w3 was left out" in text and "out of memory" in text
    lost = [warning for warning in bench.warnings if "could not be read" in warning]
    assert len(lost) == 1 and lost[0].startswith("7 images ")  # six of w3, and 3.png
    assert (bench.counts[1].sum(0) == 5).all() and (bench.counts[0].sum(0) == 6).all()


def test_boxes_blown_out_of_bounds_count_as_lost(boxes_task, tmp_path):
    class Exploding(ShakenRectangles):
        def _shaken(self, image, evidence, spec, repeats, seed):
            found = super()._shaken(image, evidence, spec, repeats, seed)
            if spec.rate == 0.95:
                for boxes in found.perturbed:
                    boxes.boxes[:] = np.inf
            return found

    specs = [DropoutSpec("after", (0,), rate) for rate in (0.1, 0.95)]
    bench = make_bench(boxes_task, tmp_path, detector=Exploding(), specs=specs, n_sets=1)
    (result,) = search_dropout(bench, ["full"])
    lost = result.table.set_index("rate")["undefined"]
    assert lost[0.95] == lost[0.1] == 0  # no box counts as stability 0 in every set
    r2 = result.table.set_index("rate")["r2"]
    assert r2[0.95] == 0 < r2[0.1]


def test_too_few_sample_sets(tmp_path, few_specs):
    task = rectangle_task(tmp_path / "world")
    for name in ("w1", "w2"):
        for path in (tmp_path / "world" / name / "images").iterdir():
            path.write_bytes(b"no image")
    bench = make_bench(task, tmp_path / "rows", n_sets=1, specs=few_specs)
    with pytest.raises(InputError, match=r"at least 3 sample sets with mAP, got 2 of 4"):
        search_dropout(bench, ["full"])


def test_unknown_strategy(boxes_task, tmp_path):
    with pytest.raises(InputError, match="among full, greedy, halving, got best"):
        search_dropout(make_bench(boxes_task, tmp_path), ["best"])


@pytest.mark.parametrize("score", ["bos_strict", "confidence_stability"])
def test_other_scores(boxes_task, tmp_path, score):
    options = {"specs": grid()[:5], "n_sets": 1, "score": score, "target": "mAP50"}
    (result,) = search_dropout(make_bench(boxes_task, tmp_path, **options), ["full"])
    assert result.table["share"].eq(1).all()
