"""All published layouts there are."""

from __future__ import annotations

from autoeval.data.labels.base import LabelFormat
from autoeval.data.layouts.bdd100k import BDD100K
from autoeval.data.layouts.box_csv import BOX_CSV
from autoeval.data.layouts.caltech import CALTECH
from autoeval.data.layouts.citypersons import CITYPERSONS
from autoeval.data.layouts.cityscapes import CITYSCAPES
from autoeval.data.layouts.crowdhuman import CROWDHUMAN
from autoeval.data.layouts.eurocity import EUROCITY
from autoeval.data.layouts.exdark import EXDARK
from autoeval.data.layouts.kitti import KITTI
from autoeval.data.layouts.ua_detrac import UA_DETRAC

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
