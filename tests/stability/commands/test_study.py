import inspect

import pandas as pd
import pytest
from rectangles import RectangleDetector, write_task

from autoeval.cli import main
from autoeval.errors import InputError
from autoeval.stability.commands.study import STUDIES, Study, read_settings

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
    scores = "--scores" in options
    words = ["study", name, *([] if scores else given), "--work-dir", str(folder / "out")]
    return main([*words, *options])


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
@pytest.mark.usefixtures("drawn_here")
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
        ("correlation", ["--set", "target=astrology"], "Expected a target out of mAP"),
        ("examples", ["--task", "another.py"], "takes one task but got 2"),
        ("box-level", ["--set", "repeats=0"], "1 dropout repeats or more but got 0"),
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
    assert main(["study", "astrology"]) == 2
    shown = capsys.readouterr().err
    assert "astrology" in shown and "correlation" in shown and "box-level" in shown


@pytest.mark.parametrize("name", STUDIES)
def test_settings_are_the_parameters_of_the_study_and_have_their_defaults(name):
    function = STUDIES[name].report_function()
    parameters = inspect.signature(function).parameters.values()
    named = {p.name: p.default for p in parameters if p.kind is p.KEYWORD_ONLY}
    named.pop("seed", None)
    assert set(STUDIES[name].settings) == set(named)
    read = read_settings([], STUDIES[name].settings)
    for setting, default in named.items():
        if default is not inspect.Parameter.empty:
            assert read[setting] == default, setting


@pytest.mark.parametrize("word", ["draws=0", "draws=-1", "most=0"])
def test_a_number_of_a_setting_is_one_or_more(word):
    """Without a draw the table was empty, and without a panel the picture a traceback."""
    name = word.partition("=")[0]
    with pytest.raises(InputError, match=rf"--set {name}= as a number from 1"):
        read_settings([word], {"draws": 20, "most": 12})
    assert read_settings([f"{name}=1"], {name: 20}) == {name: 1}


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
    ],
)
def test_what_a_study_does_not_take_is_refused(words, message, capsys):
    assert main(["study", *words]) == 2
    assert message in capsys.readouterr().err


def test_a_study_is_one_declaration(world, monkeypatch, capsys):
    """It is then in the help, and its settings and the seed come to its function."""
    declared = Study("what is the mean mAP", "score_correlation.correlation_report", {"most": 3})
    monkeypatch.setitem(STUDIES, "mean", declared)
    calls = []

    def report(scores, *, most, seed):
        calls.append((len(scores), most, seed))
        raise InputError("stops here")

    monkeypatch.setattr("autoeval.stability.reports.score_correlation.correlation_report", report)
    words = ["study", "mean", "--scores", str(world[0] / "scores"), "--set", "most=5"]
    assert main([*words, "--seed", "7"]) == 2
    rows = len(pd.read_parquet(world[0] / "scores" / "scores.parquet"))
    assert calls == [(rows, 5, 7)]
    assert main([*words, "--task", "a.py"]) == 2
    assert "--task has no use in the study 'mean', which takes --scores" in capsys.readouterr().err
    assert main(["study", "--help-all"]) == 0
    assert "  mean: what is the mean mAP\n      from --scores\n" in capsys.readouterr().out
