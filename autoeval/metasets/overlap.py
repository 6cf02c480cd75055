"""New images that are a source's own: what was fitted on them cannot be judged on them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from autoeval.data.same_files import same_content
from autoeval.data.wording import listed, printable
from autoeval.metasets.seed_set import SeedSet


def shared_with_sources(seed_sets: Iterable[SeedSet], files: Sequence[Path]) -> Iterator[str]:
    """Count the new image files that a source holds too, byte by byte, one sentence a source."""
    for seed_set in seed_sets:
        same = same_content(files, [record.path for record in seed_set.images])
        if same:
            names = printable(listed([path.name for path in same]))
            yield (
                f"{len(same)} of {len(files)} new images are images of source {seed_set.name} "
                f"({names}), on which the estimator was fitted: how well it does there says "
                "nothing about a new place"
            )
