"""What the settings say, typed and checked: one object a crawl, which nobody writes to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from scrapy_polite.backoff.ladders import Ladders
from scrapy_polite.guard.policy import Policy
from scrapy_polite.limits.kinds import Kinds
from scrapy_polite.limits.plan import Limits
from scrapy_polite.settings import BY_NAME, reject_unknown
from scrapy_polite.throttles import TakenOver

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

    from scrapy_polite.images.policy import ImagesConfig
    from scrapy_polite.naming.buckets import Stores
    from scrapy_polite.ner import NerOptions
    from scrapy_polite.origins.edges import EdgeTable
    from scrapy_polite.redaction.policy import Policy as RedactionPolicy

__all__ = ["Config"]

MICROSECONDS: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Config:
    """What the settings say, typed. Nothing else in the package reads a ``POLITE_*`` setting."""

    enabled: bool
    store: str
    ledger: str | None
    limits: Limits
    kinds: Kinds
    confidence: float
    """From which a site is placed by evidence."""
    learns_costs: bool
    ladders: Ladders
    park_after: int
    defer_after: float
    paces: bool
    """Whether origins are asked less while their answers are slow."""
    policy: Policy
    proxies: frozenset[str]
    """Asked by address; as ``scheme://host:port``."""
    trusted_proxies: frozenset[str]
    """Asked by name."""
    trusted_browser: bool
    stores: Stores
    edges: EdgeTable
    report_only: bool
    width: int
    """Of a slot, in microseconds."""
    max_wait: float
    max_crawl_delay: float
    dns_servers: tuple[str, ...] | None
    dns_timeout: float
    redaction: RedactionPolicy | None
    """Of items."""
    ner: NerOptions | None
    log_redaction: RedactionPolicy | None
    """Of the log, of URLs in the ledger, and of URIs of feeds."""
    images: ImagesConfig | None
    taken: TakenOver

    @classmethod
    def from_settings(cls, settings: BaseSettings) -> Config:
        """Read and check them all. Raises ``ValueError`` naming setting, value and accepted form."""
        reject_unknown(str(name) for name in settings)

        def value(name: str) -> Any:
            return BY_NAME[name].value(settings)

        allowed = value("POLITE_ALLOW_NETWORKS")
        proxies, trusted = value("POLITE_PROXIES"), value("POLITE_TRUSTED_PROXIES")
        if both := proxies & trusted:
            raise ValueError(
                f"POLITE_PROXIES and POLITE_TRUSTED_PROXIES both name {', '.join(sorted(both))}: a proxy is asked either by "
                "address or by name. Remove it from one of them."
            )
        return cls(
            enabled=value("POLITE_ENABLED"),
            store=value("POLITE_STORE"),
            ledger=value("POLITE_LEDGER"),
            limits=Limits(
                site=value("POLITE_SITE_RATE"),
                origin=value("POLITE_ORIGIN_RATE"),
                edge=value("POLITE_EDGE_RATE"),
                bucket=(value("POLITE_BUCKET_RATE"), value("POLITE_BUCKET_BURST")),
                overrides=value("POLITE_LIMITS"),
                concurrency=value("POLITE_ORIGIN_CONCURRENCY"),
            ),
            kinds=Kinds(rules=value("POLITE_KINDS"), costs=value("POLITE_COSTS")),
            confidence=value("POLITE_ORIGIN_CONFIDENCE"),
            learns_costs=value("POLITE_COSTS") is None,
            ladders=Ladders(rungs=value("POLITE_LADDERS"), jitter=value("POLITE_LADDER_JITTER")),
            park_after=value("POLITE_PARK_AFTER"),
            defer_after=value("POLITE_DEFER_AFTER"),
            paces=value("POLITE_PACE"),
            policy=Policy(
                allow=allowed.networks,
                rules=allowed.rules,
                deny=value("POLITE_DENY_NETWORKS"),
                ports=value("POLITE_ALLOW_PORTS"),
            ),
            proxies=proxies,
            trusted_proxies=trusted,
            trusted_browser=value("POLITE_TRUSTED_BROWSER"),
            stores=value("POLITE_BUCKET_HOSTS"),
            edges=value("POLITE_EDGES"),
            report_only=value("POLITE_GUARD") == "report",
            width=round(value("POLITE_SLOT_WIDTH") * MICROSECONDS),
            max_wait=value("POLITE_MAX_WAIT"),
            max_crawl_delay=value("POLITE_MAX_CRAWL_DELAY"),
            dns_servers=value("POLITE_DNS_SERVERS"),
            dns_timeout=value("POLITE_DNS_TIMEOUT"),
            redaction=value("POLITE_REDACT"),
            ner=value("POLITE_NER"),
            log_redaction=value("POLITE_REDACT_LOGS"),
            images=value("POLITE_IMAGES"),
            taken=TakenOver.from_settings(settings),
        )

    def cap_of(self, key: str) -> int | None:
        """Requests in flight of a key, at most."""
        return self.taken.cap_of(key) if key.startswith("site:") else self.limits.of(key).concurrency

    def least_of(self, site: str) -> float:
        """Seconds between two starts at a site, at least: a ``DOWNLOAD_DELAY`` that the add-on took over."""
        return self.taken.least_of(site)
