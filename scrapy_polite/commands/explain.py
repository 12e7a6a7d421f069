"""``scrapy polite explain``: what would happen to a URL, station by station, without sending anything to its server."""

from __future__ import annotations

import asyncio
import json
import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy_polite.dns.resolver import Answer, NoAnswer, Resolver
from scrapy_polite.guard.policy import Refused
from scrapy_polite.naming.hosts import Invalid, display_host, parse
from scrapy_polite.paths import store_url
from scrapy_polite.politeness import Politeness
from scrapy_polite.settings import Config
from scrapy_polite.stores.base import open_store, scratch_store

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from scrapy.settings import BaseSettings

    from scrapy_polite.limits.plan import Charge
    from scrapy_polite.stores.base import Store

__all__ = ["add_options", "run"]

Explanation = dict[str, Any]


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("urls", nargs="+", metavar="URL", help="`-`: one URL a line from standard input")
    parser.add_argument("--offline", action="store_true", help="ask no DNS; `admitted` is null where only DNS can tell")


def run(settings: BaseSettings, options: argparse.Namespace) -> int:
    """Explain every URL, in order. 0 if each has a valid host; 1 if one has not."""
    return asyncio.run(_run(settings, options))


async def _run(settings: BaseSettings, options: argparse.Namespace) -> int:
    config = Config.from_settings(settings)
    kept = existing_store(config)
    explainer = Explainer(config, kept)
    write = sys.stdout.write
    all_valid = True
    try:
        for url in _urls(options.urls):
            found = explainer.offline(url) if options.offline else await explainer.online(url)
            all_valid = all_valid and found["site"] is not None
            write(f"{json.dumps(found, ensure_ascii=False)}\n" if options.json else _as_text(found))
    finally:
        await explainer.close()
        sys.stdout.flush()
    return 0 if all_valid else 1


def _urls(given: list[str]) -> Iterator[str]:
    for url in given:
        if url == "-":
            yield from (line.strip() for line in sys.stdin if line.strip())
        else:
            yield url


def existing_store(config: Config) -> Store | None:
    """The store as it is; None where there is none yet. Looking never makes one."""
    url = store_url(config.store, make=False)
    path = Path(url.removeprefix("sqlite:"))
    return open_store(url) if url.startswith("sqlite:") and path.exists() else None


class Explainer:
    """Answers from the same politeness that a crawl uses, with a copy of the store's origins: explaining writes nothing."""

    def __init__(self, config: Config, kept: Store | None) -> None:
        self._kept = kept
        copy = scratch_store()
        for name, anchors in (kept.origins() if kept is not None else {}).items():
            copy.origin(anchors, name)
        self._politeness = Politeness(config, copy, Resolver(config.dns_servers, config.dns_timeout), None, None)

    def offline(self, url: str) -> Explanation:
        """What needs no network. An address literal is admitted or not; a name may only be refused."""
        target = parse(url)
        refused = self._politeness.config.policy.judge_target(target)
        if refused is None and not isinstance(target, Invalid) and target.address is not None:
            refused = self._politeness.judge(target, Answer(target.host, (target.address,), (), math.inf))
        found = _blank(url)
        if isinstance(target, Invalid):
            return found | {"admitted": False, "reason": f"{target.reason}: {target.detail}"}
        site = self._politeness.own_key(target) or target.site
        found["site"] = site
        if refused is not None:
            found |= {"admitted": False, "reason": f"{refused.reason}: {refused.detail}"}
        elif target.address is not None:
            found |= {"admitted": True, "addresses": [str(target.address)], "pinned": str(target.address)}
        return self._planned(found, url, (site,))

    async def online(self, url: str) -> Explanation:
        """All of it: the host is resolved as a crawl would resolve it."""
        found = self.offline(url)
        if found["admitted"] is False:
            return found
        answer = await self._politeness.admit(url)
        if isinstance(answer, Refused):
            return found | {"admitted": False, "reason": f"{answer.reason}: {answer.detail}"}
        if isinstance(answer, NoAnswer):
            return found | {"admitted": False, "reason": f"no DNS answer: {answer.reason}: {answer.detail}"}
        placed = answer[1]
        found |= {
            "admitted": True,
            "addresses": [str(address) for address in placed.addresses],
            "pinned": str(placed.pinned),
            "origin": placed.origin,
            "evidence": list(placed.evidence),
        }
        return self._planned(found, url, placed.keys)

    def _planned(self, found: Explanation, url: str, keys: tuple[str, ...]) -> Explanation:
        kinds = self._politeness.config.kinds
        kind = kinds.of(url)
        charges = self._politeness.charges(keys[0], keys, kind)
        found |= {"kind": kind, "cost": charges[0].cost, "charges": [_charge(charge) for charge in charges]}
        if self._kept is not None:
            peeks = self._kept.peek(keys)
            held = max(peeks.items(), key=lambda item: item[1].hold_in)
            found["due_in"] = max(max(peek.due_in, peek.hold_in) for peek in peeks.values())
            if held[1].hold_in > 0 and held[1].cause is not None:
                cause = held[1].cause
                found["hold"] = {"key": held[0], "seconds": held[1].hold_in, "kind": cause.kind, "reason": cause.reason}
        return found

    async def close(self) -> None:
        await self._politeness.close()
        if self._kept is not None:
            self._kept.close()


def _blank(url: str) -> Explanation:
    return {
        "url": url,
        "site": None,
        "kind": None,
        "cost": None,
        "charges": [],
        "admitted": None,
        "reason": None,
        "addresses": [],
        "pinned": None,
        "origin": None,
        "evidence": [],
        "hold": None,
        "due_in": 0.0,
    }


def _charge(charge: Charge) -> dict[str, Any]:
    stated = {"key": charge.key, "cost": charge.cost, "rate": charge.rate, "burst": charge.burst}
    return stated | ({"least": charge.least} if charge.least else {})


def _as_text(found: Explanation) -> str:
    """For a person: one fact a line, the host in its own letters."""
    admitted = {True: "yes", False: "no", None: "only DNS can tell"}[found["admitted"]]
    lines = [found["url"]]
    if found["site"] is not None:
        family, _, name = found["site"].partition(":")
        shown = display_host(name) if family == "site" else name
        lines.append(f"  site       {found['site']}" + (f"  ({shown})" if shown != name else ""))
    lines.append(f"  admitted   {admitted}" + (f": {found['reason']}" if found["reason"] else ""))
    if found["addresses"]:
        lines.append(f"  addresses  {', '.join(found['addresses'])}; dialled: {found['pinned']}")
    if found["origin"]:
        lines.append(f"  origin     {found['origin']}")
    lines += [f"             {sentence}" for sentence in found["evidence"]]
    if found["kind"]:
        lines.append(f"  kind       {found['kind']}, which costs {found['cost']:g}")
    for charge in found["charges"]:
        burst = f", burst {charge['burst']:g}" if charge["burst"] else ""
        least = f", and {charge['least']:g} s between two starts at least" if "least" in charge else ""
        allows = f"which allows {charge['rate']:g} units a second{burst}{least}"
        lines.append(f"  charged    {charge['cost']:g} to {charge['key']}, {allows}")
    if found["hold"]:
        hold = found["hold"]
        lines.append(f"  held       {hold['key']} for {hold['seconds']:.1f} s more ({hold['kind']}: {hold['reason']})")
    if found["due_in"] > 0:
        lines.append(f"  due in     {found['due_in']:.3f} s")
    return "\n".join(lines) + "\n"
