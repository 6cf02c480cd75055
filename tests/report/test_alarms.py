import json
import math
import socket
import threading
import time
import traceback
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer

import pandas as pd
import pytest
from prometheus_client.parser import text_string_to_metric_families

from autoeval.command_table import COMMANDS
from autoeval.commands.command_line import read_words
from autoeval.errors import InputError
from autoeval.monitoring.monitor_store import MonitorStore
from autoeval.monitoring.monitored import Monitored, MonitoredSite, MonitorSettings
from autoeval.report.alarms import (
    json_lines,
    new_alarms,
    post_json,
    prometheus_text,
    remember,
)

NOTHING = dict.fromkeys(("change", "change_lower", "change_upper"), math.nan)
ODD = 'a "b"\\\nc'


def site(name, state, value=0.25, **more):
    """A site in a state."""
    ends = {"value": value, "lower": value - 0.1, "upper": value + 0.1}
    known = {"window": "2026-03-02", "level": 0.9, "target": "mAP", "n_images": 12}
    reasons = {state: "why", **more.pop("also", {})}
    known["alarms"] = tuple(kind for kind in reasons if kind in ("fell", "below"))
    return MonitoredSite(
        name, state, reasons, **{**ends, **NOTHING, **known, "n_unreadable": 0, **more}
    )


def monitored(*sites, **settings):
    return Monitored(tuple(sites), "mAP", 0.9, MonitorSettings(**settings))


def test_each_row_is_a_line_of_json_without_nan():
    table = monitored(site(ODD, "too_few", math.nan), site("gate", "ok")).to_pandas()
    first, second = map(json.loads, json_lines(table).splitlines())
    assert (first["name"], first["state"], first["value"]) == (ODD, "too_few", None)
    assert (second["name"], second["value"], second["n_images"]) == ("gate", 0.25, 12)


def test_the_names_of_sites_become_those_that_a_logger_takes():
    sites = site("gate 1/a", "ok", 0.25), site("gate #2", "ok", 0.5), site("gate ?2", "ok", 0.75)
    numbers = monitored(*sites).to_dict()
    assert {name: value for name, value in numbers.items() if "mAP" in name} == {
        "gate 1/a/estimate/mAP": 0.25,
        "gate _2/estimate/mAP": 0.5,
        "gate _2/estimate/mAP_": 0.75,
    }


def gauges(*sites, **settings):
    """What Prometheus reads, by gauge and site."""
    text = prometheus_text(monitored(*sites, **settings), finished_s=1.5)
    families = list(text_string_to_metric_families(text))
    assert all(of.type == "gauge" and of.documentation for of in families)
    found = {}
    for family in families:
        for sample in family.samples:
            key = sample.name.removeprefix("autoeval_site_"), sample.labels.get("site", "")
            found[key] = sample.labels.get("state", sample.value)
    return found


def test_prometheus_has_what_is_known_and_nothing_else():
    fell = site("gate", "fell", change=-0.1, change_lower=-0.2, change_upper=-0.02)
    found = gauges(fell, site("hall", "ok"), site(ODD, "learning"), site("roof", "changed"))
    assert found["autoeval_monitor_finished_seconds", ""] == 1.5
    states = {name: found["state", name] for name in ("gate", "hall", ODD, "roof")}
    assert states == {"gate": "fell", "hall": "ok", ODD: "learning", "roof": "changed"}
    for name, values in {
        "alarm": {"gate": 1, "hall": 0, "roof": 0},
        "fell": {"gate": 1, "hall": 0, "roof": 0},
        "changed": {"gate": 1, "hall": 0, "roof": 1},
        "change": {"gate": -0.1},
        "below": {},
        "estimate": {"gate": 0.25, "hall": 0.25, ODD: 0.25, "roof": 0.25},
    }.items():
        assert {of: found[name, of] for kind, of in found if kind == name} == values, name


def test_prometheus_has_when_the_latest_image_was_taken():
    found = gauges(site("gate", "ok", last="2026-03-02T08:00:00"), site("hall", "ok"))
    assert found["last_image_seconds", "gate"] == 1772438400  # date -u -d 2026-03-02T08:00 +%s
    assert ("last_image_seconds", "hall") not in found


def test_prometheus_of_a_level_and_of_nothing_found():
    below = site("gate", "learning", also={"below": "low"})
    found = gauges(below, site("dark", "too_few", math.nan), alarm_below=0.5)
    assert found["below", "gate"] == found["alarm", "gate"] == 1
    assert ("below", "dark") not in found and ("estimate", "dark") not in found
    assert ("alarm", "dark") not in found and found["images", "dark"] == 12


def test_prometheus_does_not_say_that_a_window_to_which_images_still_come_is_not_below():
    history = [pd.DataFrame({"window": ["a", "b"], "complete": [k, False]}) for k in (True, False)]
    full, new = (
        site(name, "learning", 0.7, history=rows)
        for name, rows in zip(("full", "new"), history, strict=True)
    )
    found = gauges(full, new, alarm_below=0.5)
    assert found["below", "full"] == 0 and ("below", "new") not in found


def test_prometheus_does_not_say_that_a_window_that_cannot_be_evaluated_is_not_below():
    few = site("gate", "too_few", 0.1)  # .0 to .2, of four images
    found = gauges(few, site("hall", "ok", 0.7), site("roof", "learning", 0.7), alarm_below=0.5)
    assert found["estimate_upper", "gate"] == pytest.approx(0.2)
    assert {of: found[kind, of] for kind, of in found if kind == "below"} == {"hall": 0, "roof": 0}


def test_a_second_kind_of_alarm_at_a_site_is_sent(tmp_path):
    store = MonitorStore(tmp_path)
    fell = site("gate", "fell")
    both = site("gate", "fell", also={"below": "low"})
    seen = []
    for of in (fell, fell, both, fell, both, site("gate", "ok"), fell):
        now = monitored(of, alarm_below=0.5)
        seen.append([alarm["kind"] for alarm in new_alarms(store, now)])
        remember(store, now)
    # one that has ended is sent again when it comes back
    assert seen == [["fell"], [], ["below"], [], ["below"], [], ["fell"]]


def test_what_could_not_be_sent_is_sent_next_time(tmp_path):
    store, now = MonitorStore(tmp_path), monitored(site("gate", "fell"))
    assert len(new_alarms(store, now)) == len(new_alarms(store, now)) == 1


@contextmanager
def server(status=200, **headers):
    """A web server on the loopback interface that notes what it is sent."""
    sent = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            sent.append((self.path, self.headers["Content-Type"], json.loads(body)))
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()

        def do_GET(self):
            sent.append(("GET", self.path, None))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_):
            pass

    running = HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=running.serve_forever, args=(0.01,), daemon=True).start()
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
        post_json(url, {}, deadline_s=2)
    with pytest.raises(InputError, match="http"):
        post_json("ftp://x", {})


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_not_followed_and_does_not_count_as_delivered(status):
    with server() as (there, sent), server(status, Location=there) as (url, _):
        with pytest.raises(OSError, match=f"redirects \\({status}\\)"):
            post_json(url, {"alarms": [1]})
        assert sent == []


def test_one_deadline_for_an_answer_that_drips():
    """A byte every tenth of a second would keep a limit on each read from ever being reached."""
    dripping = socket.create_server(("127.0.0.1", 0))

    def drip():
        connection, _ = dripping.accept()
        with connection:
            for byte in b"HTTP/1.1 200 OK" + b" " * 200:
                try:
                    connection.send(bytes([byte]))
                except OSError:
                    return
                time.sleep(0.1)

    threading.Thread(target=drip, daemon=True).start()
    began = time.monotonic()
    with pytest.raises(OSError, match="did not answer within"):
        post_json(f"http://127.0.0.1:{dripping.getsockname()[1]}/", {}, deadline_s=0.5)
    assert time.monotonic() - began < 5
    dripping.close()


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
        post_json(url, {}, deadline_s=2)
    shown = "".join(traceback.format_exception(refused.value, chain=True))
    assert "sEcReT" not in str(refused.value) and "***" in str(refused.value)
    with server(status=500) as (address, _), pytest.raises(OSError, match="answered") as answer:
        post_json(f"{address}/sEcReT", {})
    assert "sEcReT" not in str(answer.value) and refused.value.__cause__ is None, shown


def test_the_command_on_a_page_masks_the_address_of_a_webhook():
    address = "https://hooks.example.org/services/sEcReT"
    for words in (["--webhook", address], [f"--webhook={address}"]):
        given = read_words("monitor", COMMANDS["monitor"], ["--estimator", "a b", *words])
        shown = given.command_line
        assert "sEcReT" not in shown and "https://hooks.example.org/***" in shown
        assert shown.startswith("autoeval monitor --estimator 'a b' ")
