"""What the spiders yield."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass
class Listing:
    """One home on an agent's site. `page` and `state` are kept raw, so that they can be read again later."""

    url: str
    title: str | None
    price: str | None
    description: str | None
    page: str
    state: str | None
    image_urls: list[str] = field(default_factory=list)
    images: list[dict[str, Any]] = field(default_factory=list)
    """Filled in by the images pipeline."""
