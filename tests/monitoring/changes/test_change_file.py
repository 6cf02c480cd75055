"""The slopes that come with the package can be read and say what they should."""

import numpy as np
import pytest

from autoeval.errors import InputError
from autoeval.monitoring.changes.change_model import read_change_model, write_change_model
from autoeval.monitoring.changes.condition import CONDITION, OF_CLEAN_BOXES, SCORES
from autoeval.monitoring.changes.image_numbers import MEANINGS, NUMBERS, OF_BOXES


@pytest.fixture(scope="module")
def shipped():
    return read_change_model()


def street():
    """Numbers of an ordinary image: eight boxes over .05, four of them sure and found again."""
    boxes = [8, 3.2, 0.5, 1, 0.8, 4, -10, 3, 2.5, 1.8, 2]
    return np.array([*boxes, *np.zeros(len(MEANINGS))])


def test_the_shipped_slopes_say_where_they_come_from(shipped):
    assert "yolox_nano under 14 kinds of corruption at 41 labelled sites" in shipped.origin
    assert set(shipped.names) <= set(CONDITION) and 0.3 < shipped.slopes.widening < 3


def test_the_shipped_slopes_of_boxes_alone_read_nothing_else(shipped):
    clean = read_change_model(signals=False, half_size=False)
    assert "yolox_nano under 14 kinds of corruption at 41 labelled sites" in clean.origin
    assert set(clean.names) <= set(OF_CLEAN_BOXES) and set(clean.needs) <= set(OF_CLEAN_BOXES)
    half = read_change_model(signals=False)
    assert set(half.needs) <= set(SCORES) and half.names == shipped.names
    alone, after = street(), street()
    for name in (*MEANINGS, "sure_half", "again"):
        alone[NUMBERS.index(name)] = after[NUMBERS.index(name)] = np.nan
    worse = {"score": 1.6, "share": 0.25, "best": 0.5, "sure": 2, "size": -5}
    for name, value in {**worse, "squares": 0.8, "certain": 0.5}.items():
        after[NUMBERS.index(name)] = value
    clean.check(np.array([alone, after]))
    fell, _ = clean.slopes.predict(clean.moves(alone, after, 0.4)[None])
    series = clean.image_series(np.array([alone, alone]), after[None])
    assert fell[0] < -0.03 and np.isfinite(series).all() and series[0, 2] < series[0, 0]


def test_fewer_and_less_sure_boxes_are_a_fall_and_more_a_rise(shipped):
    before, worse = street(), street()
    worse[: len(OF_BOXES)] = [8, 1.6, 0.25, 0.8, 0.5, 2, -5, 1.5, 1, 0.8, 0.5]
    for change, sign in ((worse, -1), (2 * before - worse, 1)):
        estimated, _ = shipped.slopes.predict(shipped.moves(before, change, 0.4)[None])
        assert sign * estimated[0] > 0.03


def test_an_image_out_of_focus_speaks_of_a_fall(shipped):
    sharp, blurred = street(), street()
    for name in ("detail", "detail_1", "detail_2", "edges"):
        blurred[NUMBERS.index(name)] -= 1
    said = shipped.image_series(np.array([sharp, sharp]), blurred[None])
    assert said[0, 2] < said[0, 0] and said[2, 2] < said[2, 0]


def test_what_is_written_is_read(shipped, tmp_path):
    path = write_change_model(tmp_path / "slopes.json", shipped)
    assert read_change_model(path).to_dict() == shipped.to_dict()


def test_a_file_without_slopes_for_boxes_alone_is_refused_where_they_are_needed(shipped, tmp_path):
    path = write_change_model(tmp_path / "slopes.json", shipped)
    with pytest.raises(InputError, match="no slopes for boxes at full size alone"):
        read_change_model(path, signals=False, half_size=False)


def test_something_else_is_refused(tmp_path):
    (tmp_path / "x.json").write_text('{"bounds": 3}')
    with pytest.raises(InputError, match="holds no slopes of change"):
        read_change_model(tmp_path / "x.json")
