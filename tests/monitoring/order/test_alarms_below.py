"""Alarms where the interval of a site's estimate lies below a threshold."""

import json

import numpy as np
import pandas as pd
import pytest

from autoeval.errors import InputError
from autoeval.monitoring.order.alarms import with_alarms_below
from autoeval.monitoring.order.site_table import SiteTable
from autoeval.monitoring.watch_plan import WatchPlan
from autoeval.monitoring.watched import Watched
from autoeval.results.monitoring.new_alarms import json_lines, new_alarms, prometheus_text
from autoeval.results.monitoring.site_board import site_board
from autoeval.results.monitoring.sites_report import sites_report
from tests.monitoring.fake_cameras import estimator

TARGET = "recall@0.3"
DAY = {"2026-03-01": "2026-03-01 08:00", "2026-03-02": "2026-03-02 08:00"}


def row(group, period, ends, n_images=60):
    """A site or one of its days, with the interval of its recall."""
    value = float(np.mean(ends))
    known = {"estimate": value, "lower": ends[0], "upper": ends[1], "n_images": n_images}
    first = pd.Timestamp(DAY.get(period, DAY["2026-03-01"]))
    rest = {"rank": 1.0, "p_worst": 0.5, "n_unreadable": 0, "last": first, "warnings": ""}
    return {"group": group, "period": period, "first": first, "digest": "", **known, **rest}


def table(*rows):
    names = tuple({of["group"]: None for of in rows if of["period"] == ""})
    drawn = np.full((2, len(names)), 0.5)
    return SiteTable(pd.DataFrame(rows), drawn, names, 1, lambda records: 0.5)


@pytest.fixture
def sites():
    """Below .6 is the whole interval of the gate alone; of the roof there is none."""
    nothing = row("roof", "", (np.nan, np.nan))
    rows = row("gate", "", (0.2, 0.5)), row("yard", "", (0.3, 0.7)), row("door", "", (0.7, 0.9))
    return with_alarms_below(table(*rows, nothing), 0.6, TARGET)


def test_the_site_whose_interval_is_below_the_threshold_alarms_and_no_other(sites):
    watched = Watched(sites, TARGET, "folder")
    assert watched.alarms["group"].tolist() == ["gate"]
    reasons = sites.sites.set_index("group")["below"]
    assert reasons["gate"] == "recall@0.3 of 20.0 to 50.0, below 60.0"
    assert (reasons[["yard", "door", "roof"]] == "").all()


def test_it_is_on_the_page_on_the_terminal_in_json_and_in_prometheus(sites, tmp_path):
    watched = Watched(sites, TARGET, "folder")
    board = site_board(watched)
    report = sites_report(watched, board)
    alarms = [line for line in report.text().splitlines() if "ALARM" in line]
    assert alarms == ["ALARM: gate recall@0.3 of 20.0 to 50.0, below 60.0"]
    order = sites.sites["group"].tolist()
    assert [bool(item.alarm) for item in board.items] == [name == "gate" for name in order]
    assert "Below the threshold for alarms: 1" in report.write(tmp_path)[0].read_text()
    lines = [json.loads(line) for line in json_lines(sites.rows).splitlines()]
    assert [of["group"] for of in lines if of["below"]] == ["gate"] and len(lines) == 4
    gauges = prometheus_text(sites.sites, target=TARGET, finished_s=0)
    assert 'autoeval_site_below{site="gate",target="recall@0.3"} 1.0\n' in gauges
    assert 'autoeval_site_below{site="yard",target="recall@0.3"} 0.0\n' in gauges
    (sent,) = new_alarms(tmp_path, watched)
    assert sent["group"] == "gate" and sent["below"].endswith("below 60.0")


def test_with_periods_the_latest_one_with_images_counts():
    """The gate got worse, the yard is well again; of the door the last day has no image."""
    rows = [row(name, "", (0.4, 0.8)) for name in ("gate", "yard", "door")]
    first, second = DAY
    rows += [row("gate", first, (0.5, 0.9)), row("gate", second, (0.1, 0.55))]
    rows += [row("yard", second, (0.5, 0.9)), row("yard", first, (0.1, 0.55))]
    rows += [row("door", first, (0.1, 0.55)), row("door", second, (np.nan, np.nan), n_images=0)]
    found = with_alarms_below(table(*rows), 0.6, TARGET).rows
    below = found[found["below"] != ""].set_index(["group", "period"])["below"].to_dict()
    assert below == {
        ("gate", ""): "recall@0.3 of 10.0 to 55.0 in 2026-03-02, below 60.0",
        ("door", ""): "recall@0.3 of 10.0 to 55.0 in 2026-03-01, below 60.0",
    }


def test_a_change_and_a_low_level_are_one_alarm_with_both_reasons(sites):
    changed = {"change": -0.1, "change_lower": -0.15, "change_upper": -0.05, "moved": "found -6.1"}
    of_gate = sites.rows["group"] == "gate"
    rows = sites.rows.assign(alarm=of_gate, **{k: [v] * len(of_gate) for k, v in changed.items()})
    both = Watched(SiteTable(rows, sites.drawn, sites.names, 1, sites.level_of), "mAP", "folder")
    report = sites_report(both, site_board(both))
    reasons = "recall@0.3 of 20.0 to 50.0, below 60.0; fell by 10 ± 5 points; moved: found -6.1"
    assert f"ALARM: gate {reasons}" in report.text().splitlines()
    assert len(both.alarms) == 1


@pytest.mark.parametrize("threshold", [0.0, 1.0, 60.0])
def test_a_threshold_that_is_no_accuracy_is_refused(threshold):
    with pytest.raises(InputError, match="Expected --alarm-below over 0 and under 1"):
        WatchPlan(alarm_below=threshold)


def test_what_an_estimator_cannot_give_is_refused_before_anything_is_observed():
    fitted = estimator(counts=False)
    with pytest.raises(InputError, match=r"recall@0.3 needs: fit again"):
        WatchPlan(score_thr=0.3).check(fitted)
    WatchPlan(alarm_below=0.6).check(fitted)
