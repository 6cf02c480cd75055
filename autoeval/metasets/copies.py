"""Images that look alike within a set and across sets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np

from autoeval.data.perceptual_hash import alike
from autoeval.data.wording import listed
from autoeval.metasets.looking import Look


def n_alike(look: Look) -> int:
    """Count the images of a set that have a near copy in it."""
    return int((alike(look.hashes[look.hashed]) >= 0).sum())


def copies_across(looks: Sequence[Look]) -> Iterator[str]:
    """Tell which sets share images, one sentence for each pair, the first named by example."""
    for one, other in combinations(looks, 2):
        found = alike(one.hashes[one.hashed], other.hashes[other.hashed])
        if (found >= 0).any():
            names, others = _names(one), _names(other)
            pairs = [f"{names[k]} ~ {others[found[k]]}" for k in np.flatnonzero(found >= 0)]
            yield (
                f"{len(pairs)} of {len(names)} images of {one.name} look like images of "
                f"{other.name}: {listed(pairs, 3)}"
            )


def _names(look: Look) -> list[str]:
    return [name for name, hashed in zip(look.image_ids, look.hashed, strict=True) if hashed]
