"""Spellings of one host and of one bucket, for properties and for fuzzing; and who else reads a URL on its way to the wire."""

from __future__ import annotations

import re
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address
from typing import TYPE_CHECKING, Protocol, TypeVar
from urllib.parse import quote, urlsplit

from scrapy import Request
from twisted.web.client import URI
from w3lib.url import safe_url_string

if TYPE_CHECKING:
    from collections.abc import Sequence

T = TypeVar("T")


class Chooser(Protocol):
    """What decides: `random.Random`, a hypothesis source, or the bytes of a fuzzer."""

    def choice(self, seq: Sequence[T], /) -> T: ...

    def randint(self, a: int, b: int, /) -> int: ...


DOTS = (".", ".", ".", "\u3002", "\uff0e", "\uff61", "%2E", "%2e", "%E3%80%82")
IGNORED = ("\u00ad", "\u200b", "\u2060", "\ufeff")
"""Characters that UTS 46 maps to nothing."""


def spelt_character(character: str, pick: Chooser) -> str:
    if character == ".":
        return pick.choice(DOTS)
    wide = chr(ord(character) + 0xFEE0)
    forms = [character, character, character.upper(), f"%{ord(character):02X}", f"%{ord(character):02x}", wide, quote(wide)]
    if character.isalnum():
        forms += [wide.upper(), quote(wide.upper())]
    if character.isdigit() and character != "0":
        forms.append(chr(0x2460 + int(character) - 1))  # circled
    return pick.choice(forms)


def spelt_name(name: str, pick: Chooser) -> str:
    """A name in other characters that mean the same."""
    spelt = "".join(spelt_character(character, pick) for character in name)
    if pick.randint(0, 3) == 0:
        at = pick.randint(0, len(name) - 1)
        spelt = (
            "".join(spelt_character(character, pick) for character in name[:at])
            + pick.choice(IGNORED)
            + "".join(spelt_character(character, pick) for character in name[at:])
        )
    return spelt + pick.choice(("", "", *DOTS))


def spelt_ipv4(address: IPv4Address, pick: Chooser) -> str:
    """An IPv4 address in one to four parts, each in one of three radixes, with leading zeros."""
    parts = pick.randint(1, 4)
    octets = list(address.packed)
    numbers = [*octets[: parts - 1], int.from_bytes(bytes(octets[parts - 1 :]), "big")]
    zeros = "0" * pick.randint(0, 3)
    forms = [pick.choice((f"{n}", f"0{zeros}{n:o}", f"0x{zeros}{n:x}", f"0X{zeros}{n:X}")) for n in numbers]
    written = ".".join(forms) + pick.choice(("", "."))
    return "".join(spelt_character(c, pick) if c.isdigit() or c == "." else c for c in written)


def spelt_ipv6(address: IPv6Address, pick: Chooser) -> str:
    """An IPv6 address with or without zeros, `::` at any run of zeros, the end in dots or not."""
    groups = address.exploded.split(":")
    words = [pick.choice((group, group.upper(), f"{int(group, 16):x}", f"{int(group, 16):X}")) for group in groups]
    if pick.randint(0, 2) == 0:
        words[6:] = [str(IPv4Address(int(address) & 0xFFFFFFFF))]
    zero = [place for place, word in enumerate(words) if "." not in word and int(word, 16) == 0]
    if zero and pick.randint(0, 1):
        first = last = pick.choice(zero)
        while last + 1 in zero and pick.randint(0, 3):
            last += 1
        return f"[{':'.join(words[:first])}::{':'.join(words[last + 1 :])}]"
    return f"[{':'.join(words)}]"


def spelt_url(host: str, rest: str, pick: Chooser, *, scheme: str = "http") -> str:
    """A URL with this host, which is already spelt, and this path."""
    port = {"http": "80", "https": "443"}[scheme]
    spelt = "".join(pick.choice((c, c.upper())) for c in scheme)
    slashes = pick.choice(("//", "//", "//", "", "/", "\\\\", "/\\", "////"))
    userinfo = pick.choice(("", "", "", "@", ":@"))
    colon = pick.choice(("", "", "", ":", f":{port}", f":0{port}"))
    url = f"{spelt}:{slashes}{userinfo}{host}{colon}{rest}"
    for _ in range(pick.randint(0, 2)):
        at = pick.randint(0, len(url))
        url = url[:at] + pick.choice("\t\r\n") + url[at:]
    return pick.choice(("", "", " ", "\x01 ", "\x1f")) + url + pick.choice(("", "", " ", "\n"))


def spelt_path(path: str, pick: Chooser) -> str:
    """A path whose letters and digits are escaped here and there, and that makes detours."""
    spelt = "".join(
        pick.choice((c, c, c, f"%{ord(c):02X}", f"%{ord(c):02x}")) if len(c) == 1 and (c.isalnum() or c in "-_~") else c
        for c in re.findall(r"%[0-9A-Fa-f]{2}|.", path)
    )
    detour = pick.choice(("", "", "", "/.", "/%2e", "/x/..", "/x/y/../.%2E", "/x/%2e%2E"))
    return detour + (spelt.replace("/", "\\", 1) if pick.randint(0, 7) == 0 else spelt)


@dataclass(frozen=True)
class Read:
    """Where somebody would send a request to."""

    reader: str
    host: str
    port: int


def read_by_others(url: str, scheme: str) -> list[Read]:
    """What everybody else who reads a request's URL takes for its host and port; they may raise ``ValueError``."""
    default = 443 if scheme == "https" else 80
    found = []
    for reader, text in (("urlsplit", url), ("w3lib", safe_url_string(url)), ("scrapy", Request(url).url)):
        parts = urlsplit(text)
        found.append(Read(reader, parts.hostname or "", parts.port or default))
    for reader, text in (("twisted", url), ("twisted after scrapy", Request(url).url)):
        uri = URI.fromBytes(text.encode("ascii"))
        found.append(Read(reader, uri.host.decode("ascii").strip("[]"), uri.port))
    return found
