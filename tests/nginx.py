"""An edge: nginx with a cache on loopback, in front of servers of the test's own."""

from __future__ import annotations

import http.client
import os
import shutil
import signal
import socket
import subprocess
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path
    from types import TracebackType

    from typing_extensions import Self

NGINX = shutil.which("nginx") or "/usr/sbin/nginx"
ADDRESS = "127.0.0.1"

CONFIGURATION = """
{user}
daemon off;
worker_processes 1;
pid {folder}/nginx.pid;
error_log {folder}/error.log warn;
events {{ worker_connections 256; }}
http {{
  log_format seen '$msec $host $upstream_cache_status $uri';
  access_log {folder}/access.log seen;
  client_body_temp_path {folder}/body; proxy_temp_path {folder}/temp; fastcgi_temp_path {folder}/t1;
  uwsgi_temp_path {folder}/t2; scgi_temp_path {folder}/t3;
  keepalive_requests 100000;
  proxy_cache_path {folder}/cache keys_zone=edge:1m inactive=10m;
  proxy_http_version 1.1;
  proxy_set_header Connection "";
  proxy_set_header Host $host;
  proxy_cache edge;
  proxy_cache_key "$host$uri {generation}";
  proxy_cache_valid 200 10m;
  {says}
  {also}
  {servers}
}}
"""
SERVER = "server {{ listen {address}:{port}; server_name {host}; location / {{ proxy_pass http://{address}:{origin}; }} }}"


@dataclass(frozen=True)
class Seen:
    """A line of its log: when it had answered (the wall clock's seconds), for which host, out of its cache or not, what."""

    at: float
    host: str
    cached: str
    path: str


class Nginx:
    """``with Nginx(folder, {host: port of its origin}) as edge``. It says of its cache what bunny.net says, and passes on
    whatever the origin says of one of its own. ``also``: directives besides."""

    def __init__(self, folder: Path, origins: Mapping[str, int], also: str = "") -> None:
        self._folder, self._origins, self._also = folder, dict(origins), also
        with socket.create_server((ADDRESS, 0)) as free:
            self.port: int = free.getsockname()[1]
        self._generation = 0
        self._speaks = True

    def __enter__(self) -> Self:
        self._configure()
        self._process = subprocess.Popen(
            [NGINX, "-p", str(self._folder), "-c", str(self._folder / "nginx.conf")],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self._until_it_answers()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._process.terminate()
        self._process.wait(20)

    def purge(self) -> None:
        """All that is in the cache is forgotten."""
        self._generation += 1
        self._again()

    def fall_silent(self) -> None:
        """Nothing is said of the cache any more, which goes on."""
        self._speaks = False
        self._again()

    def warm(self, host: str, paths: Iterable[str]) -> None:
        """Have these in the cache."""
        connection = http.client.HTTPConnection(ADDRESS, self.port, timeout=20)
        for path in paths:
            connection.request("GET", path, headers={"Host": host})
            connection.getresponse().read()
        connection.close()

    def seen(self, since: float) -> list[Seen]:
        """What it was asked for and has answered, in order. A line may be written a little later than its answer is sent, so
        what was before is told apart by its time."""
        lines = (self._folder / "access.log").read_text(encoding="utf-8").splitlines(keepends=True)
        fields = (line.rstrip("\n").split(" ", 3) for line in lines if line.endswith("\n"))
        found = [Seen(float(at), host, cached, path) for at, host, cached, path in fields]
        return [one for one in found if one.at > since]

    def _configure(self) -> None:
        servers = (
            SERVER.format(address=ADDRESS, port=self.port, host=host, origin=origin) for host, origin in self._origins.items()
        )
        text = CONFIGURATION.format(
            user="user root;" if os.getuid() == 0 else "",
            folder=self._folder,
            generation=self._generation,
            says="add_header CDN-Cache $upstream_cache_status always;" if self._speaks else "",
            also=self._also,
            servers="\n  ".join(servers),
        )
        (self._folder / "nginx.conf").write_text(text, encoding="utf-8")

    def _again(self) -> None:
        self._configure()
        self._process.send_signal(signal.SIGHUP)

    def _until_it_answers(self) -> None:
        for _ in range(200):
            assert self._process.poll() is None, (self._folder / "error.log").read_text(encoding="utf-8")
            with suppress(OSError), socket.create_connection((ADDRESS, self.port), 1):
                return
            time.sleep(0.05)
        raise AssertionError("nginx does not answer")
