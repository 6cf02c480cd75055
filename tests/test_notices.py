"""Warnings have codes: each is in the list of the documentation, and no result has one without."""

import ast
import copy
import json
import pickle
import re
from pathlib import Path

import pytest
from labelled_site import estimate_labelled
from parameter_worlds import fit_strong, observed, write_worlds

import autoeval
from autoeval.runtime.files import plain
from autoeval.sites.file_looks import Looks
from autoeval.words import EARLIER, SEVERITIES, Notice, as_notice, codes_of, notices_of, prefixed
from tests.result_values import VALUES

ROOT = Path(__file__).parents[1]
ROW = re.compile(r"^\| `([a-z0-9-]+)` \| ([a-z, ]+) \| (.+) \| (.+) \|$", re.M)
ROWS = ROW.findall((ROOT / "docs/reference/warnings.md").read_text())
LISTED = [code for code, *_ in ROWS]


def severities_in_source():
    """The severities that every `Notice` is made with, by its code."""
    severities = {EARLIER: {"warning"}}
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
    assert sorted(severities_in_source()) == LISTED


def test_the_list_has_the_severities_of_each_code():
    listed = {code: set(severities.split(", ")) for code, severities, *_ in ROWS}
    assert listed == severities_in_source()
    assert set.union(*listed.values()) == set(SEVERITIES)


def test_a_notice_is_its_text_and_keeps_its_code():
    few = Notice("few-images", "only 3")
    assert f"warning: {few}" == "warning: only 3" and few == "only 3" and type(str(few)) is str
    assert json.dumps([few]) == '["only 3"]'
    for other in (pickle.loads(pickle.dumps(few)), copy.deepcopy(few), as_notice(few)):
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
    assert [notice.code for notice in prefixed("gate", ["plain"])] == [EARLIER]


def test_codes_are_saved_beside_texts():
    notices = (Notice("few-images", "only 3"), Notice("no-plan", "no plan", severity="note"))
    read = notices_of(json.loads(json.dumps(codes_of(notices))))
    assert read == notices and [notice.severity for notice in read] == ["warning", "note"]
    saved = json.loads(json.dumps(Looks(("car",), warnings=notices).to_dict()))
    assert [notice.code for notice in Looks.from_dict(saved).warnings] == [
        "few-images",
        "no-plan",
    ]


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    return write_worlds(tmp_path_factory.mktemp("notices"))


def results(w):
    """A result of each kind, by every route of the small worlds."""
    fitted, boxes, images = fit_strong(w), w / "strong/new.json", w / "list.json"
    yield autoeval.fit(w / "one.json", w / "strong/one.json").fit_result_
    yield autoeval.fit_task(w / "here.py", w / "strong").fit_result_
    yield autoeval.join([w / "fit_strong", w / "fit_two"]).fit_result_
    yield observed(w).fit_result_
    cut = autoeval.Predictions(w / "cut.json", complete=False)
    of_few = autoeval.fit(w / "one.json", cut)
    yield of_few.fit_result_
    yield of_few.predict(autoeval.Predictions(boxes, complete=False))
    yield fitted.predict(boxes)
    yield fitted.predict(w / "outside.json", images=w / "longer.json", score_thr=0.5)
    yield fitted.predict(w / "empty.json", images=images)
    yield fitted.predict(boxes, categories={"thing 0": ["thing 0", "nothing"]})
    yield fitted.for_target("precision@0.9").predict(w / "weak/new.json")
    yield observed(w).predict(images=w / "others/images")
    yield estimate_labelled(fitted, boxes, w / "few.json", images=images)
    yield estimate_labelled(fitted, boxes, w / "words.json", images=images, words=WORDS)
    plan = autoeval.plan_labels(fitted, boxes, images=images, n=6)
    yield plan
    yield autoeval.plan_labels(fitted.for_target("precision@0.9"), boxes, n=2)
    yield autoeval.estimate_with_labels(w / "plan", w / "plan_labels.json")
    yield autoeval.estimate_with_labels(plan, w / "few.json")
    both = [w / "strong/new.json", w / "weak/new.json"]
    trained = {"trained_here": ["fit_weak"]}
    for options in (trained, {"labels": w / "few.json"}, {"target": "recall@0.3"}):
        fits = [w / "fit_strong", w / "fit_weak"]
        yield autoeval.compare(fits, both, images=images, **options)
    for _ in range(2):  # the second reads what the first kept
        yield autoeval.monitor(w / "fit_strong", w / "sites", work_dir=w / "watched")


WORDS = {f"object {k}": f"thing {k}" for k in range(3)}


def test_every_warning_of_a_result_has_a_code(world):
    seen = set()
    for result in results(world):
        for warning in result.warnings:
            assert isinstance(warning, Notice), (type(result).__name__, warning)
            assert warning.code in LISTED and warning.code != EARLIER, warning
            seen.add(warning.code)
        if type(result) in VALUES:
            values = json.loads(json.dumps(plain(VALUES[type(result)](result))))
            codes = next(part for part in (values, *values.values()) if "warning_codes" in part)
            codes = codes["warning_codes"]
            assert [entry["text"] for entry in codes] == [*map(str, result.warnings)]
            assert all(entry["code"] in LISTED for entry in codes)
    assert len(seen) > 10
