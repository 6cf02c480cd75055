"""The state of a site in the four cases in which a monitor must not be silent, and others."""

import gzip
import json
import re
import shlex
from datetime import datetime, timedelta

import numpy as np
import pandas as pd
import pytest
from predicted_world import write_world

import autoeval
from autoeval.cli import main
from autoeval.errors import InputError
from autoeval.estimation.estimator import AccuracyEstimator
from autoeval.labels.plan_folder import load_plan
from autoeval.monitoring.monitor_store import MonitorStore
from autoeval.monitoring.monitored import MonitorSettings

START = datetime(2026, 3, 2, 8)
SITES = ("gate", "hall", "yard")
ALL = [f"--category=thing {k}" for k in range(3)]


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """A fit, and the boxes of 120 images of each of three sites, by image."""
    folder = tmp_path_factory.mktemp("states")
    labels, predictions = write_world(folder, "val", seed=0)
    autoeval.fit(labels, predictions, work_dir=folder / "fit")
    boxes = {}
    for k, name in enumerate(SITES):
        made = write_world(folder, name, seed=k + 1, skill=0.9, n_images=120)[1]
        by_image = {}
        for box in json.loads(made.read_text()):
            by_image.setdefault(box["image_id"], []).append(box)
        boxes[name] = list(by_image.values())
    return folder / "fit", boxes


def write_sites(world, folder, n, kept=lambda site, k: 1.0, minutes=5, times=True):
    """Write the first n images of each site; `kept` is the share of boxes of each image."""
    (folder / "sites").mkdir(exist_ok=True)
    rng = np.random.default_rng(0)
    for name, by_image in world[1].items():
        images, boxes = [], []
        for k in range(n):
            taken = START + timedelta(minutes=minutes * k)
            images.append({"id": k, "file_name": f"{k:04}.jpg", "width": 640, "height": 480})
            images[-1] |= {"date_captured": f"{taken:%Y-%m-%d %H:%M:%S}"} if times else {}
            own = by_image[k % len(by_image)]
            kept_here = [box for box in own if rng.random() < kept(name, k)]
            boxes += [{**box, "image_id": k} for box in kept_here]
        categories = [{"id": k + 1, "name": f"thing {k}"} for k in range(12)]
        content = {"images": images, "annotations": boxes, "categories": categories}
        (folder / "sites" / f"{name}.json").write_text(json.dumps(content))


def monitor(world, folder, *options):
    words = ["monitor", "--estimator", world[0], "--predictions", folder / "sites"]
    words += ["--work-dir", folder / "work", "--fail-on-alarm", *ALL]
    return main([*map(str, words), *map(str, options)])


def sites(folder):
    result = json.loads((folder / "work/result.json").read_text())
    return {site["name"]: site for site in result["sites"]}


def loses(share, since):
    return lambda site, k: share if site == "gate" and k >= since else 1.0


def test_a_baseline_that_the_data_do_not_fill_is_said_with_what_would_be_full(
    world, tmp_path, capsys
):
    """Three rounds of a few hours, the gate losing boxes: with seven days nothing is known yet."""
    for n in (20, 40, 60):
        write_sites(world, tmp_path, n, loses(0.1, 40))
        assert monitor(world, tmp_path, "--prometheus", tmp_path / "site.prom") == 0
    shown = capsys.readouterr().out
    assert {site["state"] for site in sites(tmp_path).values()} == {"learning"}
    assert "the baseline (7d) has 1 of 7 days" in sites(tmp_path)["gate"]["reason"]
    gauges = (tmp_path / "site.prom").read_text()
    assert 'autoeval_site_state{site="gate",state="learning",target="mAP"} 1.0' in gauges
    for name in ("alarm", "fell", "changed", "change"):
        assert f"autoeval_site_{name}{{" not in gauges
    advice = re.findall(r"with (--by \S+ --baseline \d+) it would be full", shown)[-1]
    assert monitor(world, tmp_path, *advice.split()) == 3
    states = {name: site["state"] for name, site in sites(tmp_path).items()}
    assert states["gate"] == "fell" and states["hall"] in ("ok", "changed")


def test_a_sudden_fall_on_34_images_of_three_hours_is_an_alarm(world, tmp_path, capsys):
    """Images five minutes apart are no single unit, as where those of one hour counted as one."""
    write_sites(world, tmp_path, 34, loses(0.05, 17))
    assert monitor(world, tmp_path, "--by", "every:17", "--baseline", 17) == 3
    gate = sites(tmp_path)["gate"]
    assert gate["state"] == "fell" and gate["change_upper"] < 0
    assert "ALARM: gate fell in 0002" in capsys.readouterr().out
    blocks = re.match(r"(\d+) independent blocks of images in the baseline", gate["units"])
    assert int(blocks[1]) > 3


def test_most_boxes_lost_is_never_silent(world, tmp_path):
    """70 % of all boxes: the state says so, whether or not the fall of mAP is sure."""
    write_sites(world, tmp_path, 60, loses(0.3, 40))
    options = ("--by", "every:20", "--baseline", 40, "--alarm-on", "changed")
    assert monitor(world, tmp_path, *options) == 3
    gate = sites(tmp_path)["gate"]
    assert gate["state"] in ("fell", "changed") and "likely boxes an image" in gate["reason"]
    assert gate["change"] < 0


def test_what_is_shown_and_exported_is_the_latest_window_alone(world, tmp_path):
    """60, 40 and 25 % of the boxes in three windows: no pooled value hides them, nor the state."""
    names = {f"thing {k}": [f"thing {k}"] for k in range(3)}
    for n, share in ((20, 1.0), (40, 0.6), (60, 0.4), (80, 0.25)):
        write_sites(world, tmp_path, n, lambda site, k: (1.0, 0.6, 0.4, 0.25)[k // 20])
        prometheus = ("--prometheus", tmp_path / "site.prom")
        monitor(world, tmp_path, "--by", "every:20", "--baseline", 20, *prometheus)
        gate = sites(tmp_path)["gate"]
        content = json.loads((tmp_path / "sites/gate.json").read_text())
        last = {image["id"] for image in content["images"][-20:]}
        content["images"] = [image for image in content["images"] if image["id"] in last]
        kept = [box for box in content["annotations"] if box["image_id"] in last]
        (tmp_path / "last.json").write_text(json.dumps({**content, "annotations": kept}))
        alone = AccuracyEstimator.load(world[0]).predict(tmp_path / "last.json", categories=names)
        assert gate["value"] == pytest.approx(alone.value, abs=1e-9), share
        shown = re.search(r'site_estimate\{site="gate",target="mAP"\} (\S+)', gauges(tmp_path))
        assert float(shown[1]) == pytest.approx(gate["value"])
    assert gate["window"] == "0004" and gate["state"] in ("fell", "changed")
    history = pd.read_parquet(tmp_path / "work/windows.parquet")
    assert history[history["site"] == "gate"]["window"].tolist() == ["0001", "0002", "0003", "0004"]


def gauges(folder):
    return (folder / "site.prom").read_text()


def test_stable_sites_are_ok_and_a_dark_one_is_not_silent(world, tmp_path):
    """Nothing is found any more: no estimate, and yet no lack of a state."""
    write_sites(world, tmp_path, 60, loses(0.0, 40))
    assert monitor(world, tmp_path, "--by", "every:20", "--baseline", 40) in (0, 3)
    states = {name: site["state"] for name, site in sites(tmp_path).items()}
    assert states["gate"] in ("fell", "changed")
    assert {states["hall"], states["yard"]} == {"ok"}


def test_few_images_and_nothing_found_from_the_first_on(world, tmp_path):
    write_sites(world, tmp_path, 30, lambda site, k: 0.0 if site == "gate" else 1.0)
    assert monitor(world, tmp_path, "--by", "every:10") == 0
    assert sites(tmp_path)["gate"]["state"] == "too_few"
    assert sites(tmp_path)["gate"]["value"] is None and sites(tmp_path)["gate"]["rank"] is None
    assert monitor(world, tmp_path, "--by", "every:4") == 0
    assert {site["state"] for site in sites(tmp_path).values()} == {"too_few"}


def test_an_alarm_stays_until_a_window_that_can_be_judged_ends_it(world, tmp_path):
    """The gate falls on the third day; the fourth has two images, which say nothing."""
    options = ("--by", "day", "--baseline", "2d", "--prometheus", tmp_path / "site.prom")
    write_sites(world, tmp_path, 54, loses(0.05, 34), minutes=72)
    assert monitor(world, tmp_path, *options) == 3
    fallen = sites(tmp_path)["gate"]
    assert fallen["state"] == "fell" and fallen["window"] == "2026-03-04"
    write_sites(world, tmp_path, 56, loses(0.05, 34), minutes=72)
    assert monitor(world, tmp_path, *options) == 3
    found = sites(tmp_path)
    gate = found["gate"]
    assert gate["state"] == "fell" and list(gate["reasons"]) == ["fell", "too_few"]
    assert (gate["window"], gate["value"]) == ("2026-03-04", pytest.approx(fallen["value"]))
    assert "2026-03-04, the latest window that could be evaluated" in gate["reason"]
    assert 'autoeval_site_alarm{site="gate",target="mAP"} 1.0' in gauges(tmp_path)
    assert {found[name]["state"] for name in ("hall", "yard")} == {"too_few"}
    assert 'autoeval_site_alarm{site="hall"' not in gauges(tmp_path)

    def gate_falls_for_a_day(site, k):
        return 0.05 if site == "gate" and 34 <= k < 54 else 1.0

    write_sites(world, tmp_path, 74, gate_falls_for_a_day, minutes=72)
    assert monitor(world, tmp_path, "--by", "day", "--baseline", "2d") == 0
    assert sites(tmp_path)["gate"]["state"] == "ok"


def test_a_site_below_its_level_is_known_not_to_have_fallen(world, tmp_path):
    write_sites(world, tmp_path, 40)
    options = ("--by", "every:20", "--baseline", 20, "--alarm-below", 0.99)
    assert monitor(world, tmp_path, *options, "--prometheus", tmp_path / "site.prom") == 3
    assert list(sites(tmp_path)["hall"]["reasons"]) == ["below"]
    assert 'autoeval_site_fell{site="hall",target="mAP"} 0.0' in gauges(tmp_path)


def test_a_level_that_was_set_alarms_while_the_baseline_is_not_full(world, tmp_path):
    write_sites(world, tmp_path, 20)
    assert monitor(world, tmp_path, "--by", "every:20", "--alarm-below", 0.1) == 0
    assert monitor(world, tmp_path, "--by", "every:20", "--alarm-below", 0.99) == 3
    gate = sites(tmp_path)["gate"]
    assert gate["upper"] < 0.99
    assert gate["state"] == "learning" and list(gate["reasons"]) == ["learning", "below"]
    result = json.loads((tmp_path / "work/result.json").read_text())
    assert ("gate", "below") in [(alarm["site"], alarm["kind"]) for alarm in result["alarms"]]


def test_boxes_are_dropped_after_a_while_and_the_history_stays(world, tmp_path):
    write_sites(world, tmp_path, 80)
    options = ("--by", "every:20", "--baseline", 20)
    assert monitor(world, tmp_path, *options) == 0
    before = pd.read_parquet(tmp_path / "work/windows.parquet")
    assert monitor(world, tmp_path, *options, "--keep", "20") == 0
    kept = MonitorStore(tmp_path / "work").index().set_index("name")["kept"]
    assert kept.groupby(kept.index.str.split("/").str[0]).sum().to_dict() == dict.fromkeys(
        SITES, 40
    )
    assert monitor(world, tmp_path, *options) == 0
    after = pd.read_parquet(tmp_path / "work/windows.parquet")
    pd.testing.assert_frame_equal(before, after)


@pytest.mark.rare
def test_one_new_site_costs_what_one_site_costs(world, tmp_path, monkeypatch):
    """Windows that did not change are not estimated again."""
    write_sites(world, tmp_path, 60)
    monitor(world, tmp_path, "--by", "every:20", "--baseline", 20)
    seen = []
    predict = AccuracyEstimator.predict_site
    monkeypatch.setattr(
        AccuracyEstimator,
        "predict_site",
        lambda *args, **options: seen.append(1) or predict(*args, **options),
    )
    monitor(world, tmp_path, "--by", "every:20", "--baseline", 20)
    assert seen == []
    path = tmp_path / "sites/new.json"
    path.write_text((tmp_path / "sites/gate.json").read_text())
    monitor(world, tmp_path, "--by", "every:20", "--baseline", 20)
    assert len(seen) == 3 and len(sites(tmp_path)) == 4


def test_a_site_whose_file_is_gone_is_named(world, tmp_path):
    write_sites(world, tmp_path, 40)
    monitor(world, tmp_path, "--by", "every:20", "--baseline", 20)
    (tmp_path / "sites/gate.json").rename(tmp_path / "sites/gate 2.json")
    monitor(world, tmp_path, "--by", "every:20", "--baseline", 20)
    warnings = json.loads((tmp_path / "work/result.json").read_text())["warnings"]
    (gone,) = [text for text in warnings if "no file is of this site any more" in text]
    assert gone.startswith("gate: ") and {"gate", "gate 2"} < sites(tmp_path).keys()


def test_images_that_come_in_a_second_file_again_count_once(world, tmp_path):
    """A round is sent twice under another name, with images in which nothing is found."""
    write_sites(world, tmp_path, 40, lambda site, k: 0.0 if k % 4 == 0 else 1.0)
    for name in SITES:
        (tmp_path / "sites" / name).mkdir()
        (tmp_path / f"sites/{name}.json").rename(tmp_path / f"sites/{name}/one.json")
    options = ("--by", "every:20", "--baseline", 20, "--depth", 1)
    monitor(world, tmp_path, *options)
    before = sites(tmp_path)["gate"]
    content = (tmp_path / "sites/gate/one.json").read_text()
    (tmp_path / "sites/gate/two.json").write_text(content)
    monitor(world, tmp_path, *options)
    history = pd.read_parquet(tmp_path / "work/windows.parquet").query("site == 'gate'")
    assert history["n_images"].sum() == 40 and before["n_images"] == 20
    notes = json.loads((tmp_path / "work/result.json").read_text())["warnings"]
    assert any("exactly the boxes of another of their site, left out: 40" in n for n in notes)


def test_windows_whose_boxes_were_dropped_are_counted(world, tmp_path):
    """With other windows after --keep: the baseline's images are there, the later ones are not."""
    write_sites(world, tmp_path, 80)
    monitor(world, tmp_path, "--by", "every:20", "--baseline", 20, "--keep", 10)
    monitor(world, tmp_path, "--by", "every:10", "--baseline", 20)
    warnings = json.loads((tmp_path / "work/result.json").read_text())["warnings"]
    (dropped,) = [text for text in warnings if text.startswith("gate: 5 windows")]
    assert "dropped by --keep" in dropped


@pytest.mark.rare
def test_a_second_run_without_times_loses_nothing(world, tmp_path):
    """Sixty files of five images, none with a time."""
    write_sites(world, tmp_path, 5, times=False)
    content = (tmp_path / "sites/gate.json").read_text()
    for k in range(60):
        (tmp_path / "sites" / f"{k:02}.json").write_text(content)
    for _ in range(2):
        assert monitor(world, tmp_path, "--by", "folder") == 0
        found = sites(tmp_path)
        assert len(found) == 63 and {site["n_images"] for site in found.values()} == {5}


def test_a_site_of_the_fit_is_estimated_as_one(world, tmp_path, capsys):
    """As `predict(site=...)` does of its file alone."""
    write_sites(world, tmp_path, 20)
    assert monitor(world, tmp_path, "--by", "folder", "--site", "gate=val_labels") == 0
    names = {f"thing {k}": [f"thing {k}"] for k in range(3)}
    expected = AccuracyEstimator.load(world[0]).predict(
        tmp_path / "sites/gate.json", site="val_labels", categories=names
    )
    assert sites(tmp_path)["gate"]["value"] == pytest.approx(expected.value)
    capsys.readouterr()
    assert monitor(world, tmp_path, "--site", "gate=elsewhere") == 2
    assert "fitted on no site 'elsewhere'" in capsys.readouterr().err


@pytest.mark.parametrize("suffix", [".json", ".json.gz"])
def test_the_command_that_labels_a_site_with_an_alarm_works(world, tmp_path, capsys, suffix):
    write_sites(world, tmp_path, 34, loses(0.05, 17))
    made = (tmp_path / "sites/gate.json").read_bytes()
    (tmp_path / "sites/gate.json").unlink()
    content = gzip.compress(made) if suffix.endswith(".gz") else made
    (tmp_path / f"sites/gate{suffix}").write_bytes(content)
    chosen = ["--site-category", "gate", "thing 1", "--numbering", "labels", "--target", "mAP50"]
    assert monitor(world, tmp_path, "--by", "every:17", "--baseline", 17, *chosen) == 3
    (command,) = re.findall(r"label gate: autoeval (label plan .*)", capsys.readouterr().out)
    words = shlex.split(command.split(" --work-dir")[0])
    assert main([*words, "--n", "5", "--work-dir", str(tmp_path / "labels")]) == 0
    plan = load_plan(tmp_path / "labels")
    assert plan.found.categories == ("thing 1",) and plan.target == "mAP50"


def test_the_command_that_labels_a_site_has_all_of_its_images(world, tmp_path, capsys):
    """Those without a box are in no results file, and were in no plan."""
    write_sites(world, tmp_path, 34, loses(0.05, 17))
    (tmp_path / "lists").mkdir()
    for name in SITES:
        made = tmp_path / f"sites/{name}.json"
        content = json.loads(made.read_text())
        (tmp_path / f"lists/{name}.json").write_text(json.dumps({**content, "annotations": []}))
        rows = [
            {**box, "image_id": f"{box['image_id']:04}.jpg"}
            for box in content["annotations"]
            if box["image_id"] % 17 != 3  # where nothing was found
        ]
        made.write_text(json.dumps(rows))
    given = ["--images", tmp_path / "lists", "--by", "every:17", "--baseline", 17]
    assert monitor(world, tmp_path, *given) == 3
    (command,) = re.findall(r"label gate: autoeval (label plan .*)", capsys.readouterr().out)
    words = shlex.split(command.split(" --work-dir")[0])
    assert main([*words, "--n", "5", "--work-dir", str(tmp_path / "labels")]) == 0
    assert load_plan(tmp_path / "labels").n_pool == 34


def test_settings_that_cannot_be_are_refused_in_python():
    for wrong in (
        {"iou": 0.75},
        {"false_alarms": 0},
        {"baseline": "soon"},
        {"keep": "some"},
        {"keep": "99999d"},
        {"alarm_below": 60},
        {"labelled": {"gate": 71.0}},
        {"labelled": {"gate": float("nan")}},
        {"k": 0},
    ):
        with pytest.raises(InputError, match="Expected"):
            MonitorSettings(**wrong)
