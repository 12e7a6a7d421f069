"""All that is said about an address by its number alone, in one sorted table per IP version.

Metadata services, the operator's networks and the built-in rows overlap. Laid over each other once, by precedence, they
are segments with one verdict each, so that judging an address is one binary search.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING, Final, NamedTuple

from scrapy_polite.guard.metadata import METADATA_ADDRESSES
from scrapy_polite.guard.ranges import ROWS, Spans

if TYPE_CHECKING:
    from collections.abc import Iterable

    from scrapy_polite.guard.ranges import Network

__all__ = ["ALLOWED", "Verdict", "Verdicts"]

_METADATA: Final = {
    version: {int(address): owner for address, owner in METADATA_ADDRESSES.items() if address.version == version}
    for version in (4, 6)
}


class Verdict(NamedTuple):
    """Why the addresses of a segment are refused; `text` follows the address. `final`: no rule for a host opens it."""

    reason: str
    text: str
    final: bool = False


ALLOWED: Final = Verdict("", "")
"""The segment is in a network that the operator has allowed for every host. What an address in it carries is another
question; where nothing is said at all (None), the address carries nothing."""


class Verdicts:
    """The verdicts for one IP version: metadata services > `deny` > `allow` > the built-in rows."""

    __slots__ = ("_starts", "_verdicts")

    def __init__(self, version: int, allow: Iterable[Network], deny: Iterable[Network]) -> None:
        metadata, rows = _METADATA[version], ROWS[version]
        allowed, denied = (Spans(network for network in networks if network.version == version) for networks in (allow, deny))

        def verdict(number: int) -> Verdict | None:
            if (owner := metadata.get(number)) is not None:
                return Verdict("metadata", f": {owner}; no setting allows it.", final=True)
            if number in denied:
                return Verdict("operator_deny", " is in POLITE_DENY_NETWORKS.", final=True)
            if number in allowed:
                return ALLOWED
            row = rows.find(number)
            return row and Verdict(row.reason, f" is in {row.network}: {row.name} ({row.source}).")

        edges = {edge for number in metadata for edge in (number, number + 1)}
        self._starts = sorted({0, *edges, *allowed.edges, *denied.edges, *rows.starts})
        self._verdicts = [verdict(start) for start in self._starts]

    def find(self, number: int) -> Verdict | None:
        """The verdict on an address by its number; None if nothing is said about it."""
        return self._verdicts[bisect_right(self._starts, number) - 1]
