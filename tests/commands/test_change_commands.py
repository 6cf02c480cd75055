"""Slopes of change are fitted and judged from the command line."""

import pandas as pd
import pytest
from fading_sites import FadingDetector, fading_task
from rectangles import TASK

from autoeval.cli import main
from autoeval.monitoring.changes.change_model import read_change_model
from autoeval.monitoring.changes.image_numbers import MEANINGS


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    folder, detector = tmp_path_factory.mktemp("world"), FadingDetector()
    fading_task(folder / "worlds")
    (folder / "task.py").write_text(TASK.format(names=["w0", "w1", "w2", "w3", "w4"]))
    (folder / "metaset.py").write_text(
        'transforms = ["gaussian_noise", "contrast"]\nn_transforms = 1\nin_turn = True\n'
    )
    monkeypatch = pytest.MonkeyPatch()
    monkeypatch.setattr("autoeval.detectors.loading.load_detector", lambda *a, **k: detector)
    options = ["--detector", "rectangles", "--task", str(folder / "task.py")]
    options += ["--metaset", str(folder / "metaset.py"), "n_sets=4", "n_images=8"]
    options += ["--work-dir", str(folder / "rows")]
    yield folder, detector, options
    monkeypatch.undo()


def test_slopes_are_fitted_printed_and_written(world, capsys):
    folder, detector, options = world
    assert main(["fit-change", *options, "--everywhere", "contrast=4"]) == 0
    said = capsys.readouterr().out
    assert "2 kinds of corruption at 5 labelled sites of 5 groups" in said
    assert said.count("MAE") == 2 and "changes.json" in said
    model = read_change_model(folder / "rows/changes.json")
    assert "rectangles under 2 kinds" in model.origin
    clean = read_change_model(folder / "rows/changes.json", signals=False, half_size=False)
    assert not {"half", "again", "half_boxes", *MEANINGS} & set(clean.needs)
    half = read_change_model(folder / "rows/changes.json", signals=False)
    assert "half_boxes" in half.needs and not set(MEANINGS) & set(half.needs)
    assert detector.observed > 0


def test_the_study_starts_from_what_was_observed(world, capsys):
    folder, detector, options = world
    assert main(["fit-change", *options, "--everywhere", "contrast=4"]) == 0
    before = detector.observed
    assert main(["study", "changes", *options, "--set", "orders=2", "everywhere=contrast=4"]) == 0
    assert detector.observed == before
    said = capsys.readouterr().out
    assert "group and kind not seen" in said and "mean score" in said
    names = {path.name for path in (folder / "rows").iterdir()}
    assert {
        "changes.png",
        "changes.md",
        "change_by_kind.csv",
        "change_alarms.csv",
        "change_routes.csv",
    } <= names


def test_alarms_need_images_beside_the_changed_ones(world, tmp_path, capsys):
    options = [*world[2], "--work-dir", str(tmp_path), "--set", "untouched=8"]
    assert main(["study", "changes", *options]) == 2
    assert "12 untouched images" in capsys.readouterr().err


def test_a_name_is_each_severity_and_all_each_corruption_on_the_same_images(world, tmp_path):
    _, _, options = world
    options = [*options, "--metaset", "n_sets=0", "--work-dir", str(tmp_path)]
    options += ["--everywhere", "contrast", "all=1", "all=2", "all=3"]
    assert main(["fit-change", *options]) == 0
    rows = pd.concat(pd.read_parquet(path) for path in tmp_path.glob("*.parquet"))
    sets = rows.groupby(["source", "transforms"])["file_name"].agg(frozenset)
    changed = sets.drop("", level="transforms").groupby("source")
    assert changed.nunique().eq(1).all() and changed.first().map(len).eq(8).all()
    names = {
        f"{name} {k}"
        for name, n in (("gaussian_noise", 3), ("contrast", 5))
        for k in range(1, n + 1)
    }
    assert [set(own.index.get_level_values(1)) for _, own in changed] == [names] * 5


@pytest.mark.parametrize("wrong", ["contrast=", "contrast=hard"])
def test_a_corruption_without_its_severity_is_asked_for(world, capsys, wrong):
    _, _, options = world
    assert main(["fit-change", *options, "--everywhere", wrong]) == 2
    assert "such as defocus_blur=4" in capsys.readouterr().err


def test_a_file_of_something_else_is_refused(tmp_path):
    (tmp_path / "x.json").write_text("{}")
    with pytest.raises(Exception, match=r"holds no slopes of change.*fit-change"):
        read_change_model(tmp_path / "x.json")
