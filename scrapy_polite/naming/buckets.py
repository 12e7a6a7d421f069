"""Buckets of object stores: which of them a URL reads, however it is spelt.

Amazon S3 in virtual-host and path style, after the rules that its clients build addresses by:
https://docs.aws.amazon.com/AmazonS3/latest/userguide/VirtualHosting.html . A host that cannot be mapped to a bucket
from the URL alone (access points, object lambda, custom domains) has no bucket key: it stays a site.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final
from urllib.parse import quote, unquote

if TYPE_CHECKING:
    from scrapy_polite.naming.hosts import Target

__all__ = ["bucket_key"]

# The S3 part of a host, right of the bucket: `s3`, `s3-external-1`, `s3.eu-west-2`, `s3-eu-west-2` (the old dash form),
# `s3.dualstack.eu-west-2`, `s3-fips.dualstack.eu-west-2`, `s3-accelerate`, `s3-accelerate.dualstack`, and website hosts
# with a dash or a dot. The bucket may itself hold dots, so the longest one wins (greedy): `a.s3.b.s3.amazonaws.com` is
# the bucket `a.s3.b`.
_REGION: Final = r"[a-z]{2,4}(?:-[a-z]+)+-[0-9]+"
_S3 = re.compile(
    rf"""(?:(?P<bucket>.+)\.)?
        s3(?: -fips
            | -external-[0-9]
            | -accelerate
            | -website
        )?
        (?: \.dualstack )?
        (?: [.-] {_REGION} )?
        \.amazonaws\.com(?:\.cn)?\Z""",
    re.VERBOSE,
)


def bucket_key(target: Target) -> str | None:
    """``bucket:s3/<name>`` of the S3 bucket that a URL reads, whatever its region or style; None for anything else.

    In path style the name is the first path segment with its percent-encoding normalised: ``%62ucket`` is ``bucket``.
    """
    if not target.host.endswith((".amazonaws.com", ".amazonaws.com.cn")):
        return None
    match = _S3.match(target.host)
    if match is None:
        return None
    name = match["bucket"] or _first_segment(target.url)
    # In path style robots.txt is asked of the host that all buckets share.
    return f"bucket:s3/{name}" if name and name != "robots.txt" else None


def _first_segment(url: str) -> str:
    """The first path segment of a serialised http(s) URL, in one spelling."""
    path = url.split("/", 3)[3]
    return quote(unquote(re.split(r"[/?#]", path, maxsplit=1)[0]), safe="")
