"""Makes scrapy_polite/origins/data/networks.json: the networks of edges, as their providers publish them.

    python -m tools.make_edges --dated 2026-11              from the providers' addresses
    python -m tools.make_edges --dated 2026-11 --from DIR   from files of their names: see `SOURCES`

A list that is not to be had keeps its rows and their date. One that looks wrong stops everything, and nothing is written:
too few networks, a private or reserved one, one wider than a /8 (IPv6: /24), more addresses than an edge can have, or half or
twice as many as before. What companies rent out (EC2, all of Google's or Azure's ranges) is never taken: of Amazon's list
only the service CLOUDFRONT, of Microsoft's only the tag AzureFrontDoor.Frontend, of GitHub's only Pages.

The result depends on the input alone: networks are merged and sorted.
"""

from __future__ import annotations

import argparse
import json
import sys
import urllib.request
from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Network, collapse_addresses, ip_network
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from scrapy_polite.guard.ranges import IPV4_ROWS, IPV6_ROWS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

Network = IPv4Network | IPv6Network

TARGET: Final = Path(__file__).resolve().parents[1] / "scrapy_polite" / "origins" / "data" / "networks.json"

WIDEST: Final = {4: 8, 6: 24}
MOST_ADDRESSES: Final = 1 << 23
"""IPv4 addresses of one edge. Cloudflare and CloudFront have about two million; Google announces 22, Amazon over 100."""
VIA: Final = ", as collected by "
"""Between a list's address and who has copied it, in the source of a row."""
STEADY: Final = 1024
"""IPv4 addresses from which on half or twice as many are no ordinary change."""


class InputError(ValueError):
    """A list is not what it should be; nothing was written."""


def lines(text: str) -> Iterable[str]:
    return (line.strip() for line in text.splitlines() if line.strip() and not line.startswith("#"))


def members(*names: str) -> Callable[[str], Iterable[str]]:
    """Lists in a JSON object, by their names."""

    def read(text: str) -> Iterable[str]:
        told = json.loads(text)
        return [str(network) for name in names for network in told.get(name, ())]

    return read


def amazon(text: str) -> Iterable[str]:
    told = json.loads(text)
    for prefixes, name in (("prefixes", "ip_prefix"), ("ipv6_prefixes", "ipv6_prefix")):
        yield from (str(one[name]) for one in told.get(prefixes, ()) if one.get("service") == "CLOUDFRONT")


def microsoft(text: str) -> Iterable[str]:
    for tag in json.loads(text)["values"]:
        if tag["name"] == "AzureFrontDoor.Frontend":
            yield from map(str, tag["properties"]["addressPrefixes"])


@dataclass(frozen=True, slots=True)
class Source:
    """One published list. `file` is its name in a directory; `fetched` is False where it has no address that stays, so that
    a person has to save it; `post` is what its address wants to be sent."""

    provider: str
    label: str
    kind: str
    unit: str
    url: str
    file: str
    read: Callable[[str], Iterable[str]]
    least: int
    fetched: bool = True
    post: bytes | None = None


_AZURE: Final = "https://www.microsoft.com/download/details.aspx?id=56519"
_AMAZON: Final = "https://ip-ranges.amazonaws.com/ip-ranges.json"
_GCORE: Final = "https://api.gcore.com/cdn/public-ip-list"
_IMPERVA: Final = "https://my.imperva.com/api/integration/v1/ips"
_V4, _V6 = "https://www.cloudflare.com/ips-v4", "https://www.cloudflare.com/ips-v6"
_FASTLY: Final = "https://api.fastly.com/public-ip-list"
_GITHUB: Final = "https://api.github.com/meta"

SOURCES: Final = (
    Source("azure", "Azure Front Door", "cdn", "shared", _AZURE, "azure-service-tags.json", microsoft, 10, fetched=False),
    Source("cloudflare", "Cloudflare", "cdn", "shared", _V4, "cloudflare-v4.txt", lines, 8),
    Source("cloudflare", "Cloudflare", "cdn", "shared", _V6, "cloudflare-v6.txt", lines, 4),
    Source("cloudfront", "Amazon CloudFront", "cdn", "shared", _AMAZON, "amazon-ip-ranges.json", amazon, 60),
    Source("fastly", "Fastly", "cdn", "shared", _FASTLY, "fastly.json", members("addresses", "ipv6_addresses"), 10),
    Source("gcore", "Gcore", "cdn", "shared", _GCORE, "gcore.json", members("addresses", "addresses_v6"), 200),
    Source("github", "GitHub Pages", "platform", "tenant", _GITHUB, "github-meta.json", members("pages"), 4),
    Source("imperva", "Imperva", "waf", "shared", _IMPERVA, "imperva.json", members("ipRanges", "ipv6Ranges"), 6,
           post=b"resp_format=json"),
)  # fmt: skip


def networks_of(source: Source, text: str) -> list[Network]:
    """The networks of a list, merged and sorted. Raises `InputError` if it is not to be believed."""
    try:
        found = [ip_network(one) for one in source.read(text)]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(f"{source.file} is not of the form that {source.url} has: {error}") from None
    if len(found) < source.least:
        raise InputError(f"{source.file} has {len(found)} networks, and at least {source.least} are expected: is it complete?")
    for network in found:
        if network.prefixlen < WIDEST[network.version]:
            raise InputError(f"{source.file} has {network}, wider than a /{WIDEST[network.version]}: no edge is so large")
        for row in IPV4_ROWS if network.version == 4 else IPV6_ROWS:
            if network.overlaps(row.network):
                raise InputError(f"{source.file} has {network}, and {row.network} is {row.name} ({row.source})")
    merged: list[Network] = [
        *collapse_addresses(network for network in found if isinstance(network, IPv4Network)),
        *collapse_addresses(network for network in found if isinstance(network, IPv6Network)),
    ]
    if size(merged) > MOST_ADDRESSES:
        raise InputError(f"{source.file} has {size(merged):,} addresses, as a hosting company has, and no edge")
    return merged


def size(networks: Iterable[Network]) -> int:
    """How many IPv4 addresses they hold."""
    return sum(network.num_addresses for network in networks if network.version == 4)


def row_of(
    source: Source, networks: Sequence[Network], dated: str, before: Mapping[str, Any] | None, via: str = ""
) -> dict[str, Any]:
    """The table's row. Raises `InputError` if it has half or twice the addresses that it had."""
    if before is not None:
        had, has = size(map(ip_network, before["networks"])), size(networks)
        if had >= STEADY and not had < has * 2 < had * 4:
            raise InputError(
                f"{source.file} has {has:,} addresses, and had {had:,} in {before['dated']}. If that is so, remove the row of "
                f"{source.url} from {TARGET.name}, and run this again."
            )
    return {
        "provider": source.provider,
        "label": source.label,
        "kind": source.kind,
        "unit": source.unit,
        "source": f"{source.url}{VIA}{via}" if via else source.url,
        "dated": dated,
        "checked": not via,
        "networks": list(map(str, networks)),
    }


def document(rows: Iterable[Mapping[str, Any]]) -> str:
    """The file's text: one network a line."""
    about = "Networks of edges, as their providers publish them. Made by tools/make_edges.py: change that, not this."
    parts = []
    for row in sorted(rows, key=lambda row: (row["provider"], row["source"])):
        head = json.dumps({name: value for name, value in row.items() if name != "networks"}, ensure_ascii=False)
        networks = ",\n".join(map(json.dumps, row["networks"]))
        parts.append(f'{head[:-1]}, "networks": [\n{networks}\n]}}')
    return f'{{\n"about": {json.dumps(about)},\n"rows": [\n' + ",\n".join(parts) + "\n]\n}\n"


def made(old: str, dated: str, texts: Mapping[str, str], sources: Iterable[Source] = SOURCES, via: str = "") -> str:
    """The new file's text from the old one's and the lists by their files' names; a list that is missing keeps its row."""
    rows = {row["source"].partition(VIA)[0]: row for row in json.loads(old)["rows"]} if old else {}
    for source in sources:
        if source.file in texts:
            found = networks_of(source, texts[source.file])
            rows[source.url] = row_of(source, found, dated, rows.get(source.url), via)
    return document(rows.values())


def fetched(source: Source) -> str:
    request = urllib.request.Request(source.url, data=source.post, headers={"User-Agent": "scrapy_polite/make_edges"})
    with urllib.request.urlopen(request, timeout=60) as response:
        return str(response.read().decode("utf-8"))


def gathered(directory: Path | None) -> dict[str, str]:
    """The lists that are to be had, by their files' names; what is missing is said."""
    texts = {}
    for source in SOURCES:
        try:
            if directory is not None:
                texts[source.file] = (directory / source.file).read_text(encoding="utf-8")
            elif source.fetched:
                texts[source.file] = fetched(source)
            else:
                print(f"{source.provider}: save {source.url} as {source.file}, and use --from", file=sys.stderr)
        except OSError as error:
            print(f"{source.provider}: {error}: its row stays as it was", file=sys.stderr)
    return texts


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dated", required=True, help="year and month of the lists: 2026-11")
    parser.add_argument("--from", dest="directory", type=Path, help="a directory with the lists; else they are fetched")
    parser.add_argument("--via", default="", help="who made these copies, if not the providers: their rows are unchecked then")
    parser.add_argument("--to", type=Path, default=TARGET)
    given = parser.parse_args(arguments)
    old = given.to.read_text(encoding="utf-8") if given.to.exists() else ""
    try:
        text = made(old, given.dated, gathered(given.directory), via=given.via)
    except InputError as error:
        print(f"refused: {error}", file=sys.stderr)
        return 1
    given.to.write_text(text, encoding="utf-8")
    print(f"{given.to}: {len(json.loads(text)['rows'])} rows")
    return 0


if __name__ == "__main__":
    sys.exit(main())
