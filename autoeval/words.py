"""What is said to people: warnings with codes, counts, lists of names, names of options."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from difflib import get_close_matches
from itertools import chain
from pathlib import Path
from typing import Literal

from autoeval.errors import InputError

PathLike = str | os.PathLike[str]
Severity = Literal["refused", "warning", "note"]
SEVERITIES: tuple[Severity, ...] = ("refused", "warning", "note")  # the most severe first
MOST = 3  # in the short form on the terminal
OF_INPUT = frozenset(
    {
        "another-split",
        "category-numbers-differ",
        "category-numbers-guessed",
        "detectors-elsewhere",
        "image-numbers-ambiguous",
        "images-merged",
        "images-not-covered",
        "labelled-twice",
        "labels-displaced",
        "labels-elsewhere",
        "nothing-found",
        "nothing-right",
        "objects-unlabelled",
        "other-words",
        "reference-elsewhere",
        "words-exchanged",
    }
)
"""Codes of warnings that inputs do not seem to belong together, so that any number may be wrong."""

ALWAYS_PRINTED = frozenset({"category-not-common", "images-unreadable", "same-boxes"})
"""Codes of warnings that the short form does not cut: what they name is not in the number."""

#: Parameters whose option is given several times, and so named in the singular.
SINGULAR = {"categories": "category", "site_categories": "site_category", "known_sites": "site"}
_STRAY_BYTE = "[\udc80-\udcff]"  # how Python carries a byte of a file name that is no UTF-8


class Notice(str):
    """A warning: a text, and a code that stays when the text is reworded.

    Parameters
    ----------
    code : str
        Kind of the warning, such as ``few-images``.
    text : str
        The string itself.
    severity : str
        ``refused``: because of it there is no value. ``warning``: a value may be wrong, and
        somebody should look. ``note``: what was done with the input, or advice; nothing is wrong.

    Examples
    --------
    >>> few = Notice("few-images", "only 3 images")
    >>> f"warning: {few}", few.code
    ('warning: only 3 images', 'few-images')
    """

    code: str
    severity: Severity

    def __new__(cls, code: str, text: str, severity: Severity = "warning") -> Notice:
        """Make the text, and keep code and severity with it."""
        notice = super().__new__(cls, text)
        notice.code, notice.severity = code, severity
        return notice

    def __getnewargs__(self) -> tuple[str, str, Severity]:  # type: ignore[override]
        return self.code, str(self), self.severity


def prefixed(name: object, warnings: Iterable[Notice]) -> list[Notice]:
    """Name what some warnings are about, ``name: text``; codes and severities stay.

    Parameters
    ----------
    name : object
        What they are about, such as a site or a file, by its `str`.
    warnings : iterable of Notice
        Those that begin with the name stay as they are.

    Examples
    --------
    >>> gate = prefixed("gate", [Notice("few-images", "only 3 images")])
    >>> gate[0].code, str(gate[0]), prefixed("gate", gate) == gate
    ('few-images', 'gate: only 3 images', True)
    """
    named = f"{name}: "
    return [
        notice
        if notice.startswith(named)
        else Notice(notice.code, f"{named}{notice}", notice.severity)
        for notice in warnings
    ]


def codes_of(warnings: Iterable[Notice]) -> list[dict[str, str]]:
    """Return warnings as plain values, fit for JSON.

    Parameters
    ----------
    warnings : iterable of Notice
        The warnings.

    Returns
    -------
    list of dict of str to str
        ``code``, ``text`` and ``severity`` of each.
    """
    return [
        {"code": notice.code, "text": str(notice), "severity": notice.severity}
        for notice in warnings
    ]


def notices_of(saved: Iterable[Mapping[str, str]]) -> tuple[Notice, ...]:
    """Return the warnings of which `codes_of` gave the plain values.

    Parameters
    ----------
    saved : iterable of mapping
        ``code``, ``text`` and ``severity`` of each; by default a warning.
    """
    return tuple(Notice(**values) for values in saved)  # type: ignore[arg-type]


def ordered_warnings(warnings: Iterable[Notice]) -> list[Notice]:
    """Return each warning once, the most severe first, else in their order.

    Of those of one severity those come first which say that inputs do not belong together.

    Parameters
    ----------
    warnings : iterable of Notice
        Those of one text are one warning.

    Examples
    --------
    >>> from autoeval.words import Notice
    >>> copies = Notice("copies-left-out", "2 copies, left out", severity="note")
    >>> ordered_warnings([copies, copies, Notice("few-images", "only 3 images")])
    ['only 3 images', '2 copies, left out']
    """
    ranked: dict[tuple[Severity, bool], list[Notice]] = {
        (severity, of_input): [] for severity in SEVERITIES for of_input in (True, False)
    }
    for warning in dict.fromkeys(warnings):
        ranked[warning.severity, warning.code in OF_INPUT].append(warning)
    return list(chain.from_iterable(ranked.values()))


def warning_lines(
    warnings: Iterable[Notice], most: int | None = None, *, of_fit: Collection[Notice] = ()
) -> list[str]:
    """Return the lines that a terminal shows.

    Parameters
    ----------
    warnings : iterable of Notice
        In any order, see `ordered_warnings`.
    most : int, optional
        The short form: what was refused, at most that many warnings and those of `ALWAYS_PRINTED`,
        and how many others there are, notes among them. By default all are written.
    of_fit : collection of Notice
        Those that the fit has printed; they are counted alone.

    Examples
    --------
    >>> a, b, c = (Notice("few-images", text) for text in "abc")
    >>> warning_lines([a, b, c], most=2)[1:]
    ['warning: b', '1 more warning is on the page; --verbose prints it']
    >>> warning_lines([a, b], of_fit=[b])
    ['warning: a', '1 warning of the fit holds here, too; --verbose prints it']
    """
    ordered = ordered_warnings(warnings)
    unprinted = [warning for warning in ordered if warning not in of_fit]
    by_severity: dict[Severity, list[Notice]] = {severity: [] for severity in SEVERITIES}
    for warning in unprinted:
        by_severity[warning.severity].append(warning)
    short = most is not None
    warned = [
        warning
        for rank, warning in enumerate(by_severity["warning"])
        if most is None or rank < most or warning.code in ALWAYS_PRINTED
    ]
    printed = by_severity["refused"] + warned + ([] if short else by_severity["note"])
    lines = [
        f"{'note' if warning.severity == 'note' else 'warning'}: {warning}" for warning in printed
    ]
    more = {
        "more warning": len(by_severity["warning"]) - len(warned),
        "note": len(by_severity["note"]) if short else 0,
    }
    if any(more.values()):
        named = " and ".join(counted(n, noun) for noun, n in more.items() if n)
        verb, them = ("is", "it") if sum(more.values()) == 1 else ("are", "them")
        lines.append(f"{named} {verb} on the page; --verbose prints {them}")
    n_repeated = len(ordered) - len(unprinted)
    if n_repeated:
        hold, them = ("holds", "it") if n_repeated == 1 else ("hold", "them")
        repeated = counted(n_repeated, "warning")
        lines.append(f"{repeated} of the fit {hold} here, too; --verbose prints {them}")
    return lines


def counted(number: int, one: str, many: str = "") -> str:
    """Write how many there are of something.

    Parameters
    ----------
    number : int
        How many.
    one : str
        The noun in the singular.
    many : str
        In the plural; by default the singular with an s.

    Examples
    --------
    >>> counted(1, "box", "boxes"), counted(0, "image")
    ('1 box', '0 images')
    """
    return f"{number} {one if number == 1 else many or one + 's'}"


def listed(items: Collection[object], most: int = 5) -> str:
    """Name the first few items and count the rest.

    Parameters
    ----------
    items : collection
        What is listed, by its `str`.
    most : int
        How many are named.

    Examples
    --------
    >>> listed(["a", "b"]), listed(range(9), most=3)
    ('a, b', '0, 1, 2 and 6 more')
    """
    shown = ", ".join(str(item) for item in list(items)[:most])
    return shown if len(items) <= most else f"{shown} and {len(items) - most} more"


def listed_near(wanted: Collection[str], names: Sequence[str], most: int = 20) -> str:
    """Name what is known, by default all; of more than `most` those that are spelt alike first.

    Parameters
    ----------
    wanted : collection of str
        Words that are not known.
    names : sequence of str
        What is known.
    most : int
        How many are named, 2 or more.

    Examples
    --------
    >>> listed_near(["bycicle"], ["ant", "bicycle", "cat"], most=2)
    'bicycle, ant and 1 more'
    """
    if len(names) <= most:
        return ", ".join(names)
    near = [get_close_matches(word, names, n=most // 2) for word in wanted]
    first = dict.fromkeys(word for words in near for word in words)
    return listed([*first, *(word for word in names if word not in first)], most)


def refuse_unknown(names: Iterable[object], known: Sequence[str], place: str) -> None:
    """Raise `InputError` for a key that a user wrote and that nothing reads.

    Parameters
    ----------
    names : iterable
        The keys that were written.
    known : sequence of str
        All that are read there.
    place : str
        Where they were written, for the message.

    Examples
    --------
    >>> refuse_unknown(["name", "lables"], ["name", "labels"], "task.py")
    Traceback (most recent call last):
        ...
    autoeval.errors.InputError: task.py has 'lables', which is not read: did you mean 'labels'? ...
    """
    for name in map(str, names):
        if name not in known:
            near = get_close_matches(name, known, n=1)
            meant = f": did you mean {near[0]!r}?" if near else ". Leave it out."
            there = f"Expected some of {listed(known, most=len(known))}." if known else ""
            raise InputError(f"{place} has {name!r}, which is not read{meant} {there}".rstrip())


def short_names(paths: Sequence[PathLike]) -> list[str]:
    """Name paths by the last of their parts that tell them apart, without what ends them all.

    Parameters
    ----------
    paths : sequence of path-like
        Different paths; equal ones have equal names.

    Returns
    -------
    list of str
        In the same order.

    Examples
    --------
    >>> short_names(["work/a/estimator.parquet", "work/b/estimator.parquet"])
    ['a', 'b']
    >>> short_names(["/a/estimator.parquet", "/sites/a/estimator.parquet"])
    ['/a', 'sites/a']
    """
    whole = [Path(path) for path in paths]
    while len({path.name for path in whole}) == 1 < len(whole) and whole[0].parent.name:
        whole = [path.parent for path in whole]
    names = [str(path) for path in whole]
    for depth in range(1, 1 + max((len(path.parts) for path in whole), default=0)):
        names = [Path(*path.parts[-depth:]).as_posix() for path in whole]
        if len(set(names)) == len(names):
            break
    return names


def masked_address(address: str) -> str:
    """Return an address without what may be a secret in it: user, path and query.

    Parameters
    ----------
    address : str
        URL, with a scheme or without.

    Examples
    --------
    >>> masked_address("https://me:key@hooks.example.org/services/T0/secret?token=1")
    'https://hooks.example.org/***'
    """
    scheme, sign, rest = address.partition("://")
    whole = rest if sign else address
    host = re.split(r"[/?#\\]", whole, maxsplit=1)[0]
    shown = host.rpartition("@")[2]
    end = "/***" if len(whole) > len(host) else ""
    return f"{scheme}://{shown}{end}" if sign else f"{shown}{end}"


def printable(name: PathLike) -> str:
    r"""Spell out the bytes of a file name that are not UTF-8, so that it can be shown and stored.

    Parameters
    ----------
    name : path-like
        As Python decodes it, with surrogates for these bytes.

    Examples
    --------
    >>> printable(os.fsdecode(b"bad\xff.jpg"))
    'bad\\xff.jpg'
    """
    text = os.fspath(name)
    if text.isascii():
        return text
    text = re.sub(_STRAY_BYTE, lambda byte: f"\\x{ord(byte[0]) - 0xDC00:02x}", text)
    return text.encode("utf-8", "backslashreplace").decode()


def option_of(name: str) -> str:
    """Return how a parameter is typed on the command line.

    Parameters
    ----------
    name : str
        Name of the parameter.

    Examples
    --------
    >>> option_of("score_thr")
    '--score-thr'
    """
    return f"--{SINGULAR.get(name, name).replace('_', '-')}"


def is_given(value: object) -> bool:
    """Whether a parameter was given a value.

    Parameters
    ----------
    value : object
        None, False and an empty tuple are not given; 0 is.

    Examples
    --------
    >>> is_given(0), is_given(()), is_given(False)
    (True, False, False)
    """
    return value is not None and value is not False and not (isinstance(value, tuple) and not value)


def refuse_given(
    values: Mapping[str, object], reason: str, names: Iterable[str] | None = None
) -> None:
    """Raise `InputError` where one of these values is given: not None, False or an empty tuple.

    Parameters
    ----------
    values : mapping
        Parameters by name.
    reason : str
        Why it would have no effect; goes behind the name of the option. What to do is added to one
        without a full stop: to leave it out; where it ``goes with`` another option also to give
        that.
    names : iterable of str, optional
        Which of the parameters are looked at; all by default.
    """
    if not reason.endswith("."):
        give = "give that, too, or " if reason.startswith("goes with") else ""
        reason = f"{reason}: {give}leave it out."
    for name in values if names is None else names:
        if is_given(values.get(name)):
            raise InputError(f"{option_of(name)} {reason}")
