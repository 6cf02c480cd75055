"""What a page is about: which images, detector and estimator, when, and by which command."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

import pandas as pd

from autoeval.report.sections import Part, Tables


def about_section(facts: Mapping[str, str]) -> Tables:
    """Show where a page comes from (see `about`); nothing where nothing is known."""
    table = pd.DataFrame({"what": list(facts), "value": list(facts.values())})
    tables = [(Part("about", table), "What this page is about")] if facts else []
    return Tables(tables, values={"about": dict(facts)}, sortable=False)


def about(command: str = "", **facts: object) -> dict[str, str]:
    """Say what a command was given, as it was typed, and when it was run.

    What is named, by a word such as ``images``, is None for nothing.
    """
    typed = {name.replace("_", " "): str(value) for name, value in facts.items() if value}
    date = datetime.now().astimezone().isoformat(" ", "minutes")
    return {**typed, "date": date, **({"command": command} if command else {})}
