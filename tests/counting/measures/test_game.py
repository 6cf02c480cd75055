"""GAME: tile rules, by hand, laws, points against maps."""

from itertools import pairwise

import numpy as np
import pytest

from autoeval.counting.measures.game import TILE_RULES, GameScore, game, tile_edges
from autoeval.errors import InputError

RNG = np.random.default_rng(4)


@pytest.mark.parametrize(
    ("length", "level", "rule", "edges"),
    [
        (8, 2, "exact", [0, 2, 4, 6, 8]),
        (8, 2, "floor_step", [0, 2, 4, 6, 8]),
        (8, 2, "absorb", [0, 2, 4, 6, 8]),
        (10, 2, "exact", [0, 2, 5, 7, 10]),
        (10, 2, "floor_step", [0, 2, 4, 6, 8, 10]),  # five tiles instead of four
        (10, 2, "absorb", [0, 2, 4, 6, 10]),
        (7, 0, "floor_step", [0, 7]),
    ],
)
def test_tile_edges(length, level, rule, edges):
    assert tile_edges(length, level, rule).tolist() == edges


@pytest.mark.parametrize("rule", TILE_RULES)
@pytest.mark.parametrize("level", [0, 1, 2, 3])
def test_against_a_plain_loop(rule, level):
    target, pred = RNG.random((13, 18)), RNG.random((13, 18))
    rows, columns = tile_edges(13, level, rule), tile_edges(18, level, rule)
    expected = sum(
        abs(target[y0:y1, x0:x1].sum() - pred[y0:y1, x0:x1].sum())
        for y0, y1 in pairwise(rows)
        for x0, x1 in pairwise(columns)
    )
    assert game(target, pred, level, rule=rule) == pytest.approx(expected)


def test_level_0_is_the_absolute_error_and_finer_grids_err_no_less():
    target, pred = RNG.random((16, 32)), RNG.random((16, 32))
    values = [game(target, pred, level) for level in range(4)]
    assert values[0] == pytest.approx(abs(target.sum() - pred.sum()))
    assert values == sorted(values)


@pytest.mark.parametrize("rule", TILE_RULES)
def test_points_equal_their_map(rule):
    height, width = 21, 34

    def draw(n):
        return RNG.integers([0, 0], [width, height], (n, 2))

    def to_map(points):
        density = np.zeros((height, width))
        np.add.at(density, (points[:, 1], points[:, 0]), 1)
        return density

    target, pred = draw(40), draw(55)
    for level in (1, 2, 3):
        of_points = game(target + 0.5, pred + 0.5, level, size=(height, width), rule=rule)
        assert of_points == game(to_map(target), to_map(pred), level, rule=rule)


def test_points_outside_belong_to_the_nearest_tile_and_no_points_to_none():
    outside, corner = np.array([[-3.0, 99.0]]), np.array([[0.0, 9.0]])
    assert game(outside, corner, 2, size=(10, 10)) == 0
    assert game(np.zeros((0, 2)), np.array([[1.0, 1.0]]), 1, size=(8, 8)) == 1


def test_bad_input():
    with pytest.raises(InputError, match="maps of one shape"):
        game(np.zeros((4, 4)), np.zeros((2, 2)), 1)
    with pytest.raises(InputError, match="at least 8 pixels"):
        game(np.zeros((4, 4)), np.zeros((4, 4)), 3)
    with pytest.raises(ValueError, match="floor_step"):
        tile_edges(8, 1, "ceil")
    score = GameScore()
    score.update("a", np.eye(8), np.eye(8))
    with pytest.raises(InputError, match="twice"):
        score.update("a", np.eye(8), np.eye(8))
    with pytest.raises(InputError, match="at least one image"):
        GameScore().compute()


def test_the_order_of_images_has_no_effect_to_the_last_bit():
    maps = {str(i): (RNG.random((9, 9)), RNG.random((9, 9))) for i in range(12)}
    forth, back = GameScore(), GameScore()
    for score, names in ((forth, [*maps]), (back, [*maps][::-1])):
        for name in names:
            score.update(name, *maps[name])
    assert back.compute().equals(forth.compute())
    assert forth.compute()["level"].tolist() == [0, 1, 2, 3]
