"""Warnings have codes: the list of the documentation has each, with its severities.

That no result has a warning without one is seen in `test_no_parameter_ignored`, in every call.
"""

import ast
import copy
import json
import pickle
from functools import cache
from pathlib import Path

from listed_codes import LISTED, ROWS

from autoeval.sites.file_looks import Looks
from autoeval.words import SEVERITIES, Notice, codes_of, notices_of, prefixed

ROOT = Path(__file__).parents[1]


@cache
def severities_in_source():
    """The severities that every `Notice` is made with, by its code."""
    severities: dict[str, set[str]] = {}
    for path in sorted((ROOT / "autoeval").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            made = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.args
            if made and node.func.id == "Notice" and isinstance(node.args[0], ast.Constant):
                given = [key.value for key in node.keywords if key.arg == "severity"]
                inside = [part for value in [*given, *node.args[2:]] for part in ast.walk(value)]
                given = [part.value for part in inside if getattr(part, "value", "") in SEVERITIES]
                severities.setdefault(node.args[0].value, set()).update(given or ["warning"])
    return severities


def test_the_list_has_every_code_once_and_in_order():
    made = severities_in_source().keys()
    assert made - set(LISTED) == set(), "add a row for each to docs/reference/warnings.md"
    assert set(LISTED) - made == set(), "no Notice has these codes: remove their rows"
    assert sorted(made) == LISTED, "the rows are in alphabetical order, each code once"


def test_the_list_has_the_severities_of_each_code():
    listed = {code: set(severities.split(", ")) for code, severities, *_ in ROWS}
    made = severities_in_source()
    differing = {code: made[code] for code in made.keys() & listed if made[code] != listed[code]}
    assert differing == {}, "the column 'severity' of docs/reference/warnings.md has others"
    assert listed == made
    assert set.union(*listed.values()) == set(SEVERITIES)


def test_a_notice_is_its_text_and_keeps_its_code():
    few = Notice("few-images", "only 3")
    assert f"warning: {few}" == "warning: only 3" and few == "only 3" and type(str(few)) is str
    assert json.dumps([few]) == '["only 3"]'
    for other in (pickle.loads(pickle.dumps(few)), copy.deepcopy(few)):
        assert (other, other.code, other.severity) == (few, "few-images", "warning")
    copies = Notice("copies-left-out", "2 copies", severity="note")
    for other in (
        pickle.loads(pickle.dumps(copies)),
        copy.deepcopy(copies),
        *prefixed("a", [copies]),
    ):
        assert other.severity == "note"
    (named,) = prefixed("gate", [few])
    assert (named, named.code) == ("gate: only 3", "few-images")


def test_codes_are_saved_beside_texts():
    notices = (Notice("few-images", "only 3"), Notice("no-plan", "no plan", severity="note"))
    read = notices_of(json.loads(json.dumps(codes_of(notices))))
    assert read == notices and [notice.severity for notice in read] == ["warning", "note"]
    saved = json.loads(json.dumps(Looks(("car",), warnings=notices).to_dict()))
    assert [notice.code for notice in Looks.from_dict(saved).warnings] == [
        "few-images",
        "no-plan",
    ]
