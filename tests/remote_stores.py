"""Stores for images on loopback, which see who comes and what is asked: one that speaks S3, one GCS, one FTP.

Each keeps its files by path in `files` (FTP: in a folder) and its requests in `asked`, as (who, verb, path). The first two
can be slow, refuse, and say that a file is older than it is.
"""

from __future__ import annotations

import base64
import json
import threading
import time
import warnings
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.message import Message
from email.parser import BytesParser
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, unquote, urlsplit

import google_crc32c

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # it stands on asyncore
    from pyftpdlib.authorizers import DummyAuthorizer
    from pyftpdlib.handlers import FTPHandler, ThrottledDTPHandler
    from pyftpdlib.ioloop import IOLoop
    from pyftpdlib.servers import FTPServer

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass
class Object:
    data: bytes
    kind: str
    meta: dict[str, str]
    acl: str | None
    at: float = field(default_factory=time.time)


class ObjectServer(ThreadingHTTPServer):
    """What both protocols have in common."""

    daemon_threads = True
    handler: type[BaseHTTPRequestHandler]

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), self.handler)
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.files: dict[str, Object] = {}
        self.asked: list[tuple[str, str, str]] = []
        self.seconds_per_megabyte = 0.0
        self.refused: dict[str, int] = {}  # a verb, and the status that it gets
        self.received = 0
        self._lock = threading.Lock()

    def note(self, who: str, verb: str, path: str) -> int | None:
        with self._lock:
            self.asked.append((who, verb, path))
        return self.refused.get(verb)

    def put(self, path: str, file: Object) -> None:
        with self._lock:
            self.files[path] = file
            self.received += len(file.data)

    def verbs(self) -> list[str]:
        return [verb for _, verb, _ in self.asked]


class _Handler(BaseHTTPRequestHandler):
    server: Any  # an ObjectServer
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def body(self) -> bytes:
        left, parts = int(self.headers.get("Content-Length", 0)), []
        while left:
            parts.append(self.rfile.read(min(left, 65_536)))
            left -= len(parts[-1])
            time.sleep(self.server.seconds_per_megabyte * len(parts[-1]) / 1_000_000)
        return b"".join(parts)

    def answer(self, status: int, body: bytes = b"", length: int | None = None, **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body) if length is None else length))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: object) -> None: ...


class _S3Handler(_Handler):
    def who(self) -> str:
        return self.headers.get("Authorization", "").partition("Credential=")[2].partition("/")[0]

    def refused(self) -> bool:
        body = self.body() if self.command == "PUT" else b""
        self.path = unquote(urlsplit(self.path).path)
        status = self.server.note(self.who(), self.command, self.path)
        if status is None:
            self.sent = body
            return False
        code = {403: "AccessDenied", 503: "SlowDown"}[status]
        said = b"" if self.command == "HEAD" else f"<Error><Code>{code}</Code><Message>No</Message></Error>".encode()
        self.answer(status, said)
        return True

    def do_PUT(self) -> None:
        if not self.refused():
            prefix = "x-amz-meta-"
            meta = {
                name.lower()[len(prefix) :]: value for name, value in self.headers.items() if name.lower().startswith(prefix)
            }
            self.server.put(self.path, Object(self.sent, self.headers["Content-Type"], meta, self.headers.get("x-amz-acl")))
            self.answer(200, ETag='"an-etag"')

    def do_GET(self) -> None:
        if self.refused():
            return
        file = self.server.files.get(self.path)
        if file is None:
            said = b"<Error><Code>NoSuchKey</Code><Message>none</Message></Error>"
            self.answer(404, b"" if self.command == "HEAD" else said)
            return
        meta = {f"x-amz-meta-{name}": value for name, value in file.meta.items()}
        body = b"" if self.command == "HEAD" else file.data
        modified = formatdate(file.at, usegmt=True)
        self.answer(200, body, len(file.data), ETag='"an-etag"', Last_Modified=modified, Content_Type=file.kind, **meta)

    do_HEAD = do_GET


class S3Server(ObjectServer):
    handler = _S3Handler

    def settings(self, key: str = "a-key") -> dict[str, Any]:
        return {
            "IMAGES_STORE": "s3://bucket/shop/",
            "AWS_ENDPOINT_URL": self.url,
            "AWS_REGION_NAME": "eu-central-1",
            "AWS_ACCESS_KEY_ID": key,
            "AWS_SECRET_ACCESS_KEY": "a-secret",
        }


class _GCSHandler(_Handler):
    """The JSON API: `GET .../o/NAME`, the same with `alt=media`, and an upload of metadata and media in one body, or, for
    large ones, of the metadata first and of the media to the address that is answered."""

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        if "/o/" not in parts.path:  # the client's own curiosity about the bucket, once
            about = {"name": "bucket", "location": "EU", "projectNumber": "1"}
            self.answer(200, json.dumps(about).encode(), Content_Type="application/json")
            return
        name = unquote(parts.path.partition("/o/")[2])
        media = "alt=media" in parts.query
        status = self.server.note("", "GET" if media else "HEAD", f"/bucket/{name}")
        file = self.server.files.get(f"/bucket/{name}")
        if status or file is None:
            self.answer(status or 404, b'{"error": {"message": "no"}}', Content_Type="application/json")
        elif media:
            self.answer(200, file.data, Content_Type=file.kind)
        else:
            self.described(name, file)

    def do_POST(self) -> None:
        query = parse_qs(urlsplit(self.path).query)
        if query["uploadType"] == ["resumable"]:
            self.server.begun = json.loads(self.body())
            self.answer(200, Location=f"{self.server.url}/rest")
            return
        body = b"Content-Type: " + self.headers["Content-Type"].encode() + b"\r\n\r\n" + self.body()
        described, media = BytesParser().parsebytes(body).get_payload()
        assert isinstance(described, Message)
        about = json.loads(described.get_payload())
        path = f"/bucket/{about['name']}"
        status = self.server.note("", "PUT", path)
        if status:
            self.answer(status, b'{"error": {"message": "no"}}', Content_Type="application/json")
            return
        # The parser of mail takes line breaks inside the bytes for its own: they are cut out by hand.
        boundary = self.headers["Content-Type"].partition("boundary=")[2].strip('"').encode()
        data = body.split(b"--" + boundary)[2].partition(b"\r\n\r\n")[2][:-2]
        acl = query.get("predefinedAcl", [None])[0]
        file = Object(data, media.get_content_type(), about.get("metadata", {}), acl)
        self.server.put(path, file)
        self.described(about["name"], file)

    def do_PUT(self) -> None:
        about, data = self.server.begun, self.body()
        path = f"/bucket/{about['name']}"
        self.server.note("", "PUT", path)
        file = Object(data, self.headers["Content-Type"], about.get("metadata", {}), None)
        self.server.put(path, file)
        self.described(about["name"], file)

    def described(self, name: str, file: Object) -> None:
        at = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(file.at))
        crc = base64.b64encode(google_crc32c.Checksum(file.data).digest()).decode()
        about = {"name": name, "bucket": "bucket", "size": str(len(file.data)), "updated": at, "crc32c": crc}
        body = json.dumps({**about, "metadata": file.meta, "contentType": file.kind}).encode()
        self.answer(200, body, Content_Type="application/json")


class GCSServer(ObjectServer):
    handler = _GCSHandler
    begun: dict[str, Any]  # what the upload is that comes in two requests; one at a time

    def settings(self) -> dict[str, Any]:
        """The client finds its way by STORAGE_EMULATOR_HOST in the environment, as with every emulator."""
        return {"IMAGES_STORE": "gs://bucket/shop/", "GCS_PROJECT_ID": "a-project"}


@contextmanager
def serving(server: ObjectServer) -> Iterator[None]:
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class FTP:
    """An FTP server on loopback over a folder, with a user for each password given."""

    def __init__(self, folder: Path, users: dict[str, str], bytes_per_second: int = 0, overwrites: bool = True) -> None:
        self.folder = folder
        self.asked: list[tuple[str, str, str]] = []
        authorizer = DummyAuthorizer()
        for user, password in users.items():
            (folder / user).mkdir(parents=True, exist_ok=True)
            authorizer.add_user(user, password, str(folder / user), perm="elradfmwMT")
        asked = self.asked

        class Slow(ThrottledDTPHandler):
            read_limit = bytes_per_second

        class Handler(FTPHandler):
            def pre_process_command(self, line: str, cmd: str, arg: str) -> None:
                asked.append((self.username, cmd, arg))
                super().pre_process_command(line, cmd, arg)

            def ftp_RNTO(self, path: str) -> str | None:
                if not overwrites and Path(path).exists():
                    self.respond("550 it is there")
                    return None
                return str(super().ftp_RNTO(path))

        Handler.authorizer, Handler.dtp_handler = authorizer, Slow
        self._loop = IOLoop()
        self._server = FTPServer(("127.0.0.1", 0), Handler, ioloop=self._loop)
        self.port: int = self._server.address[1]
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def _run(self) -> None:
        while not self._over.is_set():
            self._loop.loop(timeout=0.02, blocking=False)
        self._server.close_all()

    def __enter__(self) -> FTP:
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._over.set()
        self._thread.join()

    def verbs(self) -> list[str]:
        return [verb for _, verb, _ in self.asked]
