"""An alarm says whether the site is known to be worse, or only changed."""

import pandas as pd
import pytest

from autoeval.results.monitoring.site_board import change_text
from autoeval.targets import find_target

SINCE = pd.Timestamp("2026-03-02 08:00")


def shown(change, half, *, alarm):
    ends = {"change_lower": change - half, "change_upper": change + half}
    row = {"change": change, **ends, "since": SINCE, "alarm": alarm}
    return change_text(row, find_target("mAP"))


@pytest.mark.parametrize(
    ("change", "half", "alarm", "words"),
    [
        (-0.09, 0.04, True, "fell by 9 ± 4 points since 2026-03-02 08:00"),
        # The interval reaches over zero, or the change is a rise: an alarm, but no fall.
        (-0.02, 0.05, True, "changed since 2026-03-02 08:00, not known to be worse"),
        (0.03, 0.01, True, "changed since 2026-03-02 08:00, not known to be worse"),
        (-0.02, 0.05, False, "fell by 2 ± 5 points since 2026-03-02 08:00"),
    ],
)
def test_what_is_said_of_a_change(change, half, alarm, words):
    assert shown(change, half, alarm=alarm).startswith(words)
    assert ("not known" in shown(change, half, alarm=alarm)) == ("not known" in words)


def test_an_alarm_without_a_estimated_change_is_not_called_a_fall():
    row = {"change": float("nan"), "alarm": True}
    assert change_text(row, find_target("mAP")) == "changed, not known to be worse"
