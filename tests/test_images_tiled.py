"""AVIFs that make a decoder decode more than they show."""

from __future__ import annotations

import time

import pytest
from pictures import encode, outcome
from PIL import Image
from tiled_avifs import cut_out, tiled

VALUE = {"sizes": {"s": {"width": 10}}, "max_megapixels": 1}


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(tiled(900, 900, 8), id="one tile again and again"),
        pytest.param(tiled(1100, 500, 1), id="a tile that juts out"),
        pytest.param(cut_out(1100, 10), id="cut to a few pixels"),
    ],
)
def test_what_decodes_far_more_than_it_shows_is_refused_from_the_header(data: bytes) -> None:
    before = time.process_time()
    assert outcome(data, VALUE) == "too_many_pixels"
    assert time.process_time() - before < 0.05
    assert len(data) < 1500


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(tiled(500, 1000, 2), id="tiles"),
        pytest.param(tiled(300, 1000, 4), id="tiles that jut out a little"),
        pytest.param(cut_out(990, 10), id="cut"),
        pytest.param(encode(Image.new("RGBA", (990, 990)), "avif", speed=10), id="transparent"),
        pytest.param(encode(Image.new("RGB", (100, 100)), "avif") + b"\xff" * 9, id="something behind the end"),
    ],
)
def test_tiles_cuts_and_transparency_are_read(data: bytes) -> None:
    assert outcome(data, VALUE) == "ok"


def test_pictures_that_are_put_together_from_themselves_are_refused() -> None:
    data = tiled(100, 100, 2)
    assert outcome(data.replace(b"dimg\0\2\0\4\0\1\0\1", b"dimg\0\2\0\4\0\2\0\2"), VALUE) == "unsupported"
