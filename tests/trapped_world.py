"""A world of one good server and one trap on loopback, with name servers: for crawls that must not be led astray.

The good server and the trap share one port number, so that whoever is led to another address meets the trap. Whatever
connects to the trap is a hit, whether it says anything or not. All in threads of the test's own process.
"""

from __future__ import annotations

import contextlib
import html
import json
import os
import socket
import subprocess
import sys
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

from nameserver import Script, name_server_in_a_thread

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

GOOD = "127.30.0.1"
OTHER = "127.31.0.1"
TRAPS = ("127.0.0.1", "::1")
HERE = Path(__file__).parent

ZONE = {
    "good.example": [GOOD],
    "more.example": [GOOD],
    "other.example": [OTHER],
    "bad.example": ["127.0.0.1"],
    "mixed.example": [GOOD, "127.0.0.1"],
    "metadata.example": ["169.254.169.254"],
}
REBINDS = "rebinds.example"
MOVES = "moves.example"
MOVED = "127.30.0.2"


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def __init__(self, world: World, address: str, port: int, trap: bool) -> None:
        self.address_family = socket.AF_INET6 if ":" in address else socket.AF_INET
        self.world, self.trap = world, trap
        super().__init__((address, port), _Pages)

    def process_request(self, request: Any, client_address: Any) -> None:
        if self.trap:
            self.world.hits.append(f"{client_address[0]} -> {self.server_address[0]}:{self.server_port}")
        super().process_request(request, client_address)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A peer that goes away is no news."""


class _Pages(BaseHTTPRequestHandler):
    server: _Server
    protocol_version = "HTTP/1.1"
    timeout = 10

    def setup(self) -> None:
        if self.server.trap:
            self.timeout = 1  # Who says nothing (an ftp client waits for a greeting) is a hit already.
        super().setup()

    def do_GET(self) -> None:
        host = (self.headers["Host"] or "").rpartition(":")[0]
        parts = urlsplit(self.path)
        if self.server.trap:
            self.server.world.trapped.append(self.path)
            self.answer(200, "the trap")
            return
        self.server.world.arrivals.append((host, self.path))
        self.server.world.reached.add((host, self.server.server_address[0]))
        if parts.path in self.server.world.served:
            self.server.world.served[parts.path](self)
        elif parts.path == "/robots.txt":
            self.answer(404, "")
        elif parts.path == "/go":
            self.answer(302, "", Location=parse_qs(parts.query)["to"][0])
        else:
            links = "".join(f'<a href="{html.escape(link)}">link</a>' for link in self.server.world.links)
            self.answer(200, f"<html><body>the good server {links if parts.path == '/links' else ''}</body></html>")

    do_POST = do_GET

    def answer(self, status: int, body: str, **headers: str) -> None:
        data = body.encode()
        self.send_response(status)
        for name, value in {"Content-Type": "text/html; charset=utf-8", "Content-Length": str(len(data)), **headers}.items():
            self.send_header(name, value.encode().decode("latin-1"))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *args: object) -> None: ...


@dataclass
class World:
    """``with World() as world:``. `url` gives a URL of the good server, `settings` what a crawl needs to reach it."""

    hits: list[str] = field(default_factory=list)
    arrivals: list[tuple[str, str]] = field(default_factory=list)
    links: list[str] = field(default_factory=list)
    served: dict[str, Callable[[Any], None]] = field(default_factory=dict)
    """What the good server does for a path, in place of its page."""
    reached: set[tuple[str, str]] = field(default_factory=set)
    """Which hosts were asked for at which of the good addresses."""
    trapped: list[str] = field(default_factory=list)
    """Paths that the trap was asked for."""
    port: int = 0
    own_port: int = 0
    """A port at which the trap alone is, for protocols other than http."""
    dns: str = ""
    script: Script = field(default_factory=Script)
    """What the name server says."""

    def __enter__(self) -> World:
        self._stack = contextlib.ExitStack()
        try:
            for _ in range(100):
                with contextlib.suppress(OSError):
                    self._listen()
                    break
            else:
                raise RuntimeError("no port was free on all of the world's addresses")
            self._serve_names()
        except BaseException:
            self._stack.close()
            raise
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()

    def _listen(self) -> None:
        with contextlib.ExitStack() as opened:
            servers = [opened.enter_context(_Server(self, GOOD, 0, trap=False))]
            port = servers[0].server_port
            servers.append(opened.enter_context(_Server(self, OTHER, port, trap=False)))
            servers += [opened.enter_context(_Server(self, address, port, trap=True)) for address in TRAPS if possible(address)]
            servers.append(opened.enter_context(_Server(self, TRAPS[0], 0, trap=True)))
            self.port, self.own_port = port, servers[-1].server_port
            for server in servers:
                threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
                opened.callback(server.shutdown)
            self._stack.push(opened.pop_all())

    def _serve_names(self) -> None:
        for name, addresses in ZONE.items():
            self.script.add(name, *((60, "AAAA" if ":" in address else "A", address) for address in addresses))
        self.script.changing[REBINDS] = lambda before: [(0, "A", TRAPS[0] if before else GOOD)]
        self.script.changing[MOVES] = lambda before: [(0, "A", MOVED if before else GOOD)]
        self.dns = self._stack.enter_context(name_server_in_a_thread("127.0.0.2", self.script))

    @property
    def questions(self) -> list[str]:
        return [name for name, _, _ in self.script.asked]

    def silence_names(self) -> None:
        """The name server answers nobody any more."""
        self.script.faults["*"] = "silent"

    def url(self, path: str = "/", host: str = "good.example") -> str:
        return f"http://{host}:{self.port}{path}"

    def settings(self, **more: Any) -> dict[str, Any]:
        """A project with the add-on on, which may reach the good server and nothing else, without waiting for it."""
        return {
            "ADDONS": {"scrapy_polite.Addon": 300},
            "LOG_LEVEL": "INFO",
            "TELNETCONSOLE_ENABLED": False,
            "RETRY_ENABLED": False,
            "DOWNLOAD_TIMEOUT": 20,
            "POLITE_STORE": "memory:",
            "POLITE_DNS_SERVERS": [self.dns],
            "POLITE_ALLOW_NETWORKS": ["127.30.0.0/16"],
            "POLITE_ALLOW_PORTS": [self.port, self.own_port],
            "POLITE_SITE_RATE": 1000,
            "POLITE_ORIGIN_RATE": 1000,
            **more,
        }


def possible(address: str) -> bool:
    try:
        with socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET) as sock:
            sock.bind((address, 0))
    except OSError:
        return False
    return True


@dataclass
class Outcome:
    """What became of a crawl in a process of its own: its exit status, all it has said, and what each spider met."""

    status: int
    said: str
    results: dict[str, dict[str, Any]]

    @property
    def result(self) -> dict[str, Any]:
        assert self.results, self.said
        return self.results["walker"]

    @property
    def pages(self) -> list[str]:
        return [page["url"] for page in self.results.get("walker", {}).get("pages", [])]


def crawl(folder: Path, settings: dict[str, Any], urls: list[Any], how: str = "AsyncCrawlerProcess", **more: Any) -> Outcome:
    """Crawl `urls` (or requests described by dicts) with `guarded_crawl.py`. ``more``: "custom_settings", "meddle", ..."""
    requests = [{"url": url} if isinstance(url, str) else url for url in urls]
    return crawls(folder, how, {"name": "walker", "settings": settings, "requests": requests, **more})


def crawls(folder: Path, how: str, *jobs: dict[str, Any]) -> Outcome:
    """Several crawlers in one process."""
    folder.mkdir(exist_ok=True)
    (folder / "job.json").write_text(json.dumps({"how": how, "crawls": jobs}))
    return run(folder, [sys.executable, str(HERE / "guarded_crawl.py")])


def run(folder: Path | str, command: list[str], *, on_path: Path = HERE, timeout: float = 90, **environment: str) -> Outcome:
    """A command in `folder`, with nothing of this process's environment that Scrapy reads."""
    paths = filter(None, (str(HERE), str(on_path), os.environ.get("PYTHONPATH")))
    clean = {name: value for name, value in os.environ.items() if not name.startswith("SCRAPY") and "proxy" not in name.lower()}
    done = subprocess.run(
        command,
        cwd=folder,
        env={**clean, "PYTHONPATH": os.pathsep.join(paths), **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=timeout,
        check=False,
        text=True,
    )
    results = {path.stem.removeprefix("result-"): json.loads(path.read_text()) for path in Path(folder).glob("result-*.json")}
    return Outcome(done.returncode, done.stdout, results)


def project(folder: Path, settings: dict[str, Any]) -> None:
    """A project with one spider, `walker`, that fetches what its job says."""
    package = folder / "own_project"
    package.mkdir(parents=True)
    (folder / "scrapy.cfg").write_text("[settings]\ndefault = own_project.settings\n")
    (package / "__init__.py").touch()
    lines = [f"{name} = {value!r}\n" for name, value in settings.items()]
    (package / "settings.py").write_text("SPIDER_MODULES = ['own_project.spider']\n" + "".join(lines))
    (package / "spider.py").write_text(
        "import os\nfrom guarded_crawl import Walker\n\n"
        "class Project(Walker):\n"
        "    job = {'name': 'walker', 'requests': [{'url': url} for url in os.environ.get('URLS', '').split()]}\n"
    )


SCRAPY_CRAWL = [sys.executable, "-m", "scrapy", "crawl", "walker"]


@contextlib.contextmanager
def taken(count: int) -> Iterator[list[int]]:
    """So many ports that somebody else holds, on every address."""
    with contextlib.ExitStack() as stack:
        ports = []
        for _ in range(count):
            sock = stack.enter_context(socket.socket())
            sock.bind(("0.0.0.0", 0))
            sock.listen()
            ports.append(sock.getsockname()[1])
        yield ports
