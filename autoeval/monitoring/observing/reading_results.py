"""Reading what is new in the results files of many sites; files that have not changed stay shut."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any

from autoeval.errors import InputError
from autoeval.estimation.given_boxes import Predictions
from autoeval.estimation.site import site_of_files
from autoeval.io.json_file import read_json
from autoeval.io.labels.content import LabelledImage
from autoeval.io.wording import listed
from autoeval.monitoring.observing.results_files import ResultsFile
from autoeval.monitoring.periods import Clock
from autoeval.monitoring.site_records import CameraImage, RecordStore, row_of
from autoeval.notices import Notice, codes_of, notices_of
from autoeval.report.tables import counted
from autoeval.runtime.files import write_json
from autoeval.runtime.progress import progress_bar
from autoeval.sites.reference_statistics import ReferenceStatistics
from autoeval.sites.site_boxes import SiteBoxes

READ = "files_read.json"
IN_BATCH = 4096  # images a file of the store


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

    def made_with(self, *, half_size: bool, reference: bool = False) -> dict[str, Any]:
        """Return what records depend on beside the files, as nested plain values."""
        predictions: dict[str, Any] = {"half_size": half_size, "names": dict(self.names)}
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

    def read(
        self, file: ResultsFile, store: RecordStore
    ) -> tuple[list[dict[str, Any]], dict[str, Any]]:
        """Read a file, in the words that a store knows then; raises as `site_of_files`.

        Returns one row an image, as a `RecordStore` has them but for ``number`` and ``observed_s``,
        and a note: ``warnings`` of the file, its ``sites``, and ``unseen``, see `Site.unseen`.
        """
        files = Predictions(
            file.path,
            file.half_size,
            file.reference,
            self.names,
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
                Notice(
                    "times-equal",
                    "all images have the same time: taken as without one",
                )
            )
            images = tuple(replace(image, taken=None) for image in images)
        rows = [self._row(file, image, boxes, k) for k, image in enumerate(images)]
        sites = sorted({row["group"] for row in rows})
        return rows, {"warnings": codes_of(warnings), "sites": sites, "unseen": site.unseen}

    def _row(
        self, file: ResultsFile, image: LabelledImage, boxes: SiteBoxes, k: int
    ) -> dict[str, Any]:
        name = file.image_name(image)
        taken, source = self.clock.read(None, name, image.taken)
        record = CameraImage(
            name,
            image.size or (0, 0),
            taken,
            file.site(name, self.depth),
            boxes.clean.detections(k),
            boxes.half_size.detections(k) if boxes.half_size is not None else None,
            reference=boxes.reference.detections(k) if boxes.reference is not None else None,
        )
        row = row_of(record)
        content = hashlib.sha256(repr(sorted(row.items())).encode()).hexdigest()[:20]
        return {**row, "stamp": content, "taken_from": source, "unreadable": ""}


def read_results(
    files: Sequence[ResultsFile], reader: ResultsReader, store: RecordStore
) -> tuple[tuple[str, ...], dict[str, float]]:
    """Read the files that are new or have changed, and keep the images that are.

    Images that an earlier version of a file had, and that it no longer names, stay and are counted
    in a warning. Returns
    warnings (with the files they are of; files that cannot be read), and the largest
    `Site.unseen` of the files of each site. Raises InputError if the store holds records that were
    made with other settings.
    """
    half_size, reference = (
        any(getattr(file, name) for file in files) for name in ("half_size", "reference")
    )
    store.check(reader.made_with(half_size=half_size, reference=reference))
    store.tidy()
    path = store.folder / READ
    notes: dict[str, dict[str, Any]] = read_json(path, "notes") if path.exists() else {}
    index = store.index()
    stamps = dict(zip(index["file_name"], index["stamp"], strict=True))
    numbers = dict(zip(index["file_name"], index["number"].astype(int), strict=True))
    failed: list[str] = []
    changed = [file for file in files if notes.get(file.name, {}).get("stamp") != file.stamp]
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
            lost = _no_longer_named(file, files, rows, stamps)
            if lost:
                note["warnings"] += codes_of([lost])
            _keep(rows, stamps, numbers, store)
            notes[file.name] = {"stamp": stamp, **note}
    if changed:
        write_json(path, notes)
    notes_of_files = {
        file.name or file.path.name: notes[file.name] for file in files if file.name in notes
    }
    unseen: dict[str, float] = {}
    for note in notes.values():
        for site in note["sites"]:
            unseen[site] = max(unseen.get(site, 0.0), note["unseen"])
    return (*_warnings(notes_of_files), *failed), unseen


def _no_longer_named(
    file: ResultsFile,
    files: Sequence[ResultsFile],
    rows: Sequence[Mapping[str, Any]],
    observed: Iterable[str],
) -> str:
    """Count images that an earlier version of a file named, and that still count; empty if none."""
    folders = [f"{other.name}/" for other in files if other.name.startswith(f"{file.name}/")]
    inside = (name for name in observed if not file.name or name.startswith(f"{file.name}/"))
    before = {name for name in inside if not any(name.startswith(folder) for folder in folders)}
    lost = before - {row["file_name"] for row in rows}
    if not lost:
        return ""
    return Notice(
        "images-no-longer-named",
        f"no longer names {len(lost)} of {counted(len(before), 'image')} that it named before "
        f"({listed(sorted(lost), most=2)}): they still count, for a site is compared with its "
        "history. To leave them out, start again with another --work-dir",
    )


def _keep(
    rows: Sequence[dict[str, Any]],
    stamps: dict[str, str],
    numbers: dict[str, int],
    store: RecordStore,
) -> None:
    """Write the images that are new or have changed, and note their stamps and numbers."""
    new = [row for row in rows if stamps.get(row["file_name"]) != row["stamp"]]
    free = count(max(numbers.values(), default=-1) + 1)
    for row in new:
        name = row["file_name"]
        stamps[name] = row["stamp"]
        row["number"] = numbers[name] if name in numbers else numbers.setdefault(name, next(free))
        row["observed_s"] = time.time()
    for k in range(0, len(new), IN_BATCH):
        part = new[k : k + IN_BATCH]
        content = json.dumps([(row["file_name"], row["stamp"]) for row in part])
        store.rows.write(hashlib.sha256(content.encode()).hexdigest()[:20], part)


def _warnings(notes: Mapping[str, Mapping[str, Any]]) -> Iterator[Notice]:
    """Return each warning once, with the files it is of."""
    files: dict[Notice, list[str]] = {}
    for name, note in notes.items():
        for warning in notices_of(note["warnings"]):
            files.setdefault(warning, []).append(name)
    for warning, names in files.items():
        yield warning.prefixed(listed(names, most=3))
