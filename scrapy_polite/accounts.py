"""Accounts of image services in a crawl: what their answers show, and who is charged for what they let through.

What an account does not have in its cache it fetches from somebody. Whom, the URL of an image may tell; what is charged is that
host's origin, as if the image had been asked of it. Where nothing tells, or the images are many people's, the account has a key
of its own for it, with an origin's rate: never none.
"""

from __future__ import annotations

import logging
import time
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from scrapy_polite.dns.resolver import Answer
from scrapy_polite.errors import NotNow
from scrapy_polite.naming.hosts import Invalid, parse
from scrapy_polite.naming.imagesources import canonical_source
from scrapy_polite.origins.cachestatus import cache_status
from scrapy_polite.origins.edges import Edge
from scrapy_polite.origins.notes import BEHAVIOUR, NotedPart
from scrapy_polite.origins.watching import account_among, folder_of, sign_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from scrapy_polite.admission import Admission, Placed
    from scrapy_polite.naming.hosts import Target
    from scrapy_polite.notebook import Notebook
    from scrapy_polite.origins.watching import Watching
    from scrapy_polite.ticket import Ticket

__all__ = ["Accounts"]

logger = logging.getLogger(__name__)


class Accounts:
    """See the module."""

    def __init__(self, admission: Admission, watching: Watching, notebook: Notebook) -> None:
        self._admission = admission
        self._watching = watching
        self._notebook = notebook

    async def placed(self, placed: Placed, target: Target) -> Placed:
        """What was placed by its name and by DNS; with what stands behind it, if it is an account of an image service."""
        account = account_among(placed.keys)
        if account is None:
            return placed
        await self._recall(account)
        notes = (*placed.notes, *self._watching.sentences(account))
        if self._watching.all_bucket(account):
            return replace(placed, notes=notes)
        key, why = await self._misses(account, target)
        told = f"what it has to fetch is charged to {key}, since {why}"
        # Believed is the word of the edge which the service stands at, as far as DNS tells; else its own.
        provider = account.partition(":")[2].partition("/")[0]
        front = self._admission.config.edges.edge_of(target.host, placed.answer.chain, placed.addresses)
        front = front or Edge(provider, provider, f"{target.host} is an image service")
        return replace(placed, keys=(*placed.keys, key), notes=(*notes, told), front=front)

    async def _misses(self, account: str, target: Target) -> tuple[str, str]:
        """The key that is charged for what the account fetches from others, and why."""
        source = self._watching.source(account, self._source(target))
        key = source if source.startswith("bucket:") else await self._origin_of(source, target)
        if key is not None:
            return key, f"it resizes images of {source}"
        return f"origin:{account.partition(':')[2]}", "nothing tells whose images it resizes"

    async def heard(self, ticket: Ticket, status: int, headers: Mapping[str, Sequence[str]]) -> None:
        """Watch an answer, and place the account anew where that tells something else than before."""
        account = account_among(charge.key for charge in ticket.charges)
        if account is None or status != 200:
            return
        target = parse(ticket.url)
        if isinstance(target, Invalid):
            return
        before, parts = self._stand(account), self._watching.parts(account)
        said = cache_status(headers, ticket.edge.provider if ticket.edge is not None else None)
        hit = None if said.verdict is None else said.verdict == "hit"
        sign = sign_of(headers, hit, said.because.partition(":")[0].lower())
        for switch in self._watching.heard(account, folder_of(account, target.path), sign, self._source(target)):
            logger.info("Image service: %s", switch.because)
        for part in self._watching.parts(account):
            if part not in parts:
                text = NotedPart(part.behaviour, time.time(), part.because).as_text()
                await self._notebook.write(account, BEHAVIOUR + part.folder, text)
        if self._stand(account) != before:
            with suppress(NotNow):  # The spider is closing.
                await self._admission.place_again(ticket.site, target)

    async def _recall(self, account: str) -> None:
        """What earlier crawls have noted of an account that this one does not know yet."""
        if self._watching.knows(account):
            return
        noted = {
            kind.removeprefix(BEHAVIOUR): part
            for kind, text in (await self._notebook.read(account) or {}).items()
            if kind.startswith(BEHAVIOUR) and (part := NotedPart.from_text(text)) is not None
        }
        self._watching.recall(account, noted)

    def _stand(self, account: str) -> tuple[bool, bool, str]:
        watching = self._watching
        return watching.all_bucket(account), watching.some_bucket(account), watching.source(account)

    def _source(self, target: Target) -> str:
        """The key of whoever has the image behind the URL; "" where nothing tells, or it is the service."""
        url = canonical_source(target)
        source = parse(url) if url is not None else None
        if source is None or isinstance(source, Invalid) or source.host == target.host:
            return ""
        key = self._admission.own_key(source) or source.site
        return "" if key.startswith("imageservice:") else key

    async def _origin_of(self, site: str, asked: Target) -> str | None:
        """The origin of a site that nobody has asked us for: its host is judged like every other, and not dialled. By the way
        that the service is asked, so that it is no matter of ports."""
        host = site.removeprefix("site:")
        written = f"[{host}]" if ":" in host else host
        target = parse(f"{asked.scheme}://{written}:{asked.port}/")
        answer = await self._admission.vet(target) if site and not isinstance(target, Invalid) else None
        return (await self._admission.placing.place(host, answer)).origin if isinstance(answer, Answer) else None
