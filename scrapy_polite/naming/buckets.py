"""Buckets of object stores: which of them a URL reads, however it is spelt.

The forms of address are rows of a table (`objectstores`); here they are applied. A URL that fits none of them is a site's.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, Literal, get_args
from urllib.parse import quote_from_bytes, unquote_to_bytes

from scrapy_polite.naming.objectstores import PATH_STYLE, ROWS, Row, compiled, domain_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from scrapy_polite.naming.hosts import Target

__all__ = ["KNOWN", "STYLES", "Stores", "Style", "bucket_key", "same_path"]

Style = Literal["both", "host", "path"]
STYLES: Final[tuple[Style, ...]] = get_args(Style)
"""Where a store of one's own (MinIO, Ceph) has the bucket: in front of the host, first in the path, or in either."""

#: Octets of the longest name of a bucket that any store has given (Amazon, in us-east-1 before 2018). Longer ones are
#: none, and shall not become keys.
MAX_BUCKET: Final = 255

_ESCAPE = re.compile(r"%[0-9A-Fa-f]{2}")
_UNRESERVED: Final = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~")


class Stores:
    """The object stores that are known: those of the table, and `listed` ones, by canonical host, which come first."""

    def __init__(self, listed: Mapping[str, Style] | None = None) -> None:
        # The longer host first: of `example.com` and `s3.example.com`, the latter has the bucket `b.s3.example.com`.
        own = sorted((listed or {}).items(), key=lambda item: (-len(item[0]), item[0]))
        self._rows: dict[str, tuple[Row, ...]] = {}
        # By the last two labels, so that a host of no store, which most are, costs one look into a dict.
        for row in (*(_listed(host, style) for host, style in own), *ROWS):
            for domain in row.domains:
                self._rows[domain] = (*self._rows.get(domain, ()), row)

    def has_stores(self, host: str) -> bool:
        """Whether some store has hosts that end as this one."""
        return domain_of(host) in self._rows

    def bucket_key(self, target: Target) -> str | None:
        """``bucket:<provider>/[<scope>/]<name>`` of the bucket that a URL reads; None where it reads none.

        In a path a name is normalised: ``%62ucket`` is ``bucket``, and what is not a letter, a digit or one of ``-._~`` is
        percent-encoded.
        """
        for row in self._rows.get(domain_of(target.host), ()):
            if named := compiled(row.host).fullmatch(target.host):
                return _key(row, named, target.path)
        return None

    def bucket_of_cname(self, target: Target, name: str) -> str | None:
        """The bucket that a URL reads whose host is a CNAME for the canonical host `name`; None if that is no store's.

        Where `name` states no bucket, most stores go by the Host header: the bucket is called as the URL's host is
        (docs.aws.amazon.com/AmazonS3/latest/userguide/VirtualHosting.html, cloud.google.com/storage/docs/request-endpoints).
        """
        for row in self._rows.get(domain_of(name), ()):
            if named := compiled(row.host).fullmatch(name):
                groups = named.groupdict()
                if row.by_host_header and not (groups.get("bucket") or groups.get("own")):
                    return _written(row, groups.get("scope"), target.host)
                return _key(row, named, target.path)
        return None


def _listed(host: str, style: Style) -> Row:
    scope = f"(?P<scope>{re.escape(host)})"
    bucket = {"both": r"(?:(?P<bucket>.+)\.)?", "host": r"(?P<bucket>.+)\.", "path": ""}[style]
    return Row(
        "listed",
        (domain_of(host),),
        bucket + scope,
        "POLITE_BUCKET_HOSTS",
        () if style == "host" else PATH_STYLE,
        by_host_header=False,
    )


def _key(row: Row, named: re.Match[str], path: str) -> str | None:
    found = named.groupdict()
    scope, bucket = found.get("scope"), found.get("bucket") or found.get("own")
    if bucket is None:
        path = same_path(path)
        in_path = next((match for pattern in row.paths if (match := compiled(pattern).match(path))), None)
        if in_path is None:
            return None
        found = in_path.groupdict()
        bucket = _segment(found.get("bucket"))
        if found.get("scope"):
            scope = _segment(found["scope"])
            if scope is None:
                return None
    return _written(row, scope, bucket)


def _written(row: Row, scope: str | None, bucket: str | None) -> str | None:
    if not bucket:
        return None
    if row.folds:
        bucket = bucket.lower()
    return f"bucket:{row.provider}/{scope}/{bucket}" if scope else f"bucket:{row.provider}/{bucket}"


def same_path(path: str) -> str:
    """A path, query and fragment in which what may be percent-encoded and need not be is not (RFC 3986 section 6.2.2.2)."""
    return _ESCAPE.sub(_unescaped, path) if "%" in path else path


def _unescaped(escape: re.Match[str]) -> str:
    character = chr(int(escape[0][1:], 16))
    return character if character in _UNRESERVED else escape[0].upper()


def _segment(text: str | None) -> str | None:
    """A segment of a path in one spelling; None for what cannot be a name."""
    if text is None:
        return None
    name = unquote_to_bytes(text)
    return quote_from_bytes(name, safe="") if len(name) <= MAX_BUCKET else None


KNOWN: Final = Stores()
"""The stores of the table alone."""


def bucket_key(target: Target, stores: Stores = KNOWN) -> str | None:
    """:meth:`Stores.bucket_key` of the stores that are known without an operator."""
    return stores.bucket_key(target)
