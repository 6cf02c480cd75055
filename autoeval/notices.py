"""Warnings as objects: a text with a stable code; docs/reference/warnings.md lists the codes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal

EARLIER = "earlier-version"  # code of what was saved before warnings had codes

Severity = Literal["refused", "warning", "note"]
SEVERITIES: tuple[Severity, ...] = ("refused", "warning", "note")  # the most severe first


class Notice(str):
    """A warning: a text, and a code that stays when the text is reworded.

    Parameters
    ----------
    code : str
        Kind of the warning, such as ``few-images``.
    text : str
    severity : str
        ``refused``: because of it there is no value. ``warning``: a value may be wrong, and
        somebody should look. ``note``: what was done with the input, or advice; nothing is wrong.

    Examples
    --------
    >>> few = Notice("few-images", "only 3 images")
    >>> f"warning: {few}", few.code
    ('warning: only 3 images', 'few-images')
    >>> few.prefixed("gate").code
    'few-images'
    """

    code: str
    severity: Severity

    def __new__(cls, code: str, text: str, severity: Severity = "warning") -> Notice:
        """Make the text, and keep code and severity with it."""
        made = super().__new__(cls, text)
        made.code, made.severity = code, severity
        return made

    def __getnewargs__(self) -> tuple[str, str, Severity]:  # type: ignore[override]
        return self.code, str(self), self.severity

    def prefixed(self, name: object) -> Notice:
        """Return the same about something that is named, ``name: text``."""
        return Notice(self.code, f"{name}: {self}", self.severity)


def as_notice(warning: str) -> Notice:
    """Return a warning with its code; `EARLIER` where it has none."""
    return warning if isinstance(warning, Notice) else Notice(EARLIER, warning)


def prefixed(name: object, warnings: Iterable[str]) -> list[str]:
    """Name what some warnings are about."""
    return [as_notice(warning).prefixed(name) for warning in warnings]


def codes_of(warnings: Iterable[str]) -> list[dict[str, str]]:
    """Return codes, texts and severities as plain values, fit for JSON."""
    notices = map(as_notice, warnings)
    return [
        {"code": notice.code, "text": str(notice), "severity": notice.severity}
        for notice in notices
    ]


def notices_of(saved: Iterable[Mapping[str, str]]) -> tuple[Notice, ...]:
    """Read what `codes_of` returned."""
    return tuple(Notice(**values) for values in saved)  # type: ignore[arg-type]
