"""Colour profiles that take longer to apply than a picture to decode."""

from __future__ import annotations

import struct
import time

import pytest
from pictures import encode, noise, outcome

VALUE = {"sizes": {"s": {"width": 10}}}
CURVE = b"curv" + bytes(4) + struct.pack(">IH", 1, 0x0233) + bytes(2)
SIDES = {
    "wtpt": (0.9642, 1, 0.8249),
    "rXYZ": (0.436, 0.222, 0.014),
    "gXYZ": (0.385, 0.717, 0.097),
    "bXYZ": (0.143, 0.061, 0.714),
}


def profile(elements: int, longer: int = 0) -> bytes:
    """One of a screen, whose colours are also said by so many times the same matrix (ICC.1:2022 sections 7.2, 7.3, 10.16)."""
    tags = {
        name.encode(): b"XYZ " + bytes(4) + struct.pack(">3i", *(int(v * 65536) for v in xyz)) for name, xyz in SIDES.items()
    }
    tags.update(dict.fromkeys((b"rTRC", b"gTRC", b"bTRC"), CURVE))
    matrix = b"matf" + bytes(4) + struct.pack(">HH12f", 3, 3, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0)
    listed = b"mpet" + bytes(4) + struct.pack(">HHI", 3, 3, elements)
    listed += struct.pack(">II", 16 + 8 * elements, len(matrix)) * elements + matrix + bytes(longer)
    tags.update({b"D2B%d" % intent: listed for intent in range(4)} if elements else {})
    table, body, first = b"", b"", 132 + 12 * len(tags)
    for name, data in tags.items():
        table += name + struct.pack(">II", first + len(body), len(data))
        body += data
    head = bytearray(128)
    head[:4], head[8:12] = struct.pack(">I", first + len(body)), b"\4\x30\0\0"
    head[12:24], head[36:40] = b"mntrRGB XYZ ", b"acsp"
    head[68:80] = struct.pack(">3I", 0xF6D6, 0x10000, 0xD32D)
    return bytes(head) + struct.pack(">I", len(tags)) + table + body


@pytest.mark.parametrize("kind", ["png", "jpeg", "webp", "avif"])
def test_a_profile_of_thousands_of_steps_is_refused_at_once(kind: str) -> None:
    picture = noise(64, 64)
    for made in (profile(3000), profile(9), profile(4, 40_000)):
        data, before = encode(picture, kind, icc_profile=made), time.process_time()
        assert outcome(data, VALUE) == "unsupported"
        assert time.process_time() - before < 0.05  # 0.9 s for 3000 steps
    for made in (profile(0), profile(8)):
        assert outcome(encode(picture, kind, icc_profile=made), VALUE) == "ok"
