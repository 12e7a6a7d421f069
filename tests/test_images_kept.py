"""What is stored is whole, and what is remembered of it is true: stores are killed, filled and given other settings."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from PIL import Image
from remote_stores import FTP
from test_images_pipeline import encode
from test_images_stores import HEADER, SIZES, s3_store

from scrapy_polite.images import Rejected, images_from
from scrapy_polite.media.complete import complete
from scrapy_polite.media.ftp import FTPStore
from scrapy_polite.media.kept import KEY, LONGEST, Kept, Made, read_kept, recipe
from scrapy_polite.media.store import LEFT_BEHIND, AtomicFilesStore

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.fixture(scope="module")
def photo() -> bytes:
    return encode(Image.effect_noise((300, 200), 60).convert("RGB"), "jpeg")


def until(true: Callable[[], bool], seconds: float = 30) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end
        time.sleep(0.01)


# Whole or not at all


SENDS_MUCH = """
import sys
from scrapy_polite.media.ftp import FTPStore
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
from scrapy_polite.media.store import AtomicFilesStore
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
from scrapy_polite.media.store import AtomicFilesStore, StoreError
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


OURS = Kept(1, "0", 3, HEADER, sizes={"s": Made("how", 1, 1, "webp", 1)}).text()
CHANGED = {
    "300": '"x"',
    '"fetched":1': f'"fetched":1{"0" * 400}',
    '"jpeg"': '["jpeg"]',
    '"webp"': "{}",
    '"keep"': "[]",
    "200": "-5",
}
NOT_OURS = [
    *(None, "", "{", "[]", "null", '{"fetched": 1}', "[" * 100_000),
    *(OURS.replace(ours, other, 1) for ours, other in CHANGED.items()),
]


@pytest.mark.parametrize("text", NOT_OURS)
def test_what_somebody_else_wrote_is_not_believed(text: str | None) -> None:
    assert read_kept(OURS) is not None
    assert text != OURS
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
