"""What a body is, and whether it ends early, by its own bytes alone: no decoder runs here.

Sources: JPEG ITU-T T.81 annex B; PNG (third edition) sections 5.2, 5.3 and 11.3.5; GIF89a sections 17 and 27; WebP
RFC 9649 section 2; HEIF and AVIF ISO/IEC 14496-12 section 4 (boxes), ISO/IEC 23008-12 and AVIF 1.1 (brands).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

FORMATS = ("jpeg", "png", "webp", "gif", "avif")

_AVIF_BRANDS = frozenset({b"avif", b"avis"})
_HEIF_BRANDS = frozenset({b"mif1", b"msf1", b"heic", b"heix", b"heim", b"heis", b"hevc", b"hevx", b"crx "})
_PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"
# Pictures all right, but of formats that are not decoded here.
_OTHER_PICTURES = (
    b"BM",
    b"II*\x00",
    b"MM\x00*",
    b"II+\x00",
    b"MM\x00+",
    b"\x00\x00\x01\x00",
    b"\x00\x00\x02\x00",
    b"\x00\x00\x00\x0cJXL ",
    b"\xff\x0a",
    b"\x00\x00\x00\x0cjP  ",
    b"\xff\x4f\xff\x51",
    b"8BPS",
    b"qoif",
    b"FLIF",
    b"v/1\x01",
    b"#?RADIANCE",
    b"%!PS",
    b"%PDF-",
    b"gimp xcf",
)


def recognise(data: bytes) -> str | None:
    """The format of a body: one of `FORMATS`, "other" for a picture of another format, None for what is no picture."""
    if data.startswith(b"\xff\xd8\xff"):
        return "jpeg"
    if data.startswith(_PNG_SIGNATURE):
        return "png"
    if data.startswith((b"GIF87a", b"GIF89a")):
        return "gif"
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "webp"
    if data[4:8] == b"ftyp":
        # The major brand, then, after a version, the compatible ones: the major one may be general.
        length = min(int.from_bytes(data[:4], "big"), 256)
        brands = {data[8:12], *(data[at : at + 4] for at in range(16, length - 3, 4))}
        if brands & _AVIF_BRANDS:
            return "avif"
        return "other" if brands & _HEIF_BRANDS else None
    if data.startswith(_OTHER_PICTURES) or _is_svg(data):
        return "other"
    return None


def ends_early(data: bytes, kind: str) -> bool:
    """Whether a body of a known format lacks its end, by its own structure. Damage in the middle is not seen."""
    if kind == "jpeg":
        return b"\xff\xd9" not in data[2:]
    if kind == "png":
        return not any(name == b"IEND" for name, _, _ in _png_chunks(data))
    if kind == "gif":
        return _gif_ends_early(data)
    if kind == "webp":
        return len(data) < 12 or len(data) < int.from_bytes(data[4:8], "little") + 8
    return _boxes_end_early(data)


def png_frames(data: bytes) -> int:
    """The frames of an animated PNG (its `acTL` chunk stands before the first `IDAT`); 1 for a still one.

    libvips reads such a file as a still picture and says nothing.
    """
    for name, start, length in _png_chunks(data):
        if name == b"acTL" and length >= 8:
            return max(1, int.from_bytes(data[start : start + 4], "big"))
        if name == b"IDAT":
            break
    return 1


def _is_svg(data: bytes) -> bool:
    head = data[:1024].lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    return head.startswith(b"<svg") or (head.startswith((b"<?xml", b"<!--", b"<!doctype svg")) and b"<svg" in head)


def _png_chunks(data: bytes) -> Iterator[tuple[bytes, int, int]]:
    """Name, start and length of the data of every whole chunk."""
    at = len(_PNG_SIGNATURE)
    while at + 12 <= len(data):
        length = int.from_bytes(data[at : at + 4], "big")
        if at + 12 + length > len(data):
            return
        yield data[at + 4 : at + 8], at + 8, length
        at += 12 + length


def _boxes_end_early(data: bytes) -> bool:
    at, names = 0, set()
    while at + 8 <= len(data):
        size, head = int.from_bytes(data[at : at + 4], "big"), 8
        if size == 1:
            size, head = int.from_bytes(data[at + 8 : at + 16], "big"), 16
        names.add(data[at + 4 : at + 8])
        if size == 0:  # up to the end of the file
            return b"meta" not in names
        if size < head:
            return False  # damaged, not short
        at += size
    return at > len(data) or b"meta" not in names


def _gif_ends_early(data: bytes) -> bool:
    """Whether the trailer is missing: libvips shows an animation without its last frames, and says nothing."""
    at = 13 + _gif_table(data, 10)
    while at < len(data):
        if data[at] == 0x3B:
            return False
        if data[at] == 0x2C:
            at += 11 + _gif_table(data, at + 9)
        elif data[at] == 0x21:
            at += 2
        else:
            return False  # damaged, not short
        while at < len(data) and data[at]:
            at += 1 + data[at]
        at += 1
    return True


def _gif_table(data: bytes, flags: int) -> int:
    """The bytes of a colour table, by the place of the flags that announce it."""
    return 3 << (data[flags] & 7) + 1 if flags < len(data) and data[flags] & 0x80 else 0
