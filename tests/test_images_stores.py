"""Where images are stored: each kind of store by the real client against a server on loopback that sees what is asked."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from PIL import Image
from remote_stores import FTP, GCSServer, Object, ObjectServer, S3Server, serving
from scrapy import Spider
from scrapy.pipelines.files import S3FilesStore
from scrapy.utils.test import get_crawler
from test_images_pipeline import Server, encode, name

from scrapy_polite.images import Header, Rejected, images_from
from scrapy_polite.media import BACKLOG_BYTES, PoliteImagesPipeline
from scrapy_polite.mediacomplete import complete, meta_of
from scrapy_polite.mediaftp import FTPStore
from scrapy_polite.mediakept import KEY, LONGEST, Kept, Made, read_kept, recipe
from scrapy_polite.mediaremote import GCSStore, S3Store
from scrapy_polite.mediastore import LEFT_BEHIND, AtomicFilesStore, ImageStore, StoreError

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
    pipeline = PoliteImagesPipeline.from_crawler(get_crawler(Spider, settings))
    try:
        assert (pipeline.store.AWS_ACCESS_KEY_ID, type(pipeline).__name__) == ("a-key", "PoliteImagesPipeline")
        assert isinstance(pipeline, PoliteImagesPipeline)
        for shared in (S3Store, S3FilesStore):
            assert shared.AWS_ACCESS_KEY_ID is None
        assert (GCSStore.POLICY, FTPStore.FTP_USERNAME) == (None, None)
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
from scrapy_polite.media import BACKLOG_BYTES, PoliteImagesPipeline
try:
    PoliteImagesPipeline.from_crawler(get_crawler(Spider, {{"IMAGES_STORE": {uri!r}}}))
except NotConfigured as error:
    print(error)
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert f"pip install 'scrapy-polite{extra}'" in run.stdout, run.stderr


# Whole or not at all


SENDS_MUCH = """
import sys
from scrapy_polite.mediaftp import FTPStore
FTPStore(sys.argv[1]).write("full/a.jpg", bytes(40_000_000), {"polite": "{}"})
"""


def test_a_killed_upload_leaves_nothing_in_its_place(tmp_path: Path) -> None:
    """The process is killed in the middle of the transfer."""
    with FTP(tmp_path, {"ann": "p"}, bytes_per_second=2_000_000) as server:
        uri = f"ftp://ann:p@127.0.0.1:{server.port}/shop"
        FTPStore(uri).write("full/a.jpg", b"old", {KEY: Kept(1, "0" * 64, 3, HEADER).text()})
        folder = tmp_path / "ann/shop/full"
        with subprocess.Popen([sys.executable, "-c", SENDS_MUCH, uri]) as process:
            try:
                until(lambda: any(path.stat().st_size > 1_000_000 for path in folder.glob("*.part")))
            finally:
                process.kill()
        store = FTPStore(uri)
        assert store.read("full/a.jpg") == b"old"
        # What was remembered of it went first, so it is looked at again.
        assert set(store.stat("full/a.jpg")) == {"last_modified", "size"}
        store.write("full/a.jpg", b"new", {KEY: Kept(1, "1" * 64, 3, HEADER).text()})
        assert (store.read("full/a.jpg"), store.stat("full/a.jpg")["checksum"]) == (b"new", "1" * 64)


def test_a_server_that_renames_onto_nothing_is_served_too(tmp_path: Path) -> None:
    with FTP(tmp_path, {"ann": "p"}, overwrites=False) as server:
        store = FTPStore(f"ftp://ann:p@127.0.0.1:{server.port}/shop")
        for data in (b"first", b"second"):
            store.write("full/a.jpg", data)
        assert store.read("full/a.jpg") == b"second"
        assert [path.name for path in (tmp_path / "ann/shop/full").iterdir()] == ["a.jpg"]


KILLED = """
import os, random, signal, sys, time
from pathlib import Path
from scrapy_polite.mediastore import AtomicFilesStore
folder = Path(sys.argv[1])
for round in range(40):
    hear, say = os.pipe()
    child = os.fork()
    if not child:
        store = AtomicFilesStore(folder)
        os.write(say, b"!")
        for number in range(10**6):
            letter = bytes([97 + (round + number) % 26])
            store.write(f"full/{number % 5}.jpg", letter * 3_000_000, {"polite": letter.decode() * 200})
    os.read(hear, 1)
    time.sleep(random.random() / 20)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    os.close(hear), os.close(say)
    for where, length in (("full", 3_000_000), ("kept/full", 200)):
        for path in folder.glob(where + "/*"):
            data = path.read_bytes()
            assert len(data) == length and data == data[:1] * length, path
"""


def test_forty_kills_in_the_middle_of_writes_leave_no_half_image(tmp_path: Path) -> None:
    run = subprocess.run([sys.executable, "-c", KILLED, tmp_path], capture_output=True, text=True, timeout=120)
    assert run.returncode == 0, run.stderr
    assert len(list((tmp_path / "full").iterdir())) > 0
    parts = list((tmp_path / ".parts").iterdir())
    assert len(parts) >= 5, "the kills came in the middle of writes"
    # Young parts may be another crawl's. Old ones are nobody's.
    for part in parts[1:]:
        os.utime(part, (time.time() - LEFT_BEHIND - 60,) * 2)
    AtomicFilesStore(tmp_path)
    assert list((tmp_path / ".parts").iterdir()) == parts[:1]


def test_a_full_disk_and_a_name_too_long_leave_nothing_behind(tmp_path: Path) -> None:
    code = """
import resource, signal, sys
from scrapy_polite.mediastore import AtomicFilesStore, StoreError
store = AtomicFilesStore(sys.argv[1])
store.write("full/a.jpg", b"old")
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
for path, data in (("full/a.jpg", bytes(200_000)), ("full/" + "n" * 300, b"data"), ("full/a.jpg/b", b"data")):
    try:
        store.write(path, data)
    except StoreError as error:
        print(error)
"""
    run = subprocess.run([sys.executable, "-c", code, tmp_path], capture_output=True, text=True, timeout=60, check=True)
    assert [line.partition("]")[2][:18] for line in run.stdout.splitlines()] == [
        " File too large",
        " File name too lon",
        " File exists: '" + str(tmp_path)[:3],
    ]
    files = {str(path.relative_to(tmp_path)): path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    assert files == {"full/a.jpg": b"old"}


def test_a_name_that_the_disk_cannot_have_is_told_before_the_image_is_fetched(tmp_path: Path) -> None:
    store = AtomicFilesStore(tmp_path)
    store.write("full/a.jpg", b"data", {KEY: "{}"})
    for name_of, trouble in (("n" * 300, True), ("n" * 253, True), ("n" * 250, False)):
        assert ("File name too long" in store.stat(f"full/{name_of}").get("trouble", "")) == trouble


def test_a_stored_file_beyond_the_limit_is_not_read(tmp_path: Path, photo: bytes) -> None:
    found: Any = {"url": "u", "path": "full/a.jpg", "checksum": None, "status": "uptodate", "modified": 1.0, "size": 10**9}
    told = complete(FTPStore("ftp://127.0.0.1:9/"), found, {}, images_from({"max_bytes": 10**8}))
    assert isinstance(told, Rejected)
    assert told.outcome == "too_many_bytes"


def test_a_folder_of_the_store_may_be_on_another_disk(tmp_path: Path) -> None:
    with tempfile.TemporaryDirectory(dir="/dev/shm") as other:
        (tmp_path / "thumbs").symlink_to(other)
        assert Path(other).stat().st_dev != tmp_path.stat().st_dev
        store = AtomicFilesStore(tmp_path)
        for data in (b"first", b"second"):
            store.write("thumbs/a.jpg", data)
        assert store.read("thumbs/a.jpg") == b"second"
        assert [path.name for path in Path(other).iterdir()] == ["a.jpg"]
        assert list((tmp_path / ".parts").iterdir()) == []


@pytest.mark.parametrize("path", ["../a.jpg", "full/../../a.jpg", "..", "full/a\r\nDELE b", "full/a\0.jpg"])
def test_no_store_takes_a_path_that_leads_out_of_it_or_is_no_line_of_text(path: str, tmp_path: Path) -> None:
    for store in (AtomicFilesStore(tmp_path), s3_store(), FTPStore("ftp://127.0.0.1:9/")):
        for ask in (store.stat, store.read, lambda out, store=store: store.write(out, b"data")):
            with pytest.raises(ValueError, match=r"image path .* (leads out of the store|has a control character)"):
                ask(path)


# What is remembered


@pytest.mark.parametrize(
    "changed",
    [
        {"sizes": {"small": {**SIZES["small"], "quality": 30}}},
        {"sizes": {"small": {**SIZES["small"], "fit": "cover", "crop": "attention"}}},
        {"sizes": {"small": SIZES["small"]}, "background": "#000000"},
        {"sizes": {"small": SIZES["small"]}, "animation": "reject"},
    ],
)
def test_a_size_is_made_anew_whatever_of_its_settings_has_changed(changed: dict[str, Any]) -> None:
    paths = {"small": "thumbs/small/a.webp"}
    before, after = images_from({"sizes": {"small": SIZES["small"]}}), images_from(changed)
    kept = Kept(1, "0" * 64, 3, HEADER, sizes={"small": Made(recipe(before.sizes[0], paths["small"], before), 1, 1, "webp", 1)})
    assert kept.lacks(paths, before) == []
    assert kept.lacks(paths, after) == [after.sizes[0]]
    assert kept.lacks({"small": "elsewhere.webp"}, before) == [before.sizes[0]]


def test_what_is_remembered_fits_into_the_metadata_of_s3_however_many_sizes_there_are() -> None:
    config = images_from({"sizes": {f"size-{n:02}": {"width": n + 1} for n in range(60)}})
    paths = {size.name: f"thumbs/{size.name}/a.jpg" for size in config.sizes}
    sizes = {size.name: Made(recipe(size, paths[size.name], config), 1000, 1000, "jpeg", 100_000) for size in config.sizes}
    many, few = (Kept(1, "0" * 64, 3, HEADER, "keep", "f" * 16, "L" * 30, dict(list(sizes.items())[:n])) for n in (60, 20))
    assert read_kept(few.text(LONGEST)) == few
    assert len(many.text()) > LONGEST > len(many.text(LONGEST))
    read = read_kept(many.text(LONGEST))
    assert read is not None
    # That all are as they should be is known, how large they are is not.
    assert read.lacks(paths, config) == []
    assert read.variants(paths)["size-00"]["width"] is None
    assert len(read.lacks(paths, replace(config, sizes=config.sizes[:59]))) == 59


NOT_OURS = [None, "", "{", "[]", "null", '{"fetched": 1}', Kept(1, "0", 3, HEADER).text().replace("300", '"x"')]


@pytest.mark.parametrize("text", NOT_OURS)
def test_what_somebody_else_wrote_is_not_believed(text: str | None) -> None:
    assert read_kept(text) is None


def test_on_disk_what_is_remembered_must_tell_the_length_and_not_be_older_than_the_image(tmp_path: Path, photo: bytes) -> None:
    store, kept = AtomicFilesStore(tmp_path), Kept(1_000, "0" * 64, len(photo), HEADER)
    store.write("full/a.jpg", photo, {KEY: kept.text()})
    assert store.stat("full/a.jpg") == {"last_modified": 1_000, "size": len(photo), "checksum": "0" * 64, "kept": kept}
    (tmp_path / "full/a.jpg").write_bytes(photo[:-1])
    assert set(store.stat("full/a.jpg")) == {"last_modified", "size"}
    store.write("full/a.jpg", photo, {KEY: kept.text()})
    later = (tmp_path / "kept/full/a.jpg.json").stat().st_mtime_ns + 1
    os.utime(tmp_path / "full/a.jpg", ns=(later, later))  # replaced by somebody else, by one of the same length
    assert set(store.stat("full/a.jpg")) == {"last_modified", "size"}


@pytest.mark.parametrize(
    ("stored", "wanted", "answer"),
    [("keep", "keep", "told"), ("stripped", "keep", None), ("none", "keep", None), ("none", "none", "told")],
)
def test_an_image_that_is_stored_in_another_way_than_is_wanted_is_downloaded_again(
    stored: str, wanted: str, answer: str | None, tmp_path: Path, photo: bytes
) -> None:
    store, config = AtomicFilesStore(tmp_path), replace(images_from(None), original=wanted)
    kept = Kept(1_000, hashlib.sha256(photo).hexdigest(), len(photo), HEADER, stored)
    store.write("full/a.jpg", photo, {KEY: kept.text()})
    found: Any = {"url": "u", "path": "full/a.jpg", "checksum": None, "status": "uptodate", "kept": kept, "modified": 1_000}
    told = complete(store, found, {}, config)
    assert (told if told is None or isinstance(told, Rejected) else "told") == answer


def test_a_stored_image_is_judged_by_the_limits_of_today_without_a_look_at_it(photo: bytes) -> None:
    kept = Kept(1_000, "0" * 64, 3, HEADER)
    found: Any = {"url": "u", "path": "full/a.jpg", "checksum": None, "status": "uptodate", "kept": kept, "modified": 1_000}
    told = complete(FTPStore("ftp://127.0.0.1:9/"), found, {}, images_from({"min_width": 1000}))
    assert isinstance(told, Rejected)
    assert told.outcome == "too_small"


def test_a_stored_original_that_is_not_the_one_remembered_is_downloaded_again(tmp_path: Path, photo: bytes) -> None:
    store, kept = AtomicFilesStore(tmp_path), Kept(1_000, "0" * 64, len(photo), HEADER)
    store.write("full/a.jpg", photo, {KEY: kept.text()})
    found: Any = {"url": "u", "path": "full/a.jpg", "checksum": None, "status": "uptodate", "kept": kept, "modified": 1_000}
    assert complete(store, found, {"small": "thumbs/small/a.webp"}, images_from({"sizes": {"small": SIZES["small"]}})) is None


def until(true: Callable[[], bool], seconds: float = 30) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end
        time.sleep(0.01)


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
