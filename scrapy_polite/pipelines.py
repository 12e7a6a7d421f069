"""Takes API keys and personal data out of items before they are stored.

Put where everything that writes items comes after it; the add-on puts it at 700. What cannot be checked is not passed
on. Nothing is logged but names of fields and types.
"""

from __future__ import annotations

import logging
import re
from typing import TYPE_CHECKING, Final

from itemadapter import ItemAdapter
from scrapy import signals
from scrapy.exceptions import DropItem, NotConfigured
from scrapy.utils.defer import maybe_deferred_to_future
from twisted.internet.defer import DeferredSemaphore
from twisted.internet.threads import deferToThread

from scrapy_polite.itemparts import is_heavy, texts_of
from scrapy_polite.itemredactor import ItemRedactor, TooLong
from scrapy_polite.ner import KINDS, NamePool
from scrapy_polite.redaction import Budget
from scrapy_polite.redaction.structured import StructuredRedactor
from scrapy_polite.settings import BY_NAME
from scrapy_polite.written import redactor_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Mapping, Sequence

    from scrapy.crawler import Crawler
    from scrapy.statscollectors import StatsCollector
    from typing_extensions import Self

    from scrapy_polite.ner import NerOptions
    from scrapy_polite.redaction import Policy, Redactor
    from scrapy_polite.redaction.structured import Span

__all__ = ["RedactionPipeline"]

logger = logging.getLogger(__name__)

# The reactor is not to be held for more than 5 ms. Measured on a 2-core machine, in CPU time for each KB: 2 us of a page
# where keys are looked for, 10 us where people's data is; 40 and 300 us where every 200 characters have a phone number, a
# mailbox and a key.
INLINE_KEYS: Final = 64 * 1024
"""Characters of text from which on an item goes to the thread pool, where only keys are looked for."""

INLINE_PEOPLE: Final = 8 * 1024
"""And where people's data is looked for as well."""

INLINE_VALUES: Final = 1_000
"""And values."""

SECONDS: Final = 0.002
"""And CPU time, looked at between two values: an item that takes longer is left and goes to a thread."""

INLINE_BUDGET: Final = Budget(base=40_000, per_character=2)
"""And work for one text, which ends one that was made to be slow after some 3 ms."""

FIELDS: Final = 100
"""Names of fields in the stats, at most: items whose fields are named by pages have no end of them."""

# What a model could find something in.
_LETTERS = re.compile(r"[^\W\d_]{2}")

_NAME = re.compile(r"[A-Za-z0-9_. -]{1,60}")


class RedactionPipeline:
    """Every item passes without what POLITE_REDACT takes out.

    Raises NotConfigured if POLITE_REDACT is None, ValueError if it is wrong or needs an extra that is not installed.
    """

    def __init__(self, redactor: Redactor, stats: StatsCollector, names: NamePool | None = None) -> None:
        self._redactor = StructuredRedactor(redactor)
        self._quick = StructuredRedactor(redactor.within(INLINE_BUDGET))
        self._inline = INLINE_PEOPLE if self._redactor.reads_inside else INLINE_KEYS
        self._stats = stats
        self._said: set[tuple[str, str]] = set()
        self._named: set[str] = set()
        self._names = names
        # So many threads wait for an answer, and others are left for other work.
        self._asking = DeferredSemaphore(names.options.processes) if names else None

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        policy: Policy | None = BY_NAME["POLITE_REDACT"].value(crawler.settings)
        if policy is None:
            raise NotConfigured("POLITE_REDACT is None: items are passed on as they are")
        redactor = redactor_of(policy)
        options: NerOptions | None = BY_NAME["POLITE_NER"].value(crawler.settings)
        if options is None or not any(policy.wants(kind) for kind in KINDS):
            if options is not None:
                logger.warning("POLITE_NER does nothing: POLITE_REDACT keeps names and postal addresses in every field")
            return cls(redactor, crawler.stats)
        names = NamePool(options)
        crawler.signals.connect(names.close, signals.engine_stopped)
        return cls(redactor, crawler.stats, names)

    def process_item(self, item: object) -> object | Awaitable[object]:
        """The item at once; for one that takes longer an awaitable, while threads and processes do the work."""
        if not ItemAdapter.is_item(item):
            raise DropItem(f"a {type(item).__qualname__} is no item that can be redacted")
        if self._names is not None:
            return self._with_names(item, self._names)
        if is_heavy(item, self._inline, INLINE_VALUES):
            return self._in_thread(item)
        work = ItemRedactor(self._quick)
        try:
            redacted = work.item(item, SECONDS)
        except TooLong:
            return self._in_thread(item)
        self._count(work)
        return redacted

    async def _with_names(self, item: object, names: NamePool) -> object:
        assert self._asking is not None
        policy = self._redactor.redactor.policy
        texts = [
            text
            for text, field in texts_of(item)
            if _LETTERS.search(text) and any(policy.action(field, kind) != "keep" for kind in KINDS)
        ]
        if not texts:
            return await self._in_thread(item)
        spans = await maybe_deferred_to_future(self._asking.run(deferToThread, names.spans, texts))
        return await self._in_thread(item, spans)

    async def _in_thread(self, item: object, spans: Mapping[str, Sequence[Span] | None] | None = None) -> object:
        work = ItemRedactor(self._redactor, spans)
        redacted = await maybe_deferred_to_future(deferToThread(work.item, item))
        self._count(work)
        return redacted

    def _count(self, work: ItemRedactor) -> None:
        for kind, count in work.found.items():
            self._stats.inc_value(f"polite/redacted/{kind}", count)
        for action, count in work.actions.items():
            self._stats.inc_value(f"polite/redacted/action/{action}", count)
        for field, count in work.fields.items():
            self._stats.inc_value(f"polite/redacted/field/{self._name(field)}", count)
        if work.dropped:
            self._stats.inc_value("polite/redacted/dropped_fields", len(work.dropped))
        for field, why in work.dropped:
            if (field, why) not in self._said and len(self._said) < 100:
                self._said.add((field, why))
                logger.warning(
                    "A field was left out of an item, and will be without a word from now on: %s (%s)", self._name(field), why
                )

    def _name(self, field: str) -> str:
        """The field's name, where it is one that a program gives; a page may name fields as well."""
        if field not in self._named:
            if len(self._named) >= FIELDS or not _NAME.fullmatch(field):
                return "other"
            self._named.add(field)
        return field
