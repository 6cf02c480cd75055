"""Scores that declare themselves."""

from pathlib import Path

import pytest
from made import evidence, found

from autoeval.stability.methods import compared_methods, make_method, methods
from autoeval.stability.scores.base import (
    Direction,
    RatioScore,
    direction_of,
    register,
    rising,
    scores,
)
from autoeval.stability.scores.box_stability import BoxStabilitySettings, image_stabilities
from autoeval.stability.scores.score_set import ScoreSet

EVIDENCE = {"perturbed", "candidates", "energies", "features", "views", "reference"}
EVIDENCE |= {"reweighted", "prototypes"}
ARROWS = {Direction.RISES: " ↑", Direction.FALLS: " ↓", Direction.UNKNOWN: ""}
DOCS = Path(__file__).parents[3] / "docs" / "reference" / "scores.md"


def line_of(score):
    columns = dict.fromkeys(
        f"`{name.partition('@')[0]}{'@' if '@' in name else ''}`{ARROWS[direction]}"
        for name, direction in score.features.items()
    )
    needs = [f"`{name}`" for name in sorted(score.needs)]
    needs += ["`domain`"] * score.needs_domain
    parts = (f"`{score.name}`", ", ".join(columns), ", ".join(needs), score.meaning, score.source)
    return f"| {' | '.join(parts)} |"


def test_the_table_in_the_docs_is_that_of_the_registry():
    listed = DOCS.read_text().partition("## What the default reads")[0]
    rows = [row for row in listed.splitlines() if row.startswith("| `")]
    expected = [line_of(score) for score in scores().values()]
    lacking = [row for row in expected if row not in rows]
    assert lacking == [], "docs/reference/scores.md lacks these rows, or has them otherwise"
    assert rows == expected, "docs/reference/scores.md: in alphabetical order, and no others"


def test_a_registered_score_is_computed_listed_and_regressed_on(widest):
    assert scores()["widest"] is widest and direction_of("widest") == Direction.RISES
    assert methods()["widest"].meaning == "width of the first box"
    assert "widest" in compared_methods() and make_method("widest").features == ("widest",)
    whole = ScoreSet(BoxStabilitySettings(), repeats=0)
    whole.update(evidence(0, found([0, 0, 7, 1])))
    assert whole.rows()[0]["widest"] == 7


def test_what_a_score_says_is_known():
    for name, score in scores().items():
        assert score.name == name and score.needs <= EVIDENCE and score.features
        assert score.meaning and "\n" not in score.meaning and score.source


def test_a_score_that_does_not_declare_itself_is_refused():
    with pytest.raises(TypeError, match="Silent does not declare meaning, source"):

        @register
        class Silent(RatioScore):
            name = "silent"
            features = rising("silent")


def test_two_scores_of_one_name_or_column_are_refused(widest):
    for name, column in (("widest", "other"), ("other", "ps@0.95")):
        declared = {"name": name, "features": rising(column), "meaning": "-", "source": "-"}
        with pytest.raises(ValueError, match="already called"):
            register(type("Again", (RatioScore,), declared))


def test_the_dropout_search_can_maximise_means_over_images_alone():
    assert list(image_stabilities()) == ["bos", "bos_strict", "confidence_stability"]


def test_a_comparison_shows_published_methods_and_ours_but_no_part_of_another():
    ours = {name for name, method in methods().items() if not method.published}
    assert {"fused", "stability_ap"} < ours
    assert not ours & {"bos", "constant", "ps", "fd"}
    assert {"pcr", "bos_ps", "es", "es_mean", "constant"} <= set(compared_methods())
    assert not {"pcr_consistency", "energy_mde", "median"} & set(compared_methods())
