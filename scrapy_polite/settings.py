"""Every ``POLITE_*`` setting: its default, its meaning, what it accepts; read once, checked once, typed ever after.

``SETTINGS`` is the one table. The add-on checks it at start, the documentation's reference is generated from it, and the rest
of the code sees only the frozen :class:`~scrapy_polite.config.Config`. A value of the wrong form, or a ``POLITE_*`` name that
is not in the table, is a ``ValueError`` that names the setting, the value and the accepted form: under Scrapyd a crawl must not
start half-meant.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from scrapy_polite import forms
from scrapy_polite.guard.policy import DEFAULT_PORTS
from scrapy_polite.images.policy import KEYS, images_from
from scrapy_polite.limits.kinds import DEFAULT_COSTS
from scrapy_polite.ner import ner_from
from scrapy_polite.redaction.policyforms import policy_from
from scrapy_polite.throttles import TAKEN_OVER

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from scrapy.settings import BaseSettings

    from scrapy_polite.redaction.policy import Policy

__all__ = ["BY_NAME", "SETTINGS", "TAKEN_OVER", "Setting"]

T = TypeVar("T")

BESIDE_THE_STORE: Final = "beside the store"

FALLBACK_HANDLERS: Final = "POLITE_FALLBACK_HANDLERS"
"""Set by the add-on: the download handlers that ours are built around."""


@dataclass(frozen=True, slots=True)
class Setting(Generic[T]):
    """One row: ``read`` turns what the user wrote (on the command line always text) into what the code uses. Where a room of
    the core reads a value of its own, its ``ValueError`` names the setting too, and passes as it is."""

    name: str
    default: object
    accepts: str
    meaning: str
    read: Callable[[object], T]

    def value(self, settings: BaseSettings | Mapping[str, object]) -> T:
        # To settings.get() a value of None is the default; here None may switch a part off.
        given = settings[self.name] if self.name in settings else self.default  # noqa: SIM401
        try:
            return self.read(given)
        except forms.FormError as error:
            raise ValueError(f"{self.name} = {given!r}: accepted is {self.accepts}. {error}".rstrip()) from None


def _policy(name: str) -> Callable[[object], Policy | None]:
    read: Callable[[object], Policy | None] = forms.structured(policy_from)

    def reading(value: object) -> Policy | None:
        try:
            return read(value)
        except forms.FormError as error:
            # The text is not shown: the key may be in it.
            raise ValueError(f"{name}: accepted is the name of a preset, a dict, or None. {error}") from None
        except ValueError as error:
            # The room of redaction names the setting that it is made for.
            raise ValueError(str(error).replace("POLITE_REDACT", name)) from None

    return reading


SETTINGS: Final[tuple[Setting[Any], ...]] = (
    Setting(
        "POLITE_ENABLED",
        True,
        "True or False",
        "Whether the add-on does anything. False leaves the project as if it were not listed in `ADDONS`.",
        forms.truth,
    ),
    Setting(
        "POLITE_STORE",
        "sqlite:",
        "`sqlite:`, `sqlite:PATH`, `memory:` or a `postgresql://` URL",
        "Where due times and holds are kept. `sqlite:` is a file in the project's data directory, shared by "
        "every process on this machine; `sqlite:PATH` a file of your choice, whose directory must exist; "
        "`memory:` one process alone, all crawls in it, forgotten at its end; a database (extra `[postgres]`) for crawls on "
        "several machines.",
        forms.text,
    ),
    Setting(
        "POLITE_LEDGER",
        BESIDE_THE_STORE,
        "a path, `beside the store`, or None",
        "Where the record of what was booked and sent is written, which `scrapy polite report` reads. With "
        "`memory:` or a database, and no path, there is none.",
        forms.optional_text,
    ),
    Setting(
        "POLITE_SITE_RATE",
        1.0,
        "a number from 0.000001, in cost units per second",
        "The rate of one site.",
        forms.number(low=1e-6),
    ),
    Setting(
        "POLITE_ORIGIN_RATE",
        2.0,
        "a number from 0.000001, in cost units per second",
        "The rate of one origin, for all of its sites together.",
        forms.number(low=1e-6),
    ),
    Setting(
        "POLITE_EDGE_RATE",
        20.0,
        "a number from 0.000001, in cost units per second",
        "The rate of one host at an edge, and of one account of an image service, unless it behaves as a bucket.",
        forms.number(low=1e-6),
    ),
    Setting(
        "POLITE_BUCKET_RATE",
        50.0,
        "a number from 0.000001, in cost units per second",
        "The rate of one bucket of an object store, and of an account of an image service that behaves as one.",
        forms.number(low=1e-6),
    ),
    Setting(
        "POLITE_BUCKET_BURST",
        100.0,
        "a number from 0 to 1000000000, in cost units",
        "The burst tolerance of one bucket.",
        forms.number(low=0, high=1e9),
    ),
    Setting(
        "POLITE_BUCKET_HOSTS",
        [],
        "a list of hosts, or a dict from hosts to `path`, `host` or `both`",
        "Hosts of object stores that no list can know: MinIO, Ceph and others that somebody runs for himself. A bucket there "
        "has a key of its own, as at the large providers. `path`: the bucket is first in the path "
        "(`https://minio.example/photos/1.jpg`); `host`: it stands in front of the host (`https://photos.ceph.example/1.jpg`); "
        "`both`, which a list means: either. A host has no port and no scheme.",
        forms.stores,
    ),
    Setting(
        "POLITE_ORIGIN_CONFIDENCE",
        0.8,
        "a number from 0 to 1",
        "How sure evidence must be to place a site at an origin that it shares with others. Below it the site stays with its "
        "registrable domain. One shared address is worth 0.93, one CNAME target 0.97, headers that look alike 0.81.",
        forms.number(low=0, high=1),
    ),
    Setting(
        "POLITE_EDGES",
        [],
        "a list of networks and domains, or a dict from providers to "
        '`{"networks": [...], "suffixes": [...], "unit": ..., "label": ...}` or None',
        "What you know of content delivery networks and platforms, over what the package knows "
        '([edges](edges.md)). A list is one edge without a name: `["203.0.113.0/24", "cdn.regio.example"]`. In a dict each '
        "provider has a name of small letters, digits and hyphens, which its keys carry; `unit` is `shared` (a name or network "
        "for many customers, the default), `customer` (a name per customer) or `tenant` (a platform on which every site is a "
        'customer by himself). `{"cloudflare": None}` leaves a provider of the package out. Name only what is certain: behind '
        "an edge an address no longer says that two sites share a server.",
        forms.edges,
    ),
    Setting("POLITE_ORIGIN_CONCURRENCY", 8, "a whole number from 1", "Requests in flight per origin and process.", forms.count),
    Setting(
        "POLITE_LIMITS",
        {},
        'a dict from keys or patterns to `{"rate": ..., "burst": ..., "concurrency": ...}`',
        "Limits of single keys, over the defaults. An exact key wins over a pattern, a longer pattern over a shorter: "
        '`{"origin:sites.platform.example": {"rate": 5}, "bucket:*": {"burst": 20}}`. A limit for an origin by name goes on to '
        "apply when that name has become an alias; of several the strictest holds.",
        forms.mapping,
    ),
    Setting(
        "POLITE_COSTS",
        dict(DEFAULT_COSTS),
        "a dict from kinds to numbers above 0, or `auto`",
        "What one request of a kind costs a server, in units. Kinds that it does not name keep their default. `auto`: they "
        "begin with their defaults, and what a kind costs an origin is learned from how long its servers work on it, between "
        "half and twice the default; a page always costs its default. See [Learned costs](how-it-works.md#learned-costs).",
        forms.costs,
    ),
    Setting(
        "POLITE_KINDS",
        [],
        "a list of pairs `(kind, regular expression)`",
        "Which URLs are of which kind; the first expression found in the URL wins. Without a match: "
        "robots.txt and images by their path, else a page.",
        forms.pairs,
    ),
    Setting(
        "POLITE_SLOT_WIDTH",
        0.05,
        "a number of seconds above 0, at most 1",
        "The width of a slot. A request may be late by so much and the next still be on time; two requests of"
        " one key are never closer than their interval less this.",
        forms.number(low=0, high=1, above=True),
    ),
    Setting(
        "POLITE_MAX_WAIT",
        10.0,
        "a number of seconds above 0",
        "The longest that a request waits for its slot inside the downloader. A longer wait sends it back to the scheduler.",
        forms.number(low=0, above=True),
    ),
    Setting(
        "POLITE_MAX_CRAWL_DELAY",
        300.0,
        "a number of seconds above 0",
        "The longest time between two requests that a robots.txt may ask for, by `Crawl-delay` or `Request-rate`; a longer one "
        "is cut to this with a warning.",
        forms.number(low=0, above=True),
    ),
    Setting(
        "POLITE_DNS_SERVERS",
        [],
        'a list of addresses with optional ports, such as `["127.0.0.1:5300"]`',
        "The name servers to ask. Empty: the system's.",
        forms.servers,
    ),
    Setting(
        "POLITE_DNS_TIMEOUT",
        5.0,
        "a number of seconds above 0",
        "The longest that one name may take to resolve.",
        forms.number(low=0, above=True),
    ),
    Setting(
        "POLITE_ALLOW_NETWORKS",
        [],
        "a list of networks in CIDR form, each for every host, or with `HOST=` or `HOST:PORT=` before it for one",
        'What may be reached although the guard would refuse it: `["10.20.0.0/16"]`, or more narrowly '
        '`["intranet.example:8443=10.1.2.3/32"]`. A host that is named may have a name of the local network (`wiki.corp`, '
        "`intranet`); a port that is named is open for that host and in that network, and need not be in "
        "`POLITE_ALLOW_PORTS`. Metadata services and `POLITE_DENY_NETWORKS` stay refused.",
        forms.allowed,
    ),
    Setting(
        "POLITE_DENY_NETWORKS",
        [],
        "a list of networks in CIDR form",
        "Networks that are refused whatever else is allowed.",
        forms.networks,
    ),
    Setting(
        "POLITE_ALLOW_PORTS", sorted(DEFAULT_PORTS), "a list of port numbers", "The ports that may be reached.", forms.ports
    ),
    Setting(
        "POLITE_PROXIES",
        [],
        'a list of proxy URLs with the scheme http, such as `["http://10.0.0.5:3128"]`',
        'Proxies that `meta["proxy"]` may name, and that are asked **by address**: a target is resolved and judged here, and '
        "the proxy is told to `CONNECT` to that address, for http as for https. TLS and the Host header name the host as ever. "
        "A proxy that is listed may have a private address. It must allow `CONNECT` to the ports of `POLITE_ALLOW_PORTS`.",
        forms.proxies("http"),
    ),
    Setting(
        "POLITE_TRUSTED_PROXIES",
        [],
        'a list of proxy URLs, such as `["http://10.0.0.5:3128"]`',
        'Proxies that `meta["proxy"]` may name, and that are trusted to resolve: a target is resolved and judged here '
        "before it is asked for, but by name, and the proxy resolves it again, so what it can reach is its own concern. For "
        "proxies that want names; else list them in `POLITE_PROXIES`. A request through a proxy of neither list is refused.",
        forms.proxies("http", "https"),
    ),
    Setting(
        "POLITE_TRUSTED_BROWSER",
        False,
        "True or False",
        "Whether a browser may be used that cannot be held to the guard's proxy: one that runs elsewhere "
        "(`PLAYWRIGHT_CDP_URL`, `PLAYWRIGHT_CONNECT_URL`), another kind than Chromium, or one that another "
        "`PLAYWRIGHT_BROWSER_PROVIDER` starts. The pages that you ask for are then judged, planned and timed, and what they "
        "load is not: set it where the browser's own network keeps it from what it must not reach. A Chromium that "
        "scrapy-playwright starts is guarded either way.",
        forms.truth,
    ),
    Setting(
        "POLITE_GUARD",
        "enforce",
        "`enforce` or `report`",
        "`report` logs and counts what the guard would refuse, and lets it through: for trying it out on a "
        "network that others protect. Metadata services stay refused.",
        forms.choice("enforce", "report"),
    ),
    Setting(
        "POLITE_LADDERS",
        {},
        "a dict from refusal kinds to lists of seconds",
        "The waits after repeated refusals of a kind (`challenge`, `rate_limited`, `denied`, `error`, `dns`, `connect`, `tls`, "
        "`timeout`, `reset`); the last is the ceiling. Kinds that it does not name keep their default.",
        forms.mapping,
    ),
    Setting(
        "POLITE_LADDER_JITTER",
        0.15,
        "a number from 0 to 1",
        "The share by which a wait is lengthened at most. Keys whose waits end together come back over this share of the wait, "
        "and over a minute at least; one that was refused alone comes back when the time is over that the server stated, and "
        "after a rung within this share of it. 0: nothing is added.",
        forms.number(low=0, high=1),
    ),
    Setting(
        "POLITE_PARK_AFTER",
        10,
        "a whole number from 1",
        "Refusals of a key, with no good answer between, after which it is parked for a week: nothing more is sent to it, and "
        "its requests are put off. A person may end that sooner, by `scrapy polite release`.",
        forms.count,
    ),
    Setting(
        "POLITE_DEFER_AFTER",
        300.0,
        "a number of seconds above 0",
        "When nothing but held requests is left, and the nearest hold ends later than this, the spider puts them off and "
        "closes. See [What is put off](deferred.md).",
        forms.number(low=0, above=True),
    ),
    Setting(
        "POLITE_PACE",
        True,
        "True or False",
        "Whether an origin is asked less while its answers take longer than they do at low load, and goes slowly at first when "
        "it is new: at a quarter of its rate for about a minute, but not slower than one request a second, and not where "
        "`POLITE_LIMITS` states the rate of just this origin. Never faster than the rate. See [pace](pace.md).",
        forms.truth,
    ),
    Setting(
        "POLITE_REDACT",
        "secrets",
        "the name of a preset (`secrets`, `gdpr-strict`, `listing`), a dict, or None",
        "What is redacted in items: `secrets` takes API keys and tokens, `gdpr-strict` personal data too, `listing` the same "
        "but for what an advert is for, None switches it off. A dict says it by field, kind and context, and has rules of "
        "your own: see [what is done with it](personal-data.md#what-is-done-with-it).",
        _policy("POLITE_REDACT"),
    ),
    Setting(
        "POLITE_NER",
        None,
        "None, the name of a model, or a dict with a `model`",
        "A language model that looks for names and postal addresses in the texts of items, where `POLITE_REDACT` does not keep "
        "them; needs the extra `[ner]` and a model of spaCy's. In the dict also `language`, `processes`, `max_characters` and "
        "`timeout`. See [redaction](redaction.md#names-and-addresses-in-running-text).",
        forms.structured(ner_from),
    ),
    Setting(
        "POLITE_REDACT_LOGS",
        "secrets",
        "the name of a preset, a dict as for `POLITE_REDACT`, or None",
        "What is taken out of the log, of the URLs in the ledger, of the names of stats, and of what spider arguments put into "
        "the URIs of feeds. None: everything is written as it is. See [redaction](redaction.md#where-else-a-crawl-leaks).",
        _policy("POLITE_REDACT_LOGS"),
    ),
    Setting(
        "POLITE_IMAGES",
        None,
        f"a dict with some of {', '.join(f'`{key}`' for key in KEYS)}; or None",
        "The sizes that images are resized to, what is refused before decoding, and what is stored. It takes effect where "
        "`IMAGES_STORE` is set. See [Images](images.md).",
        forms.structured(images_from),
    ),
)
"""Every setting, in the order of the documentation."""

BY_NAME: Final = {setting.name: setting for setting in SETTINGS}


def named(name: str) -> Setting[Any]:
    """The row of that name; a ``ValueError`` with the nearest one for a name that nobody reads."""
    if name in BY_NAME:
        return BY_NAME[name]
    near = difflib.get_close_matches(name, BY_NAME, n=1)
    hint = f"did you mean {near[0]}?" if near else f"known are {', '.join(BY_NAME)}"
    raise ValueError(f"{name} is not a setting of scrapy_polite: {hint}")


def reject_unknown(names: Iterable[str]) -> None:
    """A ``POLITE_*`` setting that nobody reads is a spelling mistake: say so, and name the nearest."""
    for name in names:
        if name.startswith("POLITE_") and name not in (FALLBACK_HANDLERS, TAKEN_OVER):
            named(name)
