"""Keys and tokens taken out of what a crawl writes about itself: its log, its ledger and the names of its stats.

URLs carry keys, and Scrapy writes every URL into its log. A filter on the handlers of the root logger sees whatever is
written there, by whom ever: the message as it will read, and the traceback. Handlers that read something else of a record, or
loggers that keep their records from the root, are not seen.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from itemadapter import ItemAdapter
from scrapy import signals
from scrapy.exceptions import NotConfigured

from scrapy_polite.itemredactor import ItemRedactor, TooLong, copied
from scrapy_polite.redaction.structured import StructuredRedactor
from scrapy_polite.settings import BY_NAME
from scrapy_polite.written import BUDGET, redactor_of, written

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from typing_extensions import Self

    from scrapy_polite.redaction import Policy
    from scrapy_polite.written import Written

__all__ = ["LogFilter", "LogRedaction"]

SECONDS: Final = 0.003
"""For an item in a message."""

_SEEN: Final = "redacted_by"
_TEXTS: Final = logging.Formatter()


class LogFilter(logging.Filter):
    """Lets every record pass, without what the policy takes out of its message and its traceback.

    An item in a warning or an error (it was dropped, or failed, and may not have come to the pipeline) is redacted as items
    are, by `items`.
    """

    def __init__(self, texts: Written, items: StructuredRedactor | None) -> None:
        super().__init__()
        self._texts = texts
        self._items = items

    def filter(self, record: logging.LogRecord) -> bool:
        """True. Several handlers share a record; the first of them has it redacted."""
        seen: list[LogFilter] = record.__dict__.setdefault(_SEEN, [])
        if self not in seen:
            seen.append(self)
            try:
                self._redact(record)
            except Exception as error:
                # Nothing of it is written; and logging must not fail in what it is called for.
                record.msg = f"(a message that could not be checked for keys: {type(error).__name__})"
                record.args, record.exc_info, record.exc_text, record.stack_info = (), None, None, None
        return True

    def _redact(self, record: logging.LogRecord) -> None:
        if self._items is not None and record.levelno >= logging.WARNING and isinstance(record.args, Mapping):
            item = record.args.get("item")
            if ItemAdapter.is_item(item):
                record.args = {**record.args, "item": self._item(self._items, item)}
        message = record.getMessage()
        text = self._texts.text(message)
        if text != message:
            record.msg, record.args = text, ()
        if record.exc_info and not record.exc_text:
            trace = _TEXTS.formatException(record.exc_info)
            text = self._texts.text(trace)
            if text != trace:
                # A formatter writes this instead; one that reads the exception itself gets none.
                record.exc_text, record.exc_info = text, None
        elif record.exc_text:
            record.exc_text = self._texts.text(record.exc_text)
        if record.stack_info:
            record.stack_info = self._texts.text(record.stack_info)

    def _item(self, redactor: StructuredRedactor, item: object) -> object:
        """A redacted copy: the item itself may still be worked on."""
        try:
            return ItemRedactor(redactor).item(copied(item, {}), SECONDS)
        except TooLong:
            return f"(a long {type(item).__qualname__})"


class LogRedaction:
    """The extension: puts the filter on the log's handlers before anything is logged of the crawl's own settings.

    Raises NotConfigured if POLITE_REDACT_LOGS is None, ValueError if it is wrong or needs an extra that is not installed.
    """

    def __init__(self, crawler: Crawler, logs: Policy, items: Policy | None) -> None:
        self._crawler = crawler
        self._written = written(logs)
        redactor = None if items is None else StructuredRedactor(redactor_of(items).within(BUDGET))
        self._filter = LogFilter(self._written, redactor)
        self._handlers: list[logging.Handler] = []
        self._install()
        # Whoever has put a handler there since.
        crawler.signals.connect(self._install, signals.engine_started)
        crawler.signals.connect(self._install, signals.spider_opened)
        crawler.signals.connect(self.spider_closed, signals.spider_closed)
        crawler.signals.connect(self.engine_stopped, signals.engine_stopped)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        logs: Policy | None = BY_NAME["POLITE_REDACT_LOGS"].value(crawler.settings)
        if logs is None:
            raise NotConfigured("POLITE_REDACT_LOGS is None: the log is written as it is")
        return cls(crawler, logs, BY_NAME["POLITE_REDACT"].value(crawler.settings))

    def _install(self) -> None:
        for handler in logging.root.handlers:
            if self._filter not in handler.filters:
                handler.addFilter(self._filter)
                self._handlers.append(handler)

    def spider_closed(self) -> None:
        """Names of stats that have a key in them, from a spider that counts URLs, are counted under what is left of them."""
        stats = self._crawler.stats
        assert stats is not None
        found = stats.get_stats()
        for name in [name for name in found if isinstance(name, str) and self._written.text(name) != name]:
            value, clean = found.pop(name), self._written.text(name)
            if isinstance(value, (int, float)) and isinstance(before := found.get(clean, 0), (int, float)):
                value += before
            stats.set_value(clean, value)

    def engine_stopped(self) -> None:
        for handler in self._handlers:
            handler.removeFilter(self._filter)
