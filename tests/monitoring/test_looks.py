"""Tests of two samples against scipy, and their false alarms on dependent images."""

import numpy as np
import pytest
from scipy.stats import rankdata, ttest_ind
from scipy.stats import t as t_distribution

from autoeval.monitoring.box_change import AT, Change, ChangeModel, shipped_model
from autoeval.monitoring.looks import (
    RULE,
    TESTED,
    DriftRule,
    Scale,
    SiteLook,
    compare_images,
    compare_windows,
    look_at,
    p_of_evidence,
)


def test_few_images_are_compared_as_by_students_test():
    """Too few for blocks of two: each image is a unit."""
    rng = np.random.default_rng(0)
    before, after = rng.normal(0, 1, 14), rng.normal(0.5, 1, 12)
    expected = ttest_ind(after, before)
    found = compare_images(before, after)
    assert found.z == pytest.approx(expected.statistic)
    assert found.p_two_sided == pytest.approx(expected.pvalue)
    assert found.units == (14, 12)
    ends = expected.confidence_interval(0.9)
    assert found.half_width(0.9) == pytest.approx((ends.high - ends.low) / 2)


def test_windows_are_compared_with_the_variance_between_windows():
    """By hand: means 1, 2, 3 have the variance 1; a new one of 5 is 3 / sqrt(4 / 3) away."""
    windows = np.array([1.0, 2.0, 3.0])
    found = compare_windows(windows, np.array([5.0]), windows)
    assert found.z == pytest.approx(3 / np.sqrt(4 / 3)) and found.dof == 2


def test_nothing_varies_and_nothing_moves():
    assert compare_images(np.zeros(10), np.zeros(5)).p_two_sided == 1
    assert compare_images(np.zeros(10), np.ones(5)).p_two_sided == 0
    assert compare_images(np.zeros(10), np.ones(5), least=1e9).p_two_sided > 0.9


def test_one_image_after_many_is_compared_by_their_variance():
    """As the first of a new window: it makes no block of two, which was a traceback."""
    found = compare_images(np.tile([0.0, 1.0], 20), np.ones(1))
    assert found.value == 0.5 and found.units == (40, 1)
    assert found.error == pytest.approx(np.sqrt(10 / 39 * (1 / 40 + 1)))


def autocorrelated(rng, n, rho):
    series = np.empty(n)
    series[0] = rng.normal()
    for k in range(1, n):
        series[k] = rho * series[k - 1] + np.sqrt(1 - rho**2) * rng.normal()
    return series


def test_neighbouring_frames_do_not_count_as_so_many_images():
    """Student's test is wrong every other time where neighbours correlate by .9; blocks are not."""
    rng = np.random.default_rng(0)
    naive, blocks = [], []
    for _ in range(200):
        series = autocorrelated(rng, 400, 0.9)
        before, after = series[:200], series[200:]
        naive.append(ttest_ind(before, after).pvalue < 0.05)
        blocks.append(compare_images(before, after).p_two_sided < 0.05)
    assert np.mean(naive) > 0.4 and np.mean(blocks) < 0.16


def numbers(rng, n, n_boxes=4.0, score=0.7):
    """Made-up numbers of boxes of n images, of one category."""
    sure = rng.poisson(n_boxes, n).astype(float)
    p = np.clip(rng.normal(score, 0.1, n), 0.06, 0.99)
    columns = [np.sqrt(sure), p, np.where(sure > 0, p, 0.1), sure == 0, sure, -2 * sure]
    columns += [
        sure * p**2,
        sure * (p > 0.7),
        np.sqrt(2 * sure),
        np.sqrt(sure) * p,
        2 * sure,
        -4 * sure,
    ]
    return {"": np.stack(columns, axis=1)}


def looks(rng, n_looks, **later):
    """Look at a site again and again: 60 images of a baseline, then windows of 16."""
    baseline = [numbers(rng, 60)]
    windows = [numbers(rng, 16, **later) for _ in range(n_looks)]
    means = [{"": baseline[0][""].mean(axis=0)}]
    return [
        look_at(k + 1, baseline, windows[max(0, k - 7) : k + 1], means, None, np.nan, 0.9)
        for k in range(n_looks)
    ]


@pytest.mark.rare
def test_a_stable_site_seldom_raises_an_alarm_however_often_it_is_looked_at():
    rng = np.random.default_rng(0)
    ever = [any(look.changed(0.05) for look in looks(rng, 12)) for _ in range(40)]
    assert np.mean(ever) <= 0.05


@pytest.mark.rare
def test_a_stable_site_of_several_categories_seldom_raises_an_alarm():
    """Over all looks and categories together; images of a minute are alike."""
    rng = np.random.default_rng(0)
    ever = []
    for _ in range(30):
        made = [
            {name: numbers(rng, n)[""].repeat(2, axis=0) for name in ("", "car", "bus", "van")}
            for n in (40, *[10] * 6)
        ]
        means = [{name: values.mean(axis=0) for name, values in made[0].items()}]
        seen = [
            look_at(k, made[:1], made[1 : k + 1], means, None, np.nan, 0.9) for k in range(1, 7)
        ]
        ever.append(any(look.changed(0.05) for look in seen))
    assert np.mean(ever) <= 0.05


def test_scenes_that_are_longer_than_blocks_widen_the_error():
    """By hand: 2/10 + 2/10 of ten images on each side with the variance 2, and .1 times 2."""
    before = np.array([1.0, -1.0] * 5) * np.sqrt(2 * 18 / 20)
    found, wide = (compare_images(before, before + 1, scenes=share) for share in (0.0, 0.1))
    assert found.error == pytest.approx(np.sqrt(0.4)) and wide.error == pytest.approx(np.sqrt(0.6))


def test_the_shares_of_false_alarms_are_spent_on_falls_sums_and_categories():
    """By hand: two scales; .8 on falls, .5 on the sum, .6 on all categories together."""
    rule = DriftRule(on_falls=0.8, on_all=0.6, on_sum=0.5)
    of_sum, of_single = (0.004, 0.9), (0.5, 0.0003)
    p = np.array([[of_sum, of_single], np.ones((2, 2))])
    assert p_of_evidence({"": p}, rule) == pytest.approx(2 * 0.0003 / (0.2 * 0.5))
    p[0, 1] = 0.5
    assert p_of_evidence({"": p}, rule) == pytest.approx(2 * 0.004 / (0.8 * 0.5))
    still = np.ones((2, 2, 2))
    several = {"": still, "car": p, "bus": still, "van": still}
    assert p_of_evidence(several, rule) == pytest.approx(3 * 2 * 0.004 / (0.8 * 0.5 * 0.4))
    assert p_of_evidence(several | {"": p}, rule) == pytest.approx(2 * 0.004 / (0.8 * 0.5 * 0.6))


def made(**columns):
    """Numbers of images: `columns`, all others 0."""
    values = np.zeros((len(next(iter(columns.values()))), len(AT)))
    for name, column in columns.items():
        values[:, AT[name]] = column
    return {"": values}


def test_a_sum_of_ranks_is_that_of_wilcoxon_for_one_number():
    """Values far apart have plain ranks; one number alone is tested by Student's test of these."""
    values = np.random.default_rng(0).permutation(28).astype(float)
    scale = Scale([made(best=values[:16])], [made(best=values[16:])], [])
    found = scale.compare_sum("", DriftRule(scenes=0.0, summed=("best",)))
    expected = ttest_ind(rankdata(values)[16:], rankdata(values)[:16])
    assert found.z == pytest.approx(expected.statistic) and found.units == (16, 12)
    # others that never vary count as if they did by the least, all at once
    less = scale.compare_sum("", DriftRule(scenes=0.0))
    assert np.sign(less.z) == np.sign(found.z) and abs(less.z) < abs(found.z)


def test_numbers_that_vary_together_count_once():
    """The weights of generalised least squares, by hand: two copies of one number, and another."""
    rng = np.random.default_rng(0)
    one, other = (rng.permutation(28).astype(float) for _ in range(2))
    names, ends = ("best", "score", "faint"), (slice(16), slice(16, 28))
    before, after = (made(best=one[k], score=one[k], faint=other[k]) for k in ends)
    scale = Scale([before], [after], [])
    found = scale.compare_sum("", DriftRule(scenes=0.0, summed=names, correlated=0.999))
    ranks = np.stack([rankdata(one), rankdata(other)])
    around = np.concatenate([ranks[:, k] - ranks[:, k].mean(axis=1)[:, None] for k in ends], axis=1)
    weights = np.linalg.solve(np.corrcoef(around), np.ones(2)) / around.std(axis=1)
    expected = ttest_ind(*((weights @ ranks)[k] for k in ends[::-1]))
    assert found.z == pytest.approx(expected.statistic, rel=0.01)


def test_the_sum_falls_where_the_boxes_that_are_left_are_larger():
    """By hand, by the logarithms of sides; images without a box say nothing of them."""
    rng = np.random.default_rng(2)
    n_boxes, size = rng.integers(0, 4, 28), rng.normal(-60, 10, 28)
    size[16:] += 20  # so far apart that ranks are plain
    before, after = (
        made(low=n_boxes[k], sides=(n_boxes * size)[k]) for k in (slice(16), slice(16, 28))
    )
    only = DriftRule(scenes=0.0, summed=("side",))
    usual = size[n_boxes > 0].mean()  # what images without a box count as
    ranks = rankdata(np.where(n_boxes > 0, size, usual))
    expected = ttest_ind(ranks[:16], ranks[16:])
    found = Scale([before], [after], []).compare_sum("", only)
    assert found.z == pytest.approx(expected.statistic, rel=0.01)


def test_a_look_says_by_how_much_the_boxes_are_larger():
    """The geometric mean of their sides: .1, then .2, of four boxes an image as before."""
    rng = np.random.default_rng(3)
    before, after = numbers(rng, 60), numbers(rng, 16)
    for part, side in ((before, 0.1), (after, 0.2)):
        part[""][:, AT["low"]] = 4
        spread = rng.normal(0, 0.05, len(part[""]))
        part[""][:, AT["sides"]] = 4 * (np.log(side) + spread - spread.mean())
    steady = [{"": before[""].mean(axis=0)}]
    found = look_at(1, [before], [after], steady, None, np.nan, 0.9)
    moved = {drift.name: drift for drift in found.drifts}
    assert (moved["side"].before, moved["side"].after) == pytest.approx((0.1, 0.2))
    assert moved["side"].p < 1e-6 < min(moved[name].p for name in ("boxes", "best", "score"))
    after[""][:, AT["low"]] = 0  # no box, no size
    found = look_at(1, [before], [after], steady, None, np.nan, 0.9)
    assert "side" not in [drift.name for drift in found.drifts]


def test_several_windows_are_compared_by_the_sum_of_their_means():
    """By hand: one number, five windows in the baseline and a later one that did not move."""
    rng = np.random.default_rng(0)
    windows = [made(best=rng.normal(0.6, 0.1, 8)) for _ in range(7)]
    means = [window[""].mean(axis=0) for window in windows]
    scale = Scale(windows[:5], windows[6:], [{"": mean} for mean in means[:6]])
    found = scale.compare_sum("", DriftRule(summed=("best",)))
    best = np.array([mean[AT["best"]] for mean in means])
    expected = compare_windows(best[:5], best[6:], best[:6])
    assert found.z == pytest.approx(expected.z) and found.dof == 5 and found.units == (5, 1)


def test_a_window_of_fewer_images_varies_more():
    """By hand: V / 5 of five windows of eight images, and V + s (1 / 2 - 1 / 8) of one of two."""
    rng = np.random.default_rng(0)
    windows = [made(best=rng.normal(0.6, 0.1, n)) for n in (8, 8, 8, 8, 8, 2, 50)]
    best = [window[""][:, AT["best"]] for window in windows]
    means = [{"": window[""].mean(axis=0)} for window in windows[:5]]
    between = np.var([part.mean() for part in best[:5]], ddof=1)
    within = np.mean([part.var(ddof=1) for part in best[:5]])
    weights = np.where(np.arange(len(AT)) == AT["best"], 1.0, 0.0)
    rule = DriftRule(summed=("best",))
    for later, fewer in ((windows[5], 1 / 2 - 1 / 8), (windows[6], 0)):
        scale = Scale(windows[:5], [later], means)
        expected = np.sqrt(between / 5 + between + within * fewer)
        value = later[""][:, AT["best"]].mean() - np.mean([part.mean() for part in best[:5]])
        single = scale.compare_each("", scale.least(""), 0.0)[list(TESTED).index("best")]
        assert (single.value, single.error) == pytest.approx((value, expected))
        assert scale.compare_sum("", rule).z == pytest.approx(single.z)
        assert scale.sampling_error(-weights, weights).error == pytest.approx(expected)


def test_a_window_without_a_box_shows_no_size():
    """By hand: it counts as the mean of the windows that show one, and not as boxes of side 1."""
    sides = np.log([0.1, 0.11, 0.09, 0.1, 0.12, 0.1])
    windows = [made(low=np.full(8, 2.0), sides=np.full(8, 2 * side)) for side in sides]
    means = [{"": window[""].mean(axis=0)} for window in windows]
    only = DriftRule(summed=("side",))
    found = Scale(windows, [made(low=np.zeros(8))], means).compare_sum("", only)
    assert found.value == pytest.approx(0, abs=1e-9) and found.dof == 5
    larger = Scale(windows, [made(low=np.full(8, 2.0), sides=np.zeros(8))], means)
    assert larger.compare_sum("", only).z < -10


def test_ranks_hardly_see_what_is_too_small_to_matter():
    """All scores of a scene in which nothing moves are lower by .001: no change."""
    still = np.full((30, len(AT)), 0.5)
    p = [
        look_at(1, [{"": still}], [{"": still[:16] - step}], [], None, np.nan, 0.9).p
        for step in (0.0, 0.001, 0.1)
    ]
    assert p[0] > 0.5 and p[1] > 0.3 and p[2] < 1e-6


def test_a_loss_of_most_boxes_is_seen_in_the_first_window():
    rng = np.random.default_rng(0)
    seen = [looks(rng, 1, n_boxes=1.2)[0].changed(0.05) for _ in range(50)]
    assert np.mean(seen) > 0.95


def test_a_small_change_is_seen_in_several_windows_together():
    rng = np.random.default_rng(0)
    found = [looks(rng, 8, score=0.64) for _ in range(30)]
    first = np.mean([some[0].changed(0.05) for some in found])
    middle = [np.median([some[k].p for some in found]) for k in (0, -1)]
    assert first < 0.5 and middle[1] < middle[0] / 2


def test_a_small_fall_is_known_as_one_over_several_windows_together():
    """The interval of one window reaches over 0; that of four, with the same mean, does not."""
    changes = (Change(-0.1, -0.25, 0.05), Change(-0.1, -0.2, 0.01), Change(-0.1, -0.19, -0.01))
    look = SiteLook(3, changes, 1e-6, (9, 1), "windows")
    assert look.change == changes[0] and look.fall == (4, changes[2]) and look.fell(0.05)
    assert SiteLook.from_dict(look.to_dict()) == look
    latest_alone = SiteLook(3, changes[:2], 1e-6, (9, 1), "windows")
    assert latest_alone.fall is None and not latest_alone.fell(0.05)
    by_chance = SiteLook(3, changes, 0.5, (9, 1), "windows")
    assert not by_chance.fell(0.05)


def test_slow_falls_are_told_from_changes_by_the_last_eight_windows():
    """More than half of the boxes are gone, in windows of six images that differ much."""
    rng, fell = np.random.default_rng(0), []
    for _ in range(20):
        base = [numbers(rng, 6, n_boxes=rng.gamma(8, 0.5)) for _ in range(8)]
        means = [{"": window[""].mean(axis=0)} for window in base]
        later = [numbers(rng, 6, n_boxes=0.4 * rng.gamma(8, 0.5)) for _ in range(8)]
        look = look_at(8, base, later, means, shipped_model(), 0.5, 0.9)
        fell.append([look.changes[0].upper < 0, look.fall is not None])
    latest, several = np.mean(fell, axis=0)
    assert latest < 0.3 and several > 0.7


def test_the_interval_of_a_change_has_the_variance_of_each_side():
    """By hand: one slope of 1 on the best score; Welch's error, and no more without other noise."""
    model = ChangeModel(np.full(4, 1e3), np.array([0, 1.0, 0, 0]), np.zeros((4, 4)), 1e-9)
    rng = np.random.default_rng(0)
    before, after = (np.zeros((n, len(AT))) for n in (14, 12))
    before[:, AT["best"]], after[:, AT["best"]] = (
        rng.normal(0.6, 0.2, 14),
        rng.normal(0.4, 0.05, 12),
    )
    change = Scale([{"": before}], [{"": after}], []).change(model, 0.5, 0.9)
    one, other = before[:, AT["best"]], after[:, AT["best"]]
    assert change.value == pytest.approx(0.5 * (other.mean() - one.mean()), rel=1e-4)
    scenes = RULE.scenes * (one.var(ddof=1) + other.var(ddof=1)) / 2
    welch = one.var(ddof=1) / 14 + other.var(ddof=1) / 12
    expected = ttest_ind(other, one, equal_var=False)
    half = np.sqrt(welch + scenes) * t_distribution.ppf(0.95, expected.df)
    assert change.upper - change.value == pytest.approx(0.5 * half, rel=1e-3)


@pytest.mark.parametrize(
    ("level", "moved", "expected"),
    [
        (0.95, 0.2, (0.05, 0.05, 0.3)),  # .2 more than .95 is more than 1
        (0.3, -0.2, (-0.2, -0.3, -0.1)),
        (0.3, -0.5, (-0.3, -0.6, -0.3)),
        (0.0, -0.2, (-0.05, -0.3, -0.05)),  # nothing is left, and some may have been there
        (0.95, 0.97, (0.05, 0.05, 1.0)),
    ],
)
def test_the_interval_of_a_change_holds_its_value(level, moved, expected):
    """By hand: a sampling error of .1 at the quantile, and no other."""
    model = ChangeModel(np.ones(4), np.array([1.0, 0, 0, 0]), np.zeros((4, 4)), 0.0)
    change = model.change(np.array([moved, 0, 0, 0]), level, (0.05, np.zeros(4)), 2.0, 0.9)
    assert (change.value, change.lower, change.upper) == pytest.approx(expected)


def test_uncertain_slopes_count_by_how_far_boxes_moved_beyond_chance():
    """By hand: a movement of .3 with the error .1; slopes with the variance .04, no noise."""
    covariance = np.diag([0.04, 0, 0, 0])
    model = ChangeModel(np.ones(4), np.array([0.5, 0, 0, 0]), covariance, 0.0, (1.2, 1.0))
    x = np.array([-0.3, 0, 0, 0])
    change = model.change(x, 0.5, (0.05, np.array([0.02, 0, 0, 0])), 2.0, 0.9)
    std = np.sqrt(0.04 * 0.3**2 - 0.02**2)
    assert change.value == pytest.approx(-0.15)
    assert change.upper == pytest.approx(-0.15 + np.hypot(1.645 * std, 0.1), abs=1e-4)
    assert change.lower == pytest.approx(-0.15 - np.hypot(1.2 * 1.645 * std, 0.1), abs=1e-4)
    still = model.change(0 * x, 0.5, (0.05, np.array([0.02, 0, 0, 0])), 2.0, 0.9)
    assert still.upper == pytest.approx(0.1)
