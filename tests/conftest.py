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
