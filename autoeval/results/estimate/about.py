"""What a page is about: which images, detector and estimator, when, and by which command."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import pandas as pd

from autoeval.report.page import Page
from autoeval.report.sections import Part, Section


@dataclass(frozen=True)
class About(Section):
    """Where a page comes from; nothing where nothing is known.

    Parameters
    ----------
    facts : mapping of str to str
        See `about`.
    """

    facts: Mapping[str, str] = field(default_factory=dict)

    def show(self, page: Page) -> None:
        """Add the table."""
        for part in self.parts():
            part.show(page, "What this page is about", sortable=False)

    def parts(self) -> list[Part]:
        """Return the table."""
        if not self.facts:
            return []
        table = pd.DataFrame({"what": list(self.facts), "value": list(self.facts.values())})
        return [Part("about", table)]

    def to_dict(self) -> dict[str, Any]:
        """Return the facts."""
        return {"about": dict(self.facts)}


def about(command: str = "", **facts: object) -> dict[str, str]:
    """Say what a command was given, and when it was run.

    Parameters
    ----------
    command : str
        As it was typed.
    **facts
        What is named, by a word such as ``images``; None for nothing.

    Examples
    --------
    >>> list(about("autoeval fit", labels="val.json", task=None))
    ['labels', 'date', 'command']
    """
    known = {name.replace("_", " "): str(value) for name, value in facts.items() if value}
    date = datetime.now().astimezone().isoformat(" ", "minutes")
    return {**known, "date": date, **({"command": command} if command else {})}
