"""Equal images give equal numbers however they came: in one run or several, with --keep or not."""

import json
import os
import shutil
import sqlite3
from dataclasses import replace
from datetime import datetime, timedelta

import cv2
import numpy as np
import pytest
from commands.predicted_world import HEIGHT, WIDTH, write_world
from monitoring import fake_cameras

import autoeval
from autoeval.detectors.black_box import BlackBoxDetector
from autoeval.errors import InputError
from autoeval.io.image_lists import ImageFile
from autoeval.monitoring.monitor_store import BOX, CameraImage, MonitorStore
from autoeval.monitoring.read_sites import _StoredJobs, find_results, site_images
from autoeval.report.monitor import site_pictures
from autoeval.runtime.jobs import Job
from autoeval.sites.file_looks import Looks
from autoeval.words import Notice

WORDS = ["thing 0", "thing 1", "thing 2"]
A_DAY = 10
START = datetime(2026, 3, 1, 8)


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    labels, predictions = write_world(folder, "val", seed=0)
    autoeval.fit(labels, predictions, categories={"thing": WORDS}, work_dir=folder / "fit")
    return folder


def write_site(folder, boxes_of, days):
    """Write `A_DAY` images of each of some days, which show what a function gives of each."""
    folder.mkdir(exist_ok=True, parents=True)
    images, rows = [], []
    for day in days:
        for k in range(A_DAY):
            name = f"{A_DAY * day + k:04}.jpg"
            taken = START + timedelta(days=day, minutes=30 * k)
            size = {"height": HEIGHT, "width": WIDTH}
            images.append({"id": len(images), "file_name": name, "datetime": f"{taken}", **size})
            rows += [{**row, "image_id": images[-1]["id"]} for row in boxes_of(day, k)]
    categories = [{"id": k, "name": word} for k, word in enumerate(WORDS)]
    document = {"images": images, "annotations": rows, "categories": categories}
    (folder / "gate.json").write_text(json.dumps(document))


def half_empty(day, k):
    """Three sure boxes and an unsure one in every second image, of new random sizes."""
    rng = np.random.default_rng([day, k])
    rows = []
    for n in range(4 * (k % 2)):
        score = 0.8 + 0.1 * rng.random() if n else 0.01
        box = [20 + 150 * n, 50, *(60 + 20 * rng.random(2)).tolist()]
        rows.append({"category_id": 0, "bbox": box, "score": score})
    return rows


def run(world, folder, **options):
    given = {"work_dir": folder / "work", "baseline": "6d", **options}
    return autoeval.monitor(world / "fit", folder / "sites", **given)["gate"]


def numbers(site):
    table = site.to_pandas()
    return table[["value", "change", "change_lower", "change_upper", "p", "boxes", "score"]]


def cut(day, k):
    """The same, of a file that begins at a score of .3."""
    return [{**row, "score": max(row["score"], 0.3)} for row in half_empty(day, k)]


def test_images_that_a_file_no_longer_names_are_read_as_those_of_another_file(world, tmp_path):
    """As of each day its own: from the score at which the latest began, if others were cut."""
    for folder, boxes_of, days in (("early", cut, range(7)), ("late", half_empty, [7])):
        write_site(tmp_path / "sites", boxes_of, days)
        site = run(world, tmp_path)
        part = tmp_path / f"parts/sites/gate/{folder}.json"
        part.parent.mkdir(exist_ok=True, parents=True)
        shutil.copy(tmp_path / "sites/gate.json", part)
    assert numbers(site).equals(numbers(run(world, tmp_path / "parts", depth=1)))


@pytest.mark.parametrize(
    ("days", "warned"),
    [
        (range(2, 10), False),  # older ones are left out, new ones are there
        (range(2, 8), False),  # nothing new, as where the camera was off
        (range(6), True),
        ((0, *range(2, 10)), True),
    ],
)
def test_a_file_of_the_last_days_leaves_out_the_oldest_without_a_warning(
    days, warned, world, tmp_path
):
    for of_file in (range(8), days):
        write_site(tmp_path / "sites", half_empty, of_file)
        settings = {"work_dir": tmp_path / "work", "baseline": "6d"}
        monitored = autoeval.monitor(world / "fit", tmp_path / "sites", **settings)
    assert ("images-no-longer-named" in [note.code for note in monitored.warnings]) is warned
    assert monitored["gate"].to_pandas()["n_images"].sum() == A_DAY * len({*range(8), *days})


@pytest.mark.parametrize(
    ("clock", "warned"), [("reset", False), ("seconds", False), ("none", True)]
)
def test_times_of_images_that_a_file_of_the_last_days_leaves_out(clock, warned, world, tmp_path):
    """One without a time, or some of the second that is cut, were named each night."""
    path, first = tmp_path / "sites/gate.json", A_DAY // 2
    for days in (range(5), range(1, 6), range(2, 7)):
        write_site(tmp_path / "sites", half_empty, days)
        content = json.loads(path.read_text())
        for image in content["images"]:
            if clock == "seconds":  # all frames of a day
                image["datetime"] = image["datetime"][:10] + " 08:00:07"
            elif clock == "none" or image["file_name"] == "0017.jpg":
                image["datetime"] = "2000-01-01 00:00:07"
        content["images"] = content["images"][first:]
        content["annotations"] = [row for row in content["annotations"] if row["image_id"] >= first]
        path.write_text(json.dumps(content))
        settings = {"work_dir": tmp_path / "work", "baseline": "20"}
        monitored = autoeval.monitor(world / "fit", tmp_path / "sites", **settings)
        codes = [note.code for note in monitored.warnings]
        assert ("images-no-longer-named" in codes) is (warned and days != range(5))


def test_a_site_that_a_file_no_longer_names_stays_as_it_was(world, tmp_path):
    """Of images of all sites, where one sends nothing: its boxes counted as those of all scores."""
    path = tmp_path / "all.json"
    write_site(tmp_path / "sites", cut, range(8))
    content = json.loads((tmp_path / "sites/gate.json").read_text())
    sites = []
    for name in ("gate", "roof"):
        for image in content["images"]:
            image["file_name"] = f"{name}/{image['id']:04}.jpg"
        path.write_text(json.dumps(content))
        given = {"work_dir": tmp_path / "work", "baseline": "6d"}
        sites.append(autoeval.monitor(world / "fit", path, **given)["gate"])
    assert numbers(sites[1]).equals(numbers(sites[0]))


def test_a_category_of_the_fit_is_named_without_its_words(world, tmp_path):
    write_site(tmp_path / "sites", half_empty, range(8))
    expected = numbers(run(world, tmp_path))
    for categories in (["thing"], {"thing": ["thing"]}, {"thing": WORDS}):
        shutil.rmtree(tmp_path / "work")
        assert numbers(run(world, tmp_path, categories=categories)).equals(expected)


def test_of_days_whose_boxes_were_dropped_no_image_is_looked_at(world, tmp_path):
    """Only images without a box were left of them, as if the site had gone dark: p was .001."""
    for last in range(8, 13):
        write_site(tmp_path / "sites", half_empty, range(last))
        site = run(world, tmp_path, keep="1d")
    assert site.state == "ok" and site.to_pandas()["p"].min() > 0.05


def test_windows_without_boxes_are_not_shown_against_another_baseline(world, tmp_path):
    """They stayed as they had been compared with the earlier one, without a warning."""
    write_site(tmp_path / "sites", half_empty, range(10))
    site = run(world, tmp_path, baseline="3d", keep="2d")
    assert numbers(site)["change"].notna().sum() == 7
    monitored = autoeval.monitor(
        world / "fit", tmp_path / "sites", work_dir=tmp_path / "work", baseline="6d"
    )
    assert monitored["gate"].to_pandas()["baseline"].tolist() == [True] * 3
    assert monitored["gate"].last == site.last > "2026-03-10T"  # it was that of the third day
    assert "windows-dropped" in [notice.code for notice in monitored.warnings]
    assert numbers(run(world, tmp_path, baseline="3d")).equals(numbers(site))


def test_of_a_window_to_which_images_still_come_all_boxes_stay(world, tmp_path, monkeypatch):
    """Of more images than --keep has it stayed as it was when the first of them were dropped."""
    midnight = datetime.combine((datetime.now() + timedelta(hours=12)).date(), datetime.min.time())
    monkeypatch.setitem(globals(), "START", midnight - timedelta(days=3))
    path, counts = tmp_path / "sites/gate.json", []
    for n_today in (4, 8, A_DAY):
        write_site(path.parent, half_empty, range(4))
        content = json.loads(path.read_text())
        content["images"] = content["images"][: 3 * A_DAY + n_today]
        listed = {image["id"] for image in content["images"]}
        rows = [row for row in content["annotations"] if row["image_id"] in listed]
        path.write_text(json.dumps({**content, "annotations": rows}))
        table = run(world, tmp_path, baseline="2d", keep="3").to_pandas()
        counts.append(table["n_images"].tolist())
    assert counts == [[A_DAY] * 3 + [n_today] for n_today in (4, 8, A_DAY)]


def of_all_scores(day, k):
    """Twelve boxes an image, with scores of .01 to .9; on the last day from .25 on."""
    rng = np.random.default_rng([day, k])
    scores = np.linspace(0.25 if day == 8 else 0.01, 0.9, 12)
    corners = 500 * rng.random((12, 2)) * [1, HEIGHT / WIDTH]
    return [
        {"category_id": 0, "bbox": [*corner, 60, 50], "score": score}
        for corner, score in zip(corners.tolist(), scores.tolist(), strict=True)
    ]


def test_a_file_of_another_threshold_gives_the_numbers_of_one_run(world, tmp_path):
    """All windows are then read from its threshold on, also those of runs before."""
    for day in range(9):
        write_site(tmp_path / "sites/gate", of_all_scores, [day])
        (tmp_path / "sites/gate/gate.json").rename(tmp_path / f"sites/gate/{day}.json")
        if day in (7, 8):
            site = run(world, tmp_path, depth=1)
    shutil.rmtree(tmp_path / "work")
    assert numbers(site).equals(numbers(run(world, tmp_path, depth=1)))


def over(score):
    """Ten boxes an image, of which those over a score are written."""

    def boxes_of(day, k):
        rng = np.random.default_rng([day, k])
        sides, scores = (40 + 20 * rng.random(10)).tolist(), rng.random(10).tolist()
        rows = [
            {"category_id": 0, "bbox": [20 + 60 * n, 50, side, side], "score": scores[n]}
            for n, side in enumerate(sides)
        ]
        return [row for row in rows if row["score"] >= score]

    return boxes_of


@pytest.mark.parametrize(
    "first, second, now_over", [("cut fit", "fit", 0.01), ("fit", "cut fit", 0.3)]
)
def test_files_that_are_gone_are_of_a_fit_whose_scores_begin_there(
    world, tmp_path, first, second, now_over
):
    """Boxes over .3 were read as all boxes, or the score .3 was not found in the other fit."""
    shutil.copytree(world / "fit", tmp_path / "fit")
    rows = json.loads((world / "val_predictions.json").read_text())
    (tmp_path / "cut.json").write_text(json.dumps([row for row in rows if row["score"] >= 0.3]))
    given = {"categories": {"thing": WORDS}, "incomplete": True}
    labels = world / "val_labels.json"
    autoeval.fit(labels, tmp_path / "cut.json", work_dir=tmp_path / "cut fit", **given)
    old, new = tmp_path / "sites/gate/old.json", tmp_path / "sites/gate/new.json"
    options = {"baseline": "6d", "depth": 1}

    def watch(fit, work):
        folder = tmp_path / "sites"
        return autoeval.monitor(tmp_path / fit, folder, work_dir=tmp_path / work, **options)["gate"]

    write_site(tmp_path / "sites/gate", over(0.3), range(7))
    (tmp_path / "sites/gate/gate.json").rename(old)
    watch(first, "work")
    old.rename(tmp_path / "old.json")
    write_site(tmp_path / "sites/gate", over(now_over), range(7, 9))
    (tmp_path / "sites/gate/gate.json").rename(new)
    with pytest.raises(InputError, match="--work-dir"):
        watch(second, "work")
    assert len(watch(second, "new work").history) == 2
    if second == "fit":
        (tmp_path / "old.json").rename(old)
        assert numbers(watch(second, "work")).equals(numbers(watch(second, "once")))


def of_two_words(day, k):
    return [row | {"category_id": n % 2} for n, row in enumerate(of_all_scores(day % 8, k))]


def test_a_category_without_a_name_does_not_stand_for_all(tmp_path):
    """The change was predicted from its boxes alone, from -100 to 100 points."""
    fitted, tables = autoeval.fit(*write_world(tmp_path, "val", seed=0)), []
    for word in ("", "other"):
        folder = tmp_path / f"of {word}"
        write_site(folder / "sites", of_two_words, range(9))
        path = folder / "sites/gate.json"
        content = json.loads(path.read_text())
        content["categories"][0]["name"] = word
        path.write_text(json.dumps(content))
        given = {"work_dir": folder / "work", "baseline": "6d"}
        tables.append(numbers(autoeval.monitor(fitted, folder / "sites", **given)["gate"]))
    unnamed, named = (table.drop(columns="p") for table in tables)
    assert named["change"].notna().sum() == 3 and unnamed.equals(named)


def looks_of(folder):
    """Return the number of the look of each window after the baseline."""
    with sqlite3.connect(folder / "work/monitor.sqlite") as db:
        rows = db.execute("SELECT content FROM windows ORDER BY window").fetchall()
    looks = [json.loads(content)["look"] for (content,) in rows]
    return [look["number"] for look in looks if look]


def test_windows_compare_where_the_size_of_an_image_is_not_known(world, tmp_path):
    """All of its window counted as 640 x 480 pixels: boxes seemed to grow, p was 5e-10."""
    tables = []
    for n_unknown in (0, 1, 80):
        write_site(tmp_path / f"{n_unknown}/sites", half_empty, range(8))
        path = tmp_path / f"{n_unknown}/sites/gate.json"
        content = json.loads(path.read_text())
        for image in content["images"]:
            image |= {"height": 3 * HEIGHT, "width": 3 * WIDTH}
        for image in content["images"][80 - n_unknown :]:
            del image["width"]
        path.write_text(json.dumps(content))
        tables.append(numbers(run(world, tmp_path / f"{n_unknown}"))[["p", "change"]])
    for table in tables[1:]:
        assert np.allclose(tables[0], table, atol=0.01, equal_nan=True)
    assert tables[0]["p"].iloc[-1] > 0.05


def test_late_days_give_the_numbers_of_days_in_their_order(world, tmp_path):
    """A late day moves the number of each look after it, by which --false-alarms are spent."""
    folders = tmp_path / "late", tmp_path / "ordered"
    for folder, late in zip(folders, ([6, 7], []), strict=True):
        folder.mkdir()
        for days in ([day for day in range(20) if day not in late], range(20)):
            write_site(folder / "sites", half_empty, days)
            run(world, folder)
    late, ordered = (run(world, folder) for folder in folders)
    assert numbers(late).equals(numbers(ordered))
    assert looks_of(folders[0]) == looks_of(folders[1]) == [*range(1, 15)]


def test_a_late_image_gives_the_numbers_of_one_run_to_all_later_looks(world, tmp_path):
    """Its window's variance counts in looks of more than eight windows later, too."""
    for day in range(20):
        write_site(tmp_path / "sites/gate", half_empty, [day])
        path = (tmp_path / "sites/gate/gate.json").rename(tmp_path / f"sites/gate/{day:02}.json")
        if day == 7:
            late = path.read_text()
            content = json.loads(late)
            content["images"] = content["images"][1:]
            content["annotations"] = [of for of in content["annotations"] if of["image_id"]]
            path.write_text(json.dumps(content))
    run(world, tmp_path, depth=1)
    (tmp_path / "sites/gate/07.json").write_text(late)
    of_two_runs = numbers(run(world, tmp_path, depth=1))
    shutil.rmtree(tmp_path / "work")
    assert of_two_runs.equals(numbers(run(world, tmp_path, depth=1)))


def test_a_coco_file_of_images_to_run_on_names_the_sites_as_their_folder_does(tmp_path):
    """Its ids were taken for names, so that all images were of one site in no folder."""
    for k, name in enumerate(("gate", "yard")):
        fake_cameras.write_camera(tmp_path / "images" / name, 10, 120 + 80 * k, seed=k)
    paths = sorted((tmp_path / "images").rglob("*.png"))
    images = [
        {"id": k, "file_name": f"./{path.relative_to(tmp_path / 'images')}"}
        for k, path in enumerate(paths)
    ]
    (tmp_path / "all.json").write_text(json.dumps({"images": images, "annotations": []}))
    fitted, given = fake_cameras.estimator(), {"by": "every:5"}
    values = []
    for source in ("all.json", "images"):
        monitored = autoeval.monitor(
            fitted,
            fake_cameras.detector(),
            images=tmp_path / source,
            work_dir=tmp_path / f"of {source}",
            **given,
        )
        values.append({site.name: (site.n_images, site.value) for site in monitored.sites})
    assert values[0] == values[1] and values[0].keys() == {"gate", "yard"}


def test_a_category_is_there_where_the_detector_has_its_word(tmp_path):
    """As of results files: a misspelt one was passed over where the detector was run."""
    root = fake_cameras.write_camera(tmp_path / "cameras/gate", 12, 180).parent
    options = {"images": root, "work_dir": tmp_path / "work"}
    estimator, detector = fake_cameras.estimator(), fake_cameras.detector()
    with pytest.raises(InputError, match="lorry"):
        autoeval.monitor(estimator, detector, present=["lorry"], **options)
    assert autoeval.monitor(estimator, detector, present=["Car"], **options)["gate"].n_images == 12


@pytest.mark.parametrize("first", [("gate", "yard"), ("gate",)])
def test_a_list_calls_its_sites_as_those_before(tmp_path, first):
    """New images of the gate alone, such as ``find -newer`` lists them, were of a site ``.``."""
    for k, name in enumerate(("gate", "yard")):
        fake_cameras.write_camera(tmp_path / "images" / name, 10, 120 + 80 * k, seed=k)
    listed = tmp_path / "new.txt"

    def watch(sites, numbers, images=listed):
        paths = [tmp_path / f"images/{site}/{k:04}.png" for site in sites for k in numbers]
        listed.write_text("".join(f"{path}\n" for path in paths))
        options = {"images": images, "by": "every:5", "work_dir": tmp_path / "work"}
        return autoeval.monitor(fake_cameras.estimator(), fake_cameras.detector(), **options)

    watch(first, range(5))
    then = ("gate",) if len(first) > 1 else ("gate", "yard")
    with pytest.raises(InputError, match=r"\(gate, yard\).*--images ROOT"):
        watch(then, range(5, 10))
    again = watch(first, range(5, 10))
    sites = {site.name: site.n_images for site in again.sites}
    assert sites == dict.fromkeys(first if len(first) > 1 else ".", 5)
    if len(first) > 1:
        assert {site.name for site in watch((), (), tmp_path / "images").sites} == set(first)


def test_copies_of_image_files_count_once_and_a_camera_that_stands_still_does_not(tmp_path):
    """They doubled the images of a window, so that intervals of changes shrank."""
    fitted, given = fake_cameras.estimator(), {"by": "day", "baseline": "2d", "time": "file"}
    start = datetime(2026, 3, 1).timestamp()
    for name in ("once", "twice", "still"):
        fake_cameras.write_camera(tmp_path / name / "gate", 96, 150, at=start)
    for path in sorted((tmp_path / "twice/gate").iterdir()):
        shutil.copy2(path, path.with_name(f"copy of {path.name}"))
    for path in sorted((tmp_path / "still/gate").iterdir())[50:]:
        shutil.copy(tmp_path / "still/gate/0049.png", path)
        os.utime(path, (start + 3600 * int(path.stem), start + 3600 * int(path.stem)))

    def watch(name):
        options = {"images": tmp_path / name, "work_dir": tmp_path / f"work {name}", **given}
        return autoeval.monitor(fitted, fake_cameras.detector(), **options)

    once, twice, still = watch("once"), watch("twice"), watch("still")
    assert once["gate"].to_pandas().equals(twice["gate"].to_pandas())
    assert [notice.code for notice in twice.warnings] == ["copies-left-out"]
    assert still["gate"].to_pandas()["n_images"].tolist() == [24] * 4 and not still.warnings
    again = watch("twice")
    assert again.n_new == 0 and again["gate"].to_pandas().equals(once["gate"].to_pandas())


def test_a_warning_of_the_fit_is_given_once_by_images_and_by_files(tmp_path):
    """By images there was none; by files it had the names of the files in front."""
    of_labels = Notice("labels-displaced", "val: labelled boxes lie +9.0 px to the right")
    found = fake_cameras.detector()
    looks = Looks(("car",), {}, detector=found.settings, warnings=(of_labels,))
    fitted = replace(fake_cameras.estimator(), looks_=looks)
    for name in ("gate", "yard"):
        folder = fake_cameras.write_camera(tmp_path / "images" / name, 30, 150, seed=len(name))
        (tmp_path / "files").mkdir(exist_ok=True)
        autoeval.detect(found, folder, tmp_path / f"files/{name}.parquet")
    by_images = {"predictions": found, "images": tmp_path / "images"}
    for name, given in (("images", by_images), ("files", {"predictions": tmp_path / "files"})):
        monitored = autoeval.monitor(fitted, **given, work_dir=tmp_path / f"work {name}")
        same = [notice for notice in monitored.warnings if notice.code == of_labels.code]
        assert same == [of_labels]


def test_files_that_cannot_be_read_are_no_copies_of_each_other(tmp_path):
    """One was left of all empty files without a time, and the site was not unreadable."""
    folder = fake_cameras.write_camera(tmp_path / "images/gate", 30, 150)
    for k in range(10, 30):
        (folder / f"{k:04d}.png").write_bytes(b"")
    options = {"by": "every:30", "time": "exif", "work_dir": tmp_path / "work"}
    given = fake_cameras.estimator(), fake_cameras.detector()
    site = autoeval.monitor(*given, images=tmp_path / "images", **options)["gate"]
    assert (site.state, site.n_images, site.n_unreadable) == ("unreadable", 10, 20)


def test_pictures_are_of_the_latest_images_in_the_order_of_windows(tmp_path):
    """Of images without times they were 6 to 9, for 10 and 11 came before 2."""
    folder = fake_cameras.write_camera(tmp_path / "images/gate", 12, 150)
    for k in range(12):
        (folder / f"{k:04d}.png").rename(folder / f"{k}.png")
    options = {"time": "exif", "by": "every:6", "baseline": "6", "work_dir": tmp_path / "work"}
    given = fake_cameras.estimator(), fake_cameras.detector()
    monitored = autoeval.monitor(*given, images=tmp_path / "images", **options)
    store = MonitorStore(tmp_path / "work")
    pictures = site_pictures(monitored, store)["gate"]
    assert [caption for _, caption in pictures] == [f"gate/{k}.png" for k in range(8, 12)]


def test_an_equal_time_in_a_list_is_not_named_where_names_have_the_times(world, tmp_path):
    """The times of the list were not asked for, and the warning said that there were none."""
    write_site(tmp_path / "sites", half_empty, range(1))
    path = tmp_path / "sites/gate.json"
    content = json.loads(path.read_text())
    for k, image in enumerate(content["images"]):
        image |= {"datetime": "2026-03-09 10:00:00", "file_name": f"20260301_{k:02d}.jpg"}
    path.write_text(json.dumps(content))
    options = {"work_dir": tmp_path / "work", "time": "%Y%m%d_%H"}
    monitored = autoeval.monitor(world / "fit", tmp_path / "sites", **options)
    assert monitored.clocks == {"name": A_DAY}
    assert "times-equal" not in [notice.code for notice in monitored.warnings]


@pytest.mark.parametrize("named", ["./{}/day/{}", "{}\\day\\{}", ".\\{}/day//{}"])
def test_sites_are_folders_however_names_are_written(world, tmp_path, named):
    """All were one site, as of names that Windows writes, and a list held no image of a site."""
    write_site(tmp_path / "all", half_empty, range(1))
    content = json.loads((tmp_path / "all/gate.json").read_text())
    for k, image in enumerate(content["images"]):
        image["file_name"] = named.format(["gate", "yard"][k % 2], image["file_name"])
    (tmp_path / "all/gate.json").write_text(json.dumps(content))
    options = {"depth": 1, "work_dir": tmp_path / "work"}
    monitored = autoeval.monitor(world / "fit", tmp_path / "all/gate.json", **options)
    assert {site.name: site.n_images for site in monitored.sites} == {"gate": 5, "yard": 5}
    (file,) = find_results(tmp_path / "all", image_list=tmp_path / "all/gate.json")
    assert len(file.images()) == 5


def half_empty_elsewhere(day, k):
    return [{**row, "bbox": [9, *row["bbox"][1:]]} for row in half_empty(day, k)]


@pytest.mark.parametrize(
    "again, n_images", [(half_empty, A_DAY), (half_empty_elsewhere, 2 * A_DAY)]
)
def test_a_day_that_comes_again_counts_once_with_its_empty_images(world, tmp_path, again, n_images):
    """Those counted twice, so that an image had fewer boxes; a day of another camera does."""
    (tmp_path / "sites/gate").mkdir(parents=True)
    for name, boxes_of, days in (("first", half_empty, range(8)), ("again", again, [7])):
        write_site(tmp_path / name, boxes_of, days)
        (tmp_path / name / "gate.json").rename(tmp_path / f"sites/gate/{name}.json")
    table = run(world, tmp_path, depth=1).to_pandas()
    assert table["n_images"].tolist() == [*[A_DAY] * 7, n_images]
    assert table["empty"].iloc[-1] == 0.5


def test_images_of_one_file_count_as_in_an_estimate(world, tmp_path):
    """Neighbours without a time, of a scene in which nothing moves, were taken for copies."""
    write_site(tmp_path / "sites", lambda day, k: half_empty(0, 1), range(2))
    path = tmp_path / "sites/gate.json"
    content = json.loads(path.read_text())
    for image in content["images"]:
        del image["datetime"]
    path.write_text(json.dumps(content))
    site = run(world, tmp_path, baseline="10", by="every:20")
    expected = autoeval.AccuracyEstimator.load(world / "fit").predict(path)
    assert site.n_images == expected.n_images == 2 * A_DAY
    assert abs(site.value - expected.value) < 1e-12


def test_files_of_which_none_can_be_read_are_refused_with_the_reason(world, tmp_path):
    (tmp_path / "sites").mkdir()
    (tmp_path / "sites/gate.json").write_text("{")
    with pytest.raises(InputError, match=r"No image of any site.*gate"):
        run(world, tmp_path)


@pytest.mark.parametrize("alarm_on", ["Changed", "fell", ["changed"]])
def test_an_alarm_on_something_else_is_refused_in_python_too(world, tmp_path, alarm_on):
    """No alarm was raised on boxes that changed, in silence."""
    with pytest.raises(InputError, match="--alarm-on changed"):
        run(world, tmp_path, alarm_on=alarm_on)


def test_images_whose_files_have_one_name_are_several_also_where_a_file_grows_by_them(
    world, tmp_path
):
    """As of each new day: the last of each name was kept, or those before counted twice."""
    write_site(tmp_path / "sites", half_empty, range(8))
    expected = run(world, tmp_path, work_dir=tmp_path / "work of names")
    path = tmp_path / "sites/gate.json"
    for n_days in (1, 8):
        write_site(tmp_path / "sites", half_empty, range(n_days))
        content = json.loads(path.read_text())
        for image in content["images"]:
            image["file_name"] = f"{image['id'] % A_DAY}.jpg"
        path.write_text(json.dumps(content))
        site = run(world, tmp_path)
    assert site.history["n_images"].tolist() == [A_DAY] * 8
    assert "images-no-longer-named" not in [warning.code for warning in site.warnings]
    assert numbers(site).equals(numbers(expected))


def things(images):
    """Three sure boxes and two unsure ones in every image."""
    corners = [[4.0 + 12 * k, 5, 12 + 12 * k, 14 + k] for k in range(5)]
    scores = [0.9, 0.85, 0.7, 0.05, 0.01]
    return [corners] * len(images), [scores] * len(images), [["thing 0"] * 5] * len(images)


def test_frames_of_a_video_are_in_blocks_of_time_as_in_an_estimate(world, tmp_path):
    """Each counted as independent: the interval was 26 wide on each side, in place of 36."""
    writer = cv2.VideoWriter(
        str(tmp_path / "drive.avi"), cv2.VideoWriter_fourcc(*"MJPG"), 1, (96, 48)
    )
    for k in range(90):
        writer.write(np.full((48, 96, 3), 2 * k, np.uint8))
    writer.release()
    path = tmp_path / "sites/gate.parquet"
    detector = BlackBoxDetector(things, WORDS, name="things", settings={"weights": "a"})
    n_blocks = (
        autoeval.detect(detector, tmp_path / "drive.avi", path, every="1").run.blocks.max() + 1
    )
    expected = autoeval.AccuracyEstimator.load(world / "fit").predict(path)
    for _ in range(2):  # also where the file is not opened again
        site = run(world, tmp_path, baseline="10", by="every:90")
        assert n_blocks < site.n_images == 90 and expected.upper - expected.lower > 0
        assert np.allclose((site.lower, site.upper), (expected.lower, expected.upper), atol=1e-12)


def test_images_that_are_as_they_were_before_they_changed_are_observed_again(tmp_path):
    """Their batch had been done once, so that the boxes of the changed images stayed for good."""
    fitted, given = fake_cameras.estimator(), {"by": "every:8", "images": tmp_path / "images"}
    folder = fake_cameras.write_camera(tmp_path / "images/gate", 8, 200, at=START.timestamp())
    fake_cameras.write_camera(tmp_path / "dark", 8, 0, at=START.timestamp() + 60)
    shutil.copytree(folder, tmp_path / "first")
    scores = []
    for state in ("first", "dark", "first"):
        shutil.copytree(tmp_path / state, folder, dirs_exist_ok=True)  # with their times
        options = {"work_dir": tmp_path / "work", **given}
        monitored = autoeval.monitor(fitted, fake_cameras.detector(), **options)
        scores.append(float(monitored["gate"].to_pandas()["score"].iloc[0]))
    assert scores[0] == scores[2] > scores[1]


def test_batches_that_another_process_did_are_not_done_again(tmp_path):
    files = fake_cameras.write_camera(tmp_path / "images/gate", 4, 200).iterdir()
    images, _ = site_images([ImageFile(f"gate/{path.name}", path) for path in sorted(files)])
    store, jobs = MonitorStore(tmp_path), [Job("a", 2, images[:2]), Job("b", 2, images[2:])]
    of_process = _StoredJobs(store, jobs)
    assert of_process.finished("ab") == set()
    kept = [
        CameraImage(image.file.image_id, "gate", (9, 9), None, np.empty(0, BOX), stamp=image.stamp)
        for image in images[:3]
    ]
    store.add(kept)
    assert of_process.finished("ab") == {"a"}
