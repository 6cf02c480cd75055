"""The codes of warnings that the documentation lists, and those that a result has."""

import json
import re
from pathlib import Path

from autoeval.runtime.files import plain
from autoeval.words import Notice
from tests.result_values import VALUES

PAGE = Path(__file__).parents[1] / "docs/reference/warnings.md"
ROW = re.compile(r"^\| `([a-z0-9-]+)` \| ([a-z, ]+) \| (.+) \| (.+) \|$", re.M)
ROWS = ROW.findall(PAGE.read_text())
LISTED = [code for code, *_ in ROWS]


def codes_in(result):
    """Return the codes of a result's warnings; every warning must have one that is listed."""
    result = getattr(result, "fit_result_", result)
    warnings = getattr(result, "warnings", ())
    for warning in warnings:
        assert isinstance(warning, Notice), (type(result).__name__, warning)
        assert warning.code in LISTED, warning
    if type(result) in VALUES:
        values = json.loads(json.dumps(plain(VALUES[type(result)](result))))
        saved = next(part for part in (values, *values.values()) if "warning_codes" in part)
        codes = [(entry["text"], entry["code"]) for entry in saved["warning_codes"]]
        assert codes == [(str(warning), warning.code) for warning in warnings]
    return {warning.code for warning in warnings}
