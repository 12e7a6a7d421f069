from __future__ import annotations

import base64
import importlib
import io
import logging
import random
import subprocess
import sys
import threading
import zlib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from PIL import Image
from poison_image import POISON

from scrapy_polite.images import OUTCOMES, ImagesConfig, Picture, Rejected, Size, images_from
from scrapy_polite.images.convert import convert, load, probe
from scrapy_polite.images.libvips import quiet

load()  # before anything else of pyvips: it sets the process up
pyvips = importlib.import_module("pyvips")  # it has stubs, but does not declare them

CONFIG = images_from({"sizes": {"s": {"width": 20, "height": 20}, "j": {"width": 10, "height": 10, "format": "jpeg"}}})


def encode(image: Image.Image, kind: str, **options: object) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, kind, **options)
    return buffer.getvalue()


def photo(size: tuple[int, int] = (40, 30)) -> Image.Image:
    return Image.effect_noise(size, 60).convert("RGB")


EXIF = Image.Exif()
EXIF[0x0112], EXIF[0x010E] = 6, "a caption"
GOOD = {
    "jpeg": encode(photo(), "jpeg", exif=EXIF),
    "png": encode(photo(), "png", exif=EXIF),
    "webp": encode(photo(), "webp", exif=EXIF),
    "gif": encode(photo(), "gif"),
    "avif": encode(photo(), "avif", exif=EXIF),
}
SEEDS = [
    *GOOD.values(),
    encode(photo(), "jpeg", progressive=True),
    encode(photo(), "webp", lossless=True),
    encode(photo(), "gif", save_all=True, append_images=[photo()]),
    POISON,
]


def outcome(data: bytes, config: ImagesConfig = CONFIG) -> str:
    answer = convert(data, config)
    return answer.outcome if isinstance(answer, Rejected) else "ok"


def buffered() -> bytes:
    text = pyvips.ffi.string(pyvips.vips_lib.vips_error_buffer())
    assert isinstance(text, bytes)
    return text


@pytest.fixture
def poisoned() -> None:
    """The error buffer as the bad image leaves it to somebody who uses pyvips without us."""
    with pytest.raises(UnicodeDecodeError):
        pyvips.Image.new_from_buffer(POISON, "")
    assert b"\xff" in buffered()


def damaged(seed: bytes, chance: random.Random) -> bytes:
    """Some bytes changed, taken out or put in; more of them near the start, where the headers are."""
    body = bytearray(seed)
    for _ in range(chance.randint(1, 8)):
        at = chance.randrange(min(len(body), 300) if chance.random() < 0.6 else len(body))
        what = chance.random()
        if what < 0.7:
            body[at] = chance.choice([0, 1, 127, 255, chance.randrange(256)])
        elif what < 0.85:
            del body[at : at + chance.randint(1, 20)]
        else:
            body[at:at] = chance.randbytes(chance.randint(1, 8))
    return bytes(body)


@pytest.mark.parametrize("kind", GOOD)
def test_what_one_image_leaves_behind_does_not_reach_the_next(kind: str) -> None:
    good = GOOD[kind]
    before = convert(good, CONFIG)
    assert isinstance(before, Picture)
    for _ in range(3):
        assert outcome(POISON) == "unsupported"
        assert buffered() == b""
        assert convert(good, CONFIG) == before
        assert outcome(good[: len(good) // 2]) == "truncated"


@pytest.mark.usefixtures("poisoned")
def test_what_somebody_else_left_in_the_error_buffer_does_not_reach_us() -> None:
    assert outcome(GOOD["jpeg"]) == "ok"
    assert buffered() == b""


def test_the_error_buffer_stays_empty_until_the_last_thread_is_through() -> None:
    vips, first_in, second_out = load(), threading.Event(), threading.Event()

    def first() -> bytes:
        with quiet(vips):
            first_in.set()
            assert second_out.wait(10)
            with pytest.raises(pyvips.Error):  # not UnicodeDecodeError
                pyvips.Image.new_from_buffer(POISON, "")
            return buffered()

    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(first)
        assert first_in.wait(10)
        with quiet(vips):
            pass
        second_out.set()
        assert running.result() == b""


def test_after_us_the_errors_of_others_have_details_again() -> None:
    assert outcome(POISON) == "unsupported"
    with pytest.raises(pyvips.Error, match="buffer is not in a known format"):
        pyvips.Image.new_from_buffer(b"no image", "")


@pytest.mark.parametrize("threads", [1, 2])
def test_no_damage_raises_and_good_images_are_made_after_it(threads: int) -> None:
    wanted = {kind: convert(good, CONFIG) for kind, good in GOOD.items()}

    def batch(number: int) -> list[str]:
        chance = random.Random(f"{threads} {number}")
        said = [outcome(damaged(seed, chance)) for seed in SEEDS for _ in range(15)] + [outcome(POISON)]
        assert {kind: convert(good, CONFIG) for kind, good in GOOD.items()} == wanted
        return said

    with ThreadPoolExecutor(threads) as pool:
        said = [one for batch in pool.map(batch, range(12)) for one in batch]
    assert set(said) <= set(OUTCOMES) - {"encode_failed"}
    assert {"ok", "truncated", "not_an_image", "unsupported"} <= set(said)
    assert buffered() == b""


def test_words_in_an_image_may_be_in_any_encoding() -> None:
    def chunk(name: bytes, data: bytes) -> bytes:
        return len(data).to_bytes(4, "big") + name + data + zlib.crc32(name + data).to_bytes(4, "big")

    # The keyword of a text is Latin-1: PNG (third edition), section 11.3.3.
    at = GOOD["png"].index(b"IDAT") - 4
    titled = GOOD["png"][:at] + chunk(b"tEXt", "T\u00edtulo\0Sal\u00f3n".encode("latin-1")) + GOOD["png"][at:]
    assert outcome(titled) == "ok"
    noted = encode(photo(), "jpeg", comment=b"Sal\xf3n \xff\xfe", exif=EXIF).replace(b"a caption", b"a capti\xf3n")
    assert outcome(noted) == "ok"


def test_an_exception_that_nobody_expects_is_an_outcome_of_its_image() -> None:
    wrong: object = "high"
    quality = replace(CONFIG, sizes=(Size("s", 20, 20, quality=wrong),))  # type: ignore[arg-type]
    answer = convert(GOOD["jpeg"], quality)
    assert isinstance(answer, Rejected)
    assert (answer.outcome, "ValueError" in answer.detail, "\n" in answer.detail) == ("encode_failed", True, False)
    header = probe(GOOD["jpeg"], replace(CONFIG, max_pixels=wrong))  # type: ignore[arg-type]
    assert isinstance(header, Rejected)
    assert (header.outcome, "TypeError" in header.detail) == ("unsupported", True)
    assert outcome(GOOD["jpeg"]) == "ok"


def test_warnings_go_to_our_log_at_debug(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, "scrapy_polite"):
        assert outcome(GOOD["png"]) == "ok"
        assert caplog.records == []
        half = len(GOOD["png"]) // 2
        assert outcome(GOOD["png"][:half] + b"\xff" * 40 + GOOD["png"][half + 40 :]) == "truncated"
    assert {(record.name, record.levelname) for record in caplog.records} == {("scrapy_polite.images.libvips", "DEBUG")}
    assert len(caplog.records) < 50


def test_nothing_is_written_to_the_standard_error() -> None:
    code = """
import base64, sys
from scrapy_polite.images import images_from
from scrapy_polite.images.convert import convert, load
load()
import pyvips
poison, *others = (base64.b64decode(word) for word in sys.stdin.read().split())
for body in (poison, *others):
    print(type(convert(body, images_from(None))).__name__)
# Without us, what libvips warns of quotes the error buffer, with the byte in it that is not UTF-8.
for use in (lambda: pyvips.Image.new_from_buffer(poison, ""), lambda: pyvips.Image.pngload_buffer(others[1]).avg()):
    try:
        use()
    except UnicodeDecodeError:
        print("raised")
"""
    large = encode(photo((300, 200)), "png")
    # GLib, not libvips, complains of a width that is beyond the longest side (property "ispe": ISO/IEC 23008-12, 6.5.3).
    at = GOOD["avif"].index(b"ispe") + 8
    wide = GOOD["avif"][:at] + b"\x7f\x00\x00\x01" + GOOD["avif"][at + 4 :]
    words = b" ".join(map(base64.b64encode, (POISON, large, large[:-9000], wide)))
    run = subprocess.run([sys.executable, "-c", code], input=words, capture_output=True, check=False)
    assert run.stderr == b""
    assert run.stdout.split() == [b"Rejected", b"Picture", b"Rejected", b"Rejected", b"raised", b"raised"]
