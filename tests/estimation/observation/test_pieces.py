"""Pieces hold each image once, in order, and hardly move when images come and go."""

import pytest

from autoeval.estimation.observation.kept_observer import MEAN, MOST, pieces

NAMES = [f"site/{k:05d}.jpg" for k in range(5000)]


def contents(names):
    return [tuple(names[k] for k in piece) for piece in pieces(names)]


def test_all_images_once_and_in_order():
    cut = contents(NAMES)
    assert [name for piece in cut for name in piece] == NAMES
    assert max(map(len, cut)) <= MOST
    assert MEAN / 2 < len(NAMES) / len(cut) < MEAN


@pytest.mark.parametrize("k", [0, 1234, 4999])
def test_one_image_less_or_more_leaves_nearly_all_pieces(k):
    fewer = NAMES[:k] + NAMES[k + 1 :]
    more = [*NAMES[:k], "site/between.jpg", *NAMES[k:]]
    for changed in (fewer, more):
        assert len(set(contents(NAMES)) - set(contents(changed))) <= 3


def test_no_image_no_piece():
    assert contents([]) == []
