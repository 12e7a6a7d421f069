"""``scrapy polite origins``: which origins a store knows, which hosts each has, and why."""

from __future__ import annotations

import asyncio
import sys
import time
from typing import TYPE_CHECKING, Any, Final

from scrapy_polite.commands import hand, originstext, suspects
from scrapy_polite.commands.known import Known, reasons
from scrapy_polite.commands.stores import existing_store, without_store
from scrapy_polite.commands.words import line
from scrapy_polite.config import Config
from scrapy_polite.dns.resolver import Resolver
from scrapy_polite.origins.evidence import standing
from scrapy_polite.origins.sentences import suspicion
from scrapy_polite.politeness import Politeness
from scrapy_polite.stores.base import StoreError
from scrapy_polite.stores.looking import LookOnly

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Iterator

    from scrapy.settings import BaseSettings

__all__ = ["add_options", "run"]

MOST: Final = 100
"""Origins, or hosts of one, that are shown unless somebody wants more."""

Found = dict[str, Any]


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help="an origin's name, a host or a URL; none: all origins, most hosts first"
    )
    parser.add_argument(
        "--most", type=int, default=MOST, metavar="N", help=f"at most N origins, or hosts of one (default: {MOST})"
    )
    parser.add_argument("--suspected", action="store_true", help="addresses that look like an edge which no table knows")


def run(settings: BaseSettings, options: argparse.Namespace) -> int:
    """Print what is known. 0, or 1 if there is no store, or it cannot answer."""
    config = Config.from_settings(settings)
    if options.most < 1:
        raise ValueError(f"--most {options.most}: give a number of 1 or more")
    store = existing_store(config)
    if store is None:
        sys.stderr.write(f"{without_store(config)}\n")
        return 1
    looker = _Looker(config, LookOnly(store), options.most)
    try:
        if options.suspected:
            shown = looker.suspected()
        elif options.names:
            shown = asyncio.run(looker.named(options.names))
        else:
            shown = looker.everything()
    except StoreError as error:
        sys.stderr.write(f"The store cannot answer: {error}\n")
        return 1
    finally:
        looker.close()
    for found in shown:
        sys.stdout.write(f"{line(found) if options.json else originstext.as_text(found)}\n")
    return 0


class _Looker:
    """Answers as flat objects; a person is told the same in :mod:`originstext`'s words."""

    def __init__(self, config: Config, store: LookOnly, most: int) -> None:
        self._config = config
        self._most = most
        self._politeness = Politeness(config, store, Resolver(config.dns_servers, config.dns_timeout), None, None)
        self._store = store
        self._known = Known(store)
        config.limits.stand(store.standing(config.limits.origins))

    def close(self) -> None:
        self._politeness.close_files()

    def everything(self) -> list[Found]:
        origins = self._known.origins()
        shown = list(self._described(origins[: self._most]))
        total = {"origins": len(origins), "hosts": sum(hosts for _, hosts in origins), "shown": len(shown)}
        return [total, *shown, *({"lapsed": hand.as_json(ruling)} for ruling in self._known.lapsed)]

    async def named(self, names: Iterable[str]) -> list[Found]:
        return [found for name in names for found in await self._named(name)]

    def suspected(self) -> list[Found]:
        number, found = suspects.suspected(self._store, self._config.edges, self._config.confidence, time.time())
        return [{"hosts": number, "suspected": [suspicion(suspect) for suspect in found]}]

    def _described(self, origins: list[tuple[str, int]]) -> Iterator[Found]:
        names = [name for name, _ in origins]
        peeks, aliases = self._store.peek(names), self._known.aliases_of(names)
        for name, hosts in origins:
            limit, peek = self._config.limits.of(name), peeks[name]
            cause = peek.cause
            yield {
                "origin": name,
                "hosts": hosts,
                "rate": limit.rate,
                "burst": limit.burst,
                "concurrency": limit.concurrency,
                "due_in": peek.due_in,
                "hold_in": peek.hold_in,
                "kind": cause.kind if cause is not None else None,
                "reason": cause.reason if cause is not None else None,
                "aliases": aliases.get(name, []),
                "rulings": [hand.as_json(ruling) for ruling in self._known.rulings_for(name)],
            }

    async def _named(self, text: str) -> list[Found]:
        if not text.startswith("origin:"):
            host = hand.host_of(text)
            if self._known.origin_of(host) is not None:
                return [await self._host(host)]
            text = f"origin:{host}"
        if self._known.is_origin(text):
            return await self._origin(self._known.stands_for(text))
        near = hand.nearest(text.removeprefix("origin:"), [*self._known.hosts(), *self._known.names()])
        raise ValueError(f"{text.removeprefix('origin:')}: neither a host nor an origin that this store knows; {near}")

    async def _origin(self, origin: str) -> list[Found]:
        hosts = dict(self._known.origins()).get(origin, 0)
        placed = [await self._placed(kept.host) for kept in self._known.hosts_of(origin, self._most)]
        (found,) = self._described([(origin, hosts)])
        return [{**found, "placed": placed}]

    async def _placed(self, host: str) -> Found:
        """Where a host is placed, and why; of one that no crawl has met what was ruled."""
        placement = await self._politeness.placing.recall(host)
        if placement is None:
            ruling = self._known.ruling_on(host)
            return {
                "host": host,
                "origin": self._known.origin_of(host),
                "confidence": 1.0,
                "evidence": [hand.sentence(ruling)] if ruling is not None else [],
                "edge": None,
                "seen": None,
            }
        facts = self._politeness.placing.evidence_of(host)[0].facts
        return {
            "host": host,
            "origin": self._known.stands_for(placement.origin),
            "confidence": placement.confidence,
            "evidence": reasons(self._politeness.placing, placement),
            "edge": placement.edge.label if placement.edge is not None else None,
            "seen": max((fact.seen for fact in facts), default=None),
        }

    async def _host(self, host: str) -> Found:
        found = await self._placed(host)
        ruling = self._known.ruling_on(host)
        found["ruling"] = None if ruling is None else hand.as_json(ruling)
        if found["seen"] is None:
            return {**found, "facts": [], "expires": None}
        evidence, points = self._politeness.placing.evidence_of(host)
        count = set(standing(evidence.facts, time.time())[0])
        ruling = self._politeness.placing.ruling_on(host)
        found["ruling"] = None if ruling is None else hand.as_json(ruling)
        found["facts"] = [
            {
                "kind": fact.kind,
                "value": fact.value,
                "seen": fact.seen,
                "ttl": fact.ttl,
                "source": fact.source,
                "absent": fact.absent,
                "counts": fact in count,
            }
            for fact in evidence.facts
        ]
        found["expires"] = points.expires if points.expires != float("inf") else None
        return found
