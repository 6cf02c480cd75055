"""The HTTP endpoint against a stub server on this machine, and the transformers adapter."""

import base64
import json
import logging
import socket
import sys
import threading
import time
import types
from concurrent.futures import ThreadPoolExecutor
from email.utils import formatdate

import cv2
import numpy as np
import pytest
from stub_endpoint import KEY, ok

from autoeval.counting.counters.adapters import TextCounter, TransformersAsk
from autoeval.counting.counters.endpoint import EndpointAsk, EndpointError
from autoeval.errors import InputError

IMAGE = np.arange(48, dtype=np.uint8).reshape(4, 4, 3)


@pytest.fixture(autouse=True)
def waits(monkeypatch):
    """Seconds that the client would have slept."""
    waits = []
    monkeypatch.setattr(time, "sleep", waits.append)
    return waits


def ask_of(server, **options):
    return EndpointAsk(server.url, "stub", **{"timeout": 2, **options})


def test_question_image_settings_and_key_arrive_where_given(serve, monkeypatch):
    server = serve(ok("There are 7."))
    ask = ask_of(server, max_tokens=99)
    assert ask(IMAGE, "How many?", temperature=0.4, seed=5) == "There are 7."
    path, headers, body = server.requests[0]
    assert path == "/v1/chat/completions" and headers["Authorization"] == f"Bearer {KEY}"
    names = ("model", "max_tokens", "temperature", "seed")
    assert [body[name] for name in names] == ["stub", 99, 0.4, 5]
    picture, text = body["messages"][0]["content"]
    assert text["text"] == "How many?"
    sent = base64.b64decode(picture["image_url"]["url"].split("base64,")[1])
    np.testing.assert_array_equal(cv2.imdecode(np.frombuffer(sent, np.uint8), 1), IMAGE)
    monkeypatch.delenv("OPENAI_API_KEY")
    server = serve(ok("7"))
    assert ask_of(server)(None, "Read this") == "7"
    _, headers, body = server.requests[0]
    assert "Authorization" not in headers
    assert not {"temperature", "seed"} & set(body)
    assert body["messages"][0]["content"] == [{"type": "text", "text": "Read this"}]


def test_busy_servers_are_asked_again_and_waiting_doubles(serve, waits):
    later = formatdate(time.time() + 30, usegmt=True)
    server = serve(
        (429, {"Retry-After": "7"}, {}),
        (503, {}, {}),
        (500, {"Retry-After": "soon"}, {}),
        (429, {"Retry-After": later}, {}),
        ok("4"),
    )
    assert ask_of(server)(IMAGE, "?") == "4"
    assert waits[0] == 7 and waits[1] < waits[2] and 27 < waits[3] <= 30
    server = serve((502, {}, {"error": "down"}))
    with pytest.raises(EndpointError, match=r"HTTP 502.*down"):
        ask_of(server, retries=4)(IMAGE, "?")
    assert len(server.requests) == 5 and len(waits) == 4 + 4


GARBAGE = [b"", b"<html>oops</html>", b"[1, 2]", b"\xff\xfe", b'{"choices": ']
JSON = {"Content-Type": "application/json"}


@pytest.mark.parametrize("headers", [{}, JSON], ids=["untyped", "json"])
@pytest.mark.parametrize("content", GARBAGE)
def test_garbage_is_named(serve, content, headers):
    with pytest.raises(EndpointError, match=r"no JSON|no message in"):
        ask_of(serve((200, headers, content)))(IMAGE, "?")


def test_hanging_and_closing_servers_are_asked_again(serve, waits):
    through = threading.Event()

    def hang(handler):
        through.wait(60)

    def cut(handler):
        handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{")

    def close(handler):
        handler.connection.shutdown(socket.SHUT_RDWR)

    assert ask_of(serve(hang, cut, close, ok("4")))(IMAGE, "?") == "4" and len(waits) == 3
    through.set()


EMPTY = [None, "", [], [{"type": "text", "text": ""}]]


@pytest.mark.parametrize("content", EMPTY)
def test_empty_answers_are_skipped_answers(serve, content):
    ask = ask_of(serve(ok(content)))
    counter = TextCounter(ask)
    found = counter.count(IMAGE, "?")
    assert found.status == "skipped" and np.isnan(found.count) and found.text == ""


def test_answers_in_parts_are_joined_and_answers_without_message_named(serve):
    parts = [{"type": "text", "text": "1"}, {"type": "image"}, {"type": "text", "text": "2"}]
    assert ask_of(serve(ok(parts)))(IMAGE, "?") == "12"
    for answer in ({"error": {"message": "no credit"}}, {"choices": []}, {"choices": [{}]}):
        with pytest.raises(EndpointError, match="no message in"):
            ask_of(serve((200, {}, answer)))(IMAGE, "?")


@pytest.mark.parametrize("reason", ["length", "content_filter"])
def test_an_answer_at_the_limit_of_tokens_or_of_a_filter_is_cut_off(serve, reason):
    whole, cut = ok("12"), ok("Row 1 has 4, row 2")
    whole[2]["choices"][0]["finish_reason"] = "stop"
    cut[2]["choices"][0]["finish_reason"] = reason
    assert TextCounter(ask_of(serve(whole))).count(IMAGE, "?").count == 12
    found = TextCounter(ask_of(serve(cut))).count(IMAGE, "?")
    assert found.status == "skipped" and found.text == "Row 1 has 4, row 2"


def test_a_refusal_of_the_endpoint_is_a_skipped_answer_with_its_text(serve):
    refused = ok(None)
    refused[2]["choices"][0]["message"]["refusal"] = "I can't count the 12 people."
    found = TextCounter(ask_of(serve(refused))).count(IMAGE, "?")
    assert found.status == "skipped" and found.text == "I can't count the 12 people."


def test_the_limit_of_tokens_has_the_name_that_the_endpoint_takes_or_is_left_out(serve):
    error = "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."
    server = serve((400, {}, {"error": {"message": error}}), ok("4"))
    ask = ask_of(server, max_tokens=70)
    assert ask(IMAGE, "?") == ask(IMAGE, "?") == "4"
    sent = [{k: v for k, v in body.items() if "tokens" in k} for _, _, body in server.requests]
    newer = {"max_completion_tokens": 70}
    assert sent == [{"max_tokens": 70}, newer, newer]
    server = serve(ok("4"))
    ask_of(server, max_tokens=None)(IMAGE, "?")
    assert not [name for name in server.requests[0][2] if "tokens" in name]


def test_questions_that_are_asked_at_once_all_learn_the_newer_name(serve):
    both = threading.Barrier(2, timeout=10)
    content = json.dumps({"error": {"message": "Use 'max_completion_tokens' instead."}}).encode()

    def refuse(handler):
        both.wait()  # both are under way by the older name
        handler.send_response(400)
        handler.send_header("Content-Length", str(len(content)))
        handler.end_headers()
        handler.wfile.write(content)

    ask = ask_of(serve(refuse, refuse, ok("4")))
    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(lambda question: ask(IMAGE, question), "??")) == ["4", "4"]


FATAL = [
    ((401, {}, {"error": f"bad key {KEY}"}), r"refuses the key .*OPENAI_API_KEY \(set\)"),
    ((403, {}, {}), "refuses the key"),
    ((404, {}, {"error": "no such model"}), "not the address.*no such model"),
    ((302, {"Location": "http://127.0.0.1:1/steal"}, {}), "not the address.*/steal"),
    ((429, {"Retry-After": "3600"}, {}), "asks to wait 3600 s.*goes on from here"),
    ((503, {"Retry-After": "150.5"}, {}), "asks to wait 15[01] s"),
    ((429, {"Retry-After": formatdate(time.time() + 86400, usegmt=True)}, {}), r"wait 8\d{4} s"),
]


@pytest.mark.parametrize(("step", "message"), FATAL)
def test_what_no_question_can_survive_ends_the_run(serve, waits, step, message):
    server = serve(step)
    with pytest.raises(InputError, match=message):
        ask_of(server)(IMAGE, "?")
    assert waits == [] and len(server.requests) == 1


def test_a_refused_question_and_nobody_listening_are_errors_of_the_item(serve, waits):
    with pytest.raises(EndpointError, match=r"HTTP 400.*content filter"):
        ask_of(serve((400, {"Retry-After": "3600"}, {"error": "content filter"})))(IMAGE, "?")
    assert waits == []
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(EndpointError, match="refused"):
        EndpointAsk(f"http://127.0.0.1:{port}", "m", retries=1)(IMAGE, "?")


def test_the_key_is_in_no_message_and_no_log(serve, caplog, capfd):
    caplog.set_level(logging.DEBUG)
    seen = []
    for status, body in ((401, {"e": KEY}), (500, {"e": KEY}), (200, {"e": KEY}), (400, KEY)):
        ask = ask_of(serve((status, {}, body)), retries=1)
        with pytest.raises((InputError, EndpointError)) as caught:
            ask(IMAGE, "?")
        seen += [str(caught.value), repr(ask), repr(vars(ask))]
    seen += [caplog.text, *capfd.readouterr()]
    assert not any(KEY in text for text in seen)


def test_neither_proxy_nor_other_keys_of_the_environment_are_used_here(serve, monkeypatch):
    server = serve(ok("4"))
    monkeypatch.delenv("no_proxy")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    monkeypatch.setenv("OPENAI_ADMIN_KEY", "admin")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:1")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "Authorization: Bearer other\nX-Key: other")
    monkeypatch.setenv("OPENAI_ORG_ID", "other")
    for variable, sent in (("OPENAI_API_KEY", f"Bearer {KEY}"), ("", None)):
        assert ask_of(server, key_variable=variable)(IMAGE, "?") == "4"
        headers = server.requests[-1][1]
        assert headers.get("Authorization") == sent
        assert "other" not in headers.values() and "User-Agent" in headers


def test_a_missing_client_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "openai", None)
    with pytest.raises(InputError, match=r"install -e .\.\[endpoint\]"):
        EndpointAsk("http://localhost", "m")


ADDRESSES = [
    ("ftp://host/v1", "http\\(s\\) address"),
    ("host:8000", "http\\(s\\) address"),
    ("http://localhost:port/v1", "http\\(s\\) address"),
    ("http://[::1/v1", "http\\(s\\) address"),
    ("http://local\nhost/v1", "http\\(s\\) address"),
    ("http://example.org/v1", "unencrypted"),
    ("https://me:secret@example.org", "password"),
]


@pytest.mark.parametrize(("url", "message"), ADDRESSES)
def test_addresses_that_would_leak_or_cannot_work_are_refused(monkeypatch, url, message):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with pytest.raises(InputError, match=message):
        EndpointAsk(url, "m")


def test_a_key_that_no_header_can_hold_is_refused_without_showing_it(monkeypatch):
    for key in ("sk-abc\nsecret", "sk-schlüssel"):
        monkeypatch.setenv("OPENAI_API_KEY", key)
        with pytest.raises(InputError, match="OPENAI_API_KEY") as caught:
            EndpointAsk("http://localhost", "m")
        assert "sk-" not in str(caught.value)


def test_an_answer_is_read_by_its_bytes_whatever_its_header_says(serve):
    answer = {"choices": [{"message": {"content": "sieben é"}}]}
    for content in (
        json.dumps(answer, ensure_ascii=False).encode(),
        json.dumps(answer).encode("utf-16"),
    ):
        step = (200, {"Content-Type": "application/json; charset=iso-8859-1"}, content)
        assert ask_of(serve(step))(IMAGE, "?") == "sieben é"


def test_a_server_without_key_may_be_anywhere(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    EndpointAsk("http://example.org/v1", "m", key_variable="")
    monkeypatch.delenv("OPENAI_API_KEY")
    EndpointAsk("http://example.org/v1", "m")


def test_transformers_get_the_chat_the_image_and_the_limits(monkeypatch):
    calls = []

    def pipeline(task, **options):
        calls.append((task, options))

        def run(**inputs):
            calls.append(inputs)
            return [{"generated_text": " 7 dots "}]

        return run

    seeds = []
    fake = types.SimpleNamespace(pipeline=pipeline, set_seed=seeds.append)
    monkeypatch.setitem(sys.modules, "transformers", fake)
    ask = TransformersAsk("some/model", max_new_tokens=8192, revision="abc", dtype="auto")
    assert ask(IMAGE, "How many?", temperature=0.5, seed=3) == "7 dots"
    (task, made), call = calls
    model = {"model": "some/model", "device": "cpu", "revision": "abc", "dtype": "auto"}
    assert (task, made) == ("image-text-to-text", model)
    # Given to the pipeline itself, sampling options would go to the processor, which drops them.
    sampling = {"max_new_tokens": 8192, "do_sample": True, "temperature": 0.5}
    assert call["generate_kwargs"] == sampling
    assert seeds == [3]
    message = call["text"][0]
    assert message["role"] == "user" and message["content"][1]["text"] == "How many?"
    np.testing.assert_array_equal(np.asarray(message["content"][0]["image"]), IMAGE[..., ::-1])
    ask(IMAGE, "How many?")
    assert calls[-1]["generate_kwargs"] == {"max_new_tokens": 8192, "do_sample": False}
    TransformersAsk("some/model", temperature=0.3)(IMAGE, "How many?")
    sampling = {"max_new_tokens": 128, "do_sample": True, "temperature": 0.3}
    assert calls[-1]["generate_kwargs"] == sampling
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(InputError, match=r"install -e .\.\[vlm\]"):
        TransformersAsk("some/model")
