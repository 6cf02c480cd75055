"""What helps where an interval is too wide to act on."""

from autoeval.estimation.warnings import advice
from autoeval.regression import PredictionInterval


def test_a_wide_interval_comes_with_what_helps():
    wide, narrow = (
        PredictionInterval(0.5, 0.5, 0.2, 0.8, 0.3),
        PredictionInterval(0.5, 0.5, 0.4, 0.6, 0.1),
    )
    assert advice(narrow) == ()
    (text,) = advice(wide)
    assert text.startswith("too wide to act on: ±30 points")
    assert "±15 to 19 from one labelled set, ±15 to 17 from 37 sites" in text
    assert "(`autoeval label plan`)" in text
