"""What an operator would have to set so that a refused URL is admitted: that host, that port and those addresses alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from scrapy_polite.guard.names import LOCALHOST, is_localhost, never_opened
from scrapy_polite.guard.trail import carried

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence
    from ipaddress import IPv6Network

    from scrapy_polite.guard.policy import Policy
    from scrapy_polite.guard.trail import Check
    from scrapy_polite.naming.hosts import IPAddress, Target

__all__ = ["Remedy", "remedy"]


class Remedy(NamedTuple):
    """`line` is a line of settings.py, complete with what is set already; None where no setting helps, and `note` says why.
    Where the address is not known, ``ADDRESS`` stands in the line, and `note` says so."""

    line: str | None
    note: str | None


FINAL: Final = {
    "metadata": "No setting opens a metadata service.",
    "scheme": "No setting opens another scheme.",
    "bad_host": "No setting opens it: the zone of the host is at fault.",
    "zone_id": "No setting opens an address with a zone id.",
}
"""Reasons that no setting changes, and what to say about them."""

#: What stands in a line for an address that only the operator knows.
UNKNOWN: Final = "ADDRESS"
_ASK: Final = f"Put its address in place of {UNKNOWN}: DNS is not asked for such a name."
_USERINFO: Final = "Leave user name and password out of the URL."


def remedy(
    policy: Policy,
    target: Target,
    checks: Iterable[Check],
    addresses: Sequence[IPAddress] = (),
    own: Collection[IPAddress] = (),
    nat64: Sequence[IPv6Network] = (),
) -> Remedy:
    """What would admit a target that some of `checks` refuse. `addresses` are what its name has; none if DNS was not asked."""
    failed = [check for check in checks if not check["passes"]]
    for check in failed:
        if check["rule"] in FINAL:
            return Remedy(None, FINAL[check["rule"]])
        if check["rule"] == "operator_deny":
            return Remedy(None, f"Take {check['range']} out of POLITE_DENY_NETWORKS, which wins over all that is allowed.")
        if (why := never_opened(check["of"])) and check["rule"] == "special_name":
            return Remedy(None, f"No setting opens it: {why}")
    if not target.port:
        return Remedy(None, "No setting opens port 0.")
    userinfo = _USERINFO if any(check["rule"] == "userinfo" for check in failed) else None
    failed = [check for check in failed if check["rule"] != "userinfo"]
    if not failed:
        return Remedy(None, userinfo)
    place = f"{target.written}:{target.port}"
    if target.address is None and all(check["check"] == "port" for check in failed):
        named = [f"{place}={rule.network}" for rule in policy.rules if rule.host == target.host]
        if named:
            return Remedy(_networks_line(policy, named), userinfo)
        return Remedy(f"POLITE_ALLOW_PORTS = {sorted({*policy.ports, target.port})}", userinfo)
    if target.address is not None:
        addresses = (target.address,)
    elif any(is_localhost(check["of"]) for check in failed):
        addresses = (LOCALHOST, *addresses)
    known = f"{addresses[0]}/{addresses[0].max_prefixlen}" if addresses else UNKNOWN
    items = [f"{place}={network}" for network in _networks(policy, target, addresses, own, nat64)]
    special = [check["of"] for check in failed if check["rule"] == "special_name"]
    items += [f"{name}={known}" for name in special if name != target.host]
    if target.host in special and not any(item.startswith(place) for item in items):
        items.append(f"{place}={known}")
    notes = filter(None, (None if addresses else _ASK, userinfo))
    return Remedy(_networks_line(policy, items), " ".join(notes) or None)


def _networks(
    policy: Policy,
    target: Target,
    addresses: Iterable[IPAddress],
    own: Collection[IPAddress],
    nat64: Sequence[IPv6Network],
) -> Iterator[str]:
    """The networks to open for the target: each address that is refused, or that carries one; all of them where the port is
    opened by that alone."""
    seen: set[IPAddress] = set()
    host, port = target.host, target.port
    for address in addresses:
        for one in carried(address, nat64):
            needed = one in own or policy.judge_address(one, host, port) is not None
            if (needed or (one == address and port not in policy.ports)) and one not in seen:
                seen.add(one)
                yield f"{one}/{one.max_prefixlen}"


def _networks_line(policy: Policy, items: Iterable[str]) -> str:
    """A list of Python's, with the quotes of JSON, so that the command line takes it too; with what is set already."""
    whole = dict.fromkeys([*map(str, policy.allow), *map(str, policy.rules), *items])
    written = ", ".join(f'"{item}"' for item in whole)
    return f"POLITE_ALLOW_NETWORKS = [{written}]"
