"""Look-ups: one resolution of a host for the guard, for placing it and for dialling it."""

from __future__ import annotations

from scrapy_polite.dns.answers import Answer, NoAnswer
from scrapy_polite.dns.resolver import Resolver

__all__ = ["Answer", "NoAnswer", "Resolver"]
