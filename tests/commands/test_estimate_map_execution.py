import json
import os
import socket
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pandas as pd
import pytest
from rectangles import write_task, write_world

from autoeval.cli import main

TESTS = Path(__file__).resolve().parents[1]
RECTANGLES = "tests/commands/estimate_rectangles.py"


def free_port():
    """Find a port that no other process of the tests takes before it is used."""
    own = 20000 + 10 * (os.getpid() % 1000)  # below those that the system hands out
    for port in range(own, own + 10):
        with socket.socket() as one, suppress(OSError):
            one.bind(("127.0.0.1", port))
            return port
    raise AssertionError(f"no free port from {own} to {own + 9}")


def start(program, arguments, **environment):
    """Start a program of the repository in a process of its own."""
    paths = f"{TESTS}:{TESTS.parent}"
    return subprocess.Popen(
        [sys.executable, str(TESTS.parent / program), *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": paths, **environment},
    )


def start_two(program, arguments):
    """Start it as two processes of torchrun."""
    group = {
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(free_port()),
        "GLOO_SOCKET_IFNAME": "lo",
        "WORLD_SIZE": "2",
    }
    words = [*arguments, "--launcher", "pytorch"]
    return [start(program, words, RANK=str(k), LOCAL_RANK=str(k), **group) for k in range(2)]


def end(process):
    out, err = process.communicate()
    assert process.returncode == 0, err
    return out


def rows(work_dir):
    table = pd.read_parquet(work_dir / "scores.parquet")
    return table.drop(columns=[name for name in table if name.endswith("_s")])


@pytest.mark.slow  # three processes; `test_monitor_execution` shows torchrun's two at work
def test_two_processes_of_torchrun_tell_what_one_tells(tmp_path):
    images = write_world(tmp_path / "new", 205, n_images=7, seed=9) / "images"
    (images / "3.png").write_bytes(b"not an image")
    task = write_task(tmp_path, ["w0", "w1", "w2"])
    arguments = ["--task", str(task), "--images", str(images), "--json"]
    arguments += ["--metaset", "n_sets=2", "n_images=4", "--preset", "repeats=2", "--work-dir"]
    alone = start(RECTANGLES, [*arguments, tmp_path / "one"])
    ranks = start_two(RECTANGLES, [*arguments, tmp_path / "two"])
    expected = json.loads(end(alone))
    told, silent = map(end, ranks)
    assert silent == ""
    assert json.loads(told)["estimate"] == expected["estimate"]
    assert "3.png" in json.loads(told)["unreadable"]
    pd.testing.assert_frame_equal(rows(tmp_path / "two"), rows(tmp_path / "one"), check_exact=True)
    (ran,) = (tmp_path / "two" / "rows").glob("jobs.json")
    assert len(json.loads(ran.read_text())["jobs"]) == 9


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--launcher", "none", "workers=2"], "workers= is for --launcher ray"),
        (["--launcher", "ray", "workers=0"], "Expected workers= above 0"),
        (["--launcher", "ray", "gpus=-1"], "gpus= above 0"),
        (["--launcher", "pytorch"], "torchrun"),
    ],
)
def test_options_that_make_no_sense_are_refused(options, message, monkeypatch, capsys):
    monkeypatch.delenv("RANK", raising=False)
    assert main(["estimate-map", "--detector", "x", "--task", "x.py", *options]) == 2
    assert message in capsys.readouterr().err
