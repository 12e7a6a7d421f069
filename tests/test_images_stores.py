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
from remote_stores import FTP, GCSServer, Object, ObjectServer, S3Server, serving
from scrapy import Spider
from scrapy.pipelines.files import S3FilesStore
from scrapy.utils.test import get_crawler
from test_images_pipeline import Server, encode, name

from scrapy_polite.images import Header
from scrapy_polite.media.complete import meta_of
from scrapy_polite.media.ftp import FTPStore
from scrapy_polite.media.kept import KEY, Kept
from scrapy_polite.media.pipeline import BACKLOG_BYTES, PoliteImagesPipeline
from scrapy_polite.media.remote import GCSStore, S3Store
from scrapy_polite.media.store import ImageStore, StoreError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SIZES: dict[str, dict[str, Any]] = {
    "small": {"width": 60, "height": 60, "format": "webp"},
    "square": {"width": 40, "height": 40, "fit": "cover", "format": "jpeg"},
}

HEADER = Header("jpeg", 300, 200, 1, True)


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
    threads: list[str]
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
    server: ObjectServer | None = None

    def objects(self) -> dict[str, Object]:
        assert self.server is not None
        return self.server.files

    def since(self) -> list[tuple[str, str]]:
        seen = [(verb, path) for _, verb, path in self.asked]
        self.asked.clear()
        return seen


def _of_objects(server: GCSServer | S3Server) -> Place:
    def read(path: str) -> bytes | None:
        file = server.files.get(f"/bucket/shop/{path}")
        return file.data if file else None

    env = {"STORAGE_EMULATOR_HOST": server.url} if isinstance(server, GCSServer) else {}
    return Place(server.settings(), env, server.asked, read, server)


@contextmanager
def place(kind: str, folder: Path) -> Iterator[Place]:
    with ExitStack() as stack:
        if kind == "ftp":
            server = stack.enter_context(FTP(folder, {"ann": "p@ss"}))
            root = folder / "ann/shop"

            def read(path: str) -> bytes | None:
                return (root / path).read_bytes() if (root / path).exists() else None

            settings = {"IMAGES_STORE": f"ftp://127.0.0.1:{server.port}/shop", "FTP_USER": "ann", "FTP_PASSWORD": "p@ss"}
            yield Place(settings, {}, server.asked, read)
        else:
            objects = {"s3": S3Server, "gcs": GCSServer}[kind]()
            stack.enter_context(serving(objects))
            yield _of_objects(objects)


# What one look costs.
LOOK = {"s3": ["HEAD"], "gcs": ["HEAD"], "ftp": ["USER", "PASS", "TYPE", "SIZE", "MDTM", "TYPE", "PASV", "RETR", "QUIT"]}


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


def test_an_image_expires_by_the_age_of_its_download_also_when_a_size_was_added_since(
    tmp_path: Path, site: Server, photo: bytes
) -> None:
    link = site.put("/photo.jpg", photo)
    with place("s3", tmp_path) as store:
        settings = {**store.settings, "IMAGES_EXPIRES": 10}

        def status(**sizes: dict[str, Any]) -> str:
            done = crawl(tmp_path / "run", ([link], {**settings, "POLITE_IMAGES": {"sizes": sizes}}))[0]
            return str(done.images[0]["status"])

        assert status() == "downloaded"
        objects = store.objects()
        file = objects[f"/bucket/shop/full/{name(link)}.jpg"]
        kept = json.loads(file.meta[KEY])
        file.meta[KEY] = json.dumps({**kept, "fetched": kept["fetched"] - 9 * 86_400})
        assert status(new={"width": 20}) == "uptodate"
        again = json.loads(objects[f"/bucket/shop/full/{name(link)}.jpg"].meta[KEY])
        assert again["fetched"] == kept["fetched"] - 9 * 86_400
        file = objects[f"/bucket/shop/full/{name(link)}.jpg"]
        file.meta[KEY] = json.dumps({**again, "fetched": kept["fetched"] - 11 * 86_400})
        assert status(new={"width": 20}) == "downloaded"


def test_what_scrapy_left_in_a_store_is_taken_over(tmp_path: Path, site: Server, photo: bytes) -> None:
    """An original without anything remembered is read once."""
    link = site.put("/photo.jpg", photo)
    with place("s3", tmp_path) as store:
        settings = {**store.settings, "POLITE_IMAGES": {"sizes": SIZES}}
        path = f"/bucket/shop/full/{name(link)}.jpg"
        store.objects()[path] = Object(photo, "image/jpeg", {"width": "300", "height": "200"}, None)
        done = [crawl(tmp_path / "run", ([link], settings))[0].images[0] for _ in range(2)]
        assert (done[0]["status"], done[0]["checksum"]) == ("uptodate", hashlib.sha256(photo).hexdigest())
        assert done[0] == done[1]
        assert [verb for verb, _ in store.since()] == ["HEAD", "GET", "PUT", "PUT", "PUT", "HEAD"]
        assert site.asked == []


def test_a_store_that_cannot_be_asked_costs_the_site_nothing(tmp_path: Path, site: Server, photo: bytes) -> None:
    links = [site.put(f"/{n}.jpg", photo) for n in range(3)]
    settings = {
        "IMAGES_STORE": "ftp://127.0.0.1:9/images",
    }
    done = crawl(tmp_path / "run", (links, settings))[0]
    assert (done.images, done.outcomes, site.asked) == ([], {"not_stored": 3}, [])
    assert done.log.count("Image not kept (not_stored)") == 3
    assert "Traceback" not in done.log


# Whose keys


def test_two_crawlers_of_one_process_come_each_with_its_own_credentials(tmp_path: Path, site: Server, photo: bytes) -> None:
    links = [[site.put(f"/{who}/{n}.jpg", photo) for n in range(4)] for who in ("ann", "bob")]
    s3, users = S3Server(), {"carl": "c", "dora": "d"}
    token = {"AWS_SESSION_TOKEN": "a-session-token"}
    with serving(s3), FTP(tmp_path / "ftp", users) as ftp:
        far = {"IMAGES_STORE": f"ftp://127.0.0.1:{ftp.port}/"}
        done = crawl(
            tmp_path / "run",
            (links[0], {**s3.settings("key-of-ann"), **token, "IMAGES_STORE_S3_ACL": "public-read"}),
            (links[1], s3.settings("key-of-bob")),
            (links[0], {**far, "FTP_USER": "carl", "FTP_PASSWORD": "c"}),
            (links[1], {**far, "FTP_USER": "dora", "FTP_PASSWORD": "d"}),
        )
    assert [one.outcomes for one in done] == [{"ok": 4}] * 4
    places = [{f"full/{name(link)}.jpg" for link in group} for group in links]
    for key, expected in zip(("key-of-ann", "key-of-bob"), places, strict=True):
        assert {path.partition("/shop/")[2] for who, _, path in s3.asked if who == key} == expected
    assert {who for who, _, _ in s3.asked} == {"key-of-ann", "key-of-bob"}
    acls = {path.partition("/shop/")[2]: file.acl for path, file in s3.files.items()}
    assert acls == {**dict.fromkeys(places[0], "public-read"), **dict.fromkeys(places[1])}
    for user, expected in zip(users, places, strict=True):
        assert {f"full/{path.name}" for path in (tmp_path / "ftp" / user / "full").iterdir()} == expected
    # Not one of asyncio's, where names are looked up.
    assert [name for name in done[0].threads if name] == ["polite-images", "polite-images-store"]
    # Scrapy itself logs the settings that a project changes. Nothing else shows a key.
    said = [line for line in done[0].log.splitlines() if "a-secret" in line or "a-session-token" in line]
    assert [line for line in said if "'AWS_" not in line] == []
    assert "Signature" not in done[0].log


def test_the_classes_that_everybody_shares_know_no_credentials(tmp_path: Path) -> None:
    settings = {"IMAGES_STORE": "s3://bucket/", "AWS_ACCESS_KEY_ID": "a-key", "FTP_USER": "ann", "IMAGES_STORE_GCS_ACL": "x"}

    def shared() -> list[object]:
        """Scrapy's own pipelines write into its own classes, whenever a test runs one."""
        return [S3Store.AWS_ACCESS_KEY_ID, S3FilesStore.AWS_ACCESS_KEY_ID, GCSStore.POLICY, FTPStore.FTP_USERNAME]

    before = shared()
    pipeline = PoliteImagesPipeline.from_crawler(get_crawler(Spider, settings))
    try:
        assert (pipeline.store.AWS_ACCESS_KEY_ID, type(pipeline).__name__) == ("a-key", "PoliteImagesPipeline")
        assert isinstance(pipeline, PoliteImagesPipeline)
        assert shared() == before
        assert not {"a-key", "ann", "x"} & set(before)
    finally:
        pipeline.close_spider()


# What goes over the wire


def s3_store(server: S3Server | None = None, **names: object) -> S3Store:
    own = {"AWS_ACCESS_KEY_ID": "a-key", "AWS_SECRET_ACCESS_KEY": "a-secret", "AWS_REGION_NAME": "eu-central-1", **names}
    if server:
        own["AWS_ENDPOINT_URL"] = server.url
    return type("Own", (S3Store,), own)("s3://bucket/shop/")


def test_images_go_to_amazon_by_tls_unless_the_operator_says_no() -> None:
    for said, scheme in ((None, "https"), (True, "https"), (False, "http")):
        store = s3_store(AWS_USE_SSL=said)
        assert store.client().meta.endpoint_url.startswith(f"{scheme}://")
        store.close()


def test_all_files_of_an_image_get_one_acl_and_what_is_private_gets_none() -> None:
    server = S3Server()
    with serving(server):
        for acl, sent in (("private", None), ("", None), ("bucket-owner-full-control", "bucket-owner-full-control")):
            store = s3_store(server, POLICY=acl)
            for path in ("full/a.jpg", "thumbs/small/a.webp"):
                store.write(path, b"data", {}, {"Content-Type": "image/jpeg"})
            store.close()
            assert {file.acl for file in server.files.values()} == {sent}


@pytest.mark.parametrize("zone", ["Asia/Tokyo", "America/Los_Angeles"])
@pytest.mark.parametrize("kind", ["s3", "gcs", "ftp"])
def test_a_stores_times_are_utc_wherever_the_crawl_runs(
    kind: str, zone: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    try:
        with opened(kind, tmp_path, monkeypatch) as store:
            store.write("full/a.jpg", b"data")
            assert abs(store.stat("full/a.jpg")["last_modified"] - time.time()) < 600
            assert store.stat("full/b.jpg") == {}
            assert (store.read("full/a.jpg"), store.read("full/b.jpg")) == (b"data", None)
    finally:
        monkeypatch.undo()
        time.tzset()


@pytest.mark.parametrize("kind", ["s3", "gcs", "ftp"])
def test_a_large_original_is_stored_too(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = os.urandom(12_000_000)  # Google's client sends what is beyond 8 MiB in another way
    kept = Kept(1_000, hashlib.sha256(data).hexdigest(), len(data), HEADER)
    with opened(kind, tmp_path, monkeypatch) as store:
        store.write("full/a.jpg", data, meta_of(kept), {"Content-Type": "image/jpeg"})
        assert store.stat("full/a.jpg").get("kept") == kept
        assert store.read("full/a.jpg") == data


@contextmanager
def opened(kind: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ImageStore]:
    with place(kind, folder) as there:
        for key, value in there.env.items():
            monkeypatch.setenv(key, value)
        schemes = {"s3": S3Store, "gcs": GCSStore, "ftp": FTPStore}
        names = {key: value for key, value in there.settings.items() if key != "IMAGES_STORE"}
        names["FTP_USERNAME"] = names.get("FTP_USER")
        store = type("Own", (schemes[kind],), names)(there.settings["IMAGES_STORE"])
        try:
            yield store
        finally:
            store.close()


def test_a_bucket_that_does_not_tell_what_is_there_is_named_once_and_written_all_the_same(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    for kind, right in (("s3", "s3:ListBucket"), ("gcs", "storage.objects.get")):
        caplog.clear()
        with place(kind, tmp_path) as there, monkeypatch.context() as patch:
            assert there.server is not None
            there.server.refused["HEAD"] = 403
            for key, value in there.env.items():
                patch.setenv(key, value)
            store = s3_store(there.server) if isinstance(there.server, S3Server) else GCSStore("gs://bucket/shop/")
            assert [store.stat("full/a.jpg"), store.stat("full/b.jpg")] == [{}, {}]
            store.write("full/a.jpg", b"data")
            assert store.read("full/a.jpg") == b"data"
            store.close()
        assert [right in record.getMessage() for record in caplog.records] == [True]


def test_a_store_that_fails_says_so_and_shows_no_password(tmp_path: Path) -> None:
    with FTP(tmp_path, {"ann": "right"}) as server:
        store = FTPStore(f"ftp://ann:wr%40ng@127.0.0.1:{server.port}/shop")
        assert "530" in store.stat("full/a.jpg")["trouble"]
        with pytest.raises(StoreError, match="530") as told:
            store.write("full/a.jpg", b"data")
        assert "wr@ng" not in str(told.value)
        assert ("ann", "PASS", "wr@ng") in server.asked


@pytest.mark.parametrize(
    ("uri", "said"),
    [
        ("s3://", "names no bucket"),
        ("gs:///folder", "names no bucket"),
        ("ftp:///folder", "not of the form"),
        ("ftp://ann:secret@host:none/", "not of the form"),
        ("sftp://ann:secret@host/", "is no store"),
        ("/proc/images", "cannot be written"),
    ],
)
def test_a_store_that_cannot_be_is_named_at_the_start(uri: str, said: str) -> None:
    with pytest.raises(ValueError, match=f"IMAGES_STORE.*{said}") as told:
        PoliteImagesPipeline.from_crawler(get_crawler(Spider, {"IMAGES_STORE": uri}))
    assert "secret" not in str(told.value)


@pytest.mark.parametrize(
    ("module", "uri", "extra"), [("botocore", "s3://b/", "[s3]"), ("google.cloud.storage", "gs://b/", "[gcs]")]
)
def test_without_its_client_the_extra_is_named(module: str, uri: str, extra: str) -> None:
    code = f"""
import sys
sys.modules[{module!r}] = None
from scrapy import Spider
from scrapy.exceptions import NotConfigured
from scrapy.utils.test import get_crawler
from scrapy_polite.media.pipeline import BACKLOG_BYTES, PoliteImagesPipeline
try:
    PoliteImagesPipeline.from_crawler(get_crawler(Spider, {{"IMAGES_STORE": {uri!r}}}))
except NotConfigured as error:
    print(error)
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert f"pip install 'scrapy-polite{extra}'" in run.stdout, run.stderr


# A store that is slow


def test_a_slow_store_holds_the_bytes_in_memory_to_the_budget(tmp_path: Path, site: Server, photo: bytes) -> None:
    """300 MB of images from a fast site, beside a store that takes 20 MB a second in all."""
    store = S3Server()
    store.seconds_per_megabyte = 0.4
    site.asked = asked = Arrivals(site, store)
    with serving(store):
        links = [site.put(f"/{n}.jpg", photo + n.to_bytes(2, "big") + bytes(2_000_000)) for n in range(150)]
        settings = {
            **store.settings(),
            "ADDONS": {"scrapy_polite.Addon": 300},
            "POLITE_ALLOW_NETWORKS": [f"127.0.0.1:{site.server_port}=127.0.0.1/32"],
            "POLITE_SITE_RATE": 1000,
            "POLITE_ORIGIN_RATE": 1000,
            "POLITE_PACE": False,
            "POLITE_STORE": "memory:",
        }
        done = crawl(tmp_path / "run", (links, settings))[0]
    assert done.outcomes == {"ok": 150}, done.log[-3000:]
    # The budget, and what was being downloaded when it was used up.
    assert asked.most < BACKLOG_BYTES + 16 * 2_100_000
    assert done.more_memory < 220_000_000


class Arrivals(list[str]):
    """The paths that a site was asked for. most: bytes of its images on their way from it to the store."""

    def __init__(self, site: Server, store: S3Server) -> None:
        super().__init__()
        self.site, self.store, self.sent, self.most = site, store, 0, 0

    def append(self, path: str) -> None:
        super().append(path)
        self.sent += len(self.site.bodies.get(path, b""))
        self.most = max(self.most, self.sent - self.store.received)


def test_a_store_that_takes_no_image_costs_a_line_each(tmp_path: Path, site: Server, photo: bytes) -> None:
    links = [site.put(f"/{n}.jpg", photo) for n in range(3)]
    with place("s3", tmp_path) as store:
        assert store.server is not None
        store.server.refused["PUT"] = 403
        done = crawl(tmp_path / "run", (links, store.settings))[0]
    assert (done.images, done.outcomes) == ([], {"not_stored": 3})
    assert done.log.count("calling the PutObject") == done.log.count("Image not kept (not_stored)") == 3
    assert "Traceback" not in done.log
