import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer

import numpy as np
import pandas as pd
import pytest

from autoeval.errors import InputError
from autoeval.results.monitoring.new_alarms import json_lines, post_json, prometheus_text

SITES = pd.DataFrame(
    {
        "group": ["gate", 'a "b"\\\nc'],
        "period": ["", ""],
        "digest": ["x", "y"],
        "first": pd.to_datetime(["2026-03-02 08:00", None]),
        "n_images": [12, 0],
        "estimate": [0.25, np.nan],
        "alarm": [True, False],
    }
)


def test_each_row_is_a_line_of_json_without_nan():
    first, second = map(json.loads, json_lines(SITES).splitlines())
    assert first == {
        "group": "gate",
        "period": "",
        "first": "2026-03-02T08:00:00",
        "n_images": 12,
        "estimate": 0.25,
        "alarm": True,
    }
    assert (second["first"], second["estimate"], second["group"]) == (None, None, 'a "b"\\\nc')


def test_prometheus_reads_every_line_of_the_file():
    """Read back by the rules of the exposition format, written out here."""
    text = prometheus_text(SITES, target="mAP", finished_s=1.5)
    assert text.endswith("\n")
    kinds, samples, helped = {}, {}, set()
    for line in text.splitlines():
        if line.startswith("# TYPE "):
            _, _, name, kind = line.split(" ")
            kinds[name] = kind
        elif line.startswith("# HELP "):
            helped.add(line.split(" ")[2])
        else:
            series, value = line.rsplit(" ", 1)
            samples[series] = float(value)
    assert kinds.keys() == helped == {series.partition("{")[0] for series in samples}
    assert set(kinds.values()) == {"gauge"}
    assert samples['autoeval_site_estimate{site="gate",target="mAP"}'] == 0.25
    assert samples['autoeval_site_images{site="a \\"b\\"\\\\\\nc",target="mAP"}'] == 0
    assert not any("estimate{" in s and "b" in s.partition("{")[2][7:14] for s in samples)
    assert samples['autoeval_site_alarm{site="gate",target="mAP"}'] == 1
    assert samples["autoeval_monitor_finished_seconds"] == 1.5


@contextmanager
def server(status=200):
    """A web server on the loopback interface that notes what it is sent."""
    sent = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            sent.append((self.path, self.headers["Content-Type"], json.loads(body)))
            self.send_response(status)
            self.end_headers()

        def log_message(self, *_):
            pass

    running = HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=running.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{running.server_port}/hook", sent
    finally:
        running.shutdown()
        running.server_close()


def test_the_webhook_is_sent_json():
    with server() as (url, sent):
        post_json(url, {"alarms": ["Tor Süd"]})
    assert sent == [("/hook", "application/json", {"alarms": ["Tor Süd"]})]


def test_a_webhook_that_refuses_or_is_not_there_is_named():
    with server(status=500) as (url, _), pytest.raises(OSError, match="answered 500"):
        post_json(url, {})
    with pytest.raises(OSError, match="cannot be reached"):
        post_json(url, {}, timeout_s=2)
    with pytest.raises(InputError, match="http"):
        post_json("ftp://x", {})
