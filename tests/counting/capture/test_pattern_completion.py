"""Completing patterns: worked cases, laws, and how often the synthetic split is counted right."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from autoeval import cli
from autoeval.counting.capture.making import (
    SyntheticSpec,
    make_records,
    pattern_positions,
    render_pair,
    touched,
)
from autoeval.counting.capture.split import read_items, to_items
from autoeval.counting.measures.count_errors import smape
from autoeval.errors import InputError
from examples.pattern_completion import (
    IN_CANVAS,
    PatternCompletion,
    VisibleEvidence,
    answer_all,
    by_pattern,
    column,
    complete,
    detect,
    fit_circle,
    hidden_sites,
    main,
    released_answers,
    summarise,
)

EXAMPLES = Path(__file__).parents[3] / "examples"


def _evidence(points, box, size=(200, 200)):
    points = np.asarray(points, float)
    box = np.asarray(box)
    hidden = touched(points, box, 5, "circle")
    return VisibleEvidence(points[~hidden], box, 5.0, size), points[hidden]


CASES = [
    # Pattern, number, box: the corner of a block, the inside of a block, a gap in a column,
    # part of a ring, a corner and the middle of a triangle.
    ("rectangle", 12, [65, 45, 105, 75]),
    ("rectangle", 15, [90, 75, 130, 125]),
    ("rectangle", 11, [80, 70, 120, 110]),
    ("circle", 9, [120, 60, 170, 150]),
    ("circle", 5, [30, 40, 80, 150]),
    ("triangle", 15, [60, 100, 95, 130]),
    ("triangle", 10, [92, 80, 108, 108]),
]


@pytest.mark.parametrize(("pattern", "n", "box"), CASES)
def test_hidden_objects_are_found_where_they_are(pattern, n, box):
    evidence, hidden = _evidence(pattern_positions(pattern, n), box)
    found = complete(evidence)
    assert len(hidden) > 0 and len(hidden) in found.numbers
    where = found.hidden()
    order = np.lexsort(where.round(0).T), np.lexsort(hidden.round(0).T)
    np.testing.assert_allclose(where[order[0]], hidden[order[1]], atol=1)


@pytest.mark.parametrize("angle", [0.3, 1.1, 2.0])
def test_direction_does_not_matter(angle):
    turn = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
    for pattern, n in (("rectangle", 12), ("triangle", 15), ("circle", 8)):
        points = (pattern_positions(pattern, n) - 100) @ turn + 100
        x, y = points[len(points) // 2]
        evidence, hidden = _evidence(points, [x - 16, y - 16, x + 16, y + 16])
        assert len(complete(evidence).hidden()) == len(hidden), (pattern, n)


def test_policies_choose_among_the_numbers_that_agree_and_fragments_narrow_them():
    # A column with steps of 10 from y = 20; all from 100 down is covered to 151: up to 5 fit.
    points = np.column_stack([np.full(7, 100.0), 20 + 13 * np.arange(7)])
    box = np.array([80, 106, 120, 160])
    evidence = VisibleEvidence(points, box, 5.0, (200, 200))
    numbers = {
        policy: len(complete(evidence).hidden(policy)) for policy in ("fewest", "median", "most")
    }
    # Sites at 111, 124, 137, 150 and 163; the last reaches under the box by 2.
    assert numbers == {"fewest": 1, "median": 3, "most": 5}
    # The object at 163 would look out below 160; nothing does.
    seen = VisibleEvidence(points, box, 5.0, (200, 200), fragments=np.zeros((0, 2)))
    assert complete(seen).numbers == (1, 2, 3, 4)
    rim = np.array([[100.5, y + 0.5] for y in range(161, 168)])
    across = np.array([[x + 0.5, y + 0.5] for x in range(95, 105) for y in range(160, 168)])
    disc = across[np.hypot(across[:, 0] - 100, across[:, 1] - 163) <= 5]
    seen = VisibleEvidence(points, box, 5.0, (200, 200), fragments=np.concatenate([rim, disc]))
    assert complete(seen).numbers == (5,)


def test_a_hypothesis_must_explain_every_visible_object():
    evidence = VisibleEvidence(
        np.array([[10.0, 10.0], [50.0, 10.0]]), np.array([80, 0, 99, 20]), 5.0, (200, 200)
    )
    assert hidden_sites(np.array([[10.0, 10.0], [90.0, 10.0]]), evidence) is None
    assert hidden_sites(np.array([[10.0, 10.0]]), evidence) is None
    three = np.array([[10.0, 10.0], [50.0, 10.0], [90.0, 10.0]])
    assert hidden_sites(three, evidence).tolist() == [[90, 10]]
    # A site in plain view where nothing is seen contradicts it; one outside the image does not.
    assert hidden_sites(np.concatenate([three, [[130.0, 10.0]]]), evidence) is None
    assert len(hidden_sites(np.concatenate([three, [[230.0, 10.0]]]), evidence)) == 1
    found = complete(
        VisibleEvidence(np.array([[10.0, 10.0]]), np.array([50, 50, 90, 90]), 5.0, (200, 200))
    )
    assert not found.found and found.hidden().tolist() == [[70, 70]]


def test_detection_finds_and_refuses():
    for record in list(make_records(SyntheticSpec(fit_canvas=True)))[::60]:
        (item,) = to_items([record])
        seen = detect(render_pair(record)[1])
        assert seen.box.tolist() == item.box.tolist()
        assert seen.radius == pytest.approx(5, abs=0.51)
        # Whole objects may touch the box without losing a tenth of their area.
        gap = np.abs(seen.visible[:, None] - item.points).max(2).min(1)
        assert gap.max() < 0.6 and len(seen.visible) >= len(item.visible_points)
        if len(seen.fragments):
            to_hidden = np.abs(seen.fragments[:, None] - item.points[item.hidden]).max(2).min(1)
            assert to_hidden.max() < 6
    white = np.full((50, 50, 3), 255, np.uint8)
    with pytest.raises(InputError, match="black box"):
        detect(white)
    white[10:20, 10:20] = 0
    with pytest.raises(InputError, match="coloured objects"):
        detect(white)
    centre, radius = fit_circle(np.array([[3.0, 0.0], [0.0, 3.0], [-3.0, 0.0]]) + 5)
    assert centre == pytest.approx([5, 5]) and radius == pytest.approx(3)
    assert fit_circle(np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]]))[1] == np.inf


def test_every_ring_of_the_split_is_completed_without_error():
    spec = SyntheticSpec(seed=5, patterns=("circle",), fit_canvas=True)
    for item in to_items(list(make_records(spec))[::15]):
        evidence = VisibleEvidence(item.visible_points, item.box, 5.0, (200, 200))
        assert complete(evidence).numbers == (item.num_occluded,), item.image_file


def test_baselines_come_near_to_a_perfect_count_and_far_from_counting_what_is_visible():
    answers = answer_all(SyntheticSpec(seed=2, fit_canvas=True), every=100)
    names = [IN_CANVAS, "visible-only", column("oracle", "most"), column("detected", "most")]
    table = summarise(answers, names).set_index("counter")["sMAPE"]
    assert table[IN_CANVAS] == 0 and table["visible-only"] > 10
    assert table[names[2]] < 4 and table[names[3]] < 4
    assert by_pattern(answers, names)["circle"].tolist()[2:] == [0, 0]


def test_released_items_bound_what_can_be_seen_in_the_tables(shared, tmp_path):
    items = read_items(shared / "golden/capture/synthetic_metadata.json")
    answers = released_answers(items)
    truth = answers["truth"].to_numpy(float)
    off = (truth != answers[IN_CANVAS]).to_numpy()
    assert off.sum() == 151
    # One object less of n scores 1 / (2n - 1).
    expected = 100 * (1 / (2 * truth[off] - 1)).sum() / 1150
    assert smape(truth, answers[IN_CANVAS]) == pytest.approx(expected)
    released = shared / "golden/capture/synthetic_metadata.json"
    out = tmp_path / "table.md"
    main(["--every", "1000", "--released", str(released), "--out", str(out)])
    text = out.read_text()
    assert text.count("\n## ") == 8 and "| visible-only |" in text and "GPT-4o" in text


def test_an_image_with_nothing_in_it_is_a_failed_answer():
    white = np.full((200, 200, 3), 255, np.uint8)
    found = PatternCompletion(centres="detected").count(white, "dots")
    assert np.isnan(found.count) and found.status.startswith("failed: Expected an image with col")
    [record] = list(make_records(SyntheticSpec(counts=(6,), patterns=("circle",))))[:1]
    with pytest.raises(InputError, match="needs 'visible_points'"):
        PatternCompletion().count(render_pair(record)[0], "dots", {"box": None})
    with pytest.raises(InputError, match="'box' and 'radius'"):
        PatternCompletion().count(white, "dots", {"visible_points": [[1, 1]]})


def test_counters_without_a_model_take_the_default_tasks(tmp_path, monkeypatch, capsys):
    """Original images have no box: what is visible is all there is."""
    monkeypatch.chdir(tmp_path)
    argv = ["--counts", "6", "--patterns", "circle", "--fit-canvas"]
    assert cli.main(["count", "capture", "generate", "split", *argv]) == 0
    (tmp_path / "examples").symlink_to(EXAMPLES)
    for centres in ("detected", "oracle"):
        config = f"examples/completion_{centres}.py"
        run = ["count", "capture", "run", "split", "--counter", config, "--work-dir", "answers"]
        run += ["--limit", "12"]
        assert cli.main(run) == 0, capsys.readouterr()
    assert cli.main(["count", "capture", "report", "split", "answers", "--work-dir", "report"]) == 0
    table = pd.read_csv("report/measures.csv").set_index(["model", "task"])["sMAPE"]
    for model in ("completion-detected", "completion-oracle"):
        assert table[model, "total-original"] == 0
    models = pd.read_csv("report/models.csv")
    assert sorted(models["task"]) == ["total-occluded", "total-original"]
    assert "Model against model" in (tmp_path / "report" / "report.html").read_text()
