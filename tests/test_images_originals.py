"""Originals that are stored without their metadata, or not at all; and what an item is told of its images now and later."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import pytest
from image_crawls import Crawl, Server, encode, files
from PIL import Image

if TYPE_CHECKING:
    from pathlib import Path

SIZES = {"tiny": {"width": 20}, "wide": {"width": 200, "format": "webp"}, "small": {"width": 60, "height": 60}}
SECRET = "Camera of Somebody"


@pytest.fixture
def photo() -> bytes:
    exif = Image.Exif()
    exif[0x010F] = SECRET
    return encode(Image.effect_noise((300, 200), 60).convert("RGB"), "jpeg", exif=exif)


def name(url: str) -> str:
    return hashlib.sha1(url.encode()).hexdigest()


def images_in(store: Path) -> set[str]:
    return {path for path in files(store) if not path.startswith("kept/")}


def run(tmp_path: Path, link: str, **images: object) -> Crawl:
    settings = {"IMAGES_STORE": str(tmp_path / "store"), "POLITE_IMAGES": images}
    return Crawl(tmp_path / "run", [{"image_urls": [link]}], settings)


def test_without_originals_the_largest_size_stands_for_the_image(tmp_path: Path, server: Server, photo: bytes) -> None:
    link, store = server.put("/1.jpg", photo), tmp_path / "store"
    assert SECRET.encode() in photo
    (image,) = run(tmp_path, link, original="none", sizes=SIZES).items[0]["images"]
    wide = f"thumbs/wide/{name(link)}.webp"
    assert images_in(store) == {variant["path"] for variant in image["variants"].values()}
    assert (image["path"], image["bytes"]) == (wide, (store / wide).stat().st_size)
    assert (image["width"], image["height"], image["format"]) == (300, 200, "jpeg")
    assert image["checksum"] == hashlib.sha256(photo).hexdigest()

    (again,) = run(tmp_path, link, original="none", sizes=SIZES).items[0]["images"]
    assert again == {**image, "status": "uptodate"}
    assert server.asked == ["/1.jpg"]

    # There is no original to make them from.
    (store / f"thumbs/tiny/{name(link)}.jpg").unlink()
    (mended,) = run(tmp_path, link, original="none", sizes=SIZES).items[0]["images"]
    assert mended == image
    (more,) = run(tmp_path, link, original="none", sizes={**SIZES, "new": {"width": 30}}).items[0]["images"]
    assert sorted(more["variants"]) == ["new", "small", "tiny", "wide"]
    assert server.asked == ["/1.jpg"] * 3

    # With originals it is another image.
    (kept,) = run(tmp_path, link, sizes=SIZES).items[0]["images"]
    assert (kept["path"], kept["status"]) == (f"full/{name(link)}.jpg", "downloaded")


def test_originals_without_their_metadata_are_the_same_picture(tmp_path: Path, server: Server, photo: bytes) -> None:
    link, store = server.put("/1.jpg", photo), tmp_path / "store"
    (before,) = run(tmp_path, link).items[0]["images"]
    # What an earlier crawl has stored as it came is stripped where it lies.
    (image,) = run(tmp_path, link, original="stripped", sizes=SIZES).items[0]["images"]
    stored = (store / image["path"]).read_bytes()
    assert SECRET.encode() not in stored
    assert (image["status"], image["path"], image["bytes"]) == ("uptodate", before["path"], len(stored))
    assert image["checksum"] == hashlib.sha256(stored).hexdigest() != before["checksum"]
    assert server.asked == ["/1.jpg"]

    other = server.put("/2.jpg", photo)
    (image,) = run(tmp_path, other, original="stripped", sizes=SIZES).items[0]["images"]
    assert (image["status"], image["checksum"]) == ("downloaded", hashlib.sha256(stored).hexdigest())
    assert (store / image["path"]).read_bytes() == stored
    (again,) = run(tmp_path, other, original="stripped", sizes=SIZES).items[0]["images"]
    assert again == {**image, "status": "uptodate"}
    assert not any(SECRET.encode() in path.read_bytes() for path in store.rglob("*") if path.is_file())


def test_what_cannot_be_stripped_is_not_stored(tmp_path: Path, server: Server) -> None:
    drawing = b'<svg xmlns="http://www.w3.org/2000/svg" width="60" height="40"><circle r="9"/></svg>'
    crawl = run(tmp_path, server.put("/1.svg", drawing), original="stripped", sizes=SIZES, formats=["svg"])
    assert crawl.outcomes == {"unsupported": 1}
    assert crawl.items[0]["images"] == []
    assert files(tmp_path / "store") == set()


def test_hashes_are_told_where_they_are_asked_for_now_and_later(tmp_path: Path, server: Server, photo: bytes) -> None:
    link = server.put("/1.jpg", photo)
    (without,) = run(tmp_path, link, sizes=SIZES).items[0]["images"]
    assert not {"perceptual_hash", "blurhash"} & set(without)
    (image,) = run(tmp_path, link, sizes=SIZES, perceptual_hash=True, blurhash=True).items[0]["images"]
    assert image["status"] == "uptodate"
    assert len(image["perceptual_hash"]) == 16
    assert len(image["blurhash"]) > 6
    other = server.put("/2.jpg", photo)
    (fresh,) = run(tmp_path, other, perceptual_hash=True).items[0]["images"]
    assert fresh["perceptual_hash"] == image["perceptual_hash"]
    assert "blurhash" not in fresh
    assert server.asked == ["/1.jpg", "/2.jpg"]


def test_a_store_of_the_projects_gets_the_size_that_stands_for_the_image_last(
    tmp_path: Path, server: Server, photo: bytes
) -> None:
    link = server.put("/1.jpg", photo)
    settings: dict[str, Any] = {"IMAGES_STORE": "far://bucket/", "POLITE_IMAGES": {"sizes": SIZES, "original": "none"}}
    crawl = Crawl(tmp_path / "run", [{"image_urls": [link]}], settings, pipeline="Far")
    tiny, wide, small = (
        f"thumbs/{size}/{name(link)}.{kind}" for size, kind in (("tiny", "jpg"), ("wide", "webp"), ("small", "jpg"))
    )
    assert [call[:3] for call in crawl.calls] == [
        ["stat", wide],
        ["put", tiny, "image/jpeg"],
        ["put", small, "image/jpeg"],
        ["put", wide, "image/webp"],
    ]
    later = Crawl(tmp_path / "run", [{"image_urls": [link]}], settings, pipeline="Far", stored=[wide])
    (image,) = later.items[0]["images"]
    assert (image["status"], image["path"], sorted(image["variants"])) == ("uptodate", wide, ["small", "tiny", "wide"])
    assert server.asked == ["/1.jpg"]


def test_an_animation_tells_its_frames(tmp_path: Path, server: Server) -> None:
    frames = [Image.new("L", (90, 90), shade) for shade in (0, 120, 250)]
    link = server.put("/1.gif", encode(frames[0], "gif", save_all=True, append_images=frames[1:], duration=100))
    sizes = {"moving": {"width": 40}, "still": {"width": 40, "format": "jpeg"}}
    for status in ("downloaded", "uptodate"):
        (image,) = run(tmp_path, link, sizes=sizes, animation="keep").items[0]["images"]
        assert (image["status"], image["frames"]) == (status, 3)
        assert {name: variant["frames"] for name, variant in image["variants"].items()} == {"moving": 3, "still": 1}
