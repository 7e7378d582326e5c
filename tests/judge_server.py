"""A chat-completions server on this machine that misbehaves as it is told."""

import json
import threading
import time
from collections import deque
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PAIR = {
    "scene_relation": "same",
    "viewpoint_difference": "none",
    "inconsistencies": [],
    "score": 4.5,
    "reason": "alike",
}


def message(content, **extra):
    """Return a server's answer with a text."""
    return {"choices": [{"message": {"content": content, **extra}, "finish_reason": "stop"}]}


class Script:
    """Answers in order, the last for ever; every request is kept.

    An answer is a dict (sent as JSON with status 200), (status, headers, bytes) or a callable of
    the request that returns one of these.
    """

    def __init__(self, *answers):
        self.answers = deque(answers)
        self.requests, self.headers = [], []
        self.most, self._now = 0, 0
        self._lock = threading.Lock()

    def next(self, request, headers):
        """Take a request and return what to send."""
        with self._lock:
            self.requests.append(request)
            self.headers.append(headers)
            answer = self.answers.popleft() if len(self.answers) > 1 else self.answers[0]
            self._now += 1
            self.most = max(self.most, self._now)
        try:
            return answer(request) if callable(answer) else answer
        finally:
            with self._lock:
                self._now -= 1


def slow(seconds, answer):
    """Return an answer that takes its time."""

    def reply(request):
        time.sleep(seconds)
        return answer

    return reply


@contextmanager
def serving(script):
    """Run the server; gives its base address."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            answer = script.next(json.loads(body), dict(self.headers))
            if isinstance(answer, dict):
                answer = (200, {}, json.dumps(answer).encode())
            status, headers, data = answer
            try:
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)
            except OSError:
                pass

        def log_message(self, *args):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
