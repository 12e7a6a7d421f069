"""Every rule of the guard that a URL is held against, and what each says: for people who ask why.

A judgement stops at the first refusal, and says so in one sentence. Here all rules are asked, by the same methods of the same
policy, and for each refusal the range that it rests on is found.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

from scrapy_polite.guard.embedded import embedded_ipv4
from scrapy_polite.guard.metadata import METADATA_ADDRESSES
from scrapy_polite.guard.names import LOCALHOST, is_localhost, special_suffix
from scrapy_polite.guard.nat64 import behind
from scrapy_polite.guard.ranges import builtin_row

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence
    from ipaddress import IPv6Network

    from scrapy_polite.guard.policy import Policy
    from scrapy_polite.guard.refusal import Refused
    from scrapy_polite.naming.hosts import IPAddress, Target

__all__ = ["OPENED", "Check", "answer_checks", "carried", "found_by", "target_checks"]

OPENED = "operator_allow"
"""What `Check` names as the rule where an address or a name passes because POLITE_ALLOW_NETWORKS says so."""


class Check(TypedDict):
    """One rule that was looked at.

    `check` is what was asked: ``scheme``, ``name``, ``address``, ``userinfo``, ``port``, ``cname``. `of` is what it was asked
    about. `rule` is the reason of a refusal, or :data:`OPENED`; None where nothing is said. `range` is the network, or the
    suffix of names, that the rule covers, or the operator's own item. `why` is a sentence.
    """

    check: str
    of: str
    passes: bool
    rule: str | None
    range: str | None
    why: str | None


def target_checks(policy: Policy, target: Target, own: Collection[IPAddress] = ()) -> list[Check]:
    """What can be said of a URL before DNS is asked, in the order of :meth:`Policy.judge_target`; of an address literal also
    what its answer of DNS would be held against."""
    host, port = target.host, target.port
    if target.address is None:
        at = _name_check(policy, "name", host, policy.judge_name(host, host, port))
    else:
        at = _address_check(policy, target.address, host, port, own, ())
    return [
        _check("scheme", target.scheme, policy.judge_scheme(target.scheme)),
        at,
        _check("userinfo", "given" if target.userinfo else "none", policy.judge_userinfo(target)),
        _check("port", str(port), policy.judge_port(host, port)),
    ]


def answer_checks(
    policy: Policy,
    target: Target,
    addresses: Sequence[IPAddress],
    chain: Iterable[str],
    own: Collection[IPAddress] = (),
    nat64: Sequence[IPv6Network] = (),
) -> list[Check]:
    """What :meth:`Policy.judge_answer` holds against an answer of DNS, name by name and address by address."""
    host, port = target.host, target.port
    names = [_name_check(policy, "cname", name, policy.judge_cname(name, host, port)) for name in chain]
    return names + [_address_check(policy, address, host, port, own, nat64) for address in addresses]


def found_by(checks: Iterable[Check], refused: Refused) -> Check | None:
    """The check that says what a judgement says; None for a refusal that no rule of the trail knows."""
    failed = [check for check in checks if not check["passes"]]
    same = (check for check in failed if check["rule"] == refused.reason and check["why"] == refused.detail)
    return next(same, None)


def carried(address: IPAddress, nat64: Sequence[IPv6Network] = ()) -> Iterator[IPAddress]:
    """An address, and the IPv4 ones that it carries or that a translator reads out of it."""
    yield address
    if address.version == 6:
        yield from embedded_ipv4(address)
        yield from behind(address, nat64)


def _check(check: str, of: str, refused: Refused | None) -> Check:
    if refused is None:
        return {"check": check, "of": of, "passes": True, "rule": None, "range": None, "why": None}
    return {"check": check, "of": of, "passes": False, "rule": refused.reason, "range": None, "why": refused.detail}


def _name_check(policy: Policy, check: str, name: str, refused: Refused | None) -> Check:
    found = _check(check, name, refused)
    if refused is not None:
        found["range"] = _range_of(policy, refused.reason, (LOCALHOST,)) if is_localhost(name) else special_suffix(name)
    elif policy.rules:
        rule = next((rule for rule in policy.rules if rule.host == name), None)
        if rule is not None:
            found |= {"rule": OPENED, "range": str(rule), "why": f"{name} is named in POLITE_ALLOW_NETWORKS."}
    return found


def _address_check(
    policy: Policy,
    address: IPAddress,
    host: str,
    port: int,
    own: Collection[IPAddress],
    nat64: Sequence[IPv6Network],
) -> Check:
    refused = policy.judge_answer((address,), (), host, port, own, nat64)
    found = _check("address", str(address), refused)
    if refused is not None:
        found["range"] = _range_of(policy, refused.reason, tuple(carried(address, nat64)))
    elif opened := _opened_by(policy, address, host, port):
        found |= {"rule": OPENED, "range": opened, "why": f"{address} is opened by POLITE_ALLOW_NETWORKS: {opened}."}
    return found


def _range_of(policy: Policy, reason: str | None, addresses: Iterable[IPAddress]) -> str | None:
    """The network that a reason rests on: of the first of the addresses that is in one."""
    for address in addresses:
        if reason == "metadata" and address in METADATA_ADDRESSES:
            return str(address)
        if reason == "operator_deny":
            denied = next((network for network in policy.deny if address in network), None)
            if denied is not None:
                return str(denied)
        row = builtin_row(address)
        if row is not None and row.reason == reason:
            return str(row.network)
    return None


def _opened_by(policy: Policy, address: IPAddress, host: str, port: int) -> str | None:
    """The operator's item that an address is in, if there is one."""
    for network in policy.allow:
        if address in network:
            return str(network)
    for rule in policy.rules:
        if rule.host == host and rule.port in (0, port) and address in rule.network:
            return str(rule)
    return None
