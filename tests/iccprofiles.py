"""Colour profiles made from the definitions of their colour spaces, and the reference values that follow from those.

Sources: ICC.1:2001-04 (the file, version 2); IEC 61966-2-1 (sRGB); SMPTE EG 432-1 (the primaries of P3); Adobe RGB (1998)
section 4.3; S. J. Bradford's matrix for D65 to D50 as in ICC.1:2022 annex E.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

Matrix = list[list[float]]
Curve = Callable[[float], float]
Primaries = Sequence[tuple[float, float]]

_D65 = (0.3127, 0.3290)
_D50 = (0.9642, 1.0, 0.8249)
_BRADFORD: Matrix = [[0.8951, 0.2664, -0.1614], [-0.7502, 1.7135, 0.0367], [0.0389, -0.0685, 1.0296]]
SRGB = ((0.64, 0.33), (0.30, 0.60), (0.15, 0.06))
DISPLAY_P3 = ((0.680, 0.320), (0.265, 0.690), (0.150, 0.060))
ADOBE_RGB = ((0.64, 0.33), (0.21, 0.71), (0.15, 0.06))


def srgb_curve(value: float) -> float:
    """From what is stored to linear light, both 0 to 1."""
    return float(value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4)


def gamma(exponent: float) -> Curve:
    return lambda value: float(value**exponent)


def matrix_profile(primaries: Primaries, curve: Curve) -> bytes:
    """An RGB profile of three primaries, white D65, and one curve."""
    columns = _times(_to_d50(), _to_xyz(primaries))
    tags = {name: _xyz(*(row[at] for row in columns)) for at, name in enumerate((b"rXYZ", b"gXYZ", b"bXYZ"))}
    return _profile(b"RGB ", {**tags, **dict.fromkeys((b"rTRC", b"gTRC", b"bTRC"), _curve(curve))})


def grey_profile(curve: Curve) -> bytes:
    return _profile(b"GRAY", {b"kTRC": _curve(curve)})


def stored_as(colour: tuple[int, int, int], primaries: Primaries, curve: Curve, most: int = 255) -> list[int]:
    """The numbers, 0 to most, that mean an 8-bit sRGB colour in another space of the same white."""
    linear = [[srgb_curve(value / 255)] for value in colour]
    wide = _times(_inverse(_to_xyz(primaries)), _times(_to_xyz(SRGB), linear))
    return [round(_back(curve, min(1.0, max(0.0, row[0]))) * most) for row in wide]


def _back(curve: Curve, linear: float) -> float:
    low, high = 0.0, 1.0
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if curve(middle) < linear else (low, middle)
    return low


def _to_xyz(primaries: Primaries) -> Matrix:
    columns = [_lit(*primary) for primary in primaries]
    plain = [list(row) for row in zip(*columns, strict=True)]
    scale = _times(_inverse(plain), [[value] for value in _lit(*_D65)])
    return [[row[at] * scale[at][0] for at in range(3)] for row in plain]


def _lit(x: float, y: float) -> list[float]:
    return [x / y, 1.0, (1 - x - y) / y]


def _to_d50() -> Matrix:
    before = _times(_BRADFORD, [[value] for value in _lit(*_D65)])
    after = _times(_BRADFORD, [[value] for value in _D50])
    scaled = [[value * after[at][0] / before[at][0] for value in row] for at, row in enumerate(_BRADFORD)]
    return _times(_inverse(_BRADFORD), scaled)


def _times(a: Matrix, b: Matrix) -> Matrix:
    return [[sum(x * y for x, y in zip(row, column, strict=True)) for column in zip(*b, strict=True)] for row in a]


def _inverse(m: Matrix) -> Matrix:
    (a, b, c), (d, e, f), (g, h, i) = m
    whole = a * (e * i - f * h) - b * (d * i - f * g) + c * (d * h - e * g)
    adjugate = [
        [e * i - f * h, c * h - b * i, b * f - c * e],
        [f * g - d * i, a * i - c * g, c * d - a * f],
        [d * h - e * g, b * g - a * h, a * e - b * d],
    ]
    return [[value / whole for value in row] for row in adjugate]


def _fixed(value: float) -> bytes:
    return round(value * 65536).to_bytes(4, "big", signed=True)


def _xyz(*values: float) -> bytes:
    return b"XYZ " + bytes(4) + b"".join(map(_fixed, values))


def _curve(curve: Curve) -> bytes:
    table = b"".join(round(curve(at / 1023) * 65535).to_bytes(2, "big") for at in range(1024))
    return b"curv" + bytes(4) + (1024).to_bytes(4, "big") + table


def _profile(space: bytes, tags: dict[bytes, bytes]) -> bytes:
    name = b"made for a test\0"
    text = b"desc" + bytes(4) + len(name).to_bytes(4, "big") + name + bytes(4 + 4 + 2 + 1 + 67)
    tags = {b"desc": text, b"cprt": b"text" + bytes(4) + b"none\0", b"wtpt": _xyz(*_D50), **tags}
    table, data, start = b"", b"", 128 + 4 + 12 * len(tags)
    for tag, value in tags.items():
        table += tag + (start + len(data)).to_bytes(4, "big") + len(value).to_bytes(4, "big")
        data += value + bytes(-len(value) % 4)
    date = b"".join(part.to_bytes(2, "big") for part in (2026, 1, 1, 0, 0, 0))
    head = bytes(8) + b"\x02\x10\0\0" + b"mntr" + space + b"XYZ " + date + b"acsp" + bytes(28) + b"".join(map(_fixed, _D50))
    size = (start + len(data)).to_bytes(4, "big")
    return size + head[4:] + bytes(128 - len(head)) + len(tags).to_bytes(4, "big") + table + data
