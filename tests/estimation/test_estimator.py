import json
import math
from dataclasses import asdict

import numpy as np
import pandas as pd
import pyarrow.parquet
import pytest
from test_protocol import WORLDS, make_table

from autoeval.api.options import load_any_estimator
from autoeval.errors import InputError
from autoeval.estimation.estimator import AccuracyEstimator
from autoeval.estimation.fit_file import read_artefact, write_artefact
from autoeval.report.estimate import estimate_fields, estimate_row
from autoeval.runtime.files import plain
from autoeval.stability.methods.published_estimator import PublishedEstimator
from autoeval.stability.methods.source_regression import SourceRegression

CONTEXT = {"detector": {"weights": "abc", "score_thr": 0.05}, "dropout": {"stages": [1, 2]}}


def unlabelled(bos, *, n_images=100, skipped=0.0, repeats=1):
    return pd.DataFrame(
        {"repeat": range(repeats), "n_images": n_images, "skipped_share": skipped, "bos": bos}
    )


def test_estimates_on_the_fitted_line_and_clips():
    estimator = PublishedEstimator("bos").fit(make_table(WORLDS))
    assert estimator.predict_rows(unlabelled(0.6)).value == pytest.approx(0.4)
    assert estimator.predict_rows(unlabelled(9.0)).value == 1
    assert estimator.predict_rows(unlabelled(-9.0)).value == 0


@pytest.mark.parametrize(
    ("rows", "backbone", "reason"),
    [
        (unlabelled(1.9), "ResNet", "outside the"),
        (unlabelled(0.05), "ResNet", "under 15%"),
        (unlabelled(0.6, n_images=12), "ResNet", "only 12 images"),
        (unlabelled(0.6, skipped=0.5), "ResNet", "50% of the images have no box"),
        (unlabelled(0.6), "HRNet", "never validated on a HRNet"),
        (unlabelled(math.nan), "ResNet", "no estimate"),
        (unlabelled(0.6), "ResNet", None),
    ],
)
def test_every_guard_speaks_alone(rows, backbone, reason):
    estimator = PublishedEstimator("bos").fit(make_table(WORLDS))
    estimate = estimator.predict_rows(rows, backbone=backbone)
    matching = [warning for warning in estimate.warnings if reason and reason in warning]
    assert len(matching) == bool(reason)
    assert all(f": {warning}" in str(estimate) for warning in matching)
    if not math.isnan(estimate.value):
        assert list(estimate.warnings) == matching


def test_saved_and_loaded_estimators_agree(tmp_path):
    path = tmp_path / "estimator.parquet"
    estimator = PublishedEstimator("bos", level=0.8).fit(
        make_table(WORLDS, repeats=2, noise=0.1), context=CONTEXT
    )
    estimator.save(path)
    loaded = PublishedEstimator.load(path)
    rows = unlabelled(0.6, repeats=2)
    # as plain values: NaN is not NaN in the fields of a result
    once, again = (asdict(fitted.predict_rows(rows)) for fitted in (estimator, loaded))
    np.testing.assert_equal(again, once)
    assert loaded.context_ == CONTEXT
    loaded.pass_.check_context(CONTEXT)


def test_columns_that_one_table_lacks_have_no_value_there(tmp_path):
    whole = {"n": np.array([3, 4]), "word": np.array(["car", None], object), "x": np.ones(2)}
    metadata = {"estimator": {"target": "mAP", "level": 0.9}, "context": {}}
    write_artefact(tmp_path / "fit.parquet", [whole, {"x": np.array([np.nan])}], metadata)
    read, _ = read_artefact(tmp_path / "fit.parquet")
    np.testing.assert_array_equal(read["n"], [3, 4, np.nan])
    np.testing.assert_array_equal(read["x"], [1, 1, np.nan])
    assert read["word"].tolist() == ["car", None, None]


def test_the_work_dir_of_a_fit_stands_for_the_estimator_in_it(tmp_path):
    fitted = PublishedEstimator("bos").fit(make_table(WORLDS))
    fitted.save(tmp_path / "estimator.parquet")
    assert PublishedEstimator.load(tmp_path).table_.equals(fitted.table_)
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match=r"No estimator .*empty/estimator\.parquet"):
        PublishedEstimator.load(tmp_path / "empty")


def test_another_detector_is_refused_and_the_difference_is_named():
    estimator = PublishedEstimator("bos").fit(make_table(WORLDS), context=CONTEXT)
    other = {"detector": {"weights": "abc", "score_thr": 0.3}, "dropout": {"stages": [1, 2]}}
    with pytest.raises(InputError, match=r"detector.score_thr: fitted with 0.05, now 0.3") as error:
        estimator.pass_.check_context(other)
    assert "weights" not in str(error.value)


def test_more_repeats_than_fitted_are_refused():
    estimator = PublishedEstimator("bos").fit(make_table(WORLDS, repeats=2))
    with pytest.raises(InputError, match="at most as many repeats"):
        estimator.predict_rows(unlabelled(0.6, repeats=3))


def test_a_file_that_is_no_estimator_is_refused(tmp_path):
    path = tmp_path / "x.parquet"
    with pytest.raises(InputError, match=r"x\.parquet"):
        PublishedEstimator.load(path)
    path.write_bytes(b"not parquet")
    with pytest.raises(InputError, match=r"x\.parquet"):
        PublishedEstimator.load(path)
    make_table(WORLDS).to_parquet(path)
    with pytest.raises(InputError, match=r"x\.parquet .* cannot be read as one"):
        PublishedEstimator.load(path)


def spoiled(path, **changes):
    """Change the metadata of a saved estimator."""
    table = pyarrow.parquet.read_table(path)
    note = json.loads(table.schema.metadata[b"autoeval"])
    for name, value in changes.items():
        if name in note["estimator"]:
            note["estimator"][name] = value
        else:
            note[name] = value
    write_artefact(path, [table.to_pandas()], note)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"level": 5}, r"level.*over 0 and under 1.*got 5"),
        ({"level": "wide"}, r"'estimator\.level' is 'wide'"),
        ({"method": "bayes"}, r"that of `autoeval\.AccuracyEstimator`"),
        ({"method": "astrology"}, "out of ac, .*'astrology'"),
        ({"target": "beauty"}, "'beauty'"),
        ({"estimator": [1]}, r"'estimator\.target' is None"),
        ({"context": "none"}, "'context' is 'none'"),
        ({"format": 1}, "another version"),
    ],
)
def test_a_spoiled_file_is_one_clear_error_with_its_name(tmp_path, changes, message):
    path = tmp_path / "spoiled.parquet"
    PublishedEstimator("bos").fit(make_table(WORLDS)).save(path)
    spoiled(path, **changes)
    with pytest.raises(InputError, match=rf"spoiled\.parquet.*{message}"):
        PublishedEstimator.load(path)


def test_what_has_changed_on_disk_is_refused(tmp_path):
    """Every flipped bit is either refused or changes nothing."""
    path = tmp_path / "e.parquet"
    estimator = PublishedEstimator("bos").fit(make_table(WORLDS), context={"seed": 12345})
    estimator.save(path)
    whole, table = path.read_bytes(), PublishedEstimator.load(path).table_
    refused = 0
    for at in range(0, len(whole), 37):
        changed = bytearray(whole)
        changed[at] ^= 1 << at % 8
        path.write_bytes(changed)
        try:
            loaded = PublishedEstimator.load(path)
        except InputError as error:
            assert str(path) in str(error)
            refused += 1
        else:
            pd.testing.assert_frame_equal(loaded.table_, table)
            assert loaded.context_ == estimator.context_
            assert loaded.get_params() == estimator.get_params()
    assert refused > 20
    path.write_bytes(whole)
    arrow = pyarrow.parquet.read_table(path)
    notes = arrow.schema.metadata
    notes[b"autoeval"] = notes[b"autoeval"].replace(b"12345", b"12346")
    pyarrow.parquet.write_table(arrow.replace_schema_metadata(notes), path)
    with pytest.raises(InputError, match="does not match its checksum"):
        PublishedEstimator.load(path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda table: table.assign(mAP=table["mAP"] * 1e6), "mAP in 0 to 1 but 15 of 15 rows"),
        (lambda table: table.assign(bos=table["bos"].astype(str)), "numbers in the column bos"),
        (lambda table: table.drop(columns="repeat"), "repeat are missing"),
        (lambda table: table.drop(columns="bos"), "bos but they are missing"),
        (lambda table: table.assign(bos=math.nan), "finite bos"),
    ],
)
def test_a_table_that_cannot_be_is_refused(tmp_path, change, message):
    table = change(make_table(WORLDS))
    with pytest.raises(InputError, match=message):
        PublishedEstimator("bos").fit(table)
    write_artefact(
        tmp_path / "x.parquet",
        [table],
        {"estimator": {"method": "bos", "target": "mAP", "level": 0.9}, "context": {}},
    )
    with pytest.raises(InputError, match=rf"x\.parquet holds .*{message}"):
        PublishedEstimator.load(tmp_path / "x.parquet")


@pytest.mark.parametrize("level", [1.5, 0, 1, True, "0.9", math.nan])
def test_a_level_that_is_none_is_refused(level):
    with pytest.raises(InputError, match="over 0 and under 1"):
        PublishedEstimator("bos", level=level).fit(make_table(WORLDS))


def test_an_unfitted_estimator_says_so(tmp_path):
    estimator = PublishedEstimator("bos")
    for use in (
        lambda: estimator.predict_rows(unlabelled(0.6)),
        lambda: estimator.save(tmp_path / "x.parquet"),
        lambda: estimator.table_,
        lambda: SourceRegression("bos").predict_rows(unlabelled(0.6)),
    ):
        with pytest.raises(InputError, match="not fitted: "):
            use()
    assert repr(estimator) == "<PublishedEstimator of mAP by 'bos', level 0.9, not fitted>"
    assert "fitted on 3 sources>" in repr(estimator.fit(make_table(WORLDS)))


def test_estimates_turn_into_json_and_rows():
    fitted = PublishedEstimator("bos").fit(make_table({"a": 0.2, "b": 0.3}))
    estimate = fitted.predict_rows(unlabelled(0.6))
    values = json.loads(json.dumps(plain(estimate_fields(estimate))))
    assert (
        values["lower"] is None
        and values["interval_method"] == "none: fewer than 3 groups of sources"
    )
    assert estimate_row(estimate)["bos"].tolist() == [0.6]


def test_left_out_estimates_are_those_of_estimators_that_never_saw_the_source():
    table = make_table(WORLDS, repeats=2, noise=0.1)
    estimates = SourceRegression("bos").fit(table).predict_left_out()
    for source, rows in table.groupby("source"):
        apart = SourceRegression("bos").fit(table[table["source"] != source])
        for k in rows.index:
            assert estimates[k] == pytest.approx(apart.predict_repeats(rows.loc[[k]]).item())
    two = make_table({"a": 0.2, "b": 0.3})
    assert np.isnan(SourceRegression("bos").fit(two).predict_left_out()).all()


def test_the_default_estimator_refuses_the_file_of_a_published_method_and_names_the_way(tmp_path):
    PublishedEstimator("bos").fit(make_table(WORLDS)).save(tmp_path / "e.parquet")
    with pytest.raises(InputError, match="published method 'bos': use it with `autoeval estim"):
        AccuracyEstimator.load(tmp_path / "e.parquet")
    assert isinstance(load_any_estimator(tmp_path / "e.parquet"), PublishedEstimator)


def test_files_of_earlier_versions_load_and_say_their_method(tmp_path):
    """A default estimator was saved with its method beside target and level."""
    rows = make_table(WORLDS).assign(expected_ap=0.5, likely_share=0.5, box_size=0.0)
    rows = rows[rows["kind"] == "seed"].assign(category="car")
    AccuracyEstimator(rows, level=0.8).save(tmp_path / "new.parquet")
    AccuracyEstimator(rows, level=0.8).save(tmp_path / "old.parquet")
    table = pyarrow.parquet.read_table(tmp_path / "old.parquet")
    note = json.loads(table.schema.metadata[b"autoeval"])
    note["estimator"]["method"] = "bayes"
    write_artefact(tmp_path / "old.parquet", [table.to_pandas()], note)
    old, new = (load_any_estimator(tmp_path / f"{name}.parquet") for name in ("old", "new"))
    assert isinstance(old, AccuracyEstimator) and old.get_params() == new.get_params()
    assert old.predict_rows(rows.iloc[:1]).value == new.predict_rows(rows.iloc[:1]).value


def test_an_estimator_of_no_table_names_what_makes_one():
    for given in (None, "estimator.parquet"):
        with pytest.raises(InputError, match=r"autoeval\.fit\(.*AccuracyEstimator\.load"):
            AccuracyEstimator(given)


def test_one_site_is_one_site():
    rows = make_table(WORLDS).assign(expected_ap=0.5, likely_share=0.5, box_size=0.0)
    rows = rows[rows["kind"] == "seed"].assign(category="car")
    assert "fitted on 1 site>" in repr(AccuracyEstimator(rows.iloc[:1]))
