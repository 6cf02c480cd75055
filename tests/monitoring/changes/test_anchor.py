"""A labelled level is what a change is added to."""

import json

import numpy as np
import pytest
from monitoring.made_records import made_record

from autoeval.errors import InputError
from autoeval.monitoring.changes.change_model import ChangeModel
from autoeval.monitoring.changes.condition import CONDITION
from autoeval.monitoring.changes.image_numbers import MEANINGS
from autoeval.monitoring.changes.site_changes import Anchor, ChangeSettings, site_changes
from autoeval.monitoring.changes.site_watch import SiteChange
from autoeval.monitoring.changes.slopes import Slopes
from autoeval.monitoring.periods import Baseline

BLIND = np.zeros((len(MEANINGS), len(MEANINGS)))  # no image is new


class Store:
    """Two sites of forty images, each less sharp in the second half."""

    def __init__(self):
        signals = dict.fromkeys(MEANINGS, 0.0)
        self.records = {
            site: [
                made_record(k, site, **{**signals, "detail_1": 2.0 - (k >= 20)}) for k in range(40)
            ]
            for site in ("gate", "roof")
        }

    def index(self):
        import pandas as pd

        rows = [
            {"file_name": r.file_name, "group": r.group, "taken": r.taken, "unreadable": ""}
            for records in self.records.values()
            for r in records
        ]
        return pd.DataFrame(rows)

    def read(self, index):
        by_name = {r.file_name: r for records in self.records.values() for r in records}
        return [by_name[name] for name in index["file_name"]]


@pytest.fixture
def model():
    slopes = Slopes(np.array([0.2]), np.array([[0.02**2]]), 0.01)
    weights = np.where(np.array(CONDITION) == "detail_1", [[0.2]] * 2, 0.0)
    return ChangeModel(("detail_1",), np.array([1e3]), slopes, weights, BLIND, "made up")


def test_a_labelled_site_is_estimated_from_its_level_the_others_from_their_estimate(model):
    settings = ChangeSettings(model, Baseline("20"), anchors={"gate": Anchor(0.6, 0.55, 0.65)})
    table = site_changes(Store(), settings, lambda records: 0.3).set_index("group")
    assert table.loc["gate", "change"] == pytest.approx(-0.6 * 0.2, rel=1e-3)
    assert table.loc["roof", "change"] == pytest.approx(-0.3 * 0.2, rel=1e-3)
    assert table.loc["gate", "now"] == pytest.approx(0.6 - 0.12, rel=1e-3)
    assert np.isnan(table.loc["roof", "now"])


def test_half_widths_add_up_as_squares():
    fell = SiteChange(-0.2, -0.24, -0.16, {}, (), 0.0)
    assert Anchor(0.5, 0.47, 0.53).now(fell) == pytest.approx((0.3, 0.25, 0.35))
    assert Anchor(0.1, 0.07, 0.13).now(fell) == (0.0, 0.0, 0.0)


def test_what_label_estimate_prints_is_read(tmp_path):
    path = tmp_path / "gate.json"
    path.write_text(json.dumps({"value": 0.4, "lower": 0.3, "upper": 0.5, "n_labelled": 20}))
    assert Anchor.read(path) == Anchor(0.4, 0.3, 0.5)
    path.write_text(json.dumps({"value": None, "lower": 0.3, "upper": 0.5}))
    with pytest.raises(InputError, match="hold value, lower and upper"):
        Anchor.read(path)
