"""PrACo's measures against values worked out by hand."""

import numpy as np
import pandas as pd
import pytest

from autoeval.counting.praco.plus_plus import LOCALISED, PlusPlusResult
from autoeval.counting.praco.praco_measures import (
    confusion,
    drift,
    measure_mosaics,
    mosaics_by_image,
    negative_by_class,
    negative_by_image,
)
from autoeval.counting.praco.result import (
    PracoResult,
    class_table,
    compare,
    interval_table,
    intervals_of,
)
from autoeval.errors import InputError

NAN = float("nan")
IDS = ["1.jpg", "2.jpg", "3.jpg", "4.jpg"]
TRUTH = pd.DataFrame({"category": ["a", "b", "c", "a"], "count": [10, 4, 5, 2]}, index=IDS)

# Own class and the others' mean, over C - 1 = 2 classes or (paper) over 3:
COUNTS = pd.DataFrame(
    [
        [8, 2, 4],  # |8 - 10| = 2; mean 3 -> 7 (paper 2 -> 8): nearer
        [0, 0, 0],  # |0 - 4| = 4; mean 0 -> 4: a tie, which fails
        [6, 0, 7.5],  # |7.5 - 5| = 2.5; mean 3 -> 2: fails; paper 6/3 = 2 -> 3: nearer
        [2, NAN, 1],  # |2 - 2| = 0; mean of one 1 -> 1 (paper 1/2 -> 1.5): nearer
    ],
    index=IDS,
    columns=["a", "b", "c"],
)


def mosaics() -> pd.DataFrame:
    rows = [
        ("1.jpg", "b", 8, 2),  # P 8/10, R 8/10, F1 .8
        ("1.jpg", "c", 12, 8),  # P 10/20, R 10/10, F1 2/3
        ("2.jpg", "a", 0, 0),  # P 0/0, R 0, F1 undefined
        ("2.jpg", "c", 0, 3),  # P 0, R 0, F1 0/0
        ("3.jpg", "a", 5, 0),  # P 1, R 1, F1 1
        ("3.jpg", "b", -1, 5),  # taken as (0, 5): P 0, R 0, F1 0/0
        ("4.jpg", "b", 1, 1),  # P .5, R .5, F1 .5
        ("4.jpg", "c", NAN, NAN),  # no answer
    ]
    return pd.DataFrame(rows, columns=["positive", "negative_class", "upper", "lower"])


def result(mode: str, counts=COUNTS, cells=None) -> PracoResult:
    return PracoResult("m", counts, TRUTH, mosaics() if cells is None else cells, mode)


@pytest.mark.parametrize(("mode", "f1"), [("released", (2.2 / 3 + 0.5) / 2), ("paper", 0.63137)])
def test_a_class_is_measured_by_the_formulas_of_the_mode(mode, f1):
    """Of class a the image 1 has P .65, R .9 and F1 (.8 + 2/3) / 2, and 4 has .5 each."""
    cells = mosaics()
    cells["positive_class"] = TRUTH["category"].reindex(cells["positive"]).to_numpy()
    table = class_table(result(mode, cells=cells))
    assert table.loc["a", "CntP"] == pytest.approx(0.575)
    assert table.loc["a", "recall in mosaics"] == pytest.approx(0.7)
    assert table.loc["a", "CntF1"] == pytest.approx(f1, abs=1e-5)  # paper: 2 x .575 x .7 / 1.275
    assert table.loc["a", "counted below (%)"] == 100  # of three that are answered
    assert table.loc["b", "counted below (%)"] == 50


@pytest.mark.parametrize(("mode", "pccn"), [("released", 50), ("paper", 75)])
def test_negative_label_test_by_hand(mode, pccn):
    measures = result(mode).measures()
    assert measures["NMN"] == pytest.approx((3 / 10 + 0 + 3 / 5 + 1 / 2) / 4)
    assert measures["PCCN"] == pccn
    assert measures["MAE"] == pytest.approx((2 + 4 + 2.5 + 0) / 4)
    assert measures["RMSE"] == pytest.approx(((4 + 16 + 6.25 + 0) / 4) ** 0.5)


def test_mosaic_test_by_hand():
    found = result("paper").measures()
    p = (0.65 + 0 + 0.5 + 0.5) / 4  # the 0/0 of 2.jpg is skipped, its 0 stays
    r = (0.9 + 0 + 0.5 + 0.5) / 4
    assert found["CntP"] == pytest.approx(p)
    assert found["CntR"] == pytest.approx(r)
    assert found["CntF1"] == pytest.approx(2 * p * r / (p + r))
    assert "CntR without the spurious cell" not in found
    found = result("released").measures()
    assert found["CntP"] == pytest.approx(0.4125)
    # One spurious recall of 1 an image, and another where a mosaic has no answer: over 3 cells.
    assert found["CntR"] == pytest.approx((2.8 / 3 + 1 / 3 + 2 / 3 + 2.5 / 3) / 4)
    assert found["CntR without the spurious cell"] == pytest.approx(0.475)
    # Means of the defined F1; 2.jpg has none and is left out.
    assert found["CntF1"] == pytest.approx(((0.8 + 2 / 3) / 2 + 1 + 0.5) / 3)
    found = result("released").undefined()
    assert found["prompts"] == 12 and found["prompts without a count"] == 1
    assert found["mosaics"] == 8 and found["mosaics without a count"] == 1
    assert found["mosaics with undefined precision"] == 2
    assert found["mosaics with undefined F1"] == 4
    assert found["mosaics with a part below 0, taken as 0"] == 1


@pytest.mark.parametrize("mode", ["released", "paper"])
def test_a_counter_that_always_says_zero(mode):
    cells = mosaics().assign(upper=0.0, lower=0.0)
    measures = result(mode, COUNTS * 0, cells).measures()
    assert measures["NMN"] == 0
    assert measures["PCCN"] == 0, "every comparison is a tie"
    assert np.isnan(measures["CntP"]) and np.isnan(measures["CntF1"])
    assert measures["CntR"] == pytest.approx(1 / 3 if mode == "released" else 0)
    assert measures["MAE"] == pytest.approx(21 / 4)


def test_counters_that_are_perfect_or_count_below_zero():
    own = np.array([[g * (c == k) for k in "abc"] for c, g in TRUTH.itertuples(index=False)])
    counts = pd.DataFrame(own, TRUTH.index, ["a", "b", "c"])
    upper = TRUTH["count"].reindex(mosaics()["positive"]).to_numpy()
    measures = result("paper", counts, mosaics().assign(upper=upper, lower=0)).measures()
    assert measures == {
        "NMN": 0,
        "PCCN": 100,
        "CntP": 1,
        "CntR": 1,
        "CntF1": 1,
        "MAE": 0,
        "RMSE": 0,
    }
    counts = COUNTS.copy()
    counts.loc["1.jpg", "b"] = -4.0
    released, paper = (negative_by_image(counts, TRUTH, m)["nmn"] for m in ("released", "paper"))
    assert released["1.jpg"] == pytest.approx(0)
    assert paper["1.jpg"] == pytest.approx(4 / 10)
    assert result("released", counts).undefined()["prompts with a count below 0"] == 1


@pytest.mark.parametrize("n_classes", [2, 5, 29])
def test_released_recall_identity(n_classes):
    rng = np.random.default_rng(n_classes)
    ids = [f"{k}.jpg" for k in range(20)]
    truth = pd.DataFrame({"count": rng.integers(1, 30, 20)}, index=ids)
    upper = rng.uniform(0, 40, 20 * (n_classes - 1))
    positive = np.repeat(ids, n_classes - 1)
    cells = measure_mosaics(
        pd.DataFrame({"positive": positive, "upper": upper, "lower": 1.0}), truth
    )
    recall = mosaics_by_image(cells, "paper")["recall"]
    spurious = mosaics_by_image(cells, "released")["recall"]
    assert np.allclose(spurious, ((n_classes - 1) * recall + 1) / n_classes)


def test_drift_by_hand():
    # Alone: 8, 0, 7.5 and 2; the two mosaics of 2.jpg and the unanswered one are undefined.
    cells = measure_mosaics(mosaics(), TRUTH)
    positive = result("paper").by_image["positive"]
    values, left_out = drift(cells, positive, "paper")
    # The part below 0 stays: |-1 - 7.5| / 7.5, as in the equation and in the authors' notebook.
    assert values == pytest.approx([0, 0.5, 1 / 3, 8.5 / 7.5, 0.5])
    assert left_out == {"undefined": 3, "dropped": 0}
    cells = pd.DataFrame({"positive": ["4.jpg"] * 2, "upper": [102.0, 101.9], "lower": 0.0})
    positive = pd.Series({"4.jpg": 2.0})
    assert drift(cells, positive, "released")[0] == pytest.approx([49.95])
    assert drift(cells, positive, "released")[1]["dropped"] == 1
    assert drift(cells, positive, "paper")[0] == pytest.approx([50, 49.95])


@pytest.mark.parametrize(("mode", "pccn"), [("released", 100 / 4), ("paper", 100 * 2 / 3)])
def test_an_image_without_its_own_count_fails_pccn_or_leaves_it(mode, pccn):
    counts = COUNTS.copy()
    counts.loc["1.jpg", "a"] = NAN
    measures = result(mode, counts).measures()
    assert measures["PCCN"] == pytest.approx(pccn)
    assert measures["MAE"] == pytest.approx((4 + 2.5 + 0) / 3)


def test_tables_by_class_confusion_and_the_largest_negative_class():
    by_class = negative_by_class(negative_by_image(COUNTS, TRUTH))
    assert by_class.loc["a"].to_dict() == pytest.approx(
        {"images": 2, "mean_count": 6, "NMN": 0.4, "PCCN": 100, "MAE": 1, "RMSE": 2**0.5}
    )
    matrix = confusion(COUNTS, TRUTH)
    assert matrix.loc["a"].tolist() == pytest.approx([(0.8 + 1) / 2, 0.2, (0.4 + 0.5) / 2])
    assert matrix.loc["b"].tolist() == [0, 0, 0]
    by_image = negative_by_image(COUNTS, TRUTH)
    assert by_image.loc["1.jpg", ["negative_class", "negative_max"]].tolist() == ["c", 4]
    assert by_image.loc["4.jpg", ["n_negative", "n_undefined"]].tolist() == [1, 1]


def test_tables_that_do_not_fit():
    with pytest.raises(InputError, match=r"no row for 1 images \(2.jpg\)"):
        negative_by_image(COUNTS.drop("2.jpg"), TRUTH)
    with pytest.raises(InputError, match="no column for the classes b"):
        negative_by_image(COUNTS.drop(columns="b"), TRUTH)
    with pytest.raises(InputError, match="1 images have a true count of 0"):
        negative_by_image(COUNTS, TRUTH.assign(count=[10, 0, 5, 2]))


def test_comparison_is_paired():
    """A constant advantage on every image leaves no uncertainty, however images differ."""
    rng = np.random.default_rng(0)
    n = 40
    truth = pd.DataFrame(
        {"category": "a", "count": rng.integers(20, 90, n)}, index=map(str, range(n))
    )
    worse = pd.DataFrame({"a": truth["count"] + 5.0, "b": rng.integers(0, 9, n)}, truth.index)
    better = worse.assign(a=truth["count"] + 2.0)
    table = compare([PracoResult("A", better, truth), PracoResult("B", worse, truth)])
    mae = table.set_index("measure").loc["MAE"]
    assert mae[["difference", "low", "high"]].tolist() == pytest.approx([-3, -3, -3])
    assert mae["better"] == "A" and mae["images"] == n
    assert table.set_index("measure").loc["NMN", "better"] == ""


def test_a_comparison_is_over_the_prompts_that_both_answered():
    """A was better by 2.25, for it did not answer where B is far off."""
    ids = ["1", "2", "3", "4"]
    truth = pd.DataFrame({"category": [*"aabb"], "count": [2, 10, 4, 20]}, ids)
    counts = {
        "A": [[4, 1], [np.nan, 1], [1, 6], [1, np.nan]],  # wrong by 2 and 2
        "B": [[3, 1], [15, 1], [1, 5], [1, 30]],  # by 1 and 1, where A answered
    }
    tables = {name: pd.DataFrame(rows, ids, [*"ab"], float) for name, rows in counts.items()}

    def mae(mode):
        results = [PracoResult(name, table, truth, None, mode) for name, table in tables.items()]
        return compare(results).set_index("measure").loc["MAE"]

    assert mae("paper")[["difference", "low", "high", "better"]].tolist() == [1, 1, 1, "B"]
    assert mae("released")["difference"] == 2 - (1 + 5 + 1 + 10) / 4
    names = truth["category"].to_numpy()[:, None]
    objects = pd.DataFrame(np.where(names == [*"ab"], truth[["count"]], 0), ids, [*"ab"])
    several = [PlusPlusResult(name, table, objects, None) for name, table in tables.items()]
    assert compare(several).set_index("measure").loc["MAE macro", "difference"] == 1


def test_a_comparison_is_over_the_mosaics_that_both_answered():
    """B was better by .25: it did not answer where A is wrong, and elsewhere it is wrong itself."""
    truth = pd.DataFrame({"category": [*"ab"], "count": [4, 4]}, ["1", "2"])
    counts = pd.DataFrame([[4, 0, 0], [0, 4, 0]], truth.index, [*"abc"], float)
    cells = [("1", "b"), ("1", "c"), ("2", "a"), ("2", "c")]
    parts = {
        "A": [(4, 0), (4, 12), (4, 0), (4, 12)],  # precisions 1, 1/4, 1, 1/4
        "B": [(4, 1), (NAN, NAN), (4, 1), (NAN, NAN)],  # 4/5
        "none": [(NAN, NAN)] * 4,
    }
    frames = {
        name: pd.DataFrame(
            [(*cell, *part) for cell, part in zip(cells, halves, strict=True)],
            columns=["positive", "negative_class", "upper", "lower"],
        )
        for name, halves in parts.items()
    }

    def differences(mode, other):
        results = [PracoResult(n, counts, truth, frames[n], mode) for n in ("A", other)]
        return compare(results).set_index("measure")["difference"]

    assert differences("paper", "B")["CntP"] == pytest.approx(1 - 0.8)
    assert differences("paper", "B")["CntF1"] == pytest.approx(1 - 1.6 / 1.8)
    assert differences("released", "B")["CntP"] == pytest.approx(1.25 / 2 - 0.8)
    assert np.isnan(differences("paper", "none")["CntP"])


def test_a_comparison_is_over_the_classes_whose_tiles_both_counted():
    """B, which is wrong by 1 wherever both counted, was better by 1."""
    truth = pd.DataFrame([[2, 3]] * 2, ["1", "2"], [*"ab"])
    errors = {"A": {"a": 0.0, "b": 4.0}, "B": {"a": 1.0}}
    results = []
    for name, by_class in errors.items():
        places = [(i, k, 1, 1, e, 1, 1, 1) for i in truth.index for k, e in by_class.items()]
        frame = pd.DataFrame(places, columns=["image", "class", *LOCALISED])
        results.append(PlusPlusResult(name, truth.astype(float), truth, frame))
    table = compare(results).set_index("measure")["difference"]
    assert table["localised MAE macro"] == table["localised MAE micro"] == -1


def test_interval_of_a_share_is_that_of_the_binomial():
    """PCCN with 30 of 100 near: the percentile interval is near the binomial's quantiles."""
    from scipy.stats import binom

    truth = pd.DataFrame({"category": "a", "count": 10}, index=map(str, range(100)))
    own = np.where(np.arange(100) < 30, 10.0, 0.0)
    intervals = intervals_of(
        PracoResult("m", pd.DataFrame({"a": own, "b": 0.0}, truth.index), truth)
    )
    assert intervals["PCCN"].value == 30
    low, high = binom.ppf([0.025, 0.975], 100, 0.3)
    assert intervals["PCCN"].low == pytest.approx(low, abs=1.5)
    assert intervals["PCCN"].high == pytest.approx(high, abs=1.5)


def test_a_single_image_has_no_interval():
    truth = pd.DataFrame({"category": ["eggs"], "count": [4]}, ["a.jpg"])
    counts = pd.DataFrame({"eggs": [3.0], "skis": [1.0]}, ["a.jpg"])
    table = interval_table({"m": intervals_of(PracoResult("m", counts, truth), n_resamples=2)})
    assert dict(table.to_numpy()) == {
        "NMN": "0.250",
        "PCCN": "100.00",
        "MAE": "1.00",
        "RMSE": "1.00",
    }
