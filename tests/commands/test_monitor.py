"""The command on cameras whose pictures say what a stand-in detector finds."""

import json
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from monitoring import fake_cameras
from monitoring.fake_cameras import estimator, write_camera

from autoeval.cli import main

DETECTOR = str(Path(fake_cameras.__file__).with_name("fake_detector.py")) + ":detector"
# Hours, an image each.
BEFORE = 30
AFTER = 24
START = 1_770_000_000
RECALL = ["--target", "recall", "--score-thr", ".3"]
CAMERAS = {"gate": 230, "yard": 150, "roof": 90}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    root = tmp_path_factory.mktemp("site")
    for k, (name, level) in enumerate(CAMERAS.items()):
        write_camera(root / "images" / name, 8, level, seed=k, at=START)
    estimator(root / "estimator.parquet")
    return root


@pytest.fixture
def site(made, tmp_path):
    shutil.copytree(made, tmp_path / "site")
    return tmp_path / "site"


def monitor(site, *options, images="images"):
    words = ["monitor", "--estimator", str(site / "estimator.parquet"), "--detector", DETECTOR]
    words += ["--images", str(site / images), "--work-dir", str(site / "work")]
    return main([*words, *map(str, options)])


def lines(site, capsys, *options):
    """Run it; return the rows that it prints."""
    assert monitor(site, *options, "--json-lines") == 0
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_a_run_prints_the_order_and_writes_its_files(site, capsys):
    assert monitor(site, "--prometheus", site / "autoeval.prom") == 0
    shown = capsys.readouterr().out
    assert shown.index("roof") < shown.index("yard") < shown.index("gate")
    assert "24 images of 3 sites, 24 of them new in this run; times from: file 24" in shown
    rows = pd.read_parquet(site / "work" / "windows.parquet")
    assert set(rows["window"]) == {"2026-02-02"} and rows["complete"].all()
    gauges = (site / "autoeval.prom").read_text()
    assert 'autoeval_site_images{site="gate",target="mAP"} 8' in gauges
    assert (site / "work" / "report.html").exists()


def test_the_next_run_observes_what_is_new_or_has_changed_alone(site, capsys):
    monitor(site)
    write_camera(site / "images" / "gate", 2, 230, start=8, at=START)
    capsys.readouterr()
    rows = lines(site, capsys)
    assert {row["name"]: row["n_images"] for row in rows} == {"gate": 10, "roof": 8, "yard": 8}
    shutil.copy(site / "images/roof/0001.png", site / "images/gate/0000.png")
    monitor(site)
    assert "26 images of 3 sites, 1 of them new in this run" in capsys.readouterr().out
    (site / "images/gate/0000.png").unlink()  # what is deleted later still counts
    monitor(site)
    assert "26 images of 3 sites, 0 of them new in this run" in capsys.readouterr().out


def test_quiet_says_nothing_unless_something_is_wrong(site, capsys):
    assert monitor(site, "--quiet") == 0
    assert capsys.readouterr() == ("", "")
    (site / "images" / "gate" / "broken.png").write_bytes(b"no picture")
    assert monitor(site, "--quiet") == 0
    out, err = capsys.readouterr()
    assert "cannot be read: 1 image" in out and err == ""


def test_one_image_a_site_and_mixed_sizes_are_no_error(site, capsys):
    import cv2

    folder = site / "images" / "single"
    folder.mkdir()
    image = cv2.imread(str(site / "images" / "gate" / "0000.png"))
    cv2.imwrite(str(folder / "1.png"), cv2.resize(image, (96, 64)))
    cv2.imwrite(str(site / "images" / "gate" / "wide.png"), cv2.resize(image, (128, 48)))
    assert monitor(site, "--by", "folder") == 0
    rows = pd.read_parquet(site / "work" / "windows.parquet").set_index("site")
    assert rows["n_images"].to_dict() == {"gate": 9, "roof": 8, "single": 1, "yard": 8}
    result = json.loads((site / "work/result.json").read_text())
    assert {of["name"]: of["state"] for of in result["sites"]}["single"] == "too_few"


def test_files_that_vanish_during_the_run_are_named(site, capsys, monkeypatch):
    from autoeval.monitoring import read_sites

    listed = read_sites.site_images

    def list_then_lose(*args, **options):
        found = listed(*args, **options)
        for k in range(8):
            (site / "images" / "gate" / f"{k:04d}.png").unlink()
        return found

    monkeypatch.setattr(read_sites, "site_images", list_then_lose)
    assert monitor(site, "--verbose") == 0
    shown = capsys.readouterr().out
    assert "vanished during the run: 8 images (gate/0000.png" in shown
    assert "16 images of 2 sites" in shown


def test_an_estimator_of_another_detector_is_refused(site, capsys):
    estimator(site / "other.parquet", name="another")
    words = ["monitor", "--estimator", str(site / "other.parquet"), "--detector", DETECTOR]
    assert main([*words, "--images", str(site / "images")]) == 2
    assert "another detector" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--by", "week"], "Expected --by as auto, day, hour, folder or every:200"),
        (["--time", "yesterday"], "Expected --time as exif, file, auto or a form"),
        (["--worst", "0"], "Expected --worst of 1 or more"),
        (["--depth", "0"], "Expected --depth of 1 or more"),
        (["--baseline", "soon"], "Expected --baseline as days"),
        (["--false-alarms", "2"], "Expected --false-alarms over 0 and under 1"),
        (["--keep", "some"], "Expected --keep as days"),
        (["--labelled", "gate=missing.json"], "missing.json"),
        (["--alarm-below", "60"], "Expected --alarm-below over 0 and under 1"),
        (["--target", "recall"], "name it with --score-thr"),
        ([*RECALL, "--site", "gate=s1"], "At a known site mAP"),
    ],
)
def test_options_that_make_no_sense_are_refused(options, message, site, capsys):
    assert monitor(site, *options) == 2
    assert message in capsys.readouterr().err


def test_alarms_on_recall_are_refused_where_the_fit_has_no_counts(site, capsys):
    estimator(site / "estimator.parquet", counts=False)
    assert monitor(site, *RECALL, "--alarm-below", ".5") == 2
    assert "no counts of boxes by score, which recall@0.3 needs" in capsys.readouterr().err
    assert not (site / "work").exists()


def test_a_store_made_with_other_times_is_refused(site, capsys):
    monitor(site)
    assert monitor(site, "--time", "file") == 2
    assert "different: time" in capsys.readouterr().err


def test_a_store_made_with_other_folders_as_sites_is_refused(site, capsys):
    """Images that were there kept the site that they had, and new ones had another."""
    (site / "images").rename(site / "all")
    (site / "images").mkdir()
    (site / "all").rename(site / "images/all")
    assert monitor(site) == 0
    assert monitor(site, "--depth", "1") == 2
    assert "different: depth" in capsys.readouterr().err
    assert monitor(site) == 0


def test_folders_of_dates_are_one_site(site, capsys):
    for day in ("2026/03/01", "2026/03/02"):
        write_camera(site / "dated" / "gate" / day, 3, 200, at=START)
    write_camera(site / "dated" / "roof" / "2026/03/01", 3, 100, at=START)
    form = "%Y/%m/%d"
    assert monitor(site, "--depth", "1", "--time", form, "--by", "day", images="dated") == 0
    rows = pd.read_parquet(site / "work" / "windows.parquet")
    assert rows.groupby("site")["window"].agg(list).to_dict() == {
        "gate": ["2026-03-01", "2026-03-02"],
        "roof": ["2026-03-01"],
    }


@pytest.fixture(scope="module")
def made_changed(tmp_path_factory):
    """The camera at the gate goes dark after a while; the others stay as they are."""
    root = tmp_path_factory.mktemp("changed")
    for k, (name, level) in enumerate(CAMERAS.items()):
        folder, later = root / "images" / name, 80 if name == "gate" else level
        write_camera(folder, BEFORE, level, seed=k, at=START)
        write_camera(folder, AFTER, later, seed=10 + k, start=BEFORE, at=START)
    estimator(root / "estimator.parquet")
    monitor(root)
    return root


@pytest.fixture
def changed(made_changed, tmp_path):
    shutil.copytree(made_changed, tmp_path / "changed")
    return tmp_path / "changed"


WINDOWS = ["--by", f"every:{AFTER // 2}", "--baseline", BEFORE // 2 * 2 - 6]


def test_a_camera_that_went_dark_raises_the_alarm(changed, capsys):
    options = [*WINDOWS, "--fail-on-alarm"]
    assert monitor(changed, *options) == 3
    shown = capsys.readouterr().out
    assert shown.count("ALARM") == 1 and "ALARM: gate fell in 0004" in shown
    rows = pd.read_parquet(changed / "work" / "windows.parquet")
    gate = rows[rows["site"] == "gate"].set_index("window")
    assert gate.loc["0004", "change_upper"] < 0 and np.isnan(gate.loc["0001", "change"])
    assert monitor(changed, *options, "--quiet") == 3
    assert capsys.readouterr().out.startswith("ALARM: gate fell in 0004")


def test_an_alarm_is_sent_once_by_site_and_kind_and_a_deaf_webhook_is_tried_again(changed, capsys):
    from report.test_alarms import server

    with server(status=503) as (url, _):
        assert monitor(changed, *WINDOWS, "--webhook", url) == 1
    assert "answered 503" in capsys.readouterr().err
    with server() as (url, shown):
        assert monitor(changed, *WINDOWS, "--webhook", url) == 0
        assert monitor(changed, *WINDOWS, "--webhook", url) == 0
        assert monitor(changed, *WINDOWS, "--alarm-below", ".99", "--webhook", url) == 0
    (_, _, first), (_, _, second) = shown
    assert [(alarm["site"], alarm["kind"]) for alarm in first["alarms"]] == [("gate", "fell")]
    assert first["alarms"][0]["change"] < 0
    assert ("gate", "below") in [(alarm["site"], alarm["kind"]) for alarm in second["alarms"]]
    assert ("gate", "fell") not in [(alarm["site"], alarm["kind"]) for alarm in second["alarms"]]


def test_a_change_is_estimated_from_a_labelled_level(changed, capsys):
    (changed / "gate.json").write_text('{"value": 0.9, "lower": 0.87, "upper": 0.93}')
    rows = lines(changed, capsys, *WINDOWS)
    labelled = lines(changed, capsys, *WINDOWS, "--labelled", f"gate={changed / 'gate.json'}")
    changes = [{row["name"]: row["change"] for row in some} for some in (rows, labelled)]
    assert changes[1]["gate"] < changes[0]["gate"] < 0  # of a higher level more is lost
    assert changes[1]["roof"] == changes[0]["roof"]


def test_a_camera_that_sends_no_images_any_more_is_named_and_dated(site, capsys):
    """Eight images an hour apart at each camera; days later one alone has another."""
    write_camera(site / "images" / "yard", 1, 150, start=8, at=START + 3 * 86400)
    assert monitor(site, "--prometheus", site / "autoeval.prom") == 0
    text = capsys.readouterr().out
    assert "gate, roof: no new image, while another site has one of 2026-02-05 10:40" in text
    gauges = (site / "autoeval.prom").read_text()
    latest = {"gate": START + 7 * 3600, "yard": START + 3 * 86400 + 8 * 3600}
    for name, seconds in latest.items():
        line = f'autoeval_site_last_image_seconds{{site="{name}",target="mAP"}} '
        (found,) = [row for row in gauges.splitlines() if row.startswith(line)]
        assert float(found.removeprefix(line)) == seconds
