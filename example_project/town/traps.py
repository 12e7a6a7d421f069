"""Traps: URLs that lead a careless crawler to its own machine, to private networks and to metadata services.

Spellings: the WHATWG URL Standard's host parser (https://url.spec.whatwg.org/#host-parsing), RFC 4291 2.5.5 (mapped
IPv6), RFC 6052 (NAT64), RFC 3056 (6to4), and the metadata addresses that the cloud vendors document.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from town.names import REBINDING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from town.addresses import Ports
    from town.world import Site, World

REDIRECTS: Final = (302, 301, 303, 307, 308)


@dataclass(frozen=True, slots=True)
class Trap:
    """`url` must never be fetched. `at_once`: it can be told at the first look; a rebinding name only later."""

    url: str
    what: str
    at_once: bool = True


OWN_PORT: Final = (
    # host as it is spelled, what it is
    ("127.0.0.1", "loopback"),
    ("127.99.0.1", "loopback, not the usual address"),
    ("127.99.13.37", "loopback, not the usual address"),
    ("2130706433", "loopback in decimal"),
    ("017700000001", "loopback in octal"),
    ("0177.0.0.1", "loopback in dotted octal"),
    ("0x7f000001", "loopback in hexadecimal"),
    ("0x7f.0.0.1", "loopback in dotted hexadecimal"),
    ("0x7f.1", "loopback in mixed bases"),
    ("127.1", "loopback in short form"),
    ("127.0.1", "loopback in short form"),
    ("127.0.0.1.", "loopback with a trailing dot"),
    ("0", "the unspecified address in short form"),
    ("0.0.0.0", "the unspecified address"),
    ("[::]", "the unspecified address, IPv6"),
    ("[::1]", "loopback, IPv6"),
    ("[0:0:0:0:0:0:0:1]", "loopback, IPv6 in full"),
    ("[::ffff:127.0.0.1]", "loopback mapped into IPv6"),
    ("[::ffff:7f00:1]", "loopback mapped into IPv6, in hexadecimal"),
    ("[::127.0.0.1]", "loopback as an IPv4-compatible address"),
    ("[64:ff9b::7f00:1]", "loopback behind NAT64"),
    ("[2002:7f00:1::]", "loopback in 6to4"),
    ("localhost", "loopback by name"),
    ("LocalHost.", "loopback by name, with a trailing dot"),
    ("app.localhost", "loopback by a name below localhost"),
    ("１２７.0.0.1", "loopback in full-width digits"),
    ("①②⑦.0.0.1", "loopback in circled digits"),
    ("%31%32%37.0.0.1", "loopback, percent-encoded"),
    ("127。0。0。1", "loopback with ideographic full stops"),
    ("www.lantern-and-key.example@127.0.0.1", "loopback behind user-info that looks like a host"),
    ("loop.traps.example", "a name for loopback"),
    ("alias.traps.example", "an alias for a name for loopback"),
    ("inner.traps.example", "an alias for localhost"),
    ("mixed.traps.example", "a name with a good and a bad address"),
    ("six.traps.example", "a name with IPv6 loopback only"),
    ("mapped.traps.example", "a name for loopback mapped into IPv6"),
)
FOREIGN: Final = (
    # URL without a path, what it is: not on loopback
    ("http://169.254.169.254", "a metadata service"),
    ("http://2852039166", "a metadata service in decimal"),
    ("http://0251.00376.000251.0000376", "a metadata service in over-padded octal"),
    ("http://[::ffff:a9fe:a9fe]", "a metadata service mapped into IPv6"),
    ("http://[fd00:ec2::254]", "a metadata service, IPv6"),
    ("http://100.100.100.200", "a metadata service in shared address space"),
    ("http://metadata.google.internal", "a metadata service by name"),
    ("http://meta.traps.example", "a name for a metadata service"),
    ("http://10.0.0.5", "a private address"),
    ("http://192.168.1.1", "a private address"),
    ("http://172.16.0.1", "a private address"),
    ("http://private.traps.example", "a name for a private address"),
    ("http://[fe80::1]", "a link-local address"),
)


def traps(ports: Ports, foreign: bool = True) -> tuple[Trap, ...]:
    """All traps of a town, in a fixed order; without `foreign` only those that stay on loopback."""
    found: list[Trap] = []
    for host, what in OWN_PORT:
        found.append(Trap(f"http://{host}:{ports.http}/trap/{len(found)}", what))
    found.append(Trap(f"https://127.0.0.1:{ports.https}/trap/{len(found)}", "loopback over TLS"))
    found.append(
        Trap(
            f"http://127.0.0.1:{ports.http}\\@www.lantern-and-key.example/trap/{len(found)}",
            "loopback before a backslash",
        )
    )
    found.append(Trap(f"http:/127.0.0.1:{ports.http}/trap/{len(found)}", "loopback after one slash only"))
    found.append(Trap(f"ftp://127.0.0.1:{ports.http}/trap/{len(found)}", "another scheme"))
    found.append(Trap("file:///etc/hostname", "a local file"))
    for host in REBINDING:
        what = "a name that changes its answer after the first look-up"
        found.append(Trap(f"http://{host}:{ports.http}/trap/{len(found)}", what, at_once=False))
    if foreign:
        found.extend(Trap(f"{start}/trap/{number}", what) for number, (start, what) in enumerate(FOREIGN, len(found)))
    return tuple(found)


@dataclass(frozen=True, slots=True)
class Laid:
    """The traps on one listing page: those linked, those shown as images, those that ``/go/<n>`` leads to."""

    links: tuple[int, ...] = ()
    images: tuple[int, ...] = ()
    redirects: tuple[int, ...] = ()


def lay(world: World, count: int) -> dict[tuple[str, int], Laid]:
    """Which of `count` traps stand on which page: (host, listing's id) -> Laid.

    The lone agent's pages carry all of them; every fourth tenant one link, one image and one redirect, in turn.
    Redirects are few, as each costs the site one request.
    """
    laid: dict[tuple[str, int], Laid] = {}
    if not count:
        return laid
    for number, site in enumerate(site for site in world.sites if site.inhabitant == "platform"):
        if number % 4 == 0:
            turn = 3 * (number // 4)
            laid[site.host, site.listings[-1].id] = Laid((turn % count,), ((turn + 1) % count,), ((turn + 2) % count,))
    for site in world.sites:
        if site.inhabitant == "lone":
            pages = len(site.listings)
            for index, listing in enumerate(site.listings):
                mine = range(index, count, pages)
                laid[site.host, listing.id] = Laid(tuple(mine), tuple(mine), tuple(mine)[:: max(1, len(mine) // 2)][:2])
    return laid


def redirect_targets(site: Site, laid: Mapping[tuple[str, int], Laid]) -> Iterable[int]:
    """Numbers n for which the site answers ``/go/<n>``."""
    return (n for listing in site.listings for n in laid.get((site.host, listing.id), Laid()).redirects)
