"""A search for each group of sources, on the sample sets of all other groups."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from rectangles import rectangle_task
from score_tables import score_table
from shaken_rectangles import ShakenRectangles, make_bench

from autoeval.errors import InputError
from autoeval.estimation.observation.kept_observer import Keeping
from autoeval.estimation.observation.observing import Observer
from autoeval.runtime.store import RowStore
from autoeval.stability.dropout_search.search import (
    grid,
    nested_search,
    nested_tables,
    search_dropout,
)
from autoeval.stability.dropout_search.workbench import Workbench
from autoeval.stability.fitting.meta_set import sample_set_jobs
from autoeval.stability.metasets import MetaSetConfig, own_images
from autoeval.stability.methods.leave_one_out import leave_one_source_out
from autoeval.stability.passes.presets import preset

SPECS = grid(rates=(0.3,))
META_SET = MetaSetConfig(transforms=("Rotate",), n_sets=1, n_images=2, n_transforms=1)


class Counting(ShakenRectangles):
    """Counts which image it is shown under which dropout; the darkest world favours stage 0."""

    def __init__(self):
        super().__init__()
        self.shown = Counter()

    def observe_each(self, images, image_ids, dropouts, **options):
        for image in images:
            self.shown.update((image.tobytes(), spec) for spec in dropouts)
        return super().observe_each(images, image_ids, dropouts, **options)

    def _shaken(self, image, evidence, spec, repeats, seed):
        if image[..., 0].max() < 175 and 0 not in spec.stages:
            spec = replace(spec, rate=0.95)
        return super()._shaken(image, evidence, spec, repeats, seed)


@pytest.fixture(scope="module")
def task(tmp_path_factory):
    return rectangle_task(tmp_path_factory.mktemp("worlds"))


def without(task, *names):
    return replace(task, seed_sets=tuple(s for s in task.seed_sets if s.name not in names))


def test_each_choice_is_that_of_a_search_without_the_source(task, tmp_path):
    detector = Counting()
    bench = make_bench(task, tmp_path / "all", detector=detector, specs=SPECS)
    choices = nested_search(bench, {})
    assert list(choices) == ["w0", "w1", "w2", "w3"]
    for name, choice in choices.items():
        others = without(task, name)
        alone = make_bench(others, tmp_path / name, detector=Counting(), specs=SPECS)
        (expected,) = search_dropout(alone, ["greedy"])
        assert choice == expected.choice
    assert len({choice.best for choice in choices.values()}) > 1  # or it would show nothing
    assert max(detector.shown.values()) == 1  # no search repeats what another has measured


def test_sources_of_a_group_are_left_out_together(task, tmp_path):
    bench = make_bench(task, tmp_path / "all", detector=Counting(), specs=SPECS)
    choices = nested_search(bench, {"w2": "dark", "w3": "dark"})
    assert list(choices) == ["w0", "w1", "dark"]
    rest = make_bench(
        without(task, "w2", "w3"), tmp_path / "rest", detector=Counting(), specs=SPECS
    )
    assert choices["dark"] == search_dropout(rest, ["greedy"])[0].choice


def test_too_few_other_sample_sets(task, tmp_path):
    bench = make_bench(without(task, "w2", "w3"), tmp_path, n_sets=2, specs=SPECS)
    with pytest.raises(InputError, match="at least 3 sample sets with mAP, got 2 of 2"):
        nested_search(bench, {})


def test_tables_under_the_dropout_of_each_group(task, tmp_path):
    """The estimate of a source is that of its own fold: a table by another dropout is not read."""
    observer = Observer(Counting(), task, preset("paper", repeats=1))
    nested = nested_tables(
        observer, task.load_seed_sets(), Keeping(tmp_path), meta_set=META_SET, rates=(0.3,)
    )
    assert nested.tables.keys() == nested.choices.keys() == {"w0", "w1", "w2", "w3"}
    assert len(nested.lines()) == 4 and "without w0: stages" in nested.lines()[0]
    for table in nested.tables.values():
        assert set(table["source"]) == {"w0", "w1", "w2", "w3"}


def test_a_fold_reads_its_own_table():
    """Line of group a: mAP = bos, of the others mAP = bos - .1: their estimates are .1 too low."""
    worlds = {"a": 0.3, "b": 0.5, "c": 0.6, "d": 0.8}
    exact = score_table(worlds, bos=lambda value, repeat, row: value)
    shifted = exact.copy()
    shifted.loc[shifted["kind"] == "seed", "bos"] -= 0.1
    by_group = dict.fromkeys("bcd", shifted) | {"a": exact}
    result = leave_one_source_out(shifted, "bos", by_group=by_group)
    errors = result.per_source.set_index("source")["error"]
    assert errors.to_numpy() == pytest.approx(np.array([0, 0.1, 0.1, 0.1]))
    assert result.correlation == {}


def test_own_images_have_no_part_in_a_choice(task, tmp_path):

    def bench_of(folder, *, own):
        bench = make_bench(task, tmp_path / folder, detector=Counting(), specs=SPECS)
        seed_sets = task.load_seed_sets() if own else []
        jobs = sample_set_jobs(bench.observer, seed_sets, [own_images(s) for s in seed_sets])
        sets = [*bench.sample_sets, *jobs]
        return Workbench(bench.observer, sets, SPECS, RowStore(tmp_path / folder))

    beside = bench_of("beside", own=True)
    assert nested_search(beside, {}) == nested_search(bench_of("without", own=False), {})
    own = np.array([job.columns["kind"] == "seed" for job in beside.sample_sets])
    assert own.sum() == 4 and not beside.counts[own].any()
