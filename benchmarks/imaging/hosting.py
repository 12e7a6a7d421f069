"""Images on loopback, from threads of the process that measures: it does nothing else meanwhile."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


class _Host(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, bodies: Sequence[tuple[str, bytes]]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.bodies = bodies


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Host

    def do_GET(self) -> None:
        first = self.path.split("/")[1]
        _, body = self.server.bodies[int(first) % len(self.server.bodies)] if first.isdecimal() else ("", b"")
        self.send_response(200 if body else 404)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: object) -> None: ...


@contextmanager
def hosted(bodies: Sequence[tuple[str, bytes]], count: int) -> Iterator[list[str]]:
    """URLs of ``count`` images, which are ``bodies`` (of names and bytes) in turns."""
    host = _Host(bodies)
    thread = threading.Thread(target=host.serve_forever, daemon=True)
    thread.start()
    names = [bodies[number % len(bodies)][0] for number in range(count)]
    try:
        yield [f"http://127.0.0.1:{host.server_port}/{number}/{name}" for number, name in enumerate(names)]
    finally:
        host.shutdown()
        thread.join()
        host.server_close()
