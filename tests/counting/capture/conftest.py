"""A stub endpoint for the tests of counting behind an occluder."""

import threading

import pytest
from stub_endpoint import KEY, Stub


@pytest.fixture
def serve(monkeypatch):
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    servers = []

    def start(*script):
        server = Stub(script)
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        servers.append(server)
        return server

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()
