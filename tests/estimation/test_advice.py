"""What is said of an interval that is too wide to act on."""

from autoeval.estimation.advice import advice
from autoeval.estimation.regression import Told


def test_a_wide_interval_is_told_with_what_was_measured_of_its_kind():
    wide, narrow = Told(0.5, 0.5, 0.2, 0.8, 0.3), Told(0.5, 0.5, 0.4, 0.6, 0.1)
    assert advice(narrow) == ()
    (by_network,), (by_files,) = advice(wide), advice(wide, plan="a plan", measured=(20, 17))
    assert by_network.startswith("too wide to act on: ±30 points")
    assert "±17 from one labelled set, ±15 from forty places" in by_network
    assert "±20 from one labelled set, ±17 from forty places" in by_files and "(a plan)" in by_files
