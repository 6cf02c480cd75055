"""Sites watched from results files alone: no image, no network."""

import gzip
import json
from datetime import datetime, timedelta

import pandas as pd
import pytest
from predicted_world import write_world

import autoeval
from autoeval.cli import main
from autoeval.estimation import given as given_boxes
from autoeval.estimation.estimator import AccuracyEstimator
from autoeval.monitoring.monitor_store import MonitorStore

WORDS = ["thing 0", "thing 1", "thing 2"]
CATEGORY = f"thing={','.join(WORDS)}"
SKILLS = {"north/gate": 0.9, "north/yard": 0.7, "roof": 0.5}
START = datetime(2026, 3, 2)


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    folder = tmp_path_factory.mktemp("fit")
    labels, predictions = write_world(folder, "val", seed=0)
    autoeval.fit(labels, predictions).save(folder / "estimator.parquet")
    return folder / "estimator.parquet"


def entries(folder, seed, skill):
    folder.mkdir(exist_ok=True)
    return json.loads(write_world(folder, "x", seed=seed, skill=skill)[1].read_text())


def named(boxes, form="{:04}.jpg"):
    """Give boxes the names of their images."""
    names = [form.format(box["image_id"]) for box in boxes]
    return [
        {**{k: v for k, v in box.items() if k != "image_id"}, "file_name": name}
        for box, name in zip(boxes, names, strict=True)
    ]


@pytest.fixture(scope="module")
def boxes(tmp_path_factory):
    folder = tmp_path_factory.mktemp("boxes")
    return {name: entries(folder, k + 1, skill) for k, (name, skill) in enumerate(SKILLS.items())}


@pytest.fixture
def site(boxes, tmp_path):
    for name, own in boxes.items():
        path = tmp_path / "sites" / f"{name}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(named(own)))
    return tmp_path


@pytest.fixture
def monitor(site, fitted):
    def run(*options, predictions="sites", category=CATEGORY):
        words = ["monitor", "--estimator", fitted, "--predictions", site / predictions]
        for name, value in {"--by": "folder", "--work-dir": site / "work"}.items():
            words += [] if name in options else [name, value]
        words += ["--category", category] if category else []
        return main([*map(str, words), *map(str, options)])

    return run


def groups(site, folder="work"):
    """The table of sites, and the only window of each."""
    rows = pd.DataFrame(json.loads((site / folder / "result.json").read_text())["sites"])
    boxes = pd.read_parquet(site / folder / "windows.parquet").set_index("site")["n_boxes"]
    rows["n_boxes"] = rows["name"].map(boxes)
    return rows.sort_values("name", ignore_index=True)


def test_each_site_is_estimated_as_its_file_alone(site, monitor, fitted):
    assert monitor() == 0
    rows, estimator = groups(site).set_index("name"), AccuracyEstimator.load(fitted)
    assert rows["rank"].to_dict() == {"roof": 1, "north/yard": 2, "north/gate": 3}
    for name in SKILLS:
        expected = estimator.predict(site / "sites" / f"{name}.json", categories={"thing": WORDS})
        got = rows.loc[name, ["value", "lower", "upper"]].to_numpy(float)
        assert got == pytest.approx([expected.value, expected.lower, expected.upper], abs=1e-9)
        assert rows.loc[name, "n_images"] == expected.n_images


def test_one_file_with_a_folder_a_site_gives_the_same(site, boxes, monitor):
    assert monitor() == 0
    expected = groups(site)
    every = [b for name, own in boxes.items() for b in named(own, f"{name}/{{:04}}.jpg")]
    (site / "all.json").write_text(json.dumps(every))
    assert monitor("--work-dir", site / "one", predictions="all.json") == 0
    columns = ["name", "n_images", "n_boxes", "value", "lower", "upper", "rank"]
    found = groups(site, "one")
    pd.testing.assert_frame_equal(found[columns], expected[columns])


def test_a_site_of_which_no_window_can_be_estimated_is_on_the_page(site, monitor):
    """Windows of which boxes are dropped, and that no run has estimated: it was a KeyError."""
    assert monitor("--by", "every:10", "--baseline", 10, "--keep", 20) == 0
    assert monitor("--by", "every:55", "--baseline", 10) == 0
    sites = json.loads((site / "work/result.json").read_text())["sites"]
    assert [of["state"] for of in sites] == ["learning"] * 3 and sites[0]["history"] == []


def test_another_fit_reads_all_files_again(site, tmp_path_factory):
    """Boxes under its lowest score stayed, and the score at which files begin was that before."""
    folder = tmp_path_factory.mktemp("cut")
    labels, predictions = write_world(folder, "val", seed=0)
    boxes = json.loads(predictions.read_text())
    cut = [box for box in boxes if box["score"] > 0.05]
    first, second = autoeval.fit(labels, boxes), autoeval.fit(labels, cut)
    assert first.known_looks().floor < 0.02 < 0.05 < second.known_looks().floor

    def watch(fitted, work):
        watched = autoeval.monitor(fitted, site / "sites", by="folder", work_dir=site / work)
        return watched.windows()[["site", "n_boxes", "value", "lower", "upper"]]

    watch(first, "work")
    pd.testing.assert_frame_equal(watch(second, "work"), watch(second, "fresh"))


@pytest.fixture
def opened(monkeypatch):
    """Names of the results files that are read."""
    names, read = [], given_boxes.read_boxes
    monkeypatch.setattr(
        given_boxes,
        "read_boxes",
        lambda path, *how: names.append(path.name) or read(path, *how),
    )
    return names


def test_the_next_run_reads_the_files_that_have_changed_alone(site, boxes, monitor, opened, capsys):
    assert monitor() == 0
    assert sorted(opened) == ["gate.json", "roof.json", "yard.json"]
    first = groups(site)
    opened.clear()
    capsys.readouterr()
    assert monitor() == 0
    assert opened == [] and "180 images of 3 sites, 0 of them new" in capsys.readouterr().out
    pd.testing.assert_frame_equal(groups(site), first, check_dtype=False)
    own = boxes["roof"]
    path = site / "sites" / "roof.json"
    path.write_text(json.dumps(named(own) + named(own[:40], "later {:04}.jpg")))
    n_new = len({box["image_id"] for box in own[:40]})
    assert monitor() == 0
    assert opened == ["roof.json"]
    assert f"{180 + n_new} images of 3 sites, {n_new} of them new" in capsys.readouterr().out


def test_changed_boxes_replace_those_of_their_image_and_deleted_images_stay(site, boxes, monitor):
    assert monitor() == 0
    before = groups(site).set_index("name")
    own = [box for box in boxes["roof"] if box["image_id"] != 7]
    sure = [{**box, "score": 0.99} if box["image_id"] == 3 else box for box in own]
    (site / "sites" / "roof.json").write_text(json.dumps(named(sure)))
    assert monitor() == 0
    after = groups(site).set_index("name")
    assert after["n_images"].to_dict() == before["n_images"].to_dict()
    same = after["value"] == before["value"]
    assert same.to_dict() == {"north/gate": True, "north/yard": True, "roof": False}


def test_a_file_a_day_is_one_site_with_depth_and_times_come_from_names(site, boxes, monitor):
    for day, name in (("2026-03-01", "roof"), ("2026-03-02", "north/gate")):
        path = site / "days" / "gate" / f"{day}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(named(boxes[name])))
    options = ["--depth", "1", "--time", "%Y-%m-%d", "--by", "day"]
    assert monitor(*options, predictions="days") == 0
    rows = pd.read_parquet(site / "work" / "windows.parquet")
    assert rows["site"].unique().tolist() == ["gate"]
    of_days = {"2026-03-01": 60, "2026-03-02": 60}
    assert rows.set_index("window")["n_images"].to_dict() == of_days


def document(parts, *, times=None, n=60):
    """Join boxes of several worlds in the form of an annotation file, the first images first."""
    images = [
        {"id": k, "file_name": f"{k:04}.jpg", "width": 640, "height": 480}
        | ({"date_captured": times(k)} if times else {})
        for k in range(n * len(parts))
    ]
    every = [{**b, "image_id": b["image_id"] + n * k} for k, own in enumerate(parts) for b in own]
    categories = [{"id": k + 1, "name": f"thing {k}"} for k in range(12)]
    return {"images": images, "categories": categories, "annotations": every}


def hourly(k):
    return f"{START + timedelta(hours=k):%Y-%m-%d %H:%M:%S}"


def test_a_camera_whose_picture_stands_still_sends_images_and_a_copy_of_one_time_counts_once(
    site, boxes, monitor
):
    """Its later images were copies of the first, so that its windows ended there."""
    still = [box for box in boxes["roof"] if box["image_id"] == boxes["roof"][0]["image_id"]]
    names = [f"2026-03-{day:02}/{hour:02}-00.jpg" for day in (1, 2, 3) for hour in range(8, 16)]
    rows = [{**box, "file_name": name} for name in [*names, f"copy/{names[0]}"] for box in still]
    (site / "still").mkdir()
    (site / "still" / "gate.json").write_text(json.dumps(rows))
    assert monitor("--by", "day", predictions="still") == 0
    windows = pd.read_parquet(site / "work" / "windows.parquet").set_index("window")
    of_days = dict.fromkeys(("2026-03-01", "2026-03-02", "2026-03-03"), 8)
    assert windows["n_images"].to_dict() == of_days


def test_a_file_that_was_given_another_name_holds_the_images_that_it_held(site, boxes, monitor):
    """They counted twice, where their boxes were others: the history of the site was doubled."""
    shrunk = [{**box, "score": round(0.98 * box["score"], 4)} for box in boxes["roof"]]
    first, second = site / "days" / "roof" / "a.json", site / "days" / "roof" / "b.json"
    first.parent.mkdir(parents=True)

    def windows(folder):
        assert monitor("--depth", "1", "--work-dir", site / folder, predictions="days") == 0
        warnings = json.loads((site / folder / "result.json").read_text())["warning_codes"]
        rows = pd.read_parquet(site / folder / "windows.parquet")
        return rows[["window", "n_images", "n_boxes", "value"]], [of["code"] for of in warnings]

    for times, code in ((hourly, "copies-left-out"), (None, "images-named-again")):
        first.write_text(json.dumps(document([boxes["roof"]], times=times)))
        windows(f"work {code}")
        second.write_text(json.dumps(document([shrunk], times=times)))
        first.unlink()
        renamed, codes = windows(f"work {code}")
        alone, _ = windows(f"alone {code}")
        assert code in codes
        assert renamed["n_images"].sum() == (60 if times else 120)
        if times:
            pd.testing.assert_frame_equal(renamed, alone)
        second.unlink()


def test_files_of_two_cameras_of_a_site_may_name_images_alike(site, boxes, monitor):
    """As the frames of a pair that takes pictures at one time."""
    folder = site / "days" / "rig"
    folder.mkdir(parents=True)
    for name, own in (("left", "roof"), ("right", "north/gate")):
        (folder / f"{name}.json").write_text(json.dumps(document([boxes[own]], times=hourly)))
    assert monitor("--depth", "1", "--by", "day", predictions="days") == 0
    rows = pd.read_parquet(site / "work" / "windows.parquet")
    assert rows["n_images"].sum() == 120
    # the next week's files in place of these: one of the two cameras was taken for the other
    for name, own in (("left", "roof"), ("right", "north/gate")):
        (folder / f"{name}.json").unlink()
        later = document([boxes[own]], times=lambda k: hourly(k).replace("-03-", "-04-"))
        (folder / f"{name}-2.json").write_text(json.dumps(later))
    assert monitor("--depth", "1", "--by", "day", predictions="days") == 0
    rows = pd.read_parquet(site / "work" / "windows.parquet")
    assert rows["n_images"].sum() == 240
    # a file that comes back is gone no more
    (folder / "left.json").write_text(json.dumps(document([boxes["roof"]], times=hourly)))
    assert monitor("--depth", "1", "--by", "day", predictions="days") == 0
    gone = MonitorStore(site / "work").gone_since({"rig/left", "rig/left-2"})
    assert {*gone} == {"rig/right", "rig/right-2"}


def test_one_time_for_all_images_is_that_of_the_export(site, boxes, monitor, capsys):
    path = site / "sites" / "roof.json"
    path.write_text(json.dumps(document([boxes["roof"]], times=lambda k: "2026-03-02T08:00:00Z")))
    assert monitor() == 0
    assert "roof: all images have the same time: taken as without one" in capsys.readouterr().out


def test_images_without_a_box_count_and_a_site_where_nothing_is_found_is_no_error(
    site, boxes, monitor, capsys
):
    (site / "lists").mkdir()
    (site / "sites" / "dark.json").write_text("[]")
    for name in ("north/gate", "north/yard", "roof", "dark"):
        path = site / "lists" / f"{name}.txt"
        path.parent.mkdir(exist_ok=True)
        path.write_text("".join(f"{k:04}.jpg\n" for k in range(75)))
    assert monitor("--images", site / "lists") == 0
    rows = groups(site).set_index("name")
    assert (rows["n_images"] == 75).all() and rows.loc["dark", "n_boxes"] == 0
    assert "images without a box are not known" not in capsys.readouterr().out
    one = "".join(f"{n}/{k:04}.jpg\n" for n in rows.index for k in range(75))
    (site / "all.txt").write_text(one)
    assert monitor("--images", site / "all.txt", "--work-dir", site / "again") == 0
    again = groups(site, "again").set_index("name")
    pd.testing.assert_series_equal(again["value"], rows["value"])


def test_a_file_that_cannot_be_read_is_named_and_the_others_are_estimated(site, monitor, capsys):
    (site / "sites" / "broken.json").write_text("[{")
    other = [{"file_name": "1.jpg", "category": "zebra", "bbox": [1, 2, 3, 4], "score": 0.5}]
    (site / "sites" / "zoo.json").write_text(json.dumps(other))
    # results under a compression that is not read are no other file that is passed over
    (site / "sites" / "yard.parquet.gz").write_bytes(gzip.compress(b"PAR1"))
    assert monitor("--quiet") == 0
    text = capsys.readouterr().out
    for name in ("broken", "zoo", "yard"):
        assert f"could not be read: {name} (" in text
    assert set(groups(site)["name"]) == set(SKILLS)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--time", "exif"], "results files hold no images"),
        (["--images", "empty"], "Expected the images of north/gate as"),
        (["--category", "zebra"], "No box is called zebra"),
        (
            ["--detector", "x"],
            "--detector is about running a detector, and --predictions need none",
        ),
        (["--batch-size", "2"], "--batch-size is about running a detector"),
        (["--img-dir", "x"], "--img-dir is about images that a detector is run on"),
        (["--quiet", "--json-lines"], "give one of them"),
        (["--quiet", "--verbose"], "give one of them"),
        (["--site", "hall=val_labels"], "--site names hall, but there is no such site"),
        (
            ["--site-category", "hall", "thing 0"],
            "--site-category names hall, but there is no such",
        ),
    ],
)
def test_options_that_do_not_fit_are_refused(options, message, site, monitor, capsys):
    (site / "empty").mkdir()
    full = [str(site / "empty") if word == "empty" else word for word in options]
    assert monitor(*full, category=None if options[0] == "--category" else CATEGORY) == 2
    assert message in capsys.readouterr().err


def test_images_or_predictions_are_needed(fitted, capsys):
    assert main(["monitor", "--estimator", str(fitted)]) == 2
    assert "Expected --images ROOT, or --predictions PATH." in capsys.readouterr().err


def test_other_settings_are_refused_in_the_same_folder(site, monitor, capsys):
    assert monitor() == 0
    assert monitor("--time", "%Y%m%d") == 2
    assert "different: time" in capsys.readouterr().err


def only(boxes, *numbers):
    return [box for box in named(boxes) if box["category_id"] in numbers]


@pytest.fixture
def mixed(site, boxes):
    """Of the roof thing 1 alone, of the yard thing 0 alone, of the gate both."""
    for name, numbers in (("north/gate", (1, 2)), ("north/yard", (1,)), ("roof", (2,))):
        path = site / "sites" / f"{name}.json"
        path.write_text(json.dumps(only(boxes[name], *numbers)))
    return site


def estimates(site, fitted, name, **options):
    found = AccuracyEstimator.load(fitted).predict(site / "sites" / f"{name}.json", **options)
    return [found.value, found.lower, found.upper], found.per_category


ENDS = ["value", "lower", "upper"]


def test_a_site_has_the_categories_that_are_found_there_as_in_an_estimate(mixed, monitor, fitted):
    assert monitor(category=None) == 0
    rows = groups(mixed).set_index("name")
    for name in SKILLS:
        expected, each = estimates(mixed, fitted, name)
        assert rows.loc[name, ENDS].tolist() == pytest.approx(expected, abs=1e-9)
        found = rows.loc[name, "per_category"]
        assert found.keys() == (each.keys() if len(each) > 1 else set())
        for category, ends in found.items():
            assert ends["value"] == pytest.approx(each[category]["value"], abs=1e-9)


def test_naming_renames_and_selects_and_takes_no_other_folder(mixed, monitor, fitted, capsys):
    assert monitor(category=None) == 0
    capsys.readouterr()
    assert monitor("--category", "b=thing 1", category="a=thing 0") == 0
    out = capsys.readouterr().out
    assert "mAP a" in out and "mAP b" in out and "0 of them new" in out
    rows = groups(mixed).set_index("name")
    assert not any(str(name).endswith("thing 0") for name in rows)
    for name, category in (("roof", {"b": ["thing 1"]}), ("north/yard", {"a": ["thing 0"]})):
        expected, _ = estimates(mixed, fitted, name, categories=category)
        assert rows.loc[name, ENDS].tolist() == pytest.approx(expected, abs=1e-9)
    assert monitor(category="a=thing 0") == 0
    assert groups(mixed).set_index("name").loc["roof", "state"] == "too_few"


def test_a_category_of_one_site_is_expected_there_found_or_not(mixed, monitor, fitted):
    both = ["--site-category", "roof", "a=thing 0", "--site-category", "roof", "b=thing 1"]
    assert monitor(*both, category=None) == 0
    rows = groups(mixed).set_index("name")
    wanted = {"a": ["thing 0"], "b": ["thing 1"]}
    expected, _ = estimates(mixed, fitted, "roof", categories=wanted, present=["a", "b"])
    assert rows.loc["roof", ENDS].tolist() == pytest.approx(expected, abs=1e-9)
    alone, _ = estimates(mixed, fitted, "north/yard")
    assert rows.loc["north/yard", ENDS].tolist() == pytest.approx(alone, abs=1e-9)


def test_a_run_where_nothing_was_found_anywhere_ends_well(site, monitor, capsys):
    listed = {"images": [{"id": k, "file_name": f"{k}.jpg"} for k in range(9)], "annotations": []}
    (site / "dark").mkdir()
    (site / "dark" / "hall.json").write_text(json.dumps(listed))
    assert monitor(predictions="dark") == 0
    assert "hall: nothing found in 9 images" in capsys.readouterr().out


def test_a_file_that_shrinks_is_named_with_how_many_images_it_leaves_out(site, monitor, capsys):
    """A file in a folder of its name is another file: its images are not missed."""
    nested = site / "sites" / "roof" / "later.json"
    nested.parent.mkdir()
    nested.write_text((site / "sites" / "roof.json").read_text())
    assert monitor() == 0
    assert "no longer names" not in capsys.readouterr().out
    n_images = groups(site).set_index("name").loc["roof", "n_images"]
    path = site / "sites" / "roof.json"
    first = [box for box in json.loads(path.read_text()) if box["file_name"] < "0010"]
    path.write_text(json.dumps(first))
    n_left = len({box["file_name"] for box in first})
    expected = f"roof: no longer names {n_images - n_left} of {n_images} images"
    for _ in range(2):  # as long as the file stays as it is
        assert monitor("--verbose") == 0
        assert expected in capsys.readouterr().out
    assert groups(site).set_index("name").loc["roof", "n_images"] == n_images
