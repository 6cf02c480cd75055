"""From the words of a prompt to a category of a detector: singular or plural, either way."""

from __future__ import annotations

from collections.abc import Sequence

from autoeval.errors import InputError

IRREGULAR = {
    "people": "person",
    "persons": "person",
    "men": "man",
    "women": "woman",
    "children": "child",
    "mice": "mouse",
    "geese": "goose",
    "teeth": "tooth",
    "feet": "foot",
    "oxen": "ox",
}
ENDINGS = (("ies", "y"), ("ves", "f"), ("ves", "fe"), ("es", ""), ("s", ""))


def find_category(prompt: str, categories: Sequence[str]) -> int:
    """Find the category that a prompt names.

    Parameters
    ----------
    prompt : str
        Name of a class in singular or plural, any case; ``_`` and ``-`` stand for spaces.
    categories : sequence of str
        Names to choose from.

    Returns
    -------
    int
        Index into ``categories``.

    Raises
    ------
    InputError
        If no category fits, or several do and none is equal to the prompt.

    Examples
    --------
    >>> categories = ("person", "bus", "knife", "skis", "wine glass")
    >>> [find_category(p, categories) for p in ("People", "buses", "knives", "ski", "wine-glasses")]
    [0, 1, 2, 3, 4]
    """
    names = [_plain(name) for name in categories]
    wanted = _plain(prompt)
    if wanted in names:
        return names.index(wanted)
    fitting = [i for i, name in enumerate(names) if _forms(name) & _forms(wanted)]
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        several = ", ".join(categories[i] for i in fitting)
        raise InputError(f"The prompt '{prompt}' could mean {several}: say which.")
    raise InputError(
        f"The detector has no category for the prompt '{prompt}'. It knows: {', '.join(categories)}"
    )


def _plain(name: str) -> str:
    return " ".join(name.lower().replace("_", " ").replace("-", " ").split())


def _forms(name: str) -> set[str]:
    *rest, last = name.split() or [""]
    singular = {last, IRREGULAR.get(last, last)}
    singular |= {
        last[: -len(ending)] + instead
        for ending, instead in ENDINGS
        if last.endswith(ending) and len(last) > len(ending) + 1
    }
    return {" ".join([*rest, form]) for form in singular}
