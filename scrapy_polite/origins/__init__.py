"""Origins: which sites share servers, which hosts stand behind an edge, and what an edge says about its cache. Pure."""

from __future__ import annotations

from scrapy_polite.origins.cachestatus import CacheStatus, cache_status
from scrapy_polite.origins.edges import Edge, edge_of

__all__ = ["CacheStatus", "Edge", "cache_status", "edge_of"]
