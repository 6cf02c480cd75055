"""Matching points, precision and recall, nAP."""

from itertools import permutations

import numpy as np
import pytest

from autoeval.counting.measures.point_matching import (
    NormalisedAveragePrecision,
    PointMatchScore,
    match_points,
    neighbour_distance,
)
from autoeval.errors import InputError


def best_by_brute_force(target, pred, reach):
    """Most pairs, then least total distance, over all assignments."""
    distance = np.hypot(*(target[:, None] - pred).transpose(2, 0, 1))
    best = (0, 0.0)
    for columns in permutations(range(len(pred)), len(target)):
        lengths = [d for d in distance[range(len(target)), columns] if d <= reach]
        best = min(best, (-len(lengths), sum(lengths)))
    return best


@pytest.mark.parametrize("seed", range(12))
def test_as_many_pairs_as_possible_then_the_nearest(seed):
    rng = np.random.default_rng(seed)
    target, pred = rng.random((4, 2)) * 10, rng.random((6, 2)) * 10
    rows, columns = match_points(target, pred, 4.0)
    distance = np.hypot(*(target[rows] - pred[columns]).T)
    assert (distance <= 4).all()
    assert len(set(rows)) == len(rows) and len(set(columns)) == len(columns)
    n, total = best_by_brute_force(target, pred, 4.0)
    assert (-len(rows), distance.sum()) == (n, pytest.approx(total))


def test_points_on_top_of_each_other_and_far_many_match():
    points = np.array([[1.0, 1.0], [1.0, 1.0]])
    assert match_points(points, points, 0.1)[0].tolist() == [0, 1]
    points = np.random.default_rng(0).random((20_000, 2)) * 4000
    rows, _ = match_points(points, points + 0.5, 4.0)
    assert len(rows) == 20_000


def test_nothing_to_match():
    empty = np.zeros((0, 2))
    assert len(match_points(empty, np.ones((3, 2)), 1.0)[0]) == 0
    score = PointMatchScore(1.0)
    score.update(empty, empty)
    assert np.isnan(list(score.compute().values())).all()
    with pytest.raises(InputError, match="positive distance"):
        match_points(empty, empty, 0)
    score = NormalisedAveragePrecision((0.5,))
    score.update(np.zeros((0, 2)), np.ones((2, 2)), np.ones(2), (4, 4))
    assert np.isnan(score.compute()["nAP"])
    score.update(np.ones((2, 2)), np.zeros((0, 2)), np.ones(0), (4, 4))
    assert score.compute()["nAP"] == 0


def test_precision_and_recall_add_up_over_images():
    target, pred = np.array([[0, 0], [9, 0]]), np.array([[1, 0], [5, 5], [7, 7]])
    score = PointMatchScore(2.0)
    score.update(target, pred)
    score.update(pred, pred)
    assert score.compute() == {"precision": 4 / 6, "recall": 4 / 5, "F1": 8 / 11}


def test_neighbour_distance_by_hand():
    points = np.array([[0, 0], [3, 0], [0, 4], [30, 0]])
    # Of the first: 3, 4 and 30. With two points, the one other; alone, the diagonal 3-4-5.
    assert neighbour_distance(points, (9, 9))[0] == pytest.approx(37 / 3)
    assert neighbour_distance(points[:2], (9, 9)).tolist() == [3, 3]
    assert neighbour_distance(points[:1], (3, 4)).tolist() == [5]


def test_a_true_point_counts_once_and_equal_scores_have_no_order():
    points = np.array([[0.0, 0.0], [0.0, 10.0], [10.0, 0.0], [10.0, 10.0]])
    pred = np.array([[0.0, 1.0], [0.0, 0.0], [50.0, 50.0]])
    score = NormalisedAveragePrecision((0.5,))
    score.update(points, pred, np.array([0.9, 0.8, 0.7]), (60, 60))
    # The first takes the corner although the second is nearer: hits 1, 0, 0; one of four found.
    assert score.compute()["nAP"] == pytest.approx(1 / 4)
    points, far = np.array([[0.0, 0.0], [0.0, 10.0]]), np.array([[50.0, 50.0], [60.0, 60.0]])
    for pred in (np.concatenate([points[:1], far]), np.concatenate([far, points[:1]])):
        score = NormalisedAveragePrecision((0.5,))
        score.update(points, pred, np.full(3, 0.5), (60, 60))
        # One of two points is found, at a precision of a third.
        assert score.compute()["nAP"] == pytest.approx(1 / 2 / 3)


@pytest.mark.parametrize("rows", [[0, 1], [1, 0]])
@pytest.mark.parametrize("columns", [[0, 1], [1, 0]])
def test_points_without_scores_are_matched_in_any_order(rows, columns):
    """The point between both took the first, which left none for the other: 1 / 4."""
    points, pred = np.array([[0.0, 0.0], [8.0, 0.0]]), np.array([[4.0, 0.0], [1.0, 0.0]])
    score = NormalisedAveragePrecision((0.75,))
    score.update(points[rows], pred[columns], np.ones(2), (60, 60))
    assert score.compute()["nAP"] == 1
    score = NormalisedAveragePrecision((0.75,))
    score.update(points[rows], pred[columns], np.array([0.9, 0.8])[columns], (60, 60))
    assert score.compute()["nAP"] == 1 / 2, "a better score comes first, wherever it is"


def test_perfect_points_have_full_nap_and_larger_deltas_find_no_less():
    rng = np.random.default_rng(2)
    score = NormalisedAveragePrecision()
    for _ in range(6):
        target = rng.random((20, 2)) * 100
        score.update(target, target, rng.random(20), (100, 100))
    assert set(score.compute().values()) == {1.0}
    rng = np.random.default_rng(3)
    target = rng.random((40, 2)) * 100
    score = NormalisedAveragePrecision()
    score.update(target, target + rng.normal(0, 3, (40, 2)), rng.random(40), (100, 100))
    values = list(score.compute().values())[:-1]
    assert values == sorted(values) and values[0] < values[-1]
