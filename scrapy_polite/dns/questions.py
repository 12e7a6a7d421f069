"""One question to a name server, and what its answer means. dnspython does the talking: UDP, then TCP on truncation."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import ip_address
from typing import TYPE_CHECKING

import dns.asyncbackend
import dns.asyncresolver
import dns.exception
import dns.message
import dns.name
import dns.rdatatype
import dns.resolver
import dns.reversename

if TYPE_CHECKING:
    from scrapy_polite.naming.hosts import IPAddress

__all__ = ["Failed", "Found", "ask", "ask_names"]


@dataclass(frozen=True, slots=True)
class Found:
    """A good answer, perhaps without addresses of this type. `ttl` is the least of the chain, or the negative one."""

    addresses: tuple[IPAddress, ...]
    chain: tuple[str, ...]
    ttl: float


@dataclass(frozen=True, slots=True)
class Failed:
    """No good answer. `reason` as in `NoAnswer`; `ttl` is the zone's negative TTL, or 0."""

    reason: str
    detail: str
    ttl: float = 0.0


async def ask(stub: dns.asyncresolver.Resolver, host: str, kind: dns.rdatatype.RdataType) -> Found | Failed:
    """The A or AAAA records of a canonical host. Every failure is a value."""
    answer = await _resolved(stub, host, dns.name.from_text(host), kind)  # absolute: search lists have no say
    if isinstance(answer, Failed):
        return answer
    chained = answer.chaining_result
    return Found(
        tuple(ip_address(record.address) for record in answer.rrset or ()),
        tuple(_text(rrset[0].target) for rrset in chained.cnames),
        float(chained.minimum_ttl),
    )


async def ask_names(stub: dns.asyncresolver.Resolver, address: IPAddress) -> Found | Failed:
    """The PTR records of an address, in `chain`, and no addresses. Every failure is a value."""
    answer = await _resolved(stub, str(address), dns.reversename.from_address(str(address)), dns.rdatatype.PTR)
    if isinstance(answer, Failed):
        return answer
    names = tuple(_text(record.target) for record in answer.rrset or ())
    return Found((), names, float(answer.chaining_result.minimum_ttl))


async def _resolved(
    stub: dns.asyncresolver.Resolver, host: str, name: dns.name.Name, kind: dns.rdatatype.RdataType
) -> dns.resolver.Answer | Failed:
    try:
        # The backend is named, so that nothing guesses it from the running task.
        return await stub.resolve(
            name, kind, raise_on_no_answer=False, backend=dns.asyncbackend.get_backend("asyncio"), search=False
        )
    except dns.resolver.NXDOMAIN as error:
        return Failed("nxdomain", f"{host} does not exist.", _negative_ttl(error, name))
    except dns.resolver.LifetimeTimeout:
        return Failed("timeout", f"No name server answered for {host} within {stub.lifetime:g} s.")
    except dns.resolver.NoNameservers as error:
        return _blame(host, error)
    except (dns.exception.DNSException, OSError) as error:
        return Failed("malformed", f"{host}: {type(error).__name__}: {error}")


def _text(name: dns.name.Name) -> str:
    return name.to_text(omit_final_dot=True).lower()


def _negative_ttl(error: dns.resolver.NXDOMAIN, name: dns.name.Name) -> float:
    """How long the zone lets "does not exist" live: RFC 2308 section 5; 0 if it does not say."""
    try:
        return float(error.kwargs["responses"][name].resolve_chaining().minimum_ttl)
    except (KeyError, dns.exception.DNSException):
        return 0.0


def _blame(host: str, error: dns.resolver.NoNameservers) -> Failed:
    """Every server has been given up: the most telling failure speaks for all."""
    spoken: dict[str, str] = {}
    for server, _, _, what, _ in error.kwargs.get("errors", ()):
        if isinstance(what, dns.message.ChainTooLong):
            spoken["loop"] = f"The CNAME chain of {host} has no end."
        elif isinstance(what, str):
            spoken["servfail"] = f"{server} answered {what} for {host}."
        elif isinstance(what, OSError):
            spoken["unreachable"] = f"{server} cannot be reached: {what}."
        elif not isinstance(what, (dns.exception.Timeout, dns.message.Truncated)):
            spoken["malformed"] = f"{server} answered {host} with something unreadable: {type(what).__name__}."
    for reason in ("loop", "servfail", "malformed", "unreachable"):
        if reason in spoken:
            return Failed(reason, spoken[reason])
    return Failed("unreachable", f"No name server was left to ask for {host}.")
