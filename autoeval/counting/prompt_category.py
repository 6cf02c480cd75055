"""The category that a prompt names, in singular or plural."""

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
    """Return the index of the category that a prompt names.

    Parameters
    ----------
    prompt : str
        In singular or plural, any case; ``_`` and ``-`` stand for spaces.
    categories : sequence of str

    Raises
    ------
    InputError
        If it names none of them, or could mean several.
    """
    if prompt in categories:  # there may be a "Helmet", too
        return categories.index(prompt)
    names, wanted = [_plain(name) for name in categories], _plain(prompt)
    fitting = [i for i, name in enumerate(names) if name == wanted]
    fitting = fitting or [i for i, name in enumerate(names) if _forms(name) & _forms(wanted)]
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
