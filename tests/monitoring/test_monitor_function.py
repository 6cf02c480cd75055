"""`autoeval.monitor`: many sites with one call, each of them a result as all others."""

import json
import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from commands.predicted_world import write_world

import autoeval
from autoeval.accuracy.measures import find_target
from autoeval.errors import InputError
from autoeval.model.regression import draw_sites
from autoeval.monitoring.box_change import Change
from autoeval.monitoring.looks import SiteLook
from autoeval.monitoring.monitor import DRAWS, _ranks
from autoeval.monitoring.monitored import MonitorSettings, labelled_level, reasons_of

SKILLS = {"north/gate": 0.9, "north/yard": 0.7, "roof": 0.5}


def named(boxes):
    """Give boxes the names of their images."""
    return [{**box, "file_name": f"{box.pop('image_id'):04}.jpg"} for box in boxes]


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    folder = tmp_path_factory.mktemp("monitor")
    (folder / "made").mkdir()
    labels, predictions = write_world(folder, "val", seed=0)
    autoeval.fit(labels, predictions, work_dir=folder / "fit")
    for k, (name, skill) in enumerate(SKILLS.items()):
        path = folder / "sites" / f"{name}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        _, made = write_world(folder / "made", f"{k}", seed=k + 1, skill=skill)
        path.write_text(json.dumps(named(json.loads(made.read_text()))))
    return folder


@pytest.fixture(scope="module")
def watched(world):
    return autoeval.monitor(world / "fit", world / "sites", work_dir=world / "work", by="folder")


def test_a_category_has_the_words_that_one_of_the_joined_fits_was_told(world, tmp_path):
    words = ["thing 0", "thing 1"]
    labels, predictions = write_world(tmp_path, "other", seed=9)
    autoeval.fit(labels, predictions, categories={"thing": words}, work_dir=tmp_path / "named")
    joined = autoeval.join([world / "fit", tmp_path / "named"], work_dir=tmp_path / "all")
    short, whole = (
        autoeval.monitor(
            joined, world / "sites", work_dir=tmp_path / name, by="folder", categories=c
        )
        for name, c in (("short", ["thing"]), ("whole", {"thing": words}))
    )
    values = short.to_pandas()["value"]
    assert values.notna().all() and values.equals(whole.to_pandas()["value"])


def test_numbers_of_frames_that_look_like_times_are_none(world, tmp_path):
    """Of a file a day: frames from 0060 on were in no window, and others in one of a day."""
    (tmp_path / "sites/gate").mkdir(parents=True)
    boxes = json.loads((world / "sites/roof.json").read_text())
    boxes = [{**box, "file_name": f"{int(box['file_name'][:4]) + 30:04}.jpg"} for box in boxes]
    of_day = [[box for box in boxes if (box["file_name"] >= "0060") == late] for late in (0, 1)]
    for day, boxes_of_day in enumerate(of_day, 1):
        assert len({box["file_name"] for box in boxes_of_day}) > 20
        (tmp_path / f"sites/gate/2026-03-{day:02}.json").write_text(json.dumps(boxes_of_day))
    seen = autoeval.monitor(world / "fit", tmp_path / "sites", depth=1, work_dir=tmp_path / "work")
    windows = seen.windows()
    assert windows["n_images"].sum() == len({box["file_name"] for box in boxes})
    assert seen.clocks == {"none": windows["n_images"].sum()}


def test_a_site_is_estimated_as_by_predict(world, watched):
    estimator = autoeval.AccuracyEstimator.load(world / "fit/estimator.parquet")
    for name in SKILLS:
        expected = estimator.predict(world / "sites" / f"{name}.json")
        site = watched[name]
        assert (site.value, site.lower, site.upper) == pytest.approx(
            (expected.value, expected.lower, expected.upper), abs=1e-9
        )
        assert site.level == expected.level and site.target == expected.target
        assert site.per_category.keys() == expected.per_category.keys()
        assert site.n_images == expected.n_images
    assert list(watched.names) == sorted(SKILLS, key=lambda name: watched[name].rank)


def test_what_is_printed_and_drawn(watched):
    worst = watched[watched.names[0]]
    first = str(watched).splitlines()[0]
    assert first == str(worst).splitlines()[0]
    assert first.startswith(f"{worst.name}: learning, estimated mAP: {100 * worst.value:.1f} (")
    rows = worst.to_pandas()
    assert rows["window"].tolist() == [worst.name] and rows["complete"].all()
    numbers = worst.to_dict()
    assert numbers["estimate/mAP"] == worst.value == rows["value"][0]
    assert "estimate/change" not in numbers  # there is no baseline yet
    assert worst.plot().get_ylabel() == "mAP"
    assert watched.to_dict().items() >= {f"{worst.name}/{k}": v for k, v in numbers.items()}.items()
    assert len(watched.to_pandas()) == len(SKILLS)
    with pytest.raises(KeyError, match="No site 'cellar', only"):
        watched["cellar"]


def test_settings_and_what_is_said_of_the_files_act(world, watched, tmp_path):
    options = {"work_dir": tmp_path / "work", "alarm_below": 0.9}
    again = autoeval.monitor(world / "fit", world / "sites", **options)
    assert len(again.alarms) > 0 and len(watched.alarms) == 0
    assert again.alarms[0].alarms == ("below",) and again.alarms[0].state == "learning"
    given = autoeval.Predictions(world / "sites", reference=world / "sites")
    with pytest.raises(InputError, match="fitted without a reference detector"):
        autoeval.monitor(world / "fit", given, work_dir=tmp_path / "other")
    with pytest.raises(InputError, match="Expected --images ROOT, or --predictions"):
        autoeval.monitor(world / "fit", work_dir=tmp_path / "other")


def test_a_labelled_level_is_a_number_or_that_of_the_target(world, tmp_path):
    assert labelled_level(1, "mAP") == 1 and labelled_level(np.float32(0.5), "mAP") == 0.5
    (tmp_path / "gate.json").write_text('{"labelled_estimate": {"target": "mAP50", "value": 0.7}}')
    assert labelled_level(tmp_path / "gate.json", "mAP50") == 0.7
    options = {"labelled": {"gate": tmp_path / "gate.json"}, "work_dir": tmp_path / "work"}
    with pytest.raises(InputError, match="mAP50"):
        autoeval.monitor(world / "fit", world / "sites", **options)
    options = {"labelled": {"gate": 0.7}, "work_dir": tmp_path / "work"}
    with pytest.raises(InputError, match="--labelled"):
        autoeval.monitor(world / "fit", world / "sites", target="recall", score_thr=0.3, **options)


def test_a_site_where_nothing_was_ever_found_has_no_recall_that_could_be_below(world, tmp_path):
    """Without a likely box it is 0 with objects and not defined without: nobody knows.

    One box in a window of ten is likely to be right: the reason is then another one.
    """
    images = [{"id": k, "file_name": f"{k}.jpg", "width": 640, "height": 480} for k in range(30)]
    site = {"images": images, "categories": [{"id": 1, "name": "thing 0"}]}
    box = {"category_id": 1, "score": 0.8}
    lone = [{**box, "id": k, "image_id": k, "bbox": [k, 9, 60, 60]} for k in (1, 11, 21)]
    for name, boxes in (("dark", []), ("lone", lone)):
        path = tmp_path / "sites" / f"{name}.json"
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps({**site, "annotations": boxes}))
    for target, code in (
        ("mAP", "no-estimate"),
        ("recall", "no-estimate"),
        ("precision", "no-box-over-threshold"),
    ):
        options = {"by": "every:10", "baseline": "20", "work_dir": tmp_path / "work"}
        if target != "mAP":
            threshold = 0.85 if target == "precision" else 0.3
            options |= {"target": target, "score_thr": threshold, "alarm_below": 0.5}
        found = autoeval.monitor(world / "fit", tmp_path / "sites", **options)
        assert (found["dark"].state, found["dark"].alarms) == ("too_few", ())
        assert (found["lone"].state, found["lone"].window) == ("too_few", "0003")
        assert {w.code for w in found["lone"].warnings if w in found["lone"].reason} == {code}


def test_a_category_that_few_images_show_is_not_tested_by_itself(world, tmp_path):
    """Its first box in eight windows is no change: the variance of a rare one is not known."""
    _, made = write_world(world / "made", "one", seed=7, n_images=80, n_categories=1, skill=0.8)
    thing = {"category_id": 6, "bbox": [10, 10, 60, 60], "score": 0.9}
    (tmp_path / "sites").mkdir()
    for n_images, state in ((1, "ok"), (7, "ok"), (8, "changed")):  # in the last window
        boxes = json.loads(made.read_text())
        boxes += [{"image_id": 79 - k, **thing} for k in range(n_images)]
        boxes.sort(key=lambda box: box["image_id"])
        (tmp_path / "sites/gate.json").write_text(json.dumps(named(boxes)))
        options = {"by": "every:10", "baseline": "70", "work_dir": tmp_path / f"{n_images}"}
        gate = autoeval.monitor(world / "fit", tmp_path / "sites", **options)["gate"]
        tested = {drift["category"] for drift in gate.drifts}
        assert tested == {"", "thing 0", *(["thing 5"] if state == "changed" else [])}
        assert gate.state == state


def test_all_categories_together_are_tested_by_all_steady_windows(world, tmp_path, monkeypatch):
    """Those that other categories were tested in by themselves were left out: falls were missed."""
    _, made = write_world(tmp_path, "many", seed=7, n_images=200, skill=0.8)
    (tmp_path / "sites").mkdir()
    (tmp_path / "sites/gate.json").write_text(json.dumps(named(json.loads(made.read_text()))))
    together = []
    for most in (4, 0):  # categories that are tested by themselves
        monkeypatch.setattr("autoeval.monitoring.monitor.MOST_CATEGORIES", most)
        options = {"by": "every:10", "baseline": "50", "work_dir": tmp_path / f"{most}"}
        gate = autoeval.monitor(world / "fit", tmp_path / "sites", **options)["gate"]
        assert {drift["category"] != "" for drift in gate.drifts} == {False, most > 0}
        together.append([drift["p"] for drift in gate.drifts if drift["category"] == ""])
    assert together[0] == together[1]


@pytest.mark.parametrize(
    "options",
    [
        {"present": ["Thing_1"]},
        {"present": ["thing 1"], "categories": ["Thing 0", "Thing 1"]},
        {"present": ["Thing 1"], "categories": ["Thing 0", "Thing 1"]},
        {"present": ["Thing 1"], "categories": ["thing 0", "thing 1"]},
    ],
)
def test_a_category_that_is_there_may_be_spelt_otherwise(world, tmp_path, options):
    """Where both were spelt otherwise it was left out; else a spelling was refused."""
    _, made = write_world(tmp_path, "site", seed=1)
    boxes = [box for box in json.loads(made.read_text()) if box["category_id"] == 1]  # thing 0
    (tmp_path / "sites").mkdir()
    (tmp_path / "sites/gate.json").write_text(json.dumps(named(boxes)))
    estimator = autoeval.AccuracyEstimator.load(world / "fit/estimator.parquet")
    expected = estimator.predict(tmp_path / "sites/gate.json", present=["thing 1"])
    given = {"work_dir": tmp_path / "work", "by": "folder", **options}
    site = autoeval.monitor(world / "fit", tmp_path / "sites", **given)["gate"]
    assert site.value == pytest.approx(expected.value, abs=1e-9)
    assert [*site.per_category] == [*expected.per_category] == ["thing 0", "thing 1"]


def test_the_probabilities_to_be_among_the_worst_add_up(world, tmp_path):
    one, every = (
        autoeval.monitor(world / "fit", world / "sites", work_dir=tmp_path / "work", worst=k)
        for k in (1, len(SKILLS))
    )
    p = {site.name: site.p_worst for site in one.sites}
    assert sum(p.values()) == pytest.approx(1) and max(p, key=p.get) == one.names[0] == "roof"
    assert all(math.isnan(site.p_worst) for site in every.sites)


@pytest.mark.parametrize("known", ["north/gate", "roof"])  # the first one of all, and the last
def test_a_site_of_the_fit_leaves_the_draws_of_the_others_as_they_are(world, tmp_path, known):
    """The command was refused where another site came first; else all were drawn as this one."""
    given = {"worst": 1, "by": "folder", "work_dir": tmp_path / "work"}
    known_sites = {known: "val_labels"}
    plain = autoeval.monitor(world / "fit", world / "sites", **given)
    named = autoeval.monitor(world / "fit", world / "sites", known_sites=known_sites, **given)
    assert sum(site.p_worst for site in named.sites) == pytest.approx(1)
    estimator = autoeval.AccuracyEstimator.load(world / "fit/estimator.parquet")
    expected = estimator.predict(world / "sites" / f"{known}.json", site="val_labels")
    assert named[known].value == pytest.approx(expected.value, abs=1e-9) != plain[known].value
    rows = []
    for name in SKILLS:
        site = "val_labels" if name == known else None
        estimate = estimator.predict(world / "sites" / f"{name}.json", site=site)
        rows.append(pd.DataFrame(estimate.site.row["rows"]).assign(site=name))
    regression, table = estimator.regression_, pd.concat(rows, ignore_index=True)
    of_new = draw_sites(regression, table.drop(columns="known_site"), draws=400)
    drawn = draw_sites(regression, table, draws=400, fitted_sites=known_sites)
    others = [k for k, name in enumerate(SKILLS) if name != known]
    assert np.array_equal(drawn[:, others], of_new[:, others])


def test_sites_of_cut_files_are_drawn_by_the_fit_at_that_score(world, tmp_path):
    estimator, rows = autoeval.AccuracyEstimator.load(world / "fit/estimator.parquet"), []
    for name in SKILLS:
        boxes = json.loads((world / "sites" / f"{name}.json").read_text())
        cut = tmp_path / "sites" / f"{name}.json"
        cut.parent.mkdir(parents=True, exist_ok=True)
        cut.write_text(json.dumps([box for box in boxes if box["score"] >= 0.3]))
        site = estimator.predict(cut).site
        assert site.floor == 0.3
        rows.append(pd.DataFrame(site.row["rows"]).assign(site=name))
    regression = estimator.at_floor(0.3).regression_
    table = pd.concat(rows, ignore_index=True)
    drawn = draw_sites(regression, table, draws=DRAWS)
    found = autoeval.monitor(
        world / "fit", tmp_path / "sites", by="folder", worst=1, work_dir=tmp_path / "work"
    )
    for k, name in enumerate(SKILLS):
        assert found[name].p_worst == pytest.approx(np.mean(drawn.argmin(axis=1) == k))


def test_scores_that_were_not_seen_make_the_order_uncertain(world):
    """Of three equal sites one of unknown accuracy is the worst in a half of all cases."""
    estimator = autoeval.AccuracyEstimator.load(world / "fit/estimator.parquet")
    estimate = estimator.predict(world / "sites/roof.json")
    scores = pd.DataFrame(estimate.site.row["rows"]).to_dict("records")
    window = {"scores": scores, "value": estimate.value}
    for unseen, expected in ((0.0, [1 / 3] * 3), (1000.0, [1 / 4, 1 / 2, 1 / 4])):
        shown = {name: window | {"unseen": unseen if name == "b" else 0.0} for name in "abc"}
        ranks = _ranks(estimator, shown, MonitorSettings(k=1), dict.fromkeys("abc", 0.0))
        assert [p for _, p in ranks.values()] == pytest.approx(expected, abs=0.03)


def test_why_an_interval_below_zero_is_no_alarm_is_said():
    """The boxes of a third look may move so by chance: .02 is over .05 / (3 * 4)."""
    for p, upper, states in ((0.02, -0.03, ["ok"]), (0.001, -0.03, ["fell"]), (0.02, 0.01, ["ok"])):
        look = SiteLook(3, (Change(-0.16, -0.29, upper),), p, (20, 20), "blocks of images")
        window = {"n_images": 20, "n_unreadable": 0, "value": 0.4, "lower": 0.3, "upper": 0.5}
        window |= {"complete": True, "look": look.to_dict(), "warnings": []}
        reasons = reasons_of(window, "", MonitorSettings(), str)
        assert list(reasons) == states
        below = "the interval of the change is below 0" in reasons[states[0]]
        assert below == (p == 0.02 and upper < 0)
    # that of the latest window alone, which is shown, may hold 0
    look = SiteLook(
        3, (Change(-0.1, -0.3, 0.1), Change(-0.1, -0.2, -0.01)), 0.02, (9, 1), "windows"
    )
    (reason,) = reasons_of(window | {"look": look.to_dict()}, "", MonitorSettings(), str).values()
    assert "over the last 2 windows is below 0" in reason


@pytest.mark.parametrize(
    ("complete", "states"), [(True, ["learning", "below"]), (False, ["learning"])]
)
def test_a_window_to_which_images_still_come_raises_no_alarm(complete, states):
    """Also where no window is complete: that of the first hour of a site."""
    window = {"n_images": 20, "n_unreadable": 0, "value": 0.4, "lower": 0.3, "upper": 0.5}
    window |= {"complete": complete, "look": None, "warnings": []}
    settings = MonitorSettings(alarm_below=0.6)
    text = find_target("mAP").text
    assert list(reasons_of(window, "has 1 of 7 days", settings, text)) == states


@pytest.mark.parametrize(("n_run", "warned"), [(60, False), (30, True)])
def test_a_site_half_of_which_was_not_run_counts_all_its_images_and_is_warned_of(
    world, tmp_path, n_run, warned
):
    """As an estimate warns of it; what a dark camera does not see is no reason to leave it out."""
    rows = json.loads((world / "sites/roof.json").read_text())
    names = sorted({row["file_name"] for row in rows})[:60]
    low = [{**rows[0], "file_name": name, "score": 0.02} for name in names[:n_run]]
    ran = [row for row in rows if row["file_name"] in names[:n_run]]
    (tmp_path / "sites").mkdir()
    (tmp_path / "sites/roof.json").write_text(json.dumps([*ran, *low]))
    (tmp_path / "lists").mkdir()
    (tmp_path / "lists/roof.txt").write_text("".join(f"{name}\n" for name in names))
    result = autoeval.monitor(
        world / "fit",
        tmp_path / "sites",
        images=tmp_path / "lists",
        work_dir=tmp_path / "work",
        by="folder",
    )
    codes = [notice.code for notice in result.warnings]
    assert result["roof"].n_images == 60
    assert ("images-not-covered" in codes) == warned


@pytest.mark.parametrize("images", ["sites/*/*/*.jpg", "sites"])
def test_new_images_without_a_box_count_where_results_stay_as_they_are(
    world, tmp_path, monkeypatch, images
):
    """The file was not read again, since a pattern or a folder has no size and time of its own."""
    monkeypatch.chdir(tmp_path)
    rows = json.loads((world / "sites/roof.json").read_text())
    names = sorted({row["file_name"] for row in rows})[:20]
    rows = [
        {**row, "file_name": f"roof/day/{Path(row['file_name']).name}"}
        for row in rows
        if row["file_name"] in names
    ]
    (tmp_path / "all.json").write_text(json.dumps(rows))
    folder, counts = tmp_path / "sites/roof/day", []
    folder.mkdir(parents=True)
    for new in ([Path(name).name for name in names], [f"dark{k}.jpg" for k in range(10)]):
        for name in new:
            (folder / name).touch()
        options = {"work_dir": tmp_path / "work", "by": "every:10", "depth": 1}
        result = autoeval.monitor(world / "fit", "all.json", images=images, **options)
        counts.append(int(result.windows()["n_images"].sum()))
    assert counts == [20, 30]


def test_a_pattern_lists_the_images_of_each_run(world, tmp_path, monkeypatch):
    """In one process, as of a service, the list was that of the first run, new images lost."""
    monkeypatch.chdir(tmp_path)
    rows = json.loads((world / "sites/roof.json").read_text())
    names = sorted({row["file_name"] for row in rows})[:60]
    counts = []
    for n in (30, 60):
        for name in names[:n]:
            (tmp_path / "roof" / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / "roof" / name).touch()
        (tmp_path / "sites").mkdir(exist_ok=True)
        ran = [row for row in rows if row["file_name"] in names[:n]]
        (tmp_path / "sites/roof.json").write_text(json.dumps(ran))
        options = {"images": "roof/**/*.jpg", "work_dir": tmp_path / "work", "by": "every:10"}
        result = autoeval.monitor(world / "fit", tmp_path / "sites", **options)
        counts.append(sum(window["n_images"] for window in result.windows().to_dict("records")))
        assert "images-not-placed" not in [notice.code for notice in result.warnings]
    assert counts == [30, 60]
