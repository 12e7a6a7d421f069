"""Origins: which sites share servers, which hosts stand behind an edge, and what an edge says about its cache. Pure."""

from __future__ import annotations

from scrapy_polite.origins.cachestatus import hit_or_miss
from scrapy_polite.origins.edges import Edge, edge_of
from scrapy_polite.origins.placing import Placement, place

__all__ = ["Edge", "Placement", "edge_of", "hit_or_miss", "place"]
