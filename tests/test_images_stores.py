"""Where images are stored: each kind of store by the real client against a server on loopback that sees what is asked."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import threading
import time
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from PIL import Image
from remote_stores import FTP, GCSServer, ObjectServer, S3Server, serving
from test_images_pipeline import Server, encode, name

from scrapy_polite.mediaftp import FTPStore
from scrapy_polite.mediakept import KEY
from scrapy_polite.mediaremote import GCSStore, S3Store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SIZES: dict[str, dict[str, Any]] = {
    "small": {"width": 60, "height": 60, "format": "webp"},
    "square": {"width": 40, "height": 40, "fit": "cover", "format": "jpeg"},
}


@pytest.fixture(scope="module")
def photo() -> bytes:
    return encode(Image.effect_noise((300, 200), 60).convert("RGB"), "jpeg")


@pytest.fixture
def site() -> Iterator[Server]:
    server = Server()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@dataclass
class Crawled:
    """What came of one crawl: the images of its items in order, its stats, and the memory that it took."""

    items: list[list[dict[str, Any]]]
    stats: dict[str, Any]
    more_memory: int
    log: str

    @property
    def images(self) -> list[dict[str, Any]]:
        return [image for images in self.items for image in images]

    @property
    def outcomes(self) -> dict[str, int]:
        return {key.rpartition("/")[2]: n for key, n in self.stats.items() if key.startswith("polite/images/")}


def crawl(folder: Path, *crawls: tuple[list[str], dict[str, Any]], env: dict[str, str] | None = None) -> list[Crawled]:
    """Crawls of images, all at once in one process: for each its links and settings."""
    folder.mkdir(exist_ok=True)
    job = {"crawls": [{"items": [links], "settings": settings} for links, settings in crawls]}
    (folder / "job.json").write_text(json.dumps(job))
    script = Path(__file__).with_name("stores_crawl.py")
    run = subprocess.run(
        [sys.executable, script, folder], capture_output=True, text=True, timeout=200, env={**os.environ, **(env or {})}
    )
    assert run.returncode == 0, run.stderr
    log = (folder / "log.txt").read_text()
    return [Crawled(**out, log=log) for out in json.loads((folder / "out.json").read_text())]


# One image, three stores


@dataclass
class Place:
    """A kind of store: how a crawl reaches it, and what it was asked since the last time."""

    settings: dict[str, Any]
    env: dict[str, str]
    asked: list[tuple[str, str, str]]
    read: Callable[[str], bytes | None]
    age: Callable[[str, float], None]

    def since(self) -> list[tuple[str, str]]:
        seen = [(verb, path) for _, verb, path in self.asked]
        self.asked.clear()
        return seen


def _of_objects(server: GCSServer | S3Server) -> Place:
    def age(path: str, seconds: float) -> None:
        server.files[f"/bucket/shop/{path}"].at -= seconds

    def read(path: str) -> bytes | None:
        file = server.files.get(f"/bucket/shop/{path}")
        return file.data if file else None

    env = {"STORAGE_EMULATOR_HOST": server.url} if isinstance(server, GCSServer) else {}
    return Place(server.settings(), env, server.asked, read, age)


@contextmanager
def place(kind: str, folder: Path) -> Iterator[Place]:
    with ExitStack() as stack:
        if kind == "ftp":
            server = stack.enter_context(FTP(folder, {"ann": "p@ss"}))
            root = folder / "ann/shop"

            def read(path: str) -> bytes | None:
                return (root / path).read_bytes() if (root / path).exists() else None

            def age(path: str, seconds: float) -> None:
                os.utime(root / path, (time.time() - seconds,) * 2)

            settings = {"IMAGES_STORE": f"ftp://127.0.0.1:{server.port}/shop", "FTP_USER": "ann", "FTP_PASSWORD": "p@ss"}
            yield Place(settings, {}, server.asked, read, age)
        else:
            objects = {"s3": S3Server, "gcs": GCSServer}[kind]()
            stack.enter_context(serving(objects))
            yield _of_objects(objects)


# What one look costs.
LOOK = {"s3": ["HEAD"], "gcs": ["HEAD"], "ftp": ["USER", "PASS", "TYPE", "SIZE", "MDTM", "TYPE", "PASV", "RETR", "QUIT"]}
WRITES = {"PUT", "STOR", "RNTO"}


@pytest.mark.parametrize("kind", ["s3", "gcs", "ftp"])
def test_an_image_is_looked_up_by_one_request_and_lacking_sizes_are_made_from_the_store(
    kind: str, tmp_path: Path, site: Server, photo: bytes
) -> None:
    link = site.put("/photo.jpg", photo)
    original = f"full/{name(link)}.jpg"
    with place(kind, tmp_path / "store") as store:

        def run(sizes: dict[str, Any]) -> dict[str, Any]:
            settings = {**store.settings, "POLITE_IMAGES": {"sizes": sizes}}
            done = crawl(tmp_path / "run", ([link], settings), env=store.env)[0]
            assert "Traceback" not in done.log, done.log
            return done.images[0]

        first = run(SIZES)
        assert (first["status"], first["checksum"]) == ("downloaded", hashlib.sha256(photo).hexdigest())
        paths = [first["variants"][size]["path"] for size in SIZES]
        written = [path for verb, path in store.since() if verb in {"PUT", "RNTO"}]
        assert [path.rpartition("/shop/")[2] for path in written][:3] == [*paths, original]
        assert store.read(original) == photo
        assert [len(store.read(path) or b"") for path in paths] == [first["variants"][size]["bytes"] for size in SIZES]

        assert run(SIZES) == {**first, "status": "uptodate"}
        assert [verb for verb, _ in store.since()] == LOOK[kind]

        # One more size, another quality of one, and one as it was.
        sizes = {"new": {"width": 20}, "square": {**SIZES["square"], "quality": 30}, "small": SIZES["small"]}
        more = run(sizes)
        asked = store.since()
        assert [path.rpartition("/shop/")[2] for verb, path in asked if verb in {"PUT", "RNTO"}][:2] == [
            more["variants"]["new"]["path"],
            paths[1],
        ]
        assert (more["status"], more["checksum"], list(more["variants"])) == ("uptodate", first["checksum"], list(sizes))
        assert (more["variants"]["new"]["width"], more["variants"]["new"]["height"]) == (20, 13)
        assert more["variants"]["small"] == first["variants"]["small"]
        assert more["variants"]["square"]["bytes"] < first["variants"]["square"]["bytes"]
        assert store.read(original) == photo

        assert run(sizes) == more
        assert [verb for verb, _ in store.since()] == LOOK[kind]
        assert site.asked == ["/photo.jpg"]
