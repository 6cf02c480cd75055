"""Network work, counted in executions of the six parts of a detector over one image.

The parts are the stem, the four stages of the backbone, and neck and head together.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from autoeval.detectors.forward.dropout_spec import N_STAGES, DropoutSpec

PARTS = ("stem", *(f"stage {stage}" for stage in range(N_STAGES)), "neck and head")


def executions(
    specs: Sequence[DropoutSpec], *, repeats: int = 1, splits_backbone: bool = True
) -> np.ndarray:
    """Count what observing one image under several dropouts executes, with all sharing.

    A stage runs once for each way in which its input differs: clean, and for each combination of a
    rate and dropped stages before it. Neck and head run once for each dropout, and once clean.

    Parameters
    ----------
    specs : sequence of DropoutSpec
    repeats : int
        Perturbed passes for each of them.
    splits_backbone : bool
        False for a detector that must run wholly for each pass.

    Returns
    -------
    ndarray of shape (6,), int
        In the order of `PARTS`.

    Examples
    --------
    >>> executions([DropoutSpec("after", (0,), 0.1), DropoutSpec("after", (0, 1), 0.1)])
    array([1, 1, 2, 3, 3, 3])
    """
    if not splits_backbone:
        return naive_executions(len(specs), repeats=repeats, share_clean=True)
    stages = [1 + repeats * len(_inputs(stage, specs)) for stage in range(N_STAGES)]
    return np.array([1, *stages, 1 + repeats * len(specs)])


def naive_executions(n_dropouts: int, *, repeats: int = 1, share_clean: bool = False) -> np.ndarray:
    """Count what observing one image costs when nothing is shared.

    Parameters
    ----------
    n_dropouts : int
    repeats : int
        Perturbed passes of the whole network for each dropout.
    share_clean : bool
        One clean pass for all dropouts instead of one for each.

    Returns
    -------
    ndarray of shape (6,), int

    Examples
    --------
    >>> naive_executions(285).sum(), naive_executions(285, share_clean=True).sum()
    (np.int64(3420), np.int64(1716))
    """
    clean = 1 if share_clean else n_dropouts
    return np.full(len(PARTS), clean + n_dropouts * repeats)


def _inputs(stage: int, specs: Sequence[DropoutSpec]) -> set[tuple]:
    """Return the different perturbed inputs of a stage."""
    found = set()
    for spec in specs:
        last = stage if spec.position == "before" else stage - 1
        dropped = tuple(s for s in spec.stages if s <= last)
        if dropped:
            found.add((spec.position, spec.rate, dropped))
    return found
