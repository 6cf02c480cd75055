"""Fixtures shared by every test."""

from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("steady", deadline=None, derandomize=True)
settings.load_profile("steady")

SHARED = Path(__file__).resolve().parents[2] / "shared"


@pytest.fixture(scope="session")
def shared() -> Path:
    """Folder of real data beside the checkout; skips where there is none."""
    if not SHARED.is_dir():
        pytest.skip("needs the folder 'shared' with real data beside the checkout")
    return SHARED


@pytest.fixture
def widest():
    """A score that registers itself; forgotten again afterwards."""
    from autoeval.scores import registry
    from autoeval.scores.base import RatioScore, rising

    @registry.register
    class WidestBox(RatioScore):
        """Mean width of the first box."""

        name = "widest"
        meaning = "width of the first box"
        features = rising("widest")
        source = "this test"

        def measure(self, evidence):
            return float(evidence.clean.boxes[0, 2]), 1

    yield WidestBox
    registry._SCORES.pop("widest")
    registry._BY_FEATURE.pop("widest")
