"""Placements in sentences, as an engineer would write them into a report. Pure."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Final

from scrapy_polite.origins.edges import KNOWN

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scrapy_polite.origins.judge import Placement, Reason
    from scrapy_polite.origins.suspects import Suspect

__all__ = ["sentences", "suspicion"]

#: Of many reasons of one kind, so many are written out.
_SHOWN: Final = 2


def sentences(placement: Placement) -> tuple[str, ...]:
    """Where a host is placed and why: the first sentence says it all, others add to it."""
    by: dict[str, list[Reason]] = {}
    for reason in placement.because:
        by.setdefault(reason.kind, []).append(reason)
    # Cut, not rounded: no evidence makes anybody entirely sure.
    sure = f"(confidence {int(placement.confidence * 100 + 1e-6) / 100:.2f})"
    if "join" in by or "split" in by:
        first = _by_hand(placement, by)
    elif not placement.located:
        first = _untold(placement, sure)
    elif "marker" in by:
        first = _by_marker(placement, by, sure)
    elif "referrer" in by:
        first = _by_referrers(placement, by["referrer"][0], sure)
    elif "domain" in by:
        first = _by_domain(placement, by["domain"][0], sure)
    else:
        first = _by_servers(placement, by, sure)
    more = [_crowd(placement, reason) for kind in ("unlike", "alike") for reason in by.get(kind, ())]
    return (first, *more)


def suspicion(suspect: Suspect) -> str:
    """What makes a group of addresses suspected, and what to do if it is true."""
    shown = ", ".join(suspect.addresses[:4])
    more = len(suspect.addresses) - 4
    shown += f" and {more} more" if more > 0 else ""
    return (
        f"{suspect.sites} sites share {_many(len(suspect.addresses), 'address', 'addresses')} ({shown}), look unlike each other"
        f" and all show {_shown(suspect.brand)}: perhaps an edge that no table knows. They stay as they are, which is slow and"
        f" safe. If it is one: {suspect.line}"
    )


def _by_servers(placement: Placement, by: dict[str, list[Reason]], sure: str) -> str:
    host, origin = placement.host, _bare(placement.origin)
    strong = [reason for kind in ("cname", "peer", "address") for reason in by.get(kind, ())]
    alone = all(reason.hosts == 1 for reason in strong)
    kinds = [kind for kind in _COMPANY if alone or kind != "network"]  # where an address is shared, neighbours add nothing
    company = [_COMPANY[kind](by[kind][0]) for kind in kinds if kind in by]
    if alone and not company and placement.edge is None:
        where = " or ".join(f"its {'CNAME' if each.kind == 'cname' else 'address'} {each.value}" for each in strong[:_SHOWN])
        return f"{host} has servers of its own, as far as anybody has seen: no other known site has {where} {sure}."
    clauses = [_cname(reason) for reason in by.get("cname", ())[:_SHOWN]]
    clauses += [f"{_address(reason)}, and it answered from there" for reason in by.get("peer", ())]
    clauses += [_address(reason) for reason in by.get("address", ())[: _SHOWN - len(by.get("peer", ()))]]
    clauses += company
    if placement.edge is not None:
        return f"{host} is behind {placement.edge.label}; {_listed(clauses)}: its misses are charged to origin {origin} {sure}."
    return f"{host} is served by origin {origin}: {_listed(clauses)} {sure}."


def _pointer(reason: Reason) -> str:
    return f"the PTR name of its machine is in {reason.value}, as for {_others(reason)}, most of which look alike"


def _certificate(reason: Reason) -> str:
    marker = _shown(reason.value.partition("/")[2])
    return f"its certificate and its {marker} are those of {_others(reason)}, most of which look alike"


def _network(reason: Reason) -> str:
    network, _, marker = reason.value.partition("/")
    return f"{_others(reason)} in its network {network}/{64 if ':' in network else 24} show its {_shown(marker)} too"


_COMPANY: Final = {"pointer": _pointer, "certificate": _certificate, "network": _network}


def _by_marker(placement: Placement, by: dict[str, list[Reason]], sure: str) -> str:
    names = _listed([_shown(reason.value) for reason in by["marker"]])
    is_found = "are found" if len(by["marker"]) > 1 else "is found"
    if placement.edge is not None:
        behind = f"{placement.host} is behind {placement.edge.label}"
    else:
        behind = f"DNS does not tell the servers of {placement.host}"
    origin = _bare(placement.origin)
    like = "its pages are set up like most of theirs: so its misses are charged there"
    like = like if "look" in by else like.partition(": ")[2]
    if "control" in by:
        located, _, of = by["control"][0].value.partition(" of ")
        only = "only" if located == of else "nearly only"
        there = f"{is_found} {only} on sites of origin {origin} ({located} of {of} located)"
        return f"{behind}; its {names} {there}, and {like} {sure}."
    crowd = max(reason.hosts for reason in by["marker"])
    hidden = "look alike, and are hidden like it, so that they are taken as one origin"
    return f"{behind}; {crowd} sites show its {names}, {hidden}, {origin} {sure}."


def _by_domain(placement: Placement, reason: Reason, sure: str) -> str:
    behind = f"is behind {placement.edge.label} and " if placement.edge else ""
    found = "the one host" if reason.hosts == 1 else f"all {reason.hosts} hosts"
    verb = "is" if reason.hosts == 1 else "are"
    return (
        f"{placement.host} {behind}shows nothing that tells its servers; {found} of {reason.value} that can be located {verb}"
        f" served by origin {_bare(placement.origin)}: so its misses are charged there {sure}."
    )


def _by_referrers(placement: Placement, reason: Reason, sure: str) -> str:
    count, _, of = reason.value.partition(" of ")
    where = placement.edge.label if placement.edge is not None else "an edge"
    pages = f"all {of} pages that refer to it are" if count == of else f"{reason.value} pages that refer to it are"
    origin = _bare(placement.origin)
    return f"{placement.host} is a name of {where}; {pages} served by origin {origin}: so its misses are charged there {sure}."


def _untold(placement: Placement, sure: str) -> str:
    host, origin = placement.host, _bare(placement.origin)
    if placement.edge is None:
        return f"Nothing tells the servers of {host}: taken as those of its domain, {origin} {sure}."
    if _is_platform(placement.edge.provider):
        return (
            f"{host} is a site of the self-service platform {placement.edge.label}, whose sites have nothing in common but its"
            f" front servers: it is charged to origin {origin} alone {sure}."
        )
    return (
        f"{host} is behind {placement.edge.label} and shows nothing that tells its servers: its misses are charged to origin"
        f" {origin}, with the rest of that domain {sure}."
    )


def _by_hand(placement: Placement, by: dict[str, list[Reason]]) -> str:
    origin = _bare(placement.origin)
    if "join" in by:
        return f"{placement.host} was put to origin {origin} by hand ({by['join'][0].value})."
    return f"{placement.host} was split off by hand: it is an origin of its own, {origin} ({by['split'][0].value})."


def _crowd(placement: Placement, reason: Reason) -> str:
    if reason.kind == "alike":
        return f"Of {reason.hosts} sites at {reason.value} whose pages were looked at, most look alike: one platform."
    others = _many(reason.hosts - 1, "unrelated site", "unrelated sites")
    return f"{placement.host} shares {reason.value} with {others}, which look unlike each other: one shared host."


def _cname(reason: Reason) -> str:
    return f"its CNAME is {reason.value}, as for {_others(reason)}" if reason.hosts > 1 else f"its CNAME is {reason.value}"


def _address(reason: Reason, which: str = "") -> str:
    others = _others(reason) if reason.hosts > 1 else "no other site"
    return f"its address {reason.value}{which} is shared with {others}"


def _others(reason: Reason) -> str:
    return _many(max(reason.hosts - 1, 0), "other site", "other sites")


def _shown(marker: str) -> str:
    kind, _, name = marker.partition(":")
    if kind == "cookie" and name:
        return f"cookie {name}"
    name, _, value = marker.partition("=")
    return f"header {name}: {value}" if value else f"header {name}"


@cache
def _is_platform(provider: str) -> bool:
    return any(entry.row.provider == provider and entry.row.unit == "tenant" for entry in KNOWN.entries())


def _bare(origin: str) -> str:
    return origin.removeprefix("origin:")


def _many(count: int, one: str, many: str) -> str:
    return f"{count} {one if count == 1 else many}"


def _listed(clauses: Sequence[str]) -> str:
    return ", and ".join([", ".join(clauses[:-1]), clauses[-1]]) if len(clauses) > 1 else "".join(clauses)
