"""What would happen to a URL, station by station, as one flat object: by its name alone, or with DNS and the store."""

from __future__ import annotations

import asyncio
import math
import sys
import time
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any, Final

from scrapy_polite.commands import hand
from scrapy_polite.commands.fields import charge, invalid, learned, not_found, state, unjudged
from scrapy_polite.commands.known import Known, reasons
from scrapy_polite.commands.paces import paces_of
from scrapy_polite.dns.own import OwnAddresses
from scrapy_polite.dns.resolver import Answer, NoAnswer, Resolver
from scrapy_polite.errors import NotNow
from scrapy_polite.guard.refusal import Refused
from scrapy_polite.guard.remedies import remedy
from scrapy_polite.guard.trail import Check, answer_checks, found_by, target_checks
from scrapy_polite.naming.domains import registrable_domain
from scrapy_polite.naming.hosts import Invalid, display_host, parse
from scrapy_polite.naming.imagesources import canonical_source
from scrapy_polite.naming.keys import own_key
from scrapy_polite.naming.sending import as_sent
from scrapy_polite.origins.sentences import suspicion
from scrapy_polite.origins.watching import account_among, folder_of
from scrapy_polite.politeness import Politeness
from scrapy_polite.stores.base import StoreError, scratch_store
from scrapy_polite.stores.looking import LookOnly

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from ipaddress import IPv6Network

    from scrapy_polite.commands.fields import Explanation, Judged, Named, Planned
    from scrapy_polite.commands.proxies import EnvironmentProxies
    from scrapy_polite.commands.robotsrules import Rules, RulesOf
    from scrapy_polite.config import Config
    from scrapy_polite.naming.hosts import IPAddress, Target
    from scrapy_polite.politeness import Placed
    from scrapy_polite.stores.base import Store

__all__ = ["Explainer"]

PATIENCE: Final = 10.0
"""Seconds in which a store must answer all that is asked of it for one URL."""

MOST_POINTERS: Final = 4
"""Addresses of a host whose names are asked for: one takes half a second."""


class Explainer:
    """Answers from the same politeness that a crawl uses, on a store that is only looked at: explaining writes nothing."""

    def __init__(self, config: Config, proxies: EnvironmentProxies, kept: Store | None, rules: RulesOf | None = None) -> None:
        self._config = config
        self._rules = rules
        self._proxies = proxies
        self._own = OwnAddresses(time.monotonic)
        self._known: Known | None = None
        if kept is not None:
            try:
                self._known = Known(LookOnly(kept))
            except StoreError as error:
                self._without_store(error)
        self._politeness = self._made(self._known.store if self._known is not None else scratch_store())

    def _made(self, store: Store) -> Politeness:
        config = self._config
        return Politeness(config, store, Resolver(config.dns_servers, config.dns_timeout), None, None)

    def offline(self, url: str) -> Explanation:
        """What needs neither network nor store. An address literal is admitted or not; a name may only be refused."""
        target = parse(url)
        if isinstance(target, Invalid):
            return invalid(url, target)
        named, judged = self.named(url, target), self.judged(target)
        return {**named, **judged, **self.planned(self.keys(target), self.kind(url)), **not_found()}

    async def online(self, url: str, *, pointers: bool = True) -> Explanation:
        """All of it: the host is resolved as a crawl would resolve it. `pointers`: and the names of its addresses."""
        target = parse(url)
        if isinstance(target, Invalid):
            return invalid(url, target)
        robots = self._read_robots(url, target)
        found: Explanation = {**self.offline(url), "robots": robots}
        if found["admitted"] is not False:
            await self._by_dns(found, url, target, pointers=pointers)
        return found

    async def close(self) -> None:
        await self._politeness.close()

    # -- by its name alone

    def named(self, url: str, target: Target) -> Named:
        return {
            "url": url,
            "canonical": target.url,
            "sent": as_sent(url, target) if target.scheme in ("http", "https") else None,
            "source": canonical_source(target),
        }

    def judged(self, target: Target) -> Judged:
        policy = self._config.policy
        found = unjudged()
        found |= {
            "host": target.host,
            "shown": display_host(target.host),
            "port": target.port,
            "domain": registrable_domain(target.host),
            "proxy": self._proxies.of(target),
        }
        addresses: tuple[IPAddress, ...] = ()
        own: Collection[IPAddress] = ()
        if target.address is not None:
            addresses = (target.address,)
            if policy.judge_address(target.address, target.host, target.port) is None:
                own = self._own.among(Answer(target.host, addresses, (), math.inf))
            found |= {"admitted": True, "addresses": [target.host], "pinned": target.host}
        found["checks"] = target_checks(policy, target, own)
        refused = next((check for check in found["checks"] if not check["passes"]), None)
        if refused is not None:
            self._refuse(found, refused, target, addresses, own)
        if found["proxy"] is not None and found["admitted"] is not False:
            self._through(found)
        return found

    def keys(self, target: Target) -> tuple[str, ...]:
        """What the URL alone tells of its keys."""
        return (own_key(target, self._config.stores) or target.site,)

    def kind(self, url: str) -> str:
        return self._config.kinds.of(url)

    def planned(self, keys: tuple[str, ...], kind: str, bucket: str | None = None) -> Planned:
        """What is charged; the narrowest key comes first. `bucket`: as for a plan."""
        charges = self._politeness.planner.charges(keys[0], keys, kind, bucket=bucket)
        return {
            "site": keys[0],
            "bucket": next((key for key in keys if key.startswith("bucket:")), None),
            "image_service": next((key for key in keys if key.startswith("imageservice:")), None),
            "kind": kind,
            "cost": charges[0].cost,
            "charges": [charge(one) for one in charges],
        }

    def _refuse(
        self,
        found: Judged,
        check: Check,
        target: Target,
        addresses: Sequence[IPAddress],
        own: Collection[IPAddress],
        nat64: Sequence[IPv6Network] = (),
    ) -> None:
        """Say why, by which rule, and what would admit it. In report-only mode the answer may still be yes."""
        reason, why = check["rule"] or "", check["why"] or ""
        # Whatever is not http or https is stopped before the guard can report it.
        through = reason != "scheme" and self._politeness.lets_through(Refused(reason, why), target.url)
        line, note = remedy(self._config.policy, target, found["checks"], addresses, own, nat64)
        found |= {
            "admitted": found["admitted"] if through else False,
            "pinned": found["pinned"] if through else None,
            "let_through": through,
            "reason": f"{reason}: {why}",
            "rule": reason,
            "range": check["range"],
            "allow": line,
            "note": note,
        }

    def _through(self, found: Judged) -> None:
        """A proxy that nobody trusts may be asked for nothing."""
        proxy, listed = found["proxy"], self._proxies.listed
        if proxy not in listed:
            found |= {
                "admitted": False,
                "let_through": False,
                "pinned": None,
                "range": None,
                "allow": None,
                "reason": f"proxy: it was to go through {proxy}, in neither POLITE_PROXIES nor POLITE_TRUSTED_PROXIES.",
                "rule": "proxy",
                "note": f"Add {proxy} to POLITE_PROXIES, or take it out of the environment.",
            }

    # -- with DNS and the store

    async def _by_dns(self, found: Explanation, url: str, target: Target, *, pointers: bool) -> None:
        policy, resolver = self._config.policy, self._politeness.resolver
        answer = await resolver.resolve(target.host)
        if isinstance(answer, NoAnswer):
            found |= {"admitted": False, "reason": f"no DNS answer: {answer.reason}: {answer.detail}", "rule": answer.reason}
            return
        nat64 = await resolver.nat64_prefixes() if any(one.version == 6 for one in answer.addresses) else ()
        own = self._own.among(answer)
        # A literal was judged before, but not by what the network's translators make of it.
        before = [check for check in found["checks"] if check["check"] != "address"]
        found["checks"] = before + answer_checks(policy, target, answer.addresses, answer.chain, own, nat64)
        if target.address is None:
            found["ttl"] = round(max(0.0, answer.expires - time.monotonic()), 1)
        found |= {"chain": list(answer.chain), "addresses": list(map(str, answer.addresses)), "admitted": True}
        refused = policy.judge_answer(answer.addresses, answer.chain, target.host, target.port, own, nat64)
        if refused is not None and (check := found_by(found["checks"], refused)) is not None:
            self._refuse(found, check, target, answer.addresses, own, nat64)
        # What counts is what a crawl is told.
        admitted = await self._admit(url)
        if pointers:
            found["pointers"] = await self._pointers(found["addresses"])
            if any(pointer["names"] for pointer in found["pointers"]):
                # A crawl asks for them as well, and takes them for evidence when they are there.
                await self._politeness.placing.asked()
                admitted = await self._admit(url)
        if isinstance(admitted, Refused):
            found |= {"admitted": False, "reason": f"{admitted.reason}: {admitted.detail}", "rule": admitted.reason}
        elif isinstance(admitted, NoAnswer):
            found |= {"admitted": False, "reason": f"no DNS answer: {admitted.reason}: {admitted.detail}"}
        else:
            placed = admitted[1]
            found["pinned"] = str(placed.pinned)
            self._place(found, placed, thoroughly=pointers)
            planner = self._politeness.planner
            keys, bucket = planner.charged(placed.keys, url)
            plan: Planned = found
            plan |= self.planned(keys, self.kind(url), bucket)
            found["learned"] = [noted for one in planner.learned(keys[-1]) for noted in learned(one)]
            found["behaviour"] = self._behaviour(placed.keys, target)
            self._stand(found, keys)

    async def _admit(self, url: str) -> tuple[Target, Placed] | Refused | NoAnswer:
        """As a crawl is told; but nobody waits here for a store to come back."""
        try:
            return await asyncio.wait_for(self._politeness.admit(url), PATIENCE)
        except (asyncio.TimeoutError, NotNow):
            if self._known is None:
                raise
            self._without_store(StoreError("it gives no answer"))
            resolver = self._politeness.resolver
            self._politeness = Politeness(self._config, scratch_store(), resolver, None, None)
            return await self._politeness.admit(url)

    def _place(self, found: Explanation, placed: Placed, *, thoroughly: bool) -> None:
        """Where it is placed, why, and what that is called besides. `thoroughly`: and what is suspected of its addresses."""
        placing, placement, edge = self._politeness.placing, placed.placement, placed.edge
        if edge is not None:
            found["edge"] = {"provider": edge.provider, "label": edge.label, "because": edge.because}
        if placement is None:
            own = f"the URL names {placed.keys[0]}, which has a limit of its own whatever servers answer"
            found |= {"origin": placed.origin, "evidence": list(placed.evidence or (own,))}
            return
        found |= {"origin": placement.origin, "evidence": [*reasons(placing, placement), *placed.notes]}
        if thoroughly:
            found["evidence"] += map(suspicion, placing.suspected_at(placement.host))
        found["confidence"] = placement.confidence
        ruling = placing.ruling_on(placement.host)
        found["ruling"] = hand.as_json(ruling) if ruling is not None else None
        if self._known is not None:
            try:
                origin = self._known.stands_for(placement.origin)
                found |= {"origin": origin, "aliases": self._known.aliases_of([origin]).get(origin, [])}
            except StoreError as error:
                self._without_store(error)

    def _behaviour(self, keys: tuple[str, ...], target: Target) -> dict[str, Any] | None:
        """As what an account of an image service is treated where it is asked for this, and why."""
        account, watching = account_among(keys), self._politeness.planner.watching
        if account is None:
            return None
        folder = folder_of(account, target.path)
        parts = {part.folder: part for part in watching.parts(account)}
        part = parts.get(folder, parts.get(""))
        told = {"because": None, "at": None} if part is None else {"because": part.because or None, "at": part.at}
        return {"key": account, "folder": folder, "behaviour": watching.behaviour(account, folder), **told}

    def _read_robots(self, url: str, target: Target) -> Rules | None:
        """What is known of the site's rules, as of other things that the store knows; their delays limit the site."""
        if self._rules is None or self._known is None or target.scheme not in ("http", "https"):
            return None
        try:
            found = self._rules.of(self._known.store, target.url)
        except StoreError as error:
            self._without_store(error)
            return None
        if found["obeyed"]:
            site = self._politeness.site_of(url)
            self._politeness.obey_delay(site, found["least"], f"the delay of {found['file']}", just_told=False)
        return found

    def _stand(self, found: Explanation, keys: tuple[str, ...]) -> None:
        """When each key is due, and whether it is held."""
        if self._known is None:
            return
        try:
            peeks = self._known.store.peek(keys)
            found["paces"] = paces_of(self._known.store, self._config, [keys[-1]]).get(keys[-1], [])
        except StoreError as error:
            self._without_store(error)
            return
        found["keys"] = [state(key, peek) for key, peek in peeks.items()]
        key, held = max(peeks.items(), key=lambda item: item[1].hold_in)
        found["due_in"] = max(max(peek.due_in, peek.hold_in) for peek in peeks.values())
        if held.hold_in > 0 and held.cause is not None:
            found["hold"] = {"key": key, "seconds": held.hold_in, "kind": held.cause.kind, "reason": held.cause.reason}

    def _without_store(self, error: StoreError) -> None:
        sys.stderr.write(f"The store cannot be read, so nothing is said about due times and holds: {error}\n")
        if self._known is not None:
            self._known.store.close()
            self._known = None

    async def _pointers(self, addresses: Sequence[str]) -> list[dict[str, Any]]:
        """The names of the first addresses, as far as they are there in the time of one look-up more."""
        first = addresses[:MOST_POINTERS]
        asked = [asyncio.ensure_future(self._politeness.resolver.pointer(ip_address(address))) for address in first]
        if asked:
            await asyncio.wait(asked, timeout=self._config.dns_timeout)
        found: list[dict[str, Any]] = []
        for address, task in zip(first, asked, strict=True):
            if task.done():
                pointer = task.result()
                found.append({"address": address, "names": list(pointer.names), "reason": pointer.reason or None})
            else:
                task.cancel()
                found.append({"address": address, "names": [], "reason": "timeout"})
        return found
