"""Who lives in the town: agencies, their listings and their photographs, all from the seed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from town import addresses
from town.people import Person, person
from town.seeds import seeded

if TYPE_CHECKING:
    from collections.abc import Iterator
    from random import Random

PLATFORM_NAME: Final = "sites.hearth-platform.example"
KNEE_NAME: Final = "mills.small-host.example"
CDN_NAME: Final = "harbour-lets.b-cdn.net"
BUCKET_HOST: Final = "hearth-photos.s3.eu-west-2.amazonaws.com"
BUCKET_PATH_HOST: Final = "s3.eu-west-2.amazonaws.com"
BUCKET: Final = "hearth-photos"
IMAGE_SERVICE_HOST: Final = "res.cloudinary.com"
IMAGE_ACCOUNT: Final = "hearth"

PER_SEARCH_PAGE: Final = 10
SPECIAL_LISTINGS: Final = 3
"""Most listings of an inhabitant of special manners: each must be done well within a minute at one unit a second."""

ADJECTIVES: Final = [
    "amber",
    "ash",
    "briar",
    "bright",
    "clover",
    "copper",
    "dale",
    "elder",
    "fern",
    "flint",
    "garnet",
    "gold",
    "green",
    "harrow",
    "hazel",
    "heath",
    "holly",
    "iron",
    "ivy",
    "juniper",
    "kings",
    "larch",
    "linden",
    "maple",
    "marble",
    "meadow",
    "mill",
    "moss",
    "north",
    "oak",
    "opal",
    "pearl",
    "quarry",
    "river",
    "rowan",
    "silver",
    "stone",
    "thorn",
    "willow",
    "wren",
]
NOUNS: Final = [
    "acre",
    "bank",
    "barn",
    "bridge",
    "brook",
    "castle",
    "chapel",
    "corner",
    "court",
    "croft",
    "cross",
    "dock",
    "farm",
    "field",
    "ford",
    "garden",
    "gate",
    "green",
    "grove",
    "hall",
    "harbour",
    "haven",
    "hill",
    "house",
    "lane",
    "lodge",
    "mews",
    "park",
    "point",
]
TRADES: Final = ("homes", "lettings", "estates", "property", "residential")
STREETS: Final = (
    "Albert Road",
    "Station Lane",
    "Mill Street",
    "Church Walk",
    "Victoria Terrace",
    "Orchard Close",
    "High Street",
    "Canal Side",
)
PLACES: Final = ("Leeds", "Bristol", "Sheffield", "Cardiff", "Norwich", "Exeter", "York", "Stirling", "Derby", "Truro")
HOMES: Final = (
    "terraced house",
    "flat",
    "maisonette",
    "cottage",
    "semi-detached house",
    "studio",
    "bungalow",
    "town house",
)
PRAISE: Final = (
    "The kitchen was refitted two years ago and opens onto a small paved garden.",
    "Trains to the city run every twelve minutes from the end of the road.",
    "The present owners have kept the sash windows and the tiled hall.",
    "There is a cellar with power and light, and a parking space by arrangement.",
    "A school, a library and two bakeries are within five minutes on foot.",
    "Heating is by a gas boiler that was serviced this spring.",
    "The second bedroom looks over the allotments and gets the evening sun.",
    "Offered with no onward chain; early viewing is a good idea.",
)


@dataclass(frozen=True, slots=True)
class Photo:
    """One picture: `id` is its name in every URL, `suffix` ``jpg`` or ``png``."""

    id: str
    suffix: str

    @property
    def file(self) -> str:
        return f"{self.id}.{self.suffix}"


@dataclass(frozen=True, slots=True)
class Listing:
    """One home for sale or to let."""

    id: int
    title: str
    price: str
    description: str
    bedrooms: int
    agent: Person
    photos: tuple[Photo, ...]


@dataclass(frozen=True, slots=True)
class Site:
    """One agency's site. `server`: whose log its pages' arrivals stand in; `images_on`: where its photographs are."""

    host: str
    inhabitant: str
    server: str
    name: str
    tls: bool
    images_on: str
    per_page: int
    office: Person
    listings: tuple[Listing, ...]

    @property
    def slug(self) -> str:
        return self.host.removeprefix("www.").removesuffix(".example")

    @property
    def search_pages(self) -> int:
        return max(1, -(-len(self.listings) // self.per_page))

    @property
    def photos(self) -> Iterator[Photo]:
        return (photo for listing in self.listings for photo in listing.photos)


@dataclass(frozen=True, slots=True)
class World:
    """All sites; the tenants of the platform first, then the inhabitants of special manners."""

    seed: int
    sites: tuple[Site, ...]


MILLS: Final = ("grist", "paper", "saw", "silk", "water", "wind")
TLS_MILLS: Final = ("paper", "water")

SPECIAL: Final = (
    # inhabitant, host, TLS, images_on
    ("lone", "www.lantern-and-key.example", False, "own"),
    ("crawl-delay", "www.slow-and-steady.example", False, "own"),
    ("busy-seconds", "www.busy-corner.example", False, "own"),
    ("busy-date", "www.busy-bridge.example", True, "own"),
    ("down", "www.under-repair.example", False, "own"),
    ("challenge", "www.moat-and-gate.example", True, "own"),
    ("cdn", "www.harbour-lets.example", False, "edge"),
    *(("knee", f"www.{mill}-mill-homes.example", mill in TLS_MILLS, "own") for mill in MILLS),
    ("slow", "www.unhurried-homes.example", False, "own"),
)


def build(seed: int, tenants: int, listings: int) -> World:
    """The town of `seed`: `tenants` agencies on the platform with `listings` homes each, and the special ones."""
    names = [f"{adjective}-{noun}" for adjective in ADJECTIVES for noun in NOUNS]
    seeded(seed, "names").shuffle(names)
    if not 0 <= tenants <= len(names):
        raise ValueError(f"tenants is {tenants}: a town has from 0 to {len(names)}")
    if listings < 1:
        raise ValueError(f"listings is {listings}: an agency has one listing at least")
    sites = [tenant(seed, number, names[number], listings) for number in range(tenants)]
    for inhabitant, host, tls, images_on in SPECIAL:
        sites.append(site(seed, host, inhabitant, inhabitant, tls, images_on, PER_SEARCH_PAGE, min(listings, SPECIAL_LISTINGS)))
    return World(seed, tuple(sites))


def tenant(seed: int, number: int, name: str, listings: int) -> Site:
    """Tenant `number`: every tenth lives at the apex, every third on HTTPS; every sixth has more search pages."""
    domain = f"{name}-{TRADES[number % len(TRADES)]}.example"
    host = domain if number % 10 == 9 else f"www.{domain}"
    images_on = ("platform", "bucket", "platform", "imageservice")[number % 4]
    return site(
        seed,
        host,
        "platform",
        "platform",
        number % 3 == 2,
        images_on,
        2 if number % 6 == 4 else PER_SEARCH_PAGE,
        listings,
    )


def site(seed: int, host: str, inhabitant: str, server: str, tls: bool, images_on: str, per_page: int, listings: int) -> Site:
    domain = host.removeprefix("www.")
    random = seeded(seed, host)
    name = domain.removesuffix(".example").replace("-", " ").title()
    staff = [person(random, domain) for _ in range(3)]
    homes = tuple(listing(random, 1000 + 7 * number, random.choice(staff)) for number in range(listings))
    return Site(host, inhabitant, server, name, tls, images_on, per_page, person(random, domain), homes)


def listing(random: Random, number: int, agent: Person) -> Listing:
    bedrooms = random.randint(1, 5)
    title = f"{bedrooms} bedroom {random.choice(HOMES)}, {random.choice(STREETS)}, {random.choice(PLACES)}"
    price = f"£{random.randint(90, 900) * 1000:,}"
    sentences = random.sample(PRAISE, k=4)
    sentences.insert(2, f"To view, ring {agent.name} on {agent.spoken} or write to {agent.email}.")
    photos = tuple(
        Photo(f"{random.getrandbits(48):012x}", "png" if random.random() < 0.15 else "jpg") for _ in range(random.randint(1, 2))
    )
    return Listing(number, title, price, " ".join(sentences), bedrooms, agent, photos)


assert set(addresses.SERVERS) >= {special[0] for special in SPECIAL}
