import inspect
from pathlib import Path

import pandas as pd
import pytest
from predicted_world import write_world
from rectangles import RectangleDetector, write_task

from autoeval.cli import main
from autoeval.errors import InputError
from autoeval.stability.commands.studies import registry
from autoeval.stability.commands.studies.registry import studies
from autoeval.stability.commands.study import read_settings

pytestmark = pytest.mark.usefixtures("drawn")

METHODS = ["--set", "methods=bos_strict,constant"]


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """Four small worlds scored by a stand-in detector under all corruptions, and its options."""
    folder = tmp_path_factory.mktemp("world")
    metaset = 'transforms = ["gaussian_noise", "contrast"]\nn_transforms = 1\nin_turn = True\n'
    (folder / "metaset.py").write_text(metaset)
    monkeypatch = pytest.MonkeyPatch()
    monkeypatch.setattr(
        "autoeval.detectors.loading.load_detector", lambda *a, **k: RectangleDetector()
    )
    detector = ["--detector", "rectangles", "--task", str(write_task(folder))]
    detector += ["--metaset", str(folder / "metaset.py"), "--n-sets", "4", "--n-images", "5"]
    scores = ["--repeats", "2", "--work-dir", str(folder / "scores")]
    assert main(["estimate-map", *detector, *scores]) == 0
    yield folder, detector
    monkeypatch.undo()


def study(world, name, *options):
    folder, detector = world
    given = ["--scores", str(folder / "scores")]
    if name in ("sample-set-size", "test-set-size", "box-level", "examples"):
        given = [*detector, "--set", "repeats=2"]
    return main(["study", name, *given, "--work-dir", str(folder / "out"), *options])


@pytest.mark.parametrize(
    ("name", "options", "word"),
    [
        ("correlation", [], "R² within sources"),
        ("correlation", ["--set", "features=bos_strict", "target=mAP75"], "mAP75 against"),
        ("thresholds", ["--set", "families=box_share"], "best τ"),
        ("meta-set-size", [*METHODS, "draws=2"], "constant ± draws"),
        ("repeats", METHODS, "constant ± seed"),
        ("sample-set-size", [*METHODS, "sizes=2,5", "draws=2"], "constant ± draws"),
        ("test-set-size", [*METHODS, "sizes=2,6", "draws=2"], "constant ± draws"),
        ("box-level", [], "AUROC"),
        ("examples", ["--set", "most=2", "min-boxes=1"], "least stable"),
    ],
)
def test_each_study_writes_a_picture_a_page_and_a_table(world, capsys, name, options, word):
    if name == "thresholds":  # the stand-in detector gives every box the same score
        shake_scores(world[0] / "scores" / "scores.parquet")
    assert study(world, name, *options) == 0
    shown, folder = capsys.readouterr().out, world[0] / "out"
    assert word in shown
    base = name.replace("-", "_")
    for suffix in ("png", "md", "csv"):
        assert str(folder / f"{base}.{suffix}") in shown
    assert (folder / f"{base}.png").read_bytes().startswith(b"\x89PNG")
    assert word in (folder / f"{base}.md").read_text()
    assert len(pd.read_csv(folder / f"{base}.csv"))


def shake_scores(path):
    table = pd.read_parquet(path)
    names = [name for name in table if name.startswith("box_share@")]
    table[names] = table[["mAP"] * len(names)].to_numpy()
    table.to_parquet(path)


def test_the_detector_is_run_once_for_all_studies_of_boxes(world, monkeypatch):
    sizes = ["--set", "sizes=2", "draws=1", "methods=constant"]
    assert study(world, "test-set-size", *sizes) == 0

    def never(*args, **options):
        raise AssertionError("observed again")

    monkeypatch.setattr(RectangleDetector, "observe", never)
    for name, options in {"sample-set-size": sizes, "box-level": []}.items():
        assert study(world, name, *options) == 0


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("correlation", ["--scores", "nowhere"], "No score table"),
        ("correlation", ["--set", "features=astrology"], "columns astrology but they are missing"),
        ("correlation", ["--set", "features=n_images"], "n_images are constant"),
        ("correlation", ["--set", "target=astrology"], "Expected a target out of mAP"),
        ("thresholds", ["--set", "families=bos"], "thresholded scores bos but it has"),
        ("meta-set-size", ["--set", "sizes=9"], "sizes from 1 to 4"),
        ("repeats", ["--set", "methods=astrology"], "astrology"),
        ("examples", ["--task", "another.py"], "takes one task but got 2"),
        ("box-level", ["--set", "repeats=0"], "1 dropout repeats or more but got 0"),
        ("test-set-size", ["--set", "sizes=7"], "sizes from 1 to 6"),
    ],
)
def test_bad_input_is_one_clear_line(world, capsys, name, options, message):
    assert study(world, name, *options) == 2
    shown = capsys.readouterr().err.strip().splitlines()[-1]
    assert shown.startswith("error: ") and message in shown


def test_a_task_file_that_is_not_there_is_one_clear_line(world, capsys):
    detector = ["nowhere.py" if word.endswith("task.py") else word for word in world[1]]
    assert study((world[0], detector), "examples") == 2
    shown = capsys.readouterr().err.strip().splitlines()[-1]
    assert shown.startswith("error: ") and "nowhere.py" in shown


def test_an_unknown_study_is_answered_with_those_there_are(capsys):
    with pytest.raises(SystemExit) as stopped:
        main(["study", "astrology"])
    assert stopped.value.code == 2
    shown = capsys.readouterr().err
    assert "astrology" in shown and "correlation" in shown and "box-level" in shown


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A labelled set, and three sites of a task, each with a results file."""
    folder = tmp_path_factory.mktemp("files")
    (folder / "boxes").mkdir()
    for seed, name in enumerate(("val", "s0", "s1", "s2")):
        _, predictions = write_world(
            folder, name, seed=seed, n_categories=2, skill=0.9 - 0.1 * seed
        )
        if name != "val":
            predictions.rename(folder / f"boxes/{name}.json")
    sets = [
        f'dict(name="{n}", ann_file="{n}_labels.json", img_dir=".")' for n in ("s0", "s1", "s2")
    ]
    (folder / "task.py").write_text(
        f'name = "things"\ncategories = ["thing 0", "thing 1"]\ndata_root = "."\n'
        f"seed_sets = [{', '.join(sets)}]\n"
    )
    return folder


def labels_study(files, *options):
    sites = ["--sites", str(files / "task.py"), str(files / "boxes")]
    few = ["--set", "draws=2", "--work-dir", str(files / "out")]
    return main(["study", "labels", *sites, *few, *options])


def pairs_of(files):
    by_site = pd.read_csv(files / "out/labels_from_files_by_site.csv")
    return by_site[(by_site["k"] == 10) & (by_site["estimator"] == "combined")]


def test_few_labels_are_studied_from_files_of_one_labelled_set(files):
    labelled = ["--labels", str(files / "val_labels.json")]
    labelled += ["--predictions", f"{files / 'val_predictions.json'}"]
    assert labels_study(files, *labelled) == 0
    page = (files / "out/labels_from_files.md").read_text()
    assert "labelled set alone, val_labels" in page.replace("\n", " ")
    pairs = pairs_of(files)
    assert sorted(zip(pairs["site"], pairs["category"], strict=True)) == [
        (site, f"thing {k}") for site in ("s0", "s1", "s2") for k in (0, 1)
    ]


def test_few_labels_are_studied_from_single_sites_in_turn(files):
    assert labels_study(files, "--set", "draws=2", "fit_on=s0,s2", "target=recall@0.3") == 0
    assert sorted(pairs_of(files)["site"]) == ["s0", "s0", "s1", "s1", "s1", "s1", "s2", "s2"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "either --labels LABELS --predictions FILE or --set fit_on"),
        (["--set", "fit_on=s9"], "no site s9, only s0, s1, s2"),
        (["--set", "fit_on=s0", "--scores", "x"], "either --scores PATH, or --sites"),
    ],
)
def test_what_is_fitted_on_is_named_once(files, capsys, options, message):
    assert labels_study(files, *options) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("name", studies())
def test_settings_are_the_parameters_of_the_study_and_have_their_defaults(name):
    function = studies()[name].report_function()
    parameters = inspect.signature(function).parameters.values()
    named = {p.name: p.default for p in parameters if p.kind is p.KEYWORD_ONLY}
    named.pop("seed", None)
    unused = {"labels": {"also"}}.get(name, set())
    extra = {"labels": {"target", "fit_on"}}.get(name, set())
    assert set(studies()[name].settings) - extra == set(named) - unused
    read = read_settings([], studies()[name].settings)
    for setting, default in named.items():
        if default is not inspect.Parameter.empty and setting not in unused:
            assert read[setting] == default, setting


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["correlation", "--scores", "x", "--task", "t.py"],
            "--task has no use in the study 'correlation'",
        ),
        (["box-level", "--scores", "x"], "--scores has no use in the study 'box-level'"),
        (["correlation"], "'correlation' needs --scores"),
        (["box-level", "--task", "t.py"], "'box-level' needs --detector"),
        (["correlation", "--scores", "x", "--set", "draws=2"], "no such setting, only target"),
        (
            ["meta-set-size", "--scores", "x", "--set", "draws=few"],
            "Expected --set draws= as '20' is but got 'few'",
        ),
        (["correlation", "--scores", "x", "y"], "takes one score table but got 2"),
    ],
)
def test_what_a_study_does_not_take_is_refused(words, message, capsys):
    assert main(["study", *words]) == 2
    assert message in capsys.readouterr().err


def test_a_study_is_one_declaration_with_its_run(monkeypatch, capsys):
    """It is then in the help, and its settings, its inputs and the seed come to its run."""
    monkeypatch.setattr(registry, "_STUDIES", dict(studies()))
    calls = []

    @registry.study(
        "mean", "what is the mean mAP", "score_correlation.correlation_report", {"most": 3}
    )
    def mean(run):
        calls.append((run.settings, run.passes, run.args.scores))
        raise InputError("stops here")

    words = ["study", "mean", "--scores", "x", "--set", "most=5", "--seed", "7"]
    assert main(words) == 2
    assert calls == [({"most": 5, "seed": 7}, {}, [Path("x")])]
    assert main([*words, "--fits", "a", "b"]) == 2
    assert "--fits has no use in the study 'mean', which takes --scores" in capsys.readouterr().err
    with pytest.raises(ValueError, match="already called mean"):
        registry.study("mean", "", "", {})(mean)
    with pytest.raises(SystemExit):
        main(["study", "--help"])
    assert "  mean: what is the mean mAP\n      from --scores\n" in capsys.readouterr().out
