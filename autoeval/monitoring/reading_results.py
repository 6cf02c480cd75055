"""Reading what is new in the results files of many sites; files that have not changed stay shut."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from autoeval.errors import InputError
from autoeval.estimation.given_boxes import Predictions
from autoeval.estimation.site import site_of_files
from autoeval.io.labels.content import LabelledImage
from autoeval.io.predictions import FoundBoxes
from autoeval.io.wording import listed
from autoeval.monitoring.monitor_store import CameraImage, ImageRow, MonitorStore, box_rows
from autoeval.monitoring.results_files import ResultsFile
from autoeval.monitoring.times import Clock
from autoeval.notices import Notice, codes_of, notices_of
from autoeval.report.tables import counted
from autoeval.runtime.progress import progress_bar
from autoeval.sites.reference_statistics import ReferenceStatistics


@dataclass(frozen=True, eq=False)
class ResultsReader:
    """Turns results files into records."""

    statistics: ReferenceStatistics  # of the predictions of the fit
    clock: Clock
    depth: int | None = None  # see `ResultsFile.site`
    names: Mapping[str, str] = field(default_factory=dict)  # word of each category number
    truncated: bool = False  # boxes with low scores are known to be left out
    reference_names: Mapping[str, str] = field(default_factory=dict)  # as `names`, of a reference
    numbering: str = ""  # how category numbers count; see `Predictions`

    def made_with(self, *, reference: bool = False) -> dict[str, Any]:
        """Return what records depend on beside the files, as nested plain values."""
        predictions: dict[str, Any] = {"names": dict(self.names)}
        if self.numbering:
            predictions["numbering"] = self.numbering
        if reference:
            predictions["reference"] = dict(self.reference_names)
        return {
            "predictions": predictions,
            "words of the detector": sorted(self.statistics.categories),
            "depth": self.depth,
            "time": self.clock.source,
        }

    def read(self, file: ResultsFile, store: MonitorStore) -> tuple[list[ImageRow], dict[str, Any]]:
        """Read a file, in the words that a store knows then; raises as `site_of_files`.

        Returns its images, and a note: ``warnings`` of the file, its ``sites``, and ``floor`` and
        ``unseen``, see `Site`.
        """
        files = Predictions(
            file.path,
            reference=file.reference,
            names=self.names,
            complete=not self.truncated,
            reference_names=self.reference_names,
            numbering=self.numbering,
        )
        site = site_of_files(files, self.statistics, images=file.images)
        in_file = site.boxes.clean.categories
        words = store.add_words([*self.statistics.categories, *in_file])
        boxes = site.boxes.as_categories(words, {word: word for word in in_file})
        warnings = [*site.warnings, *site.left_out]
        images = boxes.clean.images
        times = {image.taken for image in images}
        if len(images) > 1 and len(times) == 1 and None not in times:
            # as where a tool wrote the time of its export
            warnings.append(
                Notice("times-equal", "all images have the same time: taken as without one")
            )
            images = tuple(replace(image, taken=None) for image in images)
        clean = _rows_of_images(boxes.clean)
        stronger = None if boxes.reference is None else _rows_of_images(boxes.reference)
        rows = [
            self._row(file, image, clean[k], None if stronger is None else stronger[k])
            for k, image in enumerate(images)
        ]
        sites = sorted({row.image.site for row in rows})
        note = {"warnings": codes_of(warnings), "sites": sites, "unseen": site.unseen}
        return rows, {**note, "floor": site.floor}

    def _row(
        self,
        file: ResultsFile,
        image: LabelledImage,
        boxes: np.ndarray,
        reference: np.ndarray | None,
    ) -> ImageRow:
        name = file.image_name(image)
        taken, source = self.clock.read(None, name, image.taken)
        record = CameraImage(
            name, file.site(name, self.depth), image.size or (0, 0), taken, boxes, reference
        )
        content = (record.site, record.size, taken, boxes.tobytes())
        more = () if reference is None else (reference.tobytes(),)
        stamp = hashlib.sha256(repr((*content, *more)).encode()).hexdigest()[:20]
        return ImageRow(record, stamp, source)


def _rows_of_images(found: FoundBoxes) -> list[np.ndarray]:
    """Return the boxes of each image, in the order of the file."""
    order = np.argsort(found.image, kind="stable")
    rows = box_rows(found.boxes[order], found.scores[order], found.label[order])
    ends = np.searchsorted(found.image[order], np.arange(1, len(found.images)))
    return np.split(rows, ends)


def read_results(
    files: Sequence[ResultsFile], reader: ResultsReader, store: MonitorStore
) -> tuple[tuple[str, ...], dict[str, dict[str, float]]]:
    """Read the files that are new or have changed, and keep the images that are.

    Images that an earlier version of a file had, and that it no longer names, stay and are counted
    in a warning. Returns warnings (with the files they are of; files that cannot be read), and of
    each site the largest ``unseen`` and ``floor`` of its files; see `Site`. Raises InputError if
    the store holds records that were made with other settings.
    """
    store.check(reader.made_with(reference=any(file.reference for file in files)))
    notes = store.files()
    failed: list[str] = []
    changed = [file for file in files if notes.get(file.name, {}).get("stamp") != file.stamp]
    observed = set(store.index()["name"]) if changed else set()
    with progress_bar(len(changed), "reading results files", unit="file") as bar:
        for file in changed:
            stamp = file.stamp
            try:
                rows, note = reader.read(file, store)
            except InputError as error:
                failed.append(
                    Notice(
                        "file-unreadable",
                        f"could not be read: {file.name or file.path.name} ({error})",
                    )
                )
                continue
            finally:
                bar.update()
            lost = _no_longer_named(file, files, rows, observed)
            if lost:
                note["warnings"] += codes_of([lost])
            store.add(rows, numbered=True, file=(file.name, stamp, note))
            notes[file.name] = {"stamp": stamp, **note}
    notes_of_files = {
        file.name or file.path.name: notes[file.name] for file in files if file.name in notes
    }
    of_sites: dict[str, dict[str, float]] = {}
    for note in notes.values():
        for site in note["sites"]:
            known = of_sites.setdefault(site, {"unseen": 0.0, "floor": 0.0})
            for name in known:
                known[name] = max(known[name], note[name])
    return (*_warnings(notes_of_files), *failed), of_sites


def _no_longer_named(
    file: ResultsFile,
    files: Sequence[ResultsFile],
    rows: Sequence[ImageRow],
    observed: Iterable[str],
) -> str:
    """Count images that an earlier version of a file named, and that still count; empty if none."""
    folders = [f"{other.name}/" for other in files if other.name.startswith(f"{file.name}/")]
    inside = (name for name in observed if not file.name or name.startswith(f"{file.name}/"))
    before = {name for name in inside if not any(name.startswith(folder) for folder in folders)}
    lost = before - {row.image.name for row in rows}
    if not lost:
        return ""
    return Notice(
        "images-no-longer-named",
        f"no longer names {len(lost)} of {counted(len(before), 'image')} that it named before "
        f"({listed(sorted(lost), most=2)}): they still count, for a site is compared with its "
        "history. To leave them out, start again with another --work-dir",
    )


def _warnings(notes: Mapping[str, Mapping[str, Any]]) -> Iterator[Notice]:
    """Return each warning once, with the files it is of."""
    files: dict[Notice, list[str]] = {}
    for name, note in notes.items():
        for warning in notices_of(note["warnings"]):
            files.setdefault(warning, []).append(name)
    for warning, names in files.items():
        yield warning.prefixed(listed(names, most=3))
