"""An OpenAI-compatible endpoint on this machine that answers by a script."""

import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

KEY = "sk-very-secret-0123456789"


def ok(text):
    return 200, {}, {"choices": [{"message": {"content": text}}]}


class Stub(ThreadingHTTPServer):
    """Answers with a script of (status, headers, body); the last line repeats."""

    def __init__(self, script):
        super().__init__(("127.0.0.1", 0), Handler)
        self.script, self.requests = list(script), []
        self.url = f"http://127.0.0.1:{self.server_port}/v1"


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.requests.append((self.path, self.headers, body))
        script = self.server.script
        step = script.pop(0) if len(script) > 1 else script[0]
        if callable(step):
            return step(self)
        status, headers, answer = step
        content = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *args):
        pass
