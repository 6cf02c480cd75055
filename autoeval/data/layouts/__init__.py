"""All published layouts there are."""

from __future__ import annotations

from autoeval.data.labels.content import LabelFormat
from autoeval.data.layouts.driving_layouts import BDD100K, BOX_CSV, CITYSCAPES, KITTI
from autoeval.data.layouts.other_layouts import EXDARK, UA_DETRAC
from autoeval.data.layouts.person_layouts import CALTECH, CITYPERSONS, CROWDHUMAN, EUROCITY

LAYOUTS: tuple[LabelFormat, ...] = (
    BDD100K,
    BOX_CSV,
    CALTECH,
    CITYPERSONS,
    CITYSCAPES,
    CROWDHUMAN,
    EUROCITY,
    EXDARK,
    KITTI,
    UA_DETRAC,
)
