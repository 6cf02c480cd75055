import json
import threading
import traceback
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from prometheus_client.parser import text_string_to_metric_families

from autoeval.cli import _shown
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
    text = prometheus_text(SITES, target="mAP", finished_s=1.5)
    families = list(text_string_to_metric_families(text))
    assert all(of.type == "gauge" and of.documentation and of.samples for of in families)
    odd = 'a "b"\\\nc'
    assert {
        (of.name, of.labels.get("site"), of.labels.get("target")): of.value
        for family in families
        for of in family.samples
    } == {
        ("autoeval_monitor_finished_seconds", None, None): 1.5,
        ("autoeval_site_estimate", "gate", "mAP"): 0.25,
        ("autoeval_site_images", "gate", "mAP"): 12,
        ("autoeval_site_images", odd, "mAP"): 0,
        ("autoeval_site_alarm", "gate", "mAP"): 1,
        ("autoeval_site_alarm", odd, "mAP"): 0,
    }


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


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:9/services/T0/sEcReT",
        "http://me:sEcReT@127.0.0.1:9/",
        "http://127.0.0.1:9/?token=sEcReT",
        "http://127.0.0.1:9/sEcReT with a space",
        "http://127.0.0.1:port/sEcReT",
        "hooks.example.org/services/sEcReT",
    ],
)
def test_no_message_holds_the_secret_of_a_webhook(url):
    with pytest.raises((OSError, InputError)) as refused:
        post_json(url, {}, timeout_s=2)
    shown = "".join(traceback.format_exception(refused.value, chain=True))
    assert "sEcReT" not in str(refused.value) and "***" in str(refused.value)
    with server(status=500) as (address, _), pytest.raises(OSError, match="answered") as answer:
        post_json(f"{address}/sEcReT", {})
    assert "sEcReT" not in str(answer.value) and refused.value.__cause__ is None, shown


def test_the_command_on_a_page_masks_the_address_of_a_webhook():
    address = "https://hooks.example.org/services/sEcReT"
    for words in (["--webhook", address], [f"--webhook={address}"]):
        shown = _shown(["monitor", *words, "--json"], SimpleNamespace(webhook=address))
        assert "sEcReT" not in shown and "https://hooks.example.org/***" in shown
    assert _shown(["fit", "a b"], SimpleNamespace()) == "autoeval fit 'a b'"
