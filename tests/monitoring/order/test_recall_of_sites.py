"""Recall and false alarms of sites at a threshold beside their accuracy."""

import numpy as np
import pytest

from autoeval.errors import InputError
from autoeval.estimation.fitting import fit_sets
from autoeval.estimation.site import Site
from autoeval.monitoring.order.site_table import site_table
from autoeval.monitoring.site_categories import SiteCategories
from autoeval.monitoring.site_records import CameraImage, RecordStore, row_of
from autoeval.monitoring.watch_plan import WatchPlan
from autoeval.monitoring.watched import Watched
from autoeval.results.monitoring.new_alarms import prometheus_text
from autoeval.results.monitoring.site_board import site_board
from autoeval.results.monitoring.sites_report import sites_report
from autoeval.sites.site_boxes import SiteBoxes
from tests.estimation.test_estimates_at_thresholds import labelled
from tests.made_sites import WORDS, random_found

EVERYWHERE = SiteCategories(WORDS, {word: [word] for word in WORDS})
SEEDS = {"gate": 11, "yard": 12}


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    estimator = fit_sets([labelled(f"s{k}", k, everywhere=True) for k in range(3)], context={})
    store = RecordStore(tmp_path_factory.mktemp("store"))
    rows = []
    for group, seed in SEEDS.items():
        found = random_found(seed)
        for k, image in enumerate(found.images):
            record = CameraImage(
                f"{group}/{image.image_id}", image.size, None, group, found.detections(k)
            )
            known = {"stamp": "1", "taken_from": "", "unreadable": "", "observed_s": 0.0}
            rows.append(row_of(record) | known | {"number": k})
    store.rows.write("all", rows)
    table = site_table(store, estimator, EVERYWHERE, WatchPlan(score_thr=0.4), backbone="ResNet")
    return estimator, table, store


def test_recall_is_that_of_the_site_and_false_alarms_are_boxes_less_true_positives(world):
    estimator, table, _ = world
    for group, seed in SEEDS.items():
        found = random_found(seed)
        beside = estimator.predict_site(Site(SiteBoxes(found), named=True), 0.4).beside
        row = table.sites.set_index("group").loc[group]
        for end, name in (("", "value"), ("_lower", "lower"), ("_upper", "upper")):
            assert row[f"recall@0.4{end}"] == pytest.approx(beside["recall@0.4"][name], rel=1e-4)
        an_image = np.sum(found.scores > np.float32(0.4)) / len(found.images)
        wrong = an_image * (1 - beside["precision@0.4"]["value"])
        assert row["false_alarms@0.4"] == pytest.approx(wrong, rel=1e-4)


def test_they_are_on_the_page_on_the_terminal_and_in_prometheus(world):
    watched = Watched(world[1], "mAP", "folder")
    report = sites_report(watched, site_board(watched))
    text = report.text()
    assert "recall@0.4" in text and "false alarms an image" in text
    facts = [fact for item in site_board(watched).items for fact in item.facts]
    assert sum("recall@0.4" in fact for fact in facts) == len(SEEDS)
    gauges = prometheus_text(watched.table.sites, target="mAP", finished_s=0)
    row = watched.table.sites.set_index("group").loc["gate"]
    assert f'recall{{site="gate",target="recall@0.4"}} {float(row["recall@0.4"])}' in gauges
    assert 'false_alarms{site="gate",target="false_alarms@0.4"}' in gauges


def test_a_threshold_outside_0_and_1_is_refused_before_anything_is_observed():
    with pytest.raises(InputError, match="over 0 and under 1"):
        WatchPlan(score_thr=1.5)


def test_a_threshold_over_every_score_leaves_all_else_as_it_is(world):
    estimator, table, store = world
    with_it = site_table(
        store, estimator, EVERYWHERE, WatchPlan(score_thr=0.999), backbone="ResNet"
    )
    assert with_it.sites["estimate"].tolist() == table.sites["estimate"].tolist()
    for name in ("recall@0.999", "recall@0.999_lower", "recall@0.999_upper", "false_alarms@0.999"):
        assert with_it.sites[name].tolist() == [0, 0]


def test_sites_of_recall_0_are_equally_bad(world):
    estimator, _, store = world
    fitted = estimator.for_target("recall@0.999")
    recall = site_table(store, fitted, EVERYWHERE, WatchPlan(), backbone="ResNet")
    assert recall.sites["upper"].tolist() == [0, 0]
    assert Watched(recall, "recall@0.999", "folder").neighbours() == [0.5]
