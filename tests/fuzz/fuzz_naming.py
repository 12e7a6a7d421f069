"""Fuzz the names: what must hold for any text that a page may hold as a URL, and for any spelling of a host or a bucket.

python tests/fuzz/fuzz_naming.py [SECONDS]
"""

from __future__ import annotations

import json
import re
import sys
from ipaddress import IPv4Address, IPv6Address
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Sequence

TESTS = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS), str(TESTS.parent), str(TESTS / "fuzz")]

import fuzzing  # noqa: E402
from fuzzing import atheris  # noqa: E402

if atheris is not None and __name__ == "__main__":
    with atheris.instrument_imports(include=["scrapy_polite.naming"]):
        import scrapy_polite.naming  # noqa: F401

from spellings import spelt_ipv4, spelt_ipv6, spelt_name, spelt_path, spelt_url  # noqa: E402
from test_buckets import LISTED, SPELLINGS  # noqa: E402
from test_image_services import KEYED  # noqa: E402
from test_spellings import judge_agrees  # noqa: E402

from scrapy_polite.naming import (  # noqa: E402
    Invalid,
    Target,
    bucket_key,
    canonical_host,
    canonical_source,
    chain_key,
    display_host,
    own_key,
    parse,
    registrable_domain,
)

T = TypeVar("T")
NAME = re.compile(r"(?=.{1,253}\Z)[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})*\Z")
LONGEST_KEY = 2_000
URLS = [url for urls in SPELLINGS.values() for url in urls]


class Bytes:
    """The bytes of an input as decisions: see `spellings.Chooser`. At their end everything is the first choice."""

    def __init__(self, data: bytes) -> None:
        self._data = iter(data)

    def randint(self, a: int, b: int, /) -> int:
        drawn = 0
        for _ in range(((b - a).bit_length() + 7) // 8):
            drawn = drawn << 8 | next(self._data, 0)
        return a + drawn % (b - a + 1)

    def choice(self, seq: Sequence[T], /) -> T:
        return seq[self.randint(0, len(seq) - 1)]


def check(data: bytes) -> None:
    """All rules, for one input. Raises AssertionError for a rule that is broken, and whatever the code itself raises."""
    if not data:
        return
    pick = Bytes(data[1:])
    which = data[0] % 8
    if which == 0:
        address = IPv4Address(pick.randint(0, 2**32 - 1))
        same(f"http://{address}/", spelt_url(spelt_ipv4(address, pick), "/", pick))
    elif which == 1:
        wide = IPv6Address(pick.randint(0, 2**128 - 1))
        same(f"http://[{wide}]/", spelt_url(spelt_ipv6(wide, pick), "/", pick))
    elif which == 2:
        known = parse(pick.choice(URLS))
        assert isinstance(known, Target)
        spelt = spelt_url(spelt_name(known.host, pick), spelt_path(known.path, pick), pick, scheme=known.scheme)
        same(known.url, spelt, "bucket")
    else:
        text = data[1:].decode("utf-8", "surrogateescape" if which == 3 else "replace")
        anything(text)
        anything(f"http://{text}")
        anything(f"https://s3.amazonaws.com/{text}")
        anything(f"https://shop.example/{text}")


def same(url: str, spelt: str, kind: str = "host") -> None:
    """Two spellings of one thing have one key, and a request for either goes to one host."""
    known, found = parse(url), parse(spelt)
    assert isinstance(known, Target), url
    assert isinstance(found, Target), (url, spelt, found)
    assert found.host == known.host, (url, spelt)
    assert bucket_key(found) == bucket_key(known), (url, spelt)
    if kind == "bucket":
        assert bucket_key(found) is not None, spelt
    judge_agrees(spelt)


def anything(text: str) -> None:
    """What holds for a text, URL or not."""
    host = canonical_host(text)
    if isinstance(host, str):
        fits(host)
        assert canonical_host(host) == host, text
    found = parse(text)
    if isinstance(found, Invalid):
        assert found.detail.isascii(), text
        assert found.detail.isprintable(), text
        assert len(found.detail) < 1_000, text
        return
    fits(found.host)
    again = parse(found.url)
    assert again == found, text
    for key in (own_key(found), LISTED.bucket_key(found), chain_key(found, [host]) if isinstance(host, str) else None):
        if key is not None:
            assert key.isascii(), text
            assert key.isprintable(), text
            assert len(key) < LONGEST_KEY, text
    source = canonical_source(found)
    if source is not None:
        behind = parse(source)
        assert isinstance(behind, Target), (text, source)
        assert behind.url == source, (text, source)
    judge_agrees(text)


def fits(host: str) -> None:
    """A host is an address in its one form, or a name in the closed grammar."""
    if ":" in host:
        assert str(IPv6Address(host)) == host, host
        assert IPv6Address(host).ipv4_mapped is None, host
    else:
        assert NAME.match(host), host
        if host.rpartition(".")[2].isdigit():
            assert str(IPv4Address(host)) == host, host
    assert registrable_domain(host) == host or host.endswith("." + registrable_domain(host)), host
    display_host(host)


# -- running


def corpus() -> list[bytes]:
    """What to begin with: the web platform's cases and every address of the tables, as text; and decisions."""
    cases = json.loads((TESTS / "data" / "wpt_hosts.json").read_text(encoding="utf-8"))["cases"]
    texts = [*(case[0] for case in cases), *URLS, *(url for url, _, _ in KEYED)]
    return [b"\x04" + text.encode("utf-8", "surrogatepass") for text in texts] + [bytes([n] * 24) for n in range(3)]


MARKS = [
    mark.encode()
    for mark in (
        *("%", "%2e", "/", "\\", "@", ":", "..", "[", "]", "\t", "#", "?", "0x"),
        *("\u3002", "\uff0e", "\u00ad", "\u0130", "\u212a"),
    )
]


def run_mutations(seconds: float, seed: int = 0) -> int:
    return fuzzing.run_mutations(check, corpus(), MARKS, seconds, seed)


if __name__ == "__main__":
    fuzzing.run(check, corpus(), MARKS, longest=512)
