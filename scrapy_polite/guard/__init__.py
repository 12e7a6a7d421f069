"""The guard: which schemes, names, ports and addresses a crawl may reach. Pure: it judges, it does not look up."""

from __future__ import annotations

from scrapy_polite.guard.policy import Policy
from scrapy_polite.guard.refusal import Refused

__all__ = ["Policy", "Refused"]
