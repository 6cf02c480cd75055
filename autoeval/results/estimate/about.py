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
    """Where a page comes from (see `about`); nothing where nothing is known."""

    facts: Mapping[str, str] = field(default_factory=dict)

    def show(self, page: Page) -> None:
        for part in self.parts():
            part.show(page, "What this page is about", sortable=False)

    def parts(self) -> list[Part]:
        if not self.facts:
            return []
        table = pd.DataFrame({"what": list(self.facts), "value": list(self.facts.values())})
        return [Part("about", table)]

    def to_dict(self) -> dict[str, Any]:
        return {"about": dict(self.facts)}


def about(command: str = "", **facts: object) -> dict[str, str]:
    """Say what a command was given, as it was typed, and when it was run.

    What is named, by a word such as ``images``, is None for nothing.
    """
    known = {name.replace("_", " "): str(value) for name, value in facts.items() if value}
    date = datetime.now().astimezone().isoformat(" ", "minutes")
    return {**known, "date": date, **({"command": command} if command else {})}
