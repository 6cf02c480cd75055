"""The test of two lines: own images and sample sets on one line, or each on its own."""

import numpy as np
import pandas as pd
import pytest

from autoeval.stability.fitting.fit_task import two_lines


def made_up(n_sources, gap, seed, *, n_sets=5):
    """Sources of any ease; own images are more stable and lie `gap` over the line."""
    rng = np.random.default_rng(seed)
    rows = []
    for source in range(n_sources):
        ease, stability = rng.normal(0, 0.06), rng.uniform(0.6, 0.9)
        for k in range(n_sets + 1):
            x = stability - (rng.uniform(0, 0.1) if k else 0)
            y = 1.2 * x - 0.5 + ease + rng.normal(0, 0.03) + (0 if k else gap)
            kind = "sample" if k else "seed"
            row = dict(source=f"s{source}", sample_set=k, kind=kind, repeat=0, bos=x, mAP=y)
            rows.append(row)
    return pd.DataFrame(rows)


@pytest.mark.parametrize("n_sources", [6, 9])
def test_one_line_is_seldom_taken_for_two(n_sources):
    """At the level of .01 more than four warnings of 80 have a probability of .001."""
    tests = [two_lines(made_up(n_sources, 0, seed), "bos") for seed in range(80)]
    assert sum(bool(test.warnings()) for test in tests) <= 4
    assert np.mean([test.gap for test in tests]) == pytest.approx(0, abs=0.01)


def test_two_lines_are_found_and_the_gap_with_them():
    tests = [two_lines(made_up(9, 0.15, seed), "bos") for seed in range(20)]
    assert sum(bool(test.warnings()) for test in tests) >= 18
    assert np.mean([test.gap for test in tests]) == pytest.approx(0.15, abs=0.01)
    (warning,) = tests[0].warnings()
    assert warning.code == "not-on-one-line"


def test_the_gap_of_points_without_noise_is_exact():
    """Sample sets on y = 2 x - 1, own images .1 above, sources shifted by anything."""
    rows = []
    for source in range(5):
        for k, x in enumerate([0.8 + 0.01 * source, 0.6, 0.7]):
            y = 2 * x - 1 + 0.05 * source**2 + (0 if k else 0.1)
            kind = "sample" if k else "seed"
            rows.append(dict(source=str(source), sample_set=k, kind=kind, repeat=0, bos=x, mAP=y))
    assert two_lines(pd.DataFrame(rows), "bos").gap == pytest.approx(0.1)


def test_a_group_counts_once_however_many_sources_it_has():
    """Law: each source twice, in one group, says no more than once."""
    table = made_up(7, 0.1, 0)
    twice = pd.concat([table, table.assign(source=table["source"] + "b")], ignore_index=True)
    once = two_lines(table, "bos")
    grouped = two_lines(twice.assign(group=twice["source"].str.removesuffix("b")), "bos")
    assert grouped.gap == pytest.approx(once.gap) and grouped.p_value == pytest.approx(once.p_value)
    assert two_lines(twice, "bos").p_value < once.p_value
    few = twice.assign(group=twice["source"].map(lambda name: int(name[1]) % 4))
    assert two_lines(few, "bos") is None


def test_few_sources_and_a_score_that_does_not_vary_are_not_tested():
    assert two_lines(made_up(4, 0.5, 0), "bos") is None
    assert two_lines(made_up(9, 0.5, 0).assign(bos=0.5), "bos") is None
    alone = made_up(9, 0.5, 0)
    assert two_lines(alone[alone["kind"] == "seed"], "bos") is None
