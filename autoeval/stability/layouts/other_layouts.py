"""Published data sets of dark images and of traffic videos: ExDark, UA-DETRAC."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

from autoeval.io.image_lists import load_image_folder
from autoeval.io.labels.content import ANY, LabelFormat, LabelSet
from autoeval.io.labels.voc import parse_xml
from autoeval.runtime.files import BadItems
from autoeval.stability.layouts.collecting import (
    Box,
    Marked,
    chosen,
    collect_labels,
    first_folder,
    label_files,
    number,
    unread,
)
from autoeval.words import printable

# ExDark: a text file for each image in the format bbGt of Piotr's toolbox.
#
# Source: https://github.com/cs-chan/Exclusively-Dark-Image-Dataset (Groundtruth): below a header
# line, ``CLASS left top width height`` and seven more numbers on each line.

_VEHICLES = ("Bicycle", "Boat", "Bus", "Car", "Motorbike")
_EXDARK = (*_VEHICLES, "People", "Cat", "Dog", "Bottle", "Chair", "Cup", "Table")
_HEADER = "%"
_UA_DETRAC = ("car", "bus", "van", "others")
_UNLISTED = ("unlabelled", "empty")


def read_exdark(path: Path, img_dir: Path | None = None) -> LabelSet:
    """Read the labels, for all images: the papers name no split.

    The case of suffixes differs between images and annotations of the release and does not matter.

    Parameters
    ----------
    path : Path
        The folder of the annotations (``ExDark_Annno``), which has a subfolder for each class.
    img_dir : Path, optional
        By default ``ExDark`` beside it.

    Raises
    ------
    InputError
        If there are no label files, or no images.
    """
    folder = first_folder(path, img_dir, [path.parent / "ExDark"])
    spelled = {
        name.lower(): name
        for name in (i.path.relative_to(folder).as_posix() for i in load_image_folder(folder))
    }
    marked, bad = {}, unread("ExDark", "label files")
    for file in label_files(path, ".txt"):
        name = file.relative_to(path).as_posix().removesuffix(".txt")
        with bad.item(printable(file)):
            lines = file.read_text(encoding="utf-8-sig").splitlines()
            boxes = [
                _exdark_box(line.split()) for line in lines if line.strip() and line[0] != _HEADER
            ]
            marked[spelled.get(name.lower(), name)] = boxes
    return collect_labels(path, folder, marked, categories=_EXDARK, warnings=bad.warnings())


def _exdark_box(words: list[str]) -> Marked:
    left, top, width, height = map(float, words[1:5])
    return Marked(words[0], (left, top, width, height))


EXDARK = LabelFormat("exdark", "ExDark bbGt text", read_exdark)

# UA-DETRAC: an XML file for each video, with areas in which nothing was labelled.
#
# Source: https://detrac-db.rit.albany.edu (annotations of training and test videos): ``sequence``
# with ``ignored_region`` and ``frame num``, whose targets have a ``box`` and a ``vehicle_type``.


def read_ua_detrac(
    path: Path, img_dir: Path | None = None, *, every: int | str = 1, unlisted: str = "unlabelled"
) -> LabelSet:
    """Read the frames of all videos; ignored regions are areas to ignore for every category.

    Parameters
    ----------
    path : Path
        A folder of XML files (``DETRAC-Train-Annotations-XML``).
    img_dir : Path, optional
        With a subfolder of frames (``img00001.jpg``) for each video, by default
        ``Insight-MVT_Annotation_Train`` (or ``_Test``) beside the labels.
    every : int
        One of so many frames of a video is taken, the first one first; neighbours, at 25 a second,
        are nearly the same image.
    unlisted : {"unlabelled", "empty"}
        What frames are that the XML leaves out: not used, or without objects; the release does not
        say whether they hold nothing or were skipped.
    """
    chosen("unlisted", unlisted, _UNLISTED)
    step = int(number("every", every, least=1))
    places = [path.parent / f"Insight-MVT_Annotation_{part}" for part in ("Train", "Test")]
    wanted = [p for p in places if p.name.rpartition("_")[2].lower() in path.name.lower()]
    folder = first_folder(path, img_dir, wanted or places)
    marked, listed = dict[str, list[Marked]](), set[str]()
    videos, frames = unread("UA-DETRAC", "label files"), unread("UA-DETRAC", "frames")
    for file in label_files(path, ".xml"):
        with videos.item(printable(file)):
            marked |= _video(file, parse_xml(file, "sequence"), step, frames, listed)
    warnings = (*videos.warnings(), *frames.warnings())
    if unlisted == "empty":
        ignored = {
            name.partition("/")[0]: [box for box in boxes if box.category == ANY]
            for name, boxes in marked.items()
        }
        for image in load_image_folder(folder):
            name = image.path.relative_to(folder).as_posix()
            video = name.partition("/")[0]
            if video in ignored and name not in listed and (_number(name) - 1) % step == 0:
                marked[name] = ignored[video]
    return collect_labels(path, folder, marked, categories=_UA_DETRAC, warnings=warnings)


def _video(
    file: Path, root: ElementTree.Element, step: int, bad: BadItems, listed: set[str]
) -> dict[str, list[Marked]]:
    """Return the boxes of each frame that can be read; all that there are become `listed`."""
    ignored = [Marked(ANY, _detrac_box(box)) for box in root.findall("ignored_region/box")]
    frames = {}
    for position, frame in enumerate(root.findall("frame")):
        with bad.item(f"{printable(file)}, frame[{position}]"):
            number = int(frame.attrib["num"])
            if (number - 1) % step == 0:
                targets = frame.findall("target_list/target")
                name = f"{root.attrib['name']}/img{number:05d}.jpg"
                listed.add(name)
                frames[name] = [*map(_target, targets), *ignored]
    return frames


def _target(target: ElementTree.Element) -> Marked:
    box, attribute = target.find("box"), target.find("attribute")
    if box is None or attribute is None:
        raise ValueError("expected each target to have a box and an attribute")
    return Marked(attribute.attrib["vehicle_type"], _detrac_box(box))


def _detrac_box(element: ElementTree.Element) -> Box:
    sides = element.attrib
    return float(sides["left"]), float(sides["top"]), float(sides["width"]), float(sides["height"])


def _number(name: str) -> int:
    digits = "".join(c for c in Path(name).stem if c.isdecimal())
    return int(digits or 1)


UA_DETRAC = LabelFormat("ua_detrac", "UA-DETRAC XML", read_ua_detrac)
