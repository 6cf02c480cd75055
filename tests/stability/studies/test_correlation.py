import numpy as np
import pytest
from scipy import stats
from score_tables import WORLDS, score_table

from autoeval.accuracy.measures import resampled_counts
from autoeval.errors import InputError
from autoeval.estimation.category_scores import feature_columns
from autoeval.stability.methods.score_rows import read_scores
from autoeval.stability.studies.correlation import (
    SquaredCorrelation,
    best_thresholds,
    correlation,
    thresholds,
)
from autoeval.stability.studies.set_sizes import mean_interval


def test_planted_correlations_are_found():
    table = score_table(
        WORLDS,
        exact=lambda value, *_: 3 * value - 1,
        falling=lambda value, *_: -(value**3),  # not straight, but in perfect order
        alternating=lambda value, repeat, row: row % 2,
    )
    result = correlation(table).set_index("feature")
    exact = result.loc["exact", ["r2", "lower", "upper", "spearman"]]
    assert exact.tolist() == pytest.approx([1, 1, 1, 1])
    assert result.loc["falling", "spearman"] == pytest.approx(-1)
    assert 0.8 < result.loc["falling", "r2"] < 1
    # 1 0 1 0 in worlds a and c, 0 1 0 1 in b and d, against an mAP that falls in all of them
    assert result.loc["alternating", "r2_within"] == pytest.approx(0, abs=1e-12)
    assert result.index[0] == "exact"


def test_noise_has_no_correlation():
    rng = np.random.default_rng(0)
    table = score_table(WORLDS, n_sets=100, noise=lambda *_: rng.normal())
    assert correlation(table).loc[0, "r2"] < 0.02


def test_repeats_are_averaged_first():
    table = score_table(WORLDS, repeats=2, bos=lambda value, repeat, _: value + (2 * repeat - 1))
    assert correlation(table).loc[0, "r2"] == pytest.approx(1)
    assert correlation(table).loc[0, "sample_sets"] == 16


def test_a_thresholded_score_stands_with_its_best_threshold():
    rng = np.random.default_rng(0)
    scores = {
        "ps@0.10": lambda value, *_: value + rng.normal(0, 0.3),
        "ps@0.50": lambda value, *_: value,
        "ps@0.95": lambda value, repeat, row: value if row % 4 == 1 else np.nan,
    }
    table = score_table(WORLDS, n_sets=8, **scores)
    assert correlation(table)["feature"].tolist() == ["ps@0.50"]
    curve = thresholds(table).set_index("threshold")
    assert curve.loc[0.5, "r2"] == pytest.approx(1) and curve.loc[0.1, "r2"] < 0.9
    assert curve["sample_sets"].to_dict() == {0.1: 32, 0.5: 32, 0.95: 8}
    (best,) = best_thresholds(thresholds(table)).to_dict("records")
    assert best["score"] == "ps" and best["best"] == 0.5 and best["paper"] == 0.95


def test_a_thresholded_score_of_a_category_stands_once_too():
    rng = np.random.default_rng(0)
    scores = {
        "ps@0.10/car": lambda value, *_: value + rng.normal(0, 0.3),
        "ps@0.50/car": lambda value, *_: value,
        "ps@0.50": lambda value, *_: value + rng.normal(0, 0.3),
    }
    table = score_table(WORLDS, n_sets=8, **scores)
    assert correlation(table)["feature"].tolist() == ["ps@0.50/car", "ps@0.50"]


@pytest.mark.parametrize("features", [(), ("rare", "bos")])
def test_a_score_that_two_sample_sets_have_does_not_come_first_for_its_r2_of_1(features):
    rng = np.random.default_rng(0)
    table = score_table(WORLDS, n_sets=8, bos=lambda value, *_: value + rng.normal(0, 0.1))
    two = table.index[table["kind"] == "sample"][:2]
    table["rare"] = table["mAP"].where(table.index.isin(two))
    result = correlation(table, features)
    assert result["feature"].tolist() == ["bos", "rare"]
    assert result["sample_sets"].tolist() == [32, 2]
    assert result.loc[0, "r2"] < result.loc[1, "r2"] == pytest.approx(1)


def test_only_scores_are_features():
    accuracies = {"mAP/car": 0.1, "mAP_std": 0.02, "mAP50_std": 0.02, "mAP_std/car": 0.02}
    table = score_table(WORLDS, bos=lambda *_: 0.5).assign(n_boxes=3, mAP50=0.1, **accuracies)
    assert feature_columns(table) == ["bos"]


def test_a_score_that_only_other_rows_have_is_not_listed():
    table = score_table(WORLDS, bos=lambda value, *_: value)
    table["expected_ap"] = table["mAP"].where(table["kind"] == "seed")
    assert table["expected_ap"].notna().any()
    assert correlation(table)["feature"].tolist() == ["bos"]


def test_a_constant_among_other_scores_stands_last_without_a_figure():
    table = score_table(WORLDS, bos=lambda value, *_: value, flat=lambda *_: 0.1)
    last = correlation(table).iloc[-1]
    assert last["feature"] == "flat" and np.isnan(last["r2"]) and np.isnan(last["spearman"])


def test_one_sample_set_a_source_leaves_nothing_within():
    result = correlation(score_table(WORLDS, n_sets=1, bos=lambda value, *_: value))
    assert result.loc[0, "r2"] == pytest.approx(1) and np.isnan(result.loc[0, "r2_within"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (dict(features=["astrology"]), "columns astrology but they are missing"),
        (dict(features=["flat"]), "flat are constant"),
        (dict(target="mAP50"), "columns mAP50 but they are missing"),
    ],
)
def test_columns_that_cannot_be_correlated(options, message):
    table = score_table(WORLDS, bos=lambda value, *_: value, flat=lambda *_: 0.1)
    with pytest.raises(InputError, match=message):
        correlation(table, **options)


def test_all_features_constant():
    with pytest.raises(InputError, match="are constant or known nowhere"):
        correlation(score_table(WORLDS, bos=lambda *_: 0.5, ac=lambda *_: np.nan))


def test_accuracy_that_never_changes():
    table = score_table({"a": 0.5, "b": 0.5}, step=0, bos=lambda value, r, row: row)
    with pytest.raises(InputError, match="three sample sets of different mAP but got 8 with 1"):
        correlation(table)


def test_a_table_without_thresholded_scores():
    with pytest.raises(InputError, match=r"named like ps@0\.95"):
        thresholds(score_table(WORLDS, bos=lambda value, *_: value))
    with pytest.raises(InputError, match="scores atc but it has ps"):
        thresholds(score_table(WORLDS, **{"ps@0.50": lambda value, *_: value}), ["atc"])


def test_files_that_are_no_score_table(tmp_path):
    with pytest.raises(InputError, match="No score table"):
        read_scores(tmp_path)
    (tmp_path / "scores.parquet").write_text("not a table")
    with pytest.raises(InputError, match="no Parquet file"):
        read_scores(tmp_path)
    score_table(WORLDS).drop(columns="source").to_parquet(tmp_path / "other.parquet")
    with pytest.raises(InputError, match="source are missing"):
        read_scores(tmp_path / "other.parquet")
    score_table(WORLDS).to_parquet(tmp_path / "scores.parquet")
    assert len(read_scores(tmp_path)) == 20


@pytest.fixture
def points():
    rng = np.random.default_rng(0)
    source = np.repeat(["a", "b", "c", "d", "e"], 20)
    x = rng.normal(size=100) + np.repeat(rng.normal(size=5), 20)
    return x, 2 * x + rng.normal(size=100) + 100, source


def test_pooled_r2_is_that_of_scipy(points):
    x, y, source = points
    expected = stats.linregress(x, y).rvalue ** 2
    assert SquaredCorrelation(x, y, source).pooled() == pytest.approx(expected)


def test_within_r2_is_that_of_the_residuals_of_source_means(points):
    x, y, source = points
    names = np.unique(source)
    residuals = [v - sum((source == n) * v[source == n].mean() for n in names) for v in (x, y)]
    expected = stats.linregress(*residuals).rvalue ** 2
    assert SquaredCorrelation(x, y, source).within() == pytest.approx(expected)


def test_a_resample_of_sources_takes_all_their_points(points):
    x, y, source = points
    squared = SquaredCorrelation(x, y, source)
    counts = resampled_counts(5, resamples=1000)
    assert (counts.sum(axis=1) == 5).all()
    # the same resamples, made by copying points
    copied = []
    for row in counts[:200]:
        taken = np.concatenate(
            [
                np.flatnonzero(source == n)
                for n, k in zip("abcde", row, strict=True)
                for _ in range(k)
            ]
        )
        copied.append(stats.linregress(x[taken], y[taken]).rvalue ** 2)
    direct = squared._r2(np.moveaxis(np.array(_central(x, y, source, counts[:200])), 0, -1))
    assert direct == pytest.approx(np.array(copied))
    lower, upper = squared.interval()
    assert lower < squared.pooled() < upper


def _central(x, y, source, counts):
    """Weighted sums of squares about the weighted mean, by numpy's own covariance."""
    weights = sum(np.outer(counts[:, k], source == n) for k, n in enumerate("abcde"))
    covariances = [np.cov(x, y, fweights=w.astype(int), ddof=0) for w in weights]
    return [[c[i, j] for c in covariances] for i, j in ((0, 0), (1, 1), (0, 1))]


@pytest.mark.parametrize("constant", [0.1, 1e6 + 0.1])
def test_a_constant_has_no_correlation(points, constant):
    _, y, source = points
    squared = SquaredCorrelation(np.full(100, constant), y, source)
    assert np.isnan(squared.pooled()) and np.isnan(squared.within())
    assert np.isnan(squared.interval()).all()


def test_a_score_that_only_tells_places_apart_has_no_within_r2(points):
    _, y, source = points
    place = np.searchsorted(np.unique(source), source) / 3
    squared = SquaredCorrelation(place, y, source)
    assert squared.pooled() > 0 and np.isnan(squared.within())


def test_points_without_a_value_are_left_out(points):
    x, y, source = points
    holes = np.where(np.arange(100) % 4 == 0, np.nan, x)
    squared = SquaredCorrelation(holes, y, source)
    assert squared.n == 75
    known = np.isfinite(holes)
    assert squared.pooled() == pytest.approx(stats.linregress(x[known], y[known]).rvalue ** 2)


def test_fewer_than_three_sources_have_no_interval(points):
    x, y, source = points
    two = np.isin(source, ["a", "b"])
    assert np.isnan(SquaredCorrelation(x[two], y[two], source[two]).interval()).all()


def test_mean_interval_lies_within_the_values_and_leaves_out_what_is_missing():
    lower, upper = mean_interval(np.array([0.1, 0.2, np.nan, 0.6]))
    assert 0.1 <= lower < 0.3 < upper <= 0.6
    assert np.isnan(mean_interval(np.array([0.5, np.nan]))).all()


def test_groups_of_sources_are_drawn_together(points):
    x, y, source = points
    groups = {"a": "site", "b": "site", "c": "other"}  # d and e are groups of their own
    squared = SquaredCorrelation(x, y, source, groups)
    drawn = resampled_counts(4, resamples=1000)  # site, other, d, e
    copied = [
        stats.linregress(np.repeat(x, times), np.repeat(y, times)).rvalue ** 2
        for times in drawn[:, np.repeat([0, 0, 1, 2, 3], 20)]
        if times.any()
    ]
    assert squared.pooled() == SquaredCorrelation(x, y, source).pooled()
    assert squared.interval() == pytest.approx(np.quantile(copied, [0.05, 0.95]), abs=1e-3)
    two = {"a": "one", "b": "one", "c": "one", "d": "two", "e": "two"}
    assert np.isnan(SquaredCorrelation(x, y, source, two).interval()).all()


def test_the_intervals_of_correlations_are_over_groups():
    rng = np.random.default_rng(1)
    worlds = {f"{name}{k}": value for name, value in WORLDS.items() for k in range(3)}
    scores = {"bos": lambda value, *_: value + rng.normal(0, 0.1)}
    scores["ps@0.50"] = lambda value, *_: value + rng.normal(0, 0.1)
    table = score_table(worlds, **scores)
    grouped = table.assign(group=table["source"].str[0])
    renamed = table.assign(source=table["source"].str[0])
    ends = ["lower", "upper"]
    for study in (correlation, thresholds):
        by_group, by_source, expected = study(grouped), study(table), study(renamed)
        assert by_group["r2"].tolist() == pytest.approx(by_source["r2"].tolist())
        assert by_group[ends].to_numpy() == pytest.approx(expected[ends].to_numpy())
        assert (
            by_group["upper"] - by_group["lower"] > by_source["upper"] - by_source["lower"]
        ).all()


def test_a_mean_is_of_as_many_observations_as_there_are_groups():
    values, groups = np.array([0.1, 0.1, 0.2, 0.2, 0.6, 0.6]), np.array(list("aabbcc"))
    assert mean_interval(values, groups) == pytest.approx(mean_interval(values[::2]))
    lower, upper = mean_interval(values)
    assert mean_interval(values, groups)[0] < lower and upper < mean_interval(values, groups)[1]
    assert np.isnan(mean_interval(values[:2], groups[:2])).all()
