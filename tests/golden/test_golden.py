"""Results of whole flows, recorded by ``tests/golden/record.py``: moves of code change none."""

import json

import pytest
from golden.flows import EQUAL, FLOWS, RECORDED, ROUNDED, differences, run

# of the longest flows, whose commands are in others too, or in the tests of counting, and one that
# runs a network; `pytest tests/golden` runs all
RARE = ("counting", "five_sites", "photos_reference", "road_world")


def marks_of(name, flow):
    return [pytest.mark.slow] * flow.slow + [pytest.mark.rare] * (name in RARE)


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=marks_of(name, flow)) for name, flow in FLOWS.items()],
)
def test_results_are_as_recorded(name, tmp_path, request):
    flow = FLOWS[name]
    shared = request.getfixturevalue("shared") if flow.needs_shared else None
    recorded = json.loads((RECORDED / f"{name}.json").read_text())
    tolerance = ROUNDED if flow.slow else EQUAL
    assert differences(run(flow, tmp_path, shared), recorded, tolerance) == []


def test_differences_are_seen():
    one = {"a": 1.0, "b": "car", "c": None, "d": float("nan")}
    assert differences(one, dict(one)) == []
    other = {"a": 1.0 + 1e-6, "b": "bus", "c": None, "e": 2}
    assert len(differences(one, other)) == 4
