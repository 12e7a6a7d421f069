"""Images that tell more than they show: made-up places, serial numbers and owners in every corner of their containers."""

from __future__ import annotations

import io
import random
import zlib

from PIL import Image, ImageCms

OWNER, SERIAL, PLACE = b"Ada Made-Up", b"SN-0042-MADE-UP", b"48.8584N 2.2945E"
TOLD = (OWNER, SERIAL, PLACE)
XMP = (
    b'<?xpacket begin="" id="W5M0MpCehiHzreSzNTczkc9d"?><x:xmpmeta xmlns:x="adobe:ns:meta/"><dc:creator>'
    + b"</dc:creator><exif:SerialNumber>".join((OWNER, SERIAL))
    + b"</exif:SerialNumber><exif:GPSLatitude>"
    + PLACE
    + b"</exif:GPSLatitude></x:xmpmeta>"
)
STORY = b" by ".join(TOLD)
ICC = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
FILM = b"\0\0\0\x18ftypmp42\0\0\0\0mp42isom" + b"\0\0\1\0mdat" + STORY * 20
"""What a phone puts behind the end of a photograph that moves."""


def exif(orientation: int | None = 6) -> bytes:
    """An EXIF block, from its TIFF header: owner, camera, place, a maker's note; as Pillow writes it."""
    made = Image.Exif()
    if orientation is not None:
        made[0x0112] = orientation
    made[0x013B], made[0x010F] = OWNER.decode(), SERIAL.decode()
    inner = made.get_ifd(0x8769)
    inner[0xA431], inner[0x927C], inner[0x9286] = SERIAL.decode(), b"MADEUP\0" + STORY, b"ASCII\0\0\0" + STORY
    place = made.get_ifd(0x8825)
    place[0], place[1], place[2], place[27] = b"\2\3\0\0", "N", (48.0, 51.0, 30.24), b"ASCII\0\0\0" + PLACE
    return made.tobytes().removeprefix(b"Exif\0\0")


def encoded(image: Image.Image, kind: str, **options: object) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, kind, **options)
    return buffer.getvalue()


def photo(mode: str = "RGB", size: tuple[int, int] = (40, 30), seed: int = 0) -> Image.Image:
    """Soft spots of all colours, the same ones for the same seed."""
    image = Image.frombytes("RGB", (9, 7), random.Random(seed).randbytes(189)).resize(size).convert(mode)
    if mode == "RGBA":
        image.putalpha(Image.linear_gradient("L").resize(size))
    return image


# -- JPEG


def segment(marker: int, *body: bytes) -> bytes:
    data = b"".join(body)
    return b"\xff" + bytes([marker]) + (len(data) + 2).to_bytes(2, "big") + data


def jpeg_laden(data: bytes, orientation: int | None = 6) -> bytes:
    """A JPEG with all that cameras, phones and programs put into one."""
    thumbnail = encoded(photo(size=(8, 6)), "jpeg", comment=STORY)
    further = encoded(photo(), "jpeg", comment=STORY)
    before = (
        segment(0xE1, b"Exif\0\0", exif(orientation), thumbnail),
        segment(0xE0, b"JFXX\0\x10", thumbnail),
        segment(0xE1, b"http://ns.adobe.com/xap/1.0/\0", XMP),
        segment(0xE1, b"http://ns.adobe.com/xmp/extension/\0", b"0" * 32, bytes(8), XMP),
        segment(0xE2, b"MPF\0MM\0*\0\0\0\x08", STORY),
        segment(0xE2, b"FPXR\0", STORY),
        segment(0xEB, b"JP\0\1\0\0\0\1", STORY),
        segment(0xEC, b"Ducky", STORY),
        segment(0xED, b"Photoshop 3.0\x008BIM\x04\x04\0\0", len(STORY).to_bytes(4, "big"), STORY),
        segment(0xE7, STORY),
        segment(0xEF, STORY),
        segment(0xFE, STORY),
    )
    at = 2
    if data[2:4] == b"\xff\xe0":  # JFIF comes first
        at = 4 + int.from_bytes(data[4:6], "big")
    end = data.rindex(b"\xff\xd9")
    return data[:at] + b"".join(before) + data[at:end] + segment(0xFE, STORY) + b"\xff\xd9" + further + FILM


# -- PNG


def chunk(name: bytes, data: bytes) -> bytes:
    return len(data).to_bytes(4, "big") + name + data + zlib.crc32(name + data).to_bytes(4, "big")


def png_laden(data: bytes, orientation: int | None = 6) -> bytes:
    told = (
        chunk(b"eXIf", exif(orientation)),
        chunk(b"tEXt", b"Author\0" + STORY),
        chunk(b"zTXt", b"Comment\0\0" + zlib.compress(STORY, 0)),
        chunk(b"iTXt", b"XML:com.adobe.xmp\0\0\0\0\0" + XMP),
        chunk(b"tIME", bytes([7, 230, 1, 2, 3, 4, 5])),
        chunk(b"sPLT", OWNER + b"\0\x08"),
        chunk(b"prVt", STORY),
        chunk(b"caBX", STORY),
        chunk(b"gAMA", STORY),
        chunk(b"cHRM", STORY),
    )
    return data[:33] + b"".join(told) + data[33:-12] + chunk(b"tEXt", b"Late\0" + STORY) + data[-12:] + FILM


# -- WebP


def riff(name: bytes, data: bytes) -> bytes:
    return name + len(data).to_bytes(4, "little") + data + bytes(len(data) % 2)


def webp_laden(data: bytes, size: tuple[int, int] = (40, 30), orientation: int | None = 6) -> bytes:
    body = data[12:]
    if body[:4] == b"VP8X":
        head, body = bytearray(body[:18]), body[18:]
    else:
        alpha = 0x10 if body[:4] == b"VP8L" and body[12] & 0x10 else 0
        sides = b"".join((side - 1).to_bytes(3, "little") for side in size)
        head = bytearray(riff(b"VP8X", bytes([alpha, 0, 0, 0]) + sides))
    head[8] |= 0x0C
    told = riff(b"EXIF", exif(orientation)) + riff(b"XMP ", XMP) + riff(b"abcd", STORY)
    body = bytes(head) + body + told
    return b"RIFF" + (len(body) + 4).to_bytes(4, "little") + b"WEBP" + body + FILM


# -- GIF


def blocks(data: bytes) -> bytes:
    return b"".join(bytes([len(data[at : at + 255])]) + data[at : at + 255] for at in range(0, len(data), 255)) + b"\0"


def gif_laden(data: bytes) -> bytes:
    told = (
        b"\x21\xfe" + blocks(STORY),
        b"\x21\xff\x0bXMP DataXMP" + blocks(XMP),
        b"\x21\xff\x0bICCRGBG1012" + blocks(STORY),
        b"\x21\xff\x0bNETSCAPE2.0" + blocks(b"\2" + STORY),
        b"\x21\x01\x0c" + bytes(12) + blocks(STORY),
    )
    at = 13 + (3 << (data[10] & 7) + 1 if data[10] & 0x80 else 0)
    return b"GIF89a" + data[6:at] + b"".join(told) + data[at:-1] + b"\x21\xfe" + blocks(STORY) + b"\x3b" + FILM
