"""What a project had set of Scrapy's own throttling, which the add-on takes over."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from scrapy_polite import forms

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

__all__ = ["TAKEN_OVER", "TakenOver"]

TAKEN_OVER: Final = "POLITE_TAKEN_OVER"
"""Set by the add-on: the values of Scrapy's own throttling settings that it took over."""


def _taken(name: str, value: object) -> float:
    try:
        return forms.number(low=0)(value)
    except forms.FormError:
        raise ValueError(f"{name} = {value!r}: accepted is a number from 0.") from None


@dataclass(frozen=True, slots=True)
class TakenOver:
    """What a project had set of Scrapy's own throttling: kept as limits of sites. ``slots`` are DOWNLOAD_SLOTS by host."""

    delay: float = 0.0
    concurrency: int | None = None
    slots: Mapping[str, Mapping[str, float]] = field(default_factory=dict)

    @classmethod
    def from_settings(cls, settings: BaseSettings) -> TakenOver:
        """What the add-on put aside. Raises ``ValueError`` for what Scrapy itself could not have used."""
        taken = settings.get(TAKEN_OVER) or {}
        slots = {}
        for host, slot in (taken.get("DOWNLOAD_SLOTS") or {}).items():
            name = f"DOWNLOAD_SLOTS[{host!r}]"
            if not isinstance(slot, Mapping):
                raise ValueError(f"{name} = {slot!r}: accepted is a dict with 'delay' and 'concurrency'.")
            slots[host] = {
                field: _taken(f"{name}[{field!r}]", slot[field]) for field in ("delay", "concurrency") if field in slot
            }
        return cls(
            delay=_taken("DOWNLOAD_DELAY", taken.get("DOWNLOAD_DELAY") or 0),
            concurrency=int(_taken("CONCURRENT_REQUESTS_PER_DOMAIN", taken.get("CONCURRENT_REQUESTS_PER_DOMAIN") or 0)) or None,
            slots=slots,
        )

    def cap_of(self, site: str) -> int | None:
        cap = self.slots.get(site.removeprefix("site:"), {}).get("concurrency", self.concurrency)
        return int(cap) if cap else None

    def least_of(self, site: str) -> float:
        return float(self.slots.get(site.removeprefix("site:"), {}).get("delay", self.delay))
