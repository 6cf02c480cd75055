"""What all results have in common: a number, its interval, its categories, its warnings."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from html import escape
from types import MappingProxyType
from typing import TYPE_CHECKING

from autoeval.accuracy.measures import find_target
from autoeval.words import Notice, ordered_warnings, warning_lines

if TYPE_CHECKING:
    import pandas as pd

ENDS = ("value", "lower", "upper")
JSON_NAMES = {"other_targets": "beside"}  # fields that have another key in ``result.json``
REFUSED = re.compile(r"[^\w./ :-]")  # by MLflow in the name of a metric


class Result:
    """A result: plain data, of which `autoeval.report` makes text, pages and JSON."""

    kind = "estimate"  # with which the keys of `to_dict` begin

    if TYPE_CHECKING:  # fields of a subclass, or properties

        @property
        def value(self) -> float:
            """The number; NaN where there is none."""
            raise NotImplementedError

        @property
        def lower(self) -> float:
            """Lower end of the interval; NaN where there is none."""
            raise NotImplementedError

        @property
        def upper(self) -> float:
            """Upper end of the interval."""
            raise NotImplementedError

        @property
        def level(self) -> float:
            """Nominal coverage of the interval."""
            raise NotImplementedError

        @property
        def target(self) -> str:
            """What is estimated; see `autoeval.accuracy.measures.TARGETS`."""
            raise NotImplementedError

        @property
        def per_category(self) -> Mapping[str, Mapping[str, float]]:
            """``value``, ``lower`` and ``upper`` of each category."""
            raise NotImplementedError

        @property
        def warnings(self) -> tuple[Notice, ...]:
            """Why the number may be wrong, each a `autoeval.words.Notice`."""
            raise NotImplementedError

        @property
        def other_targets(self) -> Mapping[str, Mapping[str, float]]:
            """``value``, ``lower`` and ``upper`` of other targets of the same images."""
            raise NotImplementedError

    else:
        other_targets = MappingProxyType({})  # of a result with one target

    @property
    def title(self) -> str:
        """What the value is, in words."""
        return f"estimated {find_target(self.target).title}"

    @property
    def basis(self) -> str:
        """What the value rests on, in words; may be empty."""
        return ""

    def number_text(self, value: float) -> str:
        """Write a value, or an end of an interval, in the unit of the target.

        Parameters
        ----------
        value : float
            In the range of the target, in [0, 1] for accuracies; NaN gives a dash.
        """
        return find_target(self.target).text(value)

    def interval_text(self, ends: Mapping[str, float], level: str = "") -> str:
        """Write a value with its interval.

        Parameters
        ----------
        ends : mapping of str to float
            ``value``, ``lower`` and ``upper``, in the range of the target. NaN as the value gives
            "not known", as the lower end "no interval".
        level : str
            Its nominal coverage, in words; empty for none.
        """
        if math.isnan(ends["value"]):
            return "not known"
        text = self.number_text(ends["value"])
        if math.isnan(ends["lower"]):
            return f"{text} (no interval)"
        lower, upper = self.number_text(ends["lower"]), self.number_text(ends["upper"])
        return f"{text} ({f'{level} ' if level else ''}{lower} to {upper})"

    def all_warnings(self) -> list[Notice]:
        """Return all warnings, the most severe first."""
        return ordered_warnings(self.warnings)

    def _rows(self) -> Iterator[tuple[str, Mapping[str, float]]]:
        """Yield names and numbers: the whole under ``""``, then each category."""
        yield "", {end: getattr(self, end) for end in ENDS}
        yield from self.per_category.items()

    def _first_line(self) -> str:
        (_, whole), *_ = self._rows()
        number = self.interval_text(whole, f"{self.level:.0%} interval")
        return f"{self.title}: {number}{f', {self.basis}' if self.basis else ''}"

    def __str__(self) -> str:
        _, *rows = self._rows()
        lines = [f"{name}: {self.interval_text(ends)}" for name, ends in self.other_targets.items()]
        lines += [f"  {name}: {self.interval_text(ends)}" for name, ends in rows]
        return "\n".join([self._first_line(), *lines, *warning_lines(self.all_warnings())])

    def __repr__(self) -> str:
        n = len(self.all_warnings())
        return f"<{self._first_line()}{f'; warnings: {n}' if n else ''}>"

    def _repr_html_(self) -> str:
        """Return the numbers and the warnings as HTML, for notebooks."""
        head = "".join(f"<th>{name}</th>" for name in ("", *ENDS))
        rows = "".join(
            f"<tr><th>{escape(name or self.title)}</th>"
            + "".join(f"<td>{self.number_text(ends[end])}</td>" for end in ENDS)
            + "</tr>"
            for name, ends in [*self._rows(), *self.other_targets.items()]
        )
        items = "".join(f"<li>{escape(line)}</li>" for line in warning_lines(self.all_warnings()))
        warnings = f"<ul>{items}</ul>" if items else ""
        caption = f"{self.level:.0%} interval"
        return f"<table><caption>{caption}</caption><tr>{head}</tr>{rows}</table>{warnings}"

    def to_pandas(self) -> pd.DataFrame:
        """Return one row for the whole, called ``""``, and one for each category.

        Columns are ``category``, ``value``, ``lower`` and ``upper``.
        """
        import pandas as pd

        return pd.DataFrame(
            [{"category": name, **{end: ends[end] for end in ENDS}} for name, ends in self._rows()]
        )

    def to_dict(self) -> dict[str, float]:
        """Return the numbers under flat keys, as loggers of metrics take them.

        ``estimate/TARGET``, ``estimate/lower``, ``estimate/upper``, and ``estimate/TARGET/NAME`` of
        each category, also of other targets; what is not known is left out. Other results begin
        with their `kind`. MLflow refuses all but letters, digits and ``_ - . / :`` and blanks in
        the name of a metric: other characters become ``_``, ``estimate/recall_0.3``. Where two
        names become one, ``_`` is added to the later one.
        """
        (_, whole), *rows = self._rows()
        whole_name = f"{self.kind}/{self.target}"
        other_targets = self.other_targets.items()
        numbers = {whole_name: whole["value"]}
        numbers |= {f"{self.kind}/{end}": whole[end] for end in ENDS[1:]}
        numbers |= {f"{whole_name}/{name}": ends["value"] for name, ends in rows}
        numbers |= {f"{self.kind}/{name}": ends["value"] for name, ends in other_targets}
        known = {name: value for name, value in numbers.items() if math.isfinite(value)}
        logged: dict[str, float] = {}
        for name, value in known.items():
            key = REFUSED.sub("_", name)
            while key in logged:
                key += "_"
            logged[key] = float(value)
        return logged
