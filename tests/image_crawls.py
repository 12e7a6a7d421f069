"""Crawls of images: a server on loopback that counts what it is asked for, and crawls in processes of their own."""

from __future__ import annotations

import io
import json
import subprocess
import sys
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from PIL import Image


def encode(image: Image.Image, kind: str, **options: object) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, kind, **options)
    return buffer.getvalue()


class Server(ThreadingHTTPServer):
    """Images on loopback; remembers what was asked for."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.bodies: dict[str, bytes] = {}
        self.asked: list[str] = []

    def put(self, path: str, body: bytes) -> str:
        self.bodies[path] = body
        return f"http://127.0.0.1:{self.server_port}{path}"


class _Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        self.server.asked.append(self.path)
        body = self.server.bodies.get(self.path)
        self.send_response(200 if body is not None else 404)
        self.send_header("Content-Length", str(len(body or b"")))
        self.end_headers()
        self.wfile.write(body or b"")

    def log_message(self, *args: object) -> None: ...


@contextmanager
def serving() -> Iterator[Server]:
    server = Server()
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as server:
        yield server


class Crawl:
    """One crawl in its own process, and what came of it."""

    def __init__(self, folder: Path, items: list[dict[str, Any]], settings: dict[str, Any], **job: object) -> None:
        folder.mkdir(exist_ok=True)
        (folder / "job.json").write_text(json.dumps({"items": items, "settings": settings, **job}))
        script = Path(__file__).with_name("images_crawl.py")
        run = subprocess.run([sys.executable, script, folder], capture_output=True, text=True, timeout=120)
        assert run.returncode == 0, run.stderr
        self.log = (folder / "log.txt").read_text()
        self.items: list[dict[str, Any]] = json.loads((folder / "items.json").read_text() or "[]")
        self.stats: dict[str, Any] = json.loads((folder / "stats.json").read_text())
        self.calls: list[list[str]] = json.loads((folder / "calls.json").read_text())

    @property
    def outcomes(self) -> dict[str, int]:
        return {key.rpartition("/")[2]: n for key, n in self.stats.items() if key.startswith("polite/images/")}


def files(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
