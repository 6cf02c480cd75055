"""Warnings as objects: a text with a stable code; docs/reference/warnings.md lists the codes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

EARLIER = "earlier-version"  # code of what was saved before warnings had codes


class Notice(str):
    """A warning: a text, and a code that stays when the text is reworded.

    Parameters
    ----------
    code : str
        Kind of the warning, such as ``few-images``.
    text : str

    Examples
    --------
    >>> few = Notice("few-images", "only 3 images")
    >>> f"warning: {few}", few.code
    ('warning: only 3 images', 'few-images')
    >>> few.prefixed("gate").code
    'few-images'
    """

    code: str

    def __new__(cls, code: str, text: str) -> Notice:
        """Make the text, and keep the code beside it."""
        made = super().__new__(cls, text)
        made.code = code
        return made

    def __getnewargs__(self) -> tuple[str, str]:  # type: ignore[override]
        return self.code, self.text

    @property
    def text(self) -> str:
        """The warning as a plain string."""
        return str.__str__(self)

    def prefixed(self, name: object) -> Notice:
        """Return the same about something that is named, ``name: text``."""
        return Notice(self.code, f"{name}: {self.text}")


def as_notice(warning: str) -> Notice:
    """Return a warning with its code; `EARLIER` where it has none."""
    return warning if isinstance(warning, Notice) else Notice(EARLIER, warning)


def prefixed(name: object, warnings: Iterable[str]) -> list[str]:
    """Name what some warnings are about."""
    return [as_notice(warning).prefixed(name) for warning in warnings]


def codes_of(warnings: Iterable[str]) -> list[dict[str, str]]:
    """Return codes and texts as plain values, fit for JSON."""
    each = map(as_notice, warnings)
    return [{"code": warning.code, "text": str(warning.text)} for warning in each]


def notices_of(
    saved: Iterable[str | Mapping[str, str]], codes: Iterable[Mapping[str, str]] = ()
) -> tuple[Notice, ...]:
    """Read what `codes_of` returned, or texts beside it; a text without a code has `EARLIER`."""
    code_of_text = {saved_code["text"]: saved_code["code"] for saved_code in codes}
    return tuple(
        Notice(code_of_text.get(warning, EARLIER), warning)
        if isinstance(warning, str)
        else Notice(**warning)
        for warning in saved
    )
