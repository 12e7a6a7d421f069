"""The aims of the benchmark of images fail when they should, and its bombs are what they are called."""

from __future__ import annotations

import argparse
import io
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from PIL import Image

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.images import OURS as POLITE
from benchmarks.images import STOCK, Bench
from benchmarks.imaging import bombs, judging
from benchmarks.imaging.judging import Crawled, Making, Refused
from scrapy_polite.images import Header, Picture, images_from
from scrapy_polite.images.convert import convert, probe

OURS = Making(cpu=75, wall=80, base=40, peak=110, bytes=100_000)
SCRAPY = replace(OURS, cpu=301, peak=221)
CRAWLED = Crawled("ours", gap=20, own=10, p99=5, machine=10, seconds=5, base=100, peak=200, exact=40, of=40)
REFUSED = Refused("too_many_pixels", ms=1, mb=2)


def met(aims: object) -> list[object]:
    return [aim.met for aim in aims]  # type: ignore[attr-defined]


def test_a_fourth_of_the_processor_and_half_of_the_memory_are_asked_for() -> None:
    def judged(scrapy: Making, rounds: int = 3) -> list[object]:
        return met(judging.making([{"ours": OURS, "scrapy": SCRAPY}] * (rounds - 1) + [{"ours": OURS, "scrapy": scrapy}] * 2))

    assert judged(SCRAPY) == [True, True]
    assert judged(replace(SCRAPY, cpu=299), 1) == [False, True]
    assert judged(replace(SCRAPY, peak=219), 1) == [True, False]
    assert judged(replace(SCRAPY, cpu=299, peak=219), 4) == [True, True], "one round in four does not decide"


def test_a_crawl_that_holds_up_its_loop_or_changes_one_original_is_told() -> None:
    assert met(judging.crawling([CRAWLED])) == [True, True]
    assert met(judging.crawling([replace(CRAWLED, gap=51)])) == [False, True]
    assert met(judging.crawling([CRAWLED, replace(CRAWLED, exact=39)])) == [True, False]
    assert met(judging.crawling([replace(CRAWLED, exact=0, of=0)])) == [True, False], "nothing stored is not all"


def test_memory_that_grows_is_told() -> None:
    assert met(judging.flat({200: 200.0, 1000: 229.0})) == [True]
    assert met(judging.flat({200: 200.0, 1000: 231.0})) == [False]


def test_each_bomb_must_be_refused_soon_and_with_little() -> None:
    good = {"a": [REFUSED] * 3, "b": [REFUSED] * 3}
    assert met(judging.refusing(good)) == [True, True, True]
    assert met(judging.refusing({**good, "b": [REFUSED, REFUSED, replace(REFUSED, said="made")]})) == [False, True, True]
    assert met(judging.refusing({**good, "b": [replace(REFUSED, said="DecompressionBombError")]})) == [False, True, True]
    assert met(judging.refusing({**good, "b": [replace(REFUSED, ms=51)] * 2 + [REFUSED]})) == [True, False, True]
    assert met(judging.refusing({**good, "b": [replace(REFUSED, mb=61), REFUSED, REFUSED]})) == [True, True, False]


def test_what_others_do_is_judged_by_the_same_measure_and_fails(tmp_path: Path) -> None:
    bench = Bench(argparse.Namespace(short=True, json=None, rounds=1, images=1), tmp_path)
    stock, ours = (bench.crawled(name, 3, pipeline, {}) for name, pipeline in (("stock-0", STOCK), ("ours-0", POLITE)))
    assert met(judging.crawling([stock])) == [False, False]
    assert met(judging.crawling([ours]))[1] is True
    assert ours.own < stock.own
    path = tmp_path / "bomb"
    path.write_bytes(bombs.bombs()["JPEG 13000x13000"])
    tried = {way: [bench.refused(way, path)] for way in ("ours", "pillow")}
    assert met(judging.refusing({"one": tried["ours"]}))[0] is True
    assert met(judging.refusing({"one": tried["pillow"]}))[0] is False


@pytest.mark.parametrize(
    ("data", "kind", "frames"),
    [
        (bombs.png(301), "png", 1),
        (bombs.png(301, interlaced=True), "png", 1),
        (bombs.jpeg(301), "jpeg", 1),
        (bombs.jpeg(301, progressive=True), "jpeg", 1),
        (bombs.webp(301), "webp", 1),
        (bombs.gif(301, 7), "gif", 7),
    ],
    ids=["png", "interlaced", "jpeg", "progressive", "webp", "gif"],
)
def test_what_is_written_here_is_a_whole_image_to_every_decoder(data: bytes, kind: str, frames: int) -> None:
    picture = convert(data, images_from({"sizes": {"s": {"width": 60}}, "max_frames": 10}))
    assert isinstance(picture, Picture)
    header = picture.header
    assert (header.format, header.width, header.height, header.frames) == (kind, 301, 301, frames)
    with Image.open(io.BytesIO(data)) as image:
        for frame in range(frames):
            image.seek(frame)
            image.load()
        assert (image.format, image.size, getattr(image, "n_frames", 1)) == (kind.upper(), (301, 301), frames)
        low, high = image.convert("L").getextrema()
    assert low == high


def test_the_bombs_are_small_files_with_the_canvases_that_they_are_called_by() -> None:
    anything = images_from({"max_megapixels": 10_000, "max_megapixels_unstreamable": 10_000, "max_frames": 1_000})
    for name, data in bombs.bombs().items():
        header = probe(data, anything)
        assert isinstance(header, Header), name
        frames = f", {header.frames} frames" if header.frames > 1 else ""
        assert name.lower().startswith(f"{header.format} {header.width}x{header.height}{frames}")
        assert header.streamable == ((", " not in name and header.format != "avif") or header.format == "gif")
        assert len(data) < 5_000_000
