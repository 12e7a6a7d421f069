from __future__ import annotations

import asyncio
import hashlib
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from image_crawls import Crawl, Server, encode, files
from PIL import Image
from poison_image import POISON

from scrapy_polite.media.backlog import Backlog
from scrapy_polite.media.store import AtomicFilesStore

if TYPE_CHECKING:
    from pathlib import Path

SIZES = {
    "small": {"width": 60, "height": 60, "format": "webp"},
    "square": {"width": 40, "height": 40, "fit": "cover", "format": "jpeg"},
}


@pytest.fixture
def photo() -> bytes:
    return encode(Image.effect_noise((300, 200), 60).convert("RGB"), "jpeg")


def shape(path: Path) -> tuple[int, int]:
    with Image.open(path) as image:
        image.load()
        return image.width, image.height


def name(url: str) -> str:
    return hashlib.sha1(url.encode()).hexdigest()


def test_an_image_that_poisons_the_library_costs_itself_and_no_other(tmp_path: Path, server: Server, photo: bytes) -> None:
    bad = server.put("/poison.avif", POISON)
    good = [server.put(f"/good/{number}", photo) for number in range(6)]
    settings = {"IMAGES_STORE": str(tmp_path / "store"), "POLITE_IMAGES": {"sizes": SIZES}}
    crawl = Crawl(tmp_path / "run", [{"image_urls": [bad]}, {"image_urls": good}], settings)
    assert crawl.outcomes == {"ok": 6, "unsupported": 1}
    assert "Traceback" not in crawl.log


def test_images_are_kept_as_they_came_with_their_sizes_and_bad_ones_cost_a_line_each(
    tmp_path: Path, server: Server, photo: bytes
) -> None:
    logo = encode(Image.new("RGBA", (100, 50), (255, 0, 0, 0)), "png")
    frames = [Image.new("L", (90, 90), shade) for shade in (0, 120, 250)]
    good = [server.put("/a/photo", photo), server.put("/logo.png", logo)]
    bad = {
        "too_many_pixels": encode(Image.new("L", (1100, 1000)), "png"),
        "too_many_frames": encode(frames[0], "gif", save_all=True, append_images=frames[1:]),
        "too_many_bytes": photo + bytes(400_000),
        "too_small": encode(Image.new("L", (49, 50)), "png"),
        "truncated": photo[: len(photo) // 2],
        "unsupported": b"<svg xmlns='http://www.w3.org/2000/svg'/>",
        "not_an_image": b"<!doctype html><h1>Not here</h1>",
        "encode_failed": encode(Image.new("1", (51, 16_384)), "png"),
    }
    links = [
        *good,
        *(server.put(f"/bad/{outcome}", body) for outcome, body in bad.items()),
        server.put("/no", b"")[:-2] + "gone",
    ]
    settings = {
        "IMAGES_STORE": str(tmp_path / "store"),
        "POLITE_IMAGES": {
            "sizes": {**SIZES, "tall": {"width": 60, "format": "webp"}},
            "max_megapixels": 1,
            "max_bytes": 300_000,
            "min_width": 50,
            "min_height": 50,
        },
    }
    crawl = Crawl(tmp_path / "run", [{"title": "A house", "image_urls": links}], settings)

    assert crawl.outcomes == {"ok": 2, **dict.fromkeys(bad, 1), "http_error": 1}
    assert "Traceback" not in crawl.log
    for outcome in bad:
        assert [f"Image not kept ({outcome}): <{links[0][:17]}" in line for line in crawl.log.splitlines()].count(True) == 1
    assert [(item["title"], len(item["images"])) for item in crawl.items] == [("A house", 2)]
    first, second = crawl.items[0]["images"]
    assert {key: first[key] for key in first if key != "variants"} == {
        "url": good[0],
        "path": f"full/{name(good[0])}.jpg",
        "checksum": hashlib.sha256(photo).hexdigest(),
        "status": "downloaded",
        "width": 300,
        "height": 200,
        "format": "jpeg",
        "bytes": len(photo),
        "frames": 1,
    }
    assert {size: (v["width"], v["height"], v["format"]) for size, v in first["variants"].items()} == {
        "small": (60, 40, "webp"),
        "square": (40, 40, "jpeg"),
        "tall": (60, 40, "webp"),
    }
    assert (second["path"], second["format"], second["variants"]["small"]["path"]) == (
        f"full/{name(good[1])}.png",
        "png",
        f"thumbs/small/{name(good[1])}.webp",
    )
    store = tmp_path / "store"
    assert (store / first["path"]).read_bytes() == photo
    assert (store / second["path"]).read_bytes() == logo
    images = {image["path"] for image in (first, second)}
    assert files(store) == images | {f"kept/{path}.json" for path in images} | {
        variant["path"] for image in (first, second) for variant in image["variants"].values()
    }
    for image in (first, second):
        for variant in image["variants"].values():
            path = store / variant["path"]
            assert (shape(path), path.stat().st_size) == ((variant["width"], variant["height"]), variant["bytes"])
    assert crawl.stats["reason"] == "finished"


def test_what_is_stored_is_not_fetched_again_and_lacking_or_outdated_sizes_are_made_from_it(
    tmp_path: Path, server: Server, photo: bytes
) -> None:
    links = [server.put(f"/{n}.jpg", photo + bytes(n)) for n in range(3)]
    settings: dict[str, Any] = {"IMAGES_STORE": str(tmp_path / "store"), "POLITE_IMAGES": {"sizes": SIZES}}
    before = Crawl(tmp_path / "run", [{"image_urls": links}], settings)
    assert sorted(server.asked) == ["/0.jpg", "/1.jpg", "/2.jpg"]

    again = Crawl(tmp_path / "run", [{"image_urls": links}], settings)
    assert len(server.asked) == 3
    assert again.items[0]["images"] == [{**image, "status": "uptodate"} for image in before.items[0]["images"]]

    store = tmp_path / "store"
    (store / f"thumbs/small/{name(links[0])}.webp").unlink()
    (store / f"full/{name(links[1])}.jpg").write_bytes(photo[:9])  # as a crash leaves it where writes are not atomic
    sizes = {"small": SIZES["small"], "square": {**SIZES["square"], "width": 30}, "new": {"width": 20}}
    settings["POLITE_IMAGES"] = {"sizes": sizes}
    mended = Crawl(tmp_path / "run", [{"image_urls": links}], settings)
    assert server.asked[3:] == ["/1.jpg"]
    assert [image["status"] for image in mended.items[0]["images"]] == ["uptodate", "downloaded", "uptodate"]
    for image, original in zip(mended.items[0]["images"], before.items[0]["images"], strict=True):
        assert image["checksum"] == original["checksum"]
        assert {size: (v["width"], v["height"]) for size, v in image["variants"].items()} == {
            "small": (60, 40),
            "square": (30, 40),
            "new": (20, 13),
        }
        for variant in image["variants"].values():
            assert shape(store / variant["path"]) == (variant["width"], variant["height"])

    settings["POLITE_IMAGES"] = {"min_width": 1000}
    refused = Crawl(tmp_path / "run", [{"image_urls": links}], settings)
    assert refused.outcomes == {"too_small": 3}
    assert (refused.items[0]["images"], len(server.asked)) == ([], 4)


def test_a_project_with_its_own_subclass_fields_and_thumbs_goes_on_as_before(
    tmp_path: Path, server: Server, photo: bytes
) -> None:
    items: list[dict[str, Any]] = [
        {
            "agent": agent,
            "photos": [server.put(f"/{agent}/{n}", photo + agent.encode()) for n in range(2)] + ["http://127.0.0.1:1/"],
        }
        for agent in ("ash", "birch")
    ]
    settings = {
        "IMAGES_STORE": str(tmp_path / "store"),
        "IMAGES_THUMBS": {"thumb": [50, 50]},
        "NAMEDBYITEM_IMAGES_MIN_WIDTH": 300,
    }
    crawl = Crawl(tmp_path / "run", items, settings, pipeline="NamedByItem")
    assert sorted((item["files"], len(item["failed"])) for item in crawl.items) == [
        (["ash/0.img", "ash/1.img"], 1),
        (["birch/0.img", "birch/1.img"], 1),
    ]
    store = tmp_path / "store"
    for item in items:
        for n, url in enumerate(item["photos"][:2]):
            assert (store / f"{item['agent']}/{n}.img").read_bytes() == photo + item["agent"].encode()
            assert shape(store / f"thumbs/thumb/{name(url)}.jpg") == (50, 33)
    too_small = Crawl(tmp_path / "run2", items, {**settings, "NAMEDBYITEM_IMAGES_MIN_WIDTH": 301}, pipeline="NamedByItem")
    assert too_small.outcomes == {"too_small": 4, "failed": 1}


def test_a_name_that_leads_out_of_the_store_is_refused(tmp_path: Path, server: Server, photo: bytes) -> None:
    items = [{"agent": "../outside", "photos": [server.put("/x", photo)]}]
    crawl = Crawl(tmp_path / "run", items, {"IMAGES_STORE": str(tmp_path / "store")}, pipeline="NamedByItem")
    assert "leads out of the store" in crawl.items[0]["failed"][0]
    assert (server.asked, crawl.outcomes, files(tmp_path / "store")) == ([], {"not_stored": 1}, set())
    assert "Traceback" not in crawl.log  # a page may have written what the name is made of


def test_a_project_that_names_files_wrongly_is_told_so_and_nothing_is_fetched_or_overwritten(
    tmp_path: Path, server: Server, photo: bytes
) -> None:
    wrong = [server.put(f"/{way}", photo) for way in ("none", "bytes", "raises")]
    good = server.put("/good", photo)
    job = {"settings": {"IMAGES_STORE": str(tmp_path / "store")}, "pipeline": "Misnamed"}
    crawl = Crawl(tmp_path / "run", [{"image_urls": [*wrong, good]}], **job)
    assert ([image["url"] for image in crawl.items[0]["images"]], server.asked) == ([good], ["/good"])
    assert crawl.outcomes == {"failed": 3, "ok": 1}
    assert crawl.log.count("TypeError: image path ") == 2
    assert "KeyError: 'name'" in crawl.log
    assert files(tmp_path / "store") == {f"full/{name(good)}.jpg", f"kept/full/{name(good)}.jpg.json"}


def test_another_store_is_asked_once_and_gets_the_original_last(tmp_path: Path, server: Server, photo: bytes) -> None:
    link = server.put("/photo.png", photo)
    settings = {"IMAGES_STORE": "far://bucket/", "POLITE_IMAGES": {"sizes": SIZES}}
    crawl = Crawl(tmp_path / "run", [{"image_urls": [link]}] * 2, settings, pipeline="Far")
    original, small = f"full/{name(link)}.png", f"thumbs/small/{name(link)}.webp"
    assert crawl.calls == [
        ["stat", original],
        ["put", small, "image/webp", "60x40"],
        ["put", f"thumbs/square/{name(link)}.jpg", "image/jpeg", "40x40"],
        ["put", original, "image/jpeg", "300x200"],
    ]
    assert [len(item["images"]) for item in crawl.items] == [1, 1]

    later = Crawl(tmp_path / "run", [{"image_urls": [link]}], settings, pipeline="Far", stored=[original])
    assert later.calls == [["stat", original]]
    image = later.items[0]["images"][0]
    assert (image["status"], image["checksum"], image["width"]) == ("uptodate", "an-etag", None)
    assert image["variants"]["small"]["path"] == small
    assert server.asked == ["/photo.png"]


def test_an_image_that_must_wait_when_the_crawl_ends_is_deferred_and_its_item_goes_on(
    tmp_path: Path, server: Server, photo: bytes
) -> None:
    link = server.put("/photo.jpg", photo)
    settings = {"IMAGES_STORE": str(tmp_path / "store")}
    crawl = Crawl(tmp_path / "run", [{"image_urls": [link]}], settings, not_now=True)
    image = crawl.items[0]["images"][0]
    assert (image["status"], image["path"], image["checksum"]) == ("deferred", f"full/{name(link)}.jpg", None)
    assert crawl.outcomes == {"deferred": 1}
    assert server.asked == []
    assert "Traceback" not in crawl.log


def test_the_event_loop_goes_on_while_large_images_are_made(tmp_path: Path, server: Server) -> None:
    large = encode(Image.effect_noise((4000, 3000), 60).convert("RGB"), "jpeg", quality=85)
    links = [server.put(f"/{n}.jpg", large + bytes(n)) for n in range(10)]
    settings = {
        "IMAGES_STORE": str(tmp_path / "store"),
        "POLITE_IMAGES": {"sizes": {"wide": {"width": 1600}, "web": {"width": 600, "format": "webp"}}},
        "CONCURRENT_REQUESTS_PER_DOMAIN": 16,
    }
    crawl = Crawl(tmp_path / "run", [{"image_urls": links}], settings)
    assert crawl.outcomes == {"ok": 10}
    # On the loop, finished downloads are decoded back to back: seconds. In threads it is some hundredths of a second.
    assert crawl.stats["lag"] < 1.0


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    store = AtomicFilesStore(str(tmp_path))
    (tmp_path / "plain").write_bytes(b"")
    store.write("full/a.jpg", b"first")
    store.write("full/a.jpg", b"second")
    assert store.read("full/a.jpg") == b"second"
    assert (tmp_path / "full/a.jpg").stat().st_mode == (tmp_path / "plain").stat().st_mode
    (tmp_path / "full/taken").mkdir()
    with pytest.raises(OSError, match="directory"):
        store.write("full/taken", b"third")
    assert files(tmp_path) == {"plain", "full/a.jpg"}
    assert store.read("full/none.jpg") is None


def test_no_image_is_asked_for_while_too_many_bytes_wait() -> None:
    async def crowded() -> list[bool]:
        backlog = Backlog(100)
        seen = []
        for change in (60, 40, -1, 50, -149):
            backlog.add(change)
            waiting = asyncio.ensure_future(backlog.room())
            await asyncio.sleep(0)
            seen.append(waiting.done())
            waiting.cancel()
        return seen

    assert asyncio.run(crowded()) == [True, False, True, False, True]


@pytest.mark.parametrize("thumbs", [[50, 50], {"small": 50}, {"small": ["a", "b"]}])
def test_wrong_thumbs_are_named(tmp_path: Path, thumbs: object) -> None:
    said = build(f"{STORE}\nSETTINGS['IMAGES_THUMBS'] = {thumbs!r}", tmp_path)
    assert said.startswith(f"ValueError IMAGES_THUMBS: {thumbs!r} is not a dict such as")


@pytest.mark.parametrize(("setting", "unit"), [("IMAGES_EXPIRES", "days"), ("IMAGES_MIN_WIDTH", "pixels")])
def test_a_number_of_scrapys_that_is_none_is_named(setting: str, unit: str, tmp_path: Path) -> None:
    said = build(f"{STORE}\nSETTINGS[{setting!r}] = 'some'", tmp_path)
    assert said.startswith(f"ValueError {setting}: 'some' is not a whole number ({unit})")


def build(code: str, tmp_path: Path) -> str:
    """What comes of making the pipeline in a fresh process, after some code."""
    script = f"""
import sys
{code}
from scrapy.exceptions import NotConfigured
from scrapy.utils.test import get_crawler
from scrapy_polite.media import PoliteImagesPipeline
try:
    print(PoliteImagesPipeline.from_crawler(get_crawler(settings_dict=SETTINGS)).config)
except (NotConfigured, ValueError) as error:
    print(type(error).__name__, error)
"""
    run = subprocess.run([sys.executable, "-c", script, tmp_path], capture_output=True, text=True, timeout=60)
    assert run.returncode == 0, run.stderr
    return run.stdout


STORE = "SETTINGS = {'IMAGES_STORE': sys.argv[1] + '/store'}"


def test_without_pyvips_the_extra_is_named_and_no_folder_is_made(tmp_path: Path) -> None:
    said = build(f"sys.modules['pyvips'] = None\n{STORE}", tmp_path)
    assert said.startswith("NotConfigured")
    assert "scrapy-polite[images]" in said
    assert not (tmp_path / "store").exists()


def test_pillow_is_not_needed(tmp_path: Path) -> None:
    assert build(f"sys.modules['PIL'] = None\n{STORE}", tmp_path).startswith("ImagesConfig(")


def test_without_a_store_nothing_is_loaded(tmp_path: Path) -> None:
    said = build("sys.modules['pyvips'] = None\nSETTINGS = {}", tmp_path)
    assert said.startswith("NotConfigured")
    assert "IMAGES_STORE" in said


def test_a_wrong_setting_stops_the_crawl_with_nothing_made(tmp_path: Path) -> None:
    said = build(f"{STORE}\nSETTINGS['POLITE_IMAGES'] = {{'sizes': {{'s': {{'width': -1}}}}}}", tmp_path)
    assert said.startswith("ValueError POLITE_IMAGES['sizes']['s']['width']: -1")
    assert not (tmp_path / "store").exists()


@pytest.mark.parametrize("text", ["None", '{"sizes": {}}'])
def test_the_setting_is_read_from_the_command_line_as_the_add_on_reads_it(text: str, tmp_path: Path) -> None:
    assert build(f"{STORE}\nSETTINGS['POLITE_IMAGES'] = {text!r}", tmp_path).startswith("ImagesConfig(")
