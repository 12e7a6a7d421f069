"""What must not get out, page by page: the keys and the personal data that a page carries.

Pages and ground truth both read it here, so that they cannot differ.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from town.keymaker import MAKERS
from town.seeds import seeded

if TYPE_CHECKING:
    from town.world import Listing, Site

LEAKS: Final = ("stripe-secret", "aws-akid", "github", "jwt")
"""Kinds that are on a page only when somebody erred."""


@dataclass(frozen=True, slots=True)
class Key:
    kind: str
    value: str


@dataclass(frozen=True, slots=True)
class Personal:
    kind: str
    value: str


@dataclass(frozen=True, slots=True)
class Content:
    keys: tuple[Key, ...]
    personal: tuple[Personal, ...]


def site_key(seed: int, site: Site, kind: str) -> Key:
    """The key of `kind` that all pages of the site share, as keys of map and payment services are."""
    return Key(kind, MAKERS[kind](seeded(seed, site.host, kind)))


def search_content(seed: int, site: Site) -> Content:
    office = site.office
    personal = (Personal("email", office.email), Personal("phone", office.spoken), Personal("phone", office.dialled))
    return Content((site_key(seed, site, "google-api-key"),), unique(personal))


def listing_content(seed: int, site: Site, listing: Listing) -> Content:
    """Keys: the site's Google key always, its Mapbox and Stripe keys often, a leaked one on every third page or so.

    The lone agent is careless: it leaks every kind, spread over its pages.
    """
    random = seeded(seed, site.host, listing.id, "content")
    keys = [site_key(seed, site, "google-api-key")]
    keys += [site_key(seed, site, kind) for kind in ("mapbox-public", "stripe-publishable") if random.random() < 0.6]
    leaks = [kind for kind in LEAKS if random.random() < 0.1]
    if site.inhabitant == "lone":
        number = site.listings.index(listing)
        leaks = [kind for turn, kind in enumerate(LEAKS) if turn % len(site.listings) == number]
    keys += [Key(kind, MAKERS[kind](random)) for kind in leaks]
    personal = [Personal("email", person.email) for person in (listing.agent, site.office)]
    for person in (listing.agent, site.office):
        personal += [Personal("phone", person.spoken), Personal("phone", person.dialled)]
    return Content(tuple(keys), unique(tuple(personal)))


def unique(personal: tuple[Personal, ...]) -> tuple[Personal, ...]:
    return tuple(dict.fromkeys(personal))
