"""The registries of mmdet, filled: what its config files name is then known."""

from __future__ import annotations


def fill_registries() -> None:
    """Register every model, data set, hook and loop of mmdet, and make its scope the default."""
    from mmdet.utils import register_all_modules

    register_all_modules()
