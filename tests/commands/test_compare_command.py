"""`compare` and `label plan --compare` from files to a page, and the page in a browser."""

import io
import json
import re
import shlex
import shutil

import numpy as np
import pytest
from chromium import LAPTOP, PHONE, Visit, chromium
from comparison.two_detectors import site_labels, site_predictions, some_labels, write_detectors

import autoeval
from autoeval.cli import main
from autoeval.commands.compare import STATUS
from autoeval.commands.option_values import known_at_sites
from autoeval.comparison.paired_labels import BY_DIFFERENCE
from autoeval.errors import InputError
from autoeval.labels.plan_folder import load_plan
from autoeval.monitoring.candidate import compare_at_sites


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """Two fits, and a site whose images are noise."""
    import cv2

    folder = write_detectors(tmp_path_factory.mktemp("compare"))
    (folder / "images").mkdir()
    rng = np.random.default_rng(0)
    for entry in json.loads(site_labels(folder).read_text())["images"]:
        picture = rng.integers(0, 255, (entry["height"] // 8, entry["width"] // 8, 3), np.uint8)
        big = cv2.resize(picture, (entry["width"], entry["height"]))
        cv2.imwrite(str(folder / "images" / entry["file_name"]), big)
    return folder


def words(world, tmp_path, first="strong", second="weak"):
    files = site_predictions(world, first, second)
    pool = ["--images", str(site_labels(world)), "--work-dir", str(tmp_path / "out")]
    return ["compare", str(world / first), str(world / second), "--predictions", *files, *pool]


def test_ranking_files_and_json(world, tmp_path, capsys):
    assert main(words(world, tmp_path)) == 0
    shown = capsys.readouterr().out
    assert "1. strong: about" in shown and "strong - weak: +" in shown
    assert "have the mean of the detectors' own estimates" in shown
    assert "own estimates (" in (tmp_path / "out/report.html").read_text()
    assert (tmp_path / "out/report/differences.csv").exists()
    assert main([*words(world, tmp_path), "--json"]) == 0
    result = json.loads(capsys.readouterr().out)["comparison"]
    assert [row["detector"] for row in result["ranking"]] == ["strong", "weak"]
    assert result == json.loads((tmp_path / "out/result.json").read_text())["comparison"]


def test_a_list_on_standard_input_is_read_once_for_all_detectors(
    world, tmp_path, capsys, monkeypatch
):
    names = "".join(
        f"{image['file_name']}\n" for image in json.loads(site_labels(world).read_text())["images"]
    )
    (tmp_path / "names.txt").write_text(names)
    monkeypatch.setattr("sys.stdin", io.StringIO(names))
    files = site_predictions(world, "weak", "strong")
    given = ["compare", str(world / "weak"), str(world / "strong"), "--predictions", *files]
    given += ["--work-dir", str(tmp_path / "out"), "--json", "--max-loss", "40"]
    results = []
    for images in (str(tmp_path / "names.txt"), "-"):
        main([*given, "--images", images])
        results.append(json.loads(capsys.readouterr().out))
    assert results[0]["comparison"] == results[1]["comparison"]
    assert results[1]["comparison"]["n_images"] == 80
    of_file, of_input = (result["gate"]["label_command"] for result in results)
    assert of_file and of_input is None  # nothing would be there to read again
    plan = ["label", "plan", "--estimator", str(world / "weak"), "--predictions", files[0]]
    plan += ["--compare", str(world / "strong"), "--compare-predictions", files[1], "--n", "10"]
    for images in (str(tmp_path / "names.txt"), "-"):
        monkeypatch.setattr("sys.stdin", io.StringIO(names))
        folder = tmp_path / f"plan{len(images)}"
        assert main([*plan, "--images", images, "--work-dir", str(folder)]) == 0
        results.append(json.loads((folder / "result.json").read_text()))
    assert results[2]["drawn"] == results[3]["drawn"]
    assert results[2]["half_width"] == results[3]["half_width"]


@pytest.mark.parametrize("of", ["strong", "{}/strong"])
def test_a_detector_that_was_trained_here(of, world, tmp_path, capsys):
    plain = words(world, tmp_path)
    assert main([*plain, "--trained-here", of.format(world)]) == 0
    assert "strong: trained on images like the labelled ones" in capsys.readouterr().out
    assert main([*plain, "--trained-here", "nobody"]) == 2
    assert "nobody" in capsys.readouterr().err


def test_a_known_value_of_a_detector(world, tmp_path, capsys):
    """The other one is that much worse as without it, with the interval of the difference."""
    plain = words(world, tmp_path)
    assert main([*plain, "--json"]) == 0
    (free,) = json.loads(capsys.readouterr().out)["comparison"]["pairs"][-1:]
    assert main([*plain, "--known", "strong=61.5", "--json"]) == 0
    first, second = json.loads(capsys.readouterr().out)["comparison"]["ranking"]
    assert first["value"] == first["value_lower"] == first["value_upper"] == 0.615
    assert second["value"] == pytest.approx(0.615 - free["difference"])
    assert second["value_lower"] == pytest.approx(max(0.615 - free["upper"], 0))
    assert second["value_upper"] == pytest.approx(0.615 - free["lower"])
    assert main([*plain, "--known", f"{world}/strong=61.5"]) == 0
    shown = capsys.readouterr().out
    assert "1. strong: 61.5 (given)" in shown and "The value of strong was given" in shown
    assert "(90% interval" in shown.splitlines()[2]
    assert "2. weak" in shown and "61.5 (given)" in (tmp_path / "out/report.html").read_text()
    for wrong in ("0.6", "101", "-3", "nan", "much"):
        assert main([*plain, "--known", f"strong={wrong}"]) == 2
        assert "Expected strong=POINTS" in capsys.readouterr().err
    assert main([*plain, "--known", "strong=60", "weak=50"]) == 2
    assert "Expected one of the compared detectors" in capsys.readouterr().err


def test_the_status_of_a_release_gate(world, tmp_path, capsys):
    """With labels of all images the loss is known exactly; without any it may be undecided."""
    labels = ["--labels", str(site_labels(world)), "--max-loss", "2"]
    assert main([*words(world, tmp_path), *labels]) == 0
    worse = words(world, tmp_path, "weak", "strong")
    assert main([*worse, *labels]) == STATUS["failed"] == 3
    assert main([*worse, *labels[:3], "60"]) == 0
    capsys.readouterr()
    assert main([*worse, "--json"]) == 0
    pair = json.loads(capsys.readouterr().out)["comparison"]["pairs"][-1]
    open_loss = f"--max-loss={100 * (pair['lower'] + pair['upper']) / 2:.6f}"
    assert main([*worse, open_loss]) == STATUS["undecided"] == 4
    assert "more labels would probably decide" in capsys.readouterr().out
    assert main([*worse, open_loss, "--undecided", "pass"]) == 0
    assert main([*worse, open_loss, "--undecided", "fail", "--json"]) == 3
    gate = json.loads((tmp_path / "out/result.json").read_text())["gate"]
    assert gate["outcome"] == "undecided" and gate["losses"][0]["labels"] >= 2
    assert main([*worse, "--undecided", "fail"]) == 2


def test_an_undecided_gate_names_the_command_that_plans_its_labels(world, tmp_path, capsys):
    worse = [*words(world, tmp_path, "weak", "strong"), "--numbering", "labels"]
    assert main([*worse, "--json"]) == 0
    pair = json.loads(capsys.readouterr().out)["comparison"]["pairs"][-1]
    summary = ["--markdown", str(tmp_path / "summary.md")]
    open_loss = f"--max-loss={100 * (pair['lower'] + pair['upper']) / 2:.6f}"
    assert main([*worse, open_loss, *summary]) == 4
    shown = capsys.readouterr().out
    (command,) = re.findall(r"autoeval (label plan .*)", shown)
    gate = json.loads((tmp_path / "out/result.json").read_text())["gate"]
    assert gate["label_command"] == f"autoeval {command}"
    assert f"```sh\nautoeval {command}\n```" in (tmp_path / "summary.md").read_text()
    assert f"--n {gate['losses'][0]['labels']} " in command and "--numbering labels " in command
    folder = tmp_path / "plan"
    given = shlex.split(command.partition(" --work-dir")[0])
    assert main([*given, "--work-dir", str(folder)]) == 0
    assert load_plan(folder).n == gate["losses"][0]["labels"]


def test_names_of_detectors_do_not_become_markup(world, tmp_path):
    given = words(world, tmp_path)
    given[1:3] = [f"a *b* <i>={world / 'strong'}", f"c_d_={world / 'weak'}"]
    assert main([*given, "--max-loss", "50", "--markdown", str(tmp_path / "summary.md")]) == 0
    heading, gate, *_ = (tmp_path / "summary.md").read_text().split("\n\n")
    assert heading.startswith("### a \\*b\\* \\<i>, c_d\\_:") and "*b*:" not in gate


@pytest.mark.parametrize("points", ["nan", "inf", "-1", "100"])
def test_a_gate_that_cannot_fail_is_refused_before_anything_is_read(tmp_path, points):
    given = ["compare", str(tmp_path / "none"), str(tmp_path / "neither"), "--predictions", "a"]
    assert main([*given, f"--max-loss={points}"]) == 2


def test_a_gate_refuses_labels_in_other_words(world, tmp_path, capsys):
    """One of the two categories has another word: both detectors would have an AP of 0 there."""
    content = json.loads(site_labels(world).read_text())
    content["categories"][0]["name"] = "something else"
    labels = tmp_path / "labels.json"
    labels.write_text(json.dumps(content))
    given = [*words(world, tmp_path), "--labels", str(labels)]
    assert main(given) == 0
    assert main([*given, "--max-loss", "2"]) == 2
    assert "A gate needs the same categories" in capsys.readouterr().err
    name = content["categories"][1]["name"]
    assert main([*given, "--category", name, "--max-loss", "2"]) == 0
    both = ["--words", f"something else=thing 0,{name}={name}"]
    assert main([*given, *both, "--max-loss", "2"]) == 0


@pytest.mark.parametrize(
    ("word", "status"),
    [("thing 5", 0), ("something else", 2)],  # in the labels of the fit; no word of a detector
)
def test_a_gate_counts_what_the_detectors_miss_and_refuses_what_they_cannot_find(
    world, tmp_path, capsys, word, status
):
    content = json.loads(site_labels(world).read_text())
    content["categories"].append({"id": 99, "name": word})
    first = content["annotations"][0]
    content["annotations"].append({**first, "id": 10**6, "category_id": 99})
    labels = tmp_path / "labels.json"
    labels.write_text(json.dumps(content))
    given = [*words(world, tmp_path), "--labels", str(labels), "--max-loss", "2"]
    assert main(given) == status
    assert ("no word for labelled categories" in capsys.readouterr().err) == (status == 2)
    if status == 0:
        result = json.loads((tmp_path / "out/result.json").read_text())
        missed = [row for row in result["comparison"]["pairs"] if row["category"] == word]
        assert [row["difference"] for row in missed] == [0.0]


def test_labels_that_a_plan_drew(world, tmp_path, capsys):
    first, second = site_predictions(world, "strong", "weak")
    pool = ["--predictions", first, "--images", str(site_labels(world))]
    other = ["--compare", str(world / "weak"), "--compare-predictions", f"{second}"]
    saved = ["--estimator", str(world / "strong/estimator.parquet"), "--n", "20"]
    folder = tmp_path / "plan"
    assert main(["label", "plan", *saved, *pool, *other, "--work-dir", str(folder)]) == 0
    plan = load_plan(folder)
    assert plan.order == BY_DIFFERENCE and plan.n == 20
    shown = capsys.readouterr().out
    found = re.search(r"expected of the difference of mAP: ±(.*) with 10, ±(.*) with 20,", shown)
    with_10, with_20 = map(float, found.groups())
    drawn = {int(plan.found.images[k].image_id) for k in plan.drawn}
    undrawn = min(set(range(80)) - drawn)
    labels = some_labels(world, folder / "labels.json", drawn | {undrawn})
    assert main([*words(world, tmp_path), "--labels", str(labels), "--verbose"]) == 0
    shown = capsys.readouterr().out
    pairs = json.loads((tmp_path / "out/result.json").read_text())["comparison"]["pairs"]
    (row,) = (row for row in pairs if row["category"] == "all")
    half_width = 50 * (row["upper"] - row["lower"])
    assert with_10 > with_20 and 0.4 < half_width / with_20 < 2.5  # what was forecast came true
    assert "80 images, 20 of them labelled" in shown
    assert "the plan did not draw, left out: 1" in shown


def test_bad_input(world, tmp_path, capsys):
    def error(*given):
        assert main([*map(str, given)]) == 2
        return capsys.readouterr().err

    one, two = world / "strong", world / "weak"
    assert "--images PATH, or --predictions" in error("compare", one, two)
    assert "of every detector" in error("compare", f"a={one}", two, "--images", world)
    files = site_predictions(world)
    assert "each of 2 detectors" in error("compare", one, two, "--predictions", files[0])
    assert "fitted on prediction files" in error("compare", one, two, "--images", world / "images")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["--words", "auto=car"], "--words goes with --labels"),
        (["--img-dir", "photos"], "--img-dir goes with --images or --labels"),
        (["--every", "2s"], "--every goes with --images"),
        (["--iou", ".75"], "--iou goes with --score-thr"),
        (
            ["--images", "drive.mp4", "--every", "2s"],
            "--every is for images that a detector is run on",
        ),
        (
            ["--images", "a.json", "--img-dir", "b"],
            "--img-dir is for labels, or images that a detector is run on",
        ),
        (["--score-thr", ".3"], "--score-thr is for a comparison by --target precision, recall"),
        (["--score-thr", ".3", "--target", "mAP"], "but it is by mAP"),
        (["--score-thr", ".5", "--target", "recall@0.3"], "but it is by recall@0.3"),
    ],
)
def test_what_a_comparison_does_not_read_is_refused(tmp_path, capsys, given, message):
    """Before anything is read: none of these files is there."""
    assert status(["compare", str(tmp_path / "a"), "b", "--predictions", "c", "d", *given]) == 2
    assert message in capsys.readouterr().err


def status(words):
    try:
        return main(words)
    except SystemExit as stopped:
        return stopped.code


def test_what_a_comparison_reads_is_not_refused(world, tmp_path, capsys):
    at = ["--target", "recall", "--score-thr", ".3", "--iou", ".75"]
    labels = ["--labels", str(site_labels(world)), "--words", "thing 0=thing 0"]
    assert main([*words(world, tmp_path), *at, *labels]) == 0
    shown = capsys.readouterr().out
    assert "recall@0.3:0.75 on 80 images, 80 of them labelled" in shown


@pytest.mark.rare
def test_the_page_in_a_browser(world, tmp_path):
    given = words(world, tmp_path)
    given[given.index("--images") + 1] = str(world / "images")
    assert main(given) == 0
    with chromium() as browser:
        for size in (LAPTOP, PHONE):
            visit = Visit(browser, tmp_path / "out/report.html", viewport=size)
            text = visit.page.inner_text("body")
            assert "best with probability" in text and "Where they disagree most" in text
            pictures = visit.page.locator(".thumbnails img")
            assert pictures.count() == 12  # six images, each for both detectors
            assert pictures.evaluate_all("all => all.every((image) => image.loading === 'lazy')")
            assert visit.texts("main > :last-child tbody tr:last-child th")[0] == "command"
            wide = visit.page.evaluate("document.documentElement.scrollWidth")
            assert wide <= size["width"] and visit.complaints == []


def test_another_detector_at_the_sites_of_a_monitor(world, tmp_path, capsys):
    """The candidate is the stronger one at site `a`; site `b` has boxes of both in turn."""
    folders = {name: tmp_path / name for name in ("strong", "weak")}
    for name, folder in folders.items():
        folder.mkdir()
        other = {"strong": "weak", "weak": "strong"}[name]
        for site, of in (("a", name), ("only", name), ("other", other)):
            (path,) = site_predictions(world, of)
            if (name, site) != ("strong", "only"):
                shutil.copy(path, folder / f"{site}.json")
    given = ["monitor", "--estimator", str(world / "weak/estimator.parquet")]
    given += ["--predictions", str(folders["weak"]), "--work-dir", str(tmp_path / "out")]
    given += ["--category", "thing 0", "--category", "thing 1"]
    against = ["--against", str(world / "strong"), "--against-predictions", f"{folders['strong']}"]
    assert main([*given, *against]) == 0
    shown = capsys.readouterr().out
    assert "The candidate is better at 1 site" in shown
    result = json.loads((tmp_path / "out/result.json").read_text())["candidate"]
    rows = {row["site"]: row for row in result}
    assert set(rows) == {"a", "other"} and rows["a"]["result"] == "better"
    assert rows["a"]["difference"] > 0 and rows["other"]["difference"] < rows["a"]["difference"]
    assert main([*given, *against[:2]]) == 2
    assert "--against-predictions DIR" in capsys.readouterr().err


def test_the_known_accuracy_of_another_detector_at_a_site_of_a_monitor(world, tmp_path, capsys):
    """The detector's own is known less difference, as `compare known=` has it on that site."""
    folders = {name: tmp_path / name for name in ("strong", "weak")}
    for name, folder in folders.items():
        folder.mkdir()
        (path,) = site_predictions(world, name)
        for site in ("gate", "yard"):
            shutil.copy(path, folder / f"{site}.json")
    given = ["monitor", "--estimator", str(world / "weak/estimator.parquet")]
    given += ["--predictions", str(folders["weak"]), "--work-dir", str(tmp_path / "out")]
    given += ["--category", "thing 0", "--against", str(world / "strong")]
    given += ["--against-predictions", f"{folders['strong']}"]
    assert main([*given, "--against-known", "gate=85.5"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "by_known: the current detector by the known accuracy of the candidate" in shown
    result = json.loads((tmp_path / "out/result.json").read_text())["candidate"]
    rows = {row["site"]: row for row in result}
    gate, yard = rows["gate"], rows["yard"]
    assert gate["known"] == 0.855 and gate["difference"] == yard["difference"] != 0
    ends = [gate["by_known"], gate["by_known_lower"], gate["by_known_upper"]]
    law = [0.855 - gate["difference"], 0.855 - gate["upper"], 0.855 - gate["lower"]]
    assert ends == pytest.approx(np.clip(law, 0, 1))
    assert yard["known"] is None and yard["by_known"] is None
    compared = autoeval.compare(
        {"weak": world / "weak", "strong": world / "strong"},
        [folders["weak"] / "gate.json", folders["strong"] / "gate.json"],
        categories={"thing 0": ["thing 0"]},
        known={"strong": 0.855},
    ).ranking.set_index("detector")
    assert ends[0] == pytest.approx(compared.loc["weak", "value"])
    page = (tmp_path / "out/report.html").read_text()
    assert "by_known_lower" in page and "85.5" in page
    assert f"{100 * ends[0]:.1f}" in shown
    assert main([*given, "--against-known", "shed=45.5"]) == 2
    assert "Expected sites where both detectors were run: gate, yard" in capsys.readouterr().err
    weak, strong = (autoeval.AccuracyEstimator.load(world / name) for name in ("weak", "strong"))
    for value in (85.5, float("nan")):  # before a site is read
        with pytest.raises(InputError):
            compare_at_sites(weak, strong, {"gate": tuple}, known={"gate": value})


@pytest.mark.parametrize(
    ("text", "known"),
    [
        ("gate=31.2", {"gate": 0.312}),
        ("gate=30,yard=40", {"gate": 0.3, "yard": 0.4}),
        ("gate, north=30,yard=40", {"gate, north": 0.3, "yard": 0.4}),  # a file's name has a comma
    ],
)
def test_known_accuracies_of_several_sites(text, known):
    assert known_at_sites(text) == pytest.approx(known)


@pytest.mark.parametrize(
    ("known", "message"),
    [
        ("gate=30,yard", "Expected --against-known SITE=POINTS"),
        ("gate=.455", "accuracy in points of 100 such as gate=31.2"),
        ("gate", "Expected --against-known SITE=POINTS"),
        ("gate=30,gate=31", "gives 'gate' two values"),
    ],
)
def test_known_accuracies_that_are_none(known, message, capsys):
    given = ["monitor", "--estimator", "a", "--predictions", "b", "--against", "c"]
    assert status([*given, "--against-known", f"{known}"]) == 2
    assert message in " ".join(capsys.readouterr().err.split())
