"""A run that is killed at random moments, again and again, ends as if nothing had happened."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pandas as pd

KILLS = 6
TESTS = Path(__file__).resolve().parents[2]


def test_a_kill_costs_the_job_in_flight_and_nothing_else(tmp_path):
    program = TESTS / "stability/fitting/killed_runs.py"
    script = [sys.executable, "-W", "error::UserWarning", str(program)]
    ran = subprocess.run(
        [*script, str(tmp_path), str(KILLS), "0"],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": f"{TESTS}:{TESTS.parent}"},
        timeout=900,
    )
    assert ran.returncode == 0, ran.stderr
    undisturbed, *lives = map(json.loads, ran.stdout.splitlines())
    assert sum(life["killed"] for life in lives) == KILLS
    assert not any(life["failed"] for life in lives)
    done_before: dict[str, set[str]] = {}
    for life in lives:
        done = done_before.setdefault(life["folder"], set())
        assert not done & set(life["begun"])
        assert done <= set(life["done"])
        done.update(life["done"])
        lost = [key for key in life["begun"] if key not in life["done"]]
        assert lost in ([], life["begun"][-1:])
        assert not lost or life["killed"]
    assert len(lives[-1]["done"]) == len(undisturbed["done"]) == 12
    expected = Path(undisturbed["folder"]).with_suffix(".parquet")
    assert len(pd.read_parquet(expected)) == 2 * 12
    for folder in {life["folder"] for life in lives}:
        assert Path(folder).with_suffix(".parquet").read_bytes() == expected.read_bytes()
        leftovers = [path.name for path in Path(folder).glob(".*.parquet")]
        assert leftovers == []
