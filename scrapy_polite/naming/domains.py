"""The registrable domain of a host, from the public suffix list that tldextract carries; never from the network."""

from __future__ import annotations

from functools import lru_cache
from ipaddress import ip_address
from typing import Final

import tldextract

__all__ = ["is_registry_suffix", "registrable_domain"]

# No list URLs and no cache directory: the bundled snapshot only, so that two processes always agree. Private suffixes
# are on, because two customers of one platform (`a.github.io`, `b.github.io`) are two domains: https://publicsuffix.org/
_EXTRACT: Final = tldextract.TLDExtract(suffix_list_urls=(), cache_dir=None, include_psl_private_domains=True)

#: Under a suffix that the list does not know, its own default rule applies ("*"): the last two labels.
_UNKNOWN_SUFFIX_LABELS: Final = 2


@lru_cache(maxsize=16384)
def registrable_domain(host: str) -> str:
    """The domain of a canonical host that somebody has registered: ``www.shop.example.co.uk`` -> ``example.co.uk``.

    An address, a single label and a host that is itself a public suffix are answered as they are.
    """
    if _is_address(host):
        return host
    found = _EXTRACT.extract_str(host)
    if found.domain and found.suffix:
        return f"{found.domain}.{found.suffix}"
    if found.suffix:
        return host
    return ".".join(host.split(".")[-_UNKNOWN_SUFFIX_LABELS:])


def is_registry_suffix(host: str) -> bool:
    """Whether a canonical name is a registry's, below which anybody registers domains: ``com``, ``co.uk``. A company's part
    of the list (``github.io``) is none."""
    found = _EXTRACT.extract_str(host)
    return bool(found.suffix) and not found.domain and not found.is_private


def _is_address(host: str) -> bool:
    if ":" not in host and not host[-1:].isdigit():  # nearly every host; an exception takes longer than all the rest
        return False
    try:
        ip_address(host)
    except ValueError:
        return False
    return True
