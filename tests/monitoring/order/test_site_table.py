"""The estimate of a site is that of its folder; the probabilities of ranks."""

import numpy as np
import pytest
from monitoring.fake_cameras import detector, estimator, observe, write_camera

from autoeval.errors import InputError
from autoeval.estimation.estimator import AccuracyEstimator
from autoeval.monitoring.observing.site_pass import site_observer
from autoeval.monitoring.order.site_table import among_worst

LEVELS = {"gate": 230, "yard/north": 150, "yard/south": 90}


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    root = tmp_path_factory.mktemp("cameras")
    for k, (name, level) in enumerate(LEVELS.items()):
        write_camera(root / name, 12 + k, level, seed=k, at=1_770_000_000)
    (root / "gate" / "0003.png").write_bytes(b"not an image")
    return root


@pytest.fixture(scope="module")
def seen(world, tmp_path_factory):
    fitted, folder = estimator(), tmp_path_factory.mktemp("store")
    table, counts = observe(world, folder, fitted, detector())
    return fitted, table, counts, folder


def test_a_site_is_estimated_as_its_folder(world, seen):
    fitted, table, _, _ = seen
    for name in LEVELS:
        expected = fitted.predict(detector(), images=world / name)
        assert any("0003.png" in text for text in expected.warnings) == (name == "gate")
        row = table.sites.set_index("group").loc[name]
        for mine, theirs in (("estimate", "value"), ("lower", "lower"), ("upper", "upper")):
            assert row[mine] == pytest.approx(getattr(expected, theirs), abs=1e-9)
        assert row["n_images"] == expected.n_images
        same = [warning for warning in expected.warnings if "could not be read" not in warning]
        assert set(row["warnings"].split("; ")) <= set(same)


def test_the_dark_camera_is_the_worst(seen):
    sites = seen[1].sites
    assert sites["group"].tolist() == ["yard/south", "yard/north", "gate"]
    assert sites["p_worst"].isna().all()  # of three sites all are among the three worst


def test_an_image_that_cannot_be_read_is_counted(seen):
    sites = seen[1].sites.set_index("group")
    assert sites["n_unreadable"].to_dict() == {"gate": 1, "yard/north": 0, "yard/south": 0}


def test_nothing_is_observed_twice(world, seen):
    fitted, table, counts, folder = seen
    assert counts.done == 8  # 12 + 13 + 14 images, five a batch
    again, counts = observe(world, folder, fitted, detector())
    assert counts.done == 0
    assert again.rows.equals(table.rows)


REFERENCE = ("reference_ap", "reference_ap50", "reference_ap75")


def test_an_estimator_that_sites_cannot_serve_is_refused():
    fitted = estimator()
    again = fitted.table_["expected_ap"]
    rows = fitted.table_.assign(**dict.fromkeys(REFERENCE, again), reference_true_ap=1.0)
    other = AccuracyEstimator().fit_rows(rows, context=fitted.context_)
    with pytest.raises(InputError, match="fitted with a reference detector: give the same one"):
        site_observer(other, detector())


def test_equal_sites_are_as_likely_among_the_worst():
    drawn = np.random.default_rng(1).normal(size=(50_000, 8))
    probabilities = among_worst(drawn, 3)
    assert probabilities == pytest.approx(np.full(8, 3 / 8), abs=0.01)
    assert probabilities.sum() == pytest.approx(3)
    assert np.isnan(among_worst(drawn[:, :3], 3)).all()  # all three are, which says nothing
