"""Boxes of a whole set of images as columns: one row a box."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from autoeval.detections import Detections
from autoeval.errors import InputError
from autoeval.io.labels.truth import BoxColumns
from autoeval.io.predictions.category_words import NO_NUMBERS, Numbering
from autoeval.io.predictions.detector_run import DetectorRun
from autoeval.io.wording import listed, listed_near
from autoeval.notices import Notice


def _form(word: str) -> str:
    """Return a word without what spellings differ by."""
    return re.sub(r"[\s_-]+", "", word).casefold()


@dataclass(frozen=True, eq=False)
class FoundBoxes(BoxColumns):
    """The boxes that a detector has found on a set of images: float64 of files, as a file has them.

    `categories` are its K words; `scores` (N,) are in [0, 1]. `numbers` has the word for
    each number of a category, as far as the file has or uses numbers. `left_out` names what was
    left out or is odd, `warnings` say why its boxes may be misread. Of the `uncovered` images, by
    position, the file says nothing: their objects were not missed.
    `numbering` says how numbers of categories were read, `lists_images` whether the file itself
    lists the images that the detector was run on, `run` which one that was, where `autoeval detect`
    wrote the file.
    """

    scores: np.ndarray
    numbers: dict[str, str]
    left_out: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    uncovered: tuple[int, ...] = ()
    numbering: Numbering = NO_NUMBERS
    lists_images: bool = False
    run: DetectorRun | None = None

    @property
    def covered(self) -> np.ndarray:
        """The positions of all images but the `uncovered` ones, int64."""
        return np.setdiff1d(np.arange(len(self.images)), self.uncovered)

    def on_images(self, chosen: Sequence[int] | np.ndarray) -> FoundBoxes:
        """Keep the images of an index array without repetition, and their boxes."""
        place = {int(image): k for k, image in enumerate(chosen)}
        uncovered = tuple(place[image] for image in self.uncovered if image in place)
        run = self.run and self.run.on_images(chosen)
        return replace(super().on_images(chosen), uncovered=uncovered, run=run)

    @cached_property
    def floor(self) -> float:
        """The lowest score of all boxes, NaN without any."""
        return float(self.scores.min()) if len(self) else float("nan")

    @cached_property
    def highest(self) -> float:
        """The highest score of all boxes, NaN without any."""
        return float(self.scores.max()) if len(self) else float("nan")

    @cached_property
    def most_boxes(self) -> int:
        """The largest number of boxes in one image."""
        return int(np.bincount(self.image).max()) if len(self) else 0

    def as_categories(self, names: Sequence[str], words: dict[str, str]) -> FoundBoxes:
        """Translate the detector's words into other categories; boxes of other words are dropped.

        `words` has the new category of each word that counts.
        """
        index = {name: k for k, name in enumerate(names)}
        lookup = np.array([index.get(words.get(word, ""), -1) for word in self.categories], int)
        if not (lookup >= 0).any():
            raise InputError(
                f"The predictions know none of {listed(words)}. They know: "
                f"{listed_near(words, self.categories)}."
            )
        labels = lookup[self.label]
        numbering = replace(self.numbering, others={}, numbers={})  # of these words no more
        moved = replace(self, categories=tuple(names), label=labels, numbering=numbering)
        return moved.where(labels >= 0)

    def spelt_as(self, words: Sequence[str]) -> FoundBoxes:
        """Take words that differ from those that are known only by case or separators for these.

        Such as ``Traffic_Light`` for ``traffic light``; not where boxes have both.
        """
        used = {self.categories[k] for k in np.flatnonzero(np.bincount(self.label)).tolist()}
        of_form: dict[str, list[str]] = {}
        for word in dict.fromkeys(words):
            of_form.setdefault(_form(word), []).append(word)
        known: dict[str, str] = {}
        for word in used.difference(words):
            alike = of_form.get(_form(word), [])
            if len(alike) == 1 and alike[0] not in used and alike[0] not in known.values():
                known[word] = alike[0]
        if not known:
            return self
        named = [known.get(word, word) for word in self.categories]
        index = {word: k for k, word in enumerate(dict.fromkeys(named))}
        pairs = [f"{word} for {known[word]}" for word in self.categories if word in known]
        text = f"words that are spelt otherwise than known ones count as these: {listed(pairs, 3)}"
        return replace(
            self,
            categories=tuple(index),
            label=np.array([index[word] for word in named], np.int64)[self.label],
            numbers={number: known.get(word, word) for number, word in self.numbers.items()},
            left_out=(*self.left_out, Notice("words-spelt-otherwise", text, "note")),
        )

    def numbered(self, way: str) -> FoundBoxes:
        """Read the numbers of categories in another of the ways of `numbering`, which is decided.

        `way` is the way that was used, or a key of ``numbering.others``.
        """
        numbering = replace(self.numbering, used=way, others={}, numbers={}, decided=True)
        if way == self.numbering.used:
            return replace(self, numbering=numbering)
        labels = self.numbering.others[way][self.label]
        numbers = self.numbering.numbers[way]
        return replace(self, label=labels, numbers=numbers, numbering=numbering)

    def detections(self, image: int) -> Detections:
        """Return the boxes of one image, in the order of the file."""
        rows = self._rows[self._ends[image] : self._ends[image + 1]]
        return Detections(self.boxes[rows], self.scores[rows], self.label[rows])

    def rows_of(self, category: int) -> np.ndarray:
        """Return the rows of the boxes of one category, in the order of the file."""
        order, ends = self._by_label
        return order[ends[category] : ends[category + 1]]

    @cached_property
    def _by_label(self) -> tuple[np.ndarray, np.ndarray]:
        # NumPy sorts integers of 16 bits or less by their digits, in linear time.
        small = self.label.astype(np.min_scalar_type(len(self.categories)))
        counts = np.bincount(self.label, minlength=len(self.categories))
        return np.argsort(small, kind="stable"), np.append(0, np.cumsum(counts))

    @cached_property
    def _rows(self) -> np.ndarray:
        return np.argsort(self.image, kind="stable")

    @cached_property
    def _ends(self) -> np.ndarray:
        return np.searchsorted(self.image[self._rows], np.arange(len(self.images) + 1))
