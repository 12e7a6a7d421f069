"""Made-up webs with a known truth: who shares servers, and what a crawl sees of it. The rules that judge are not known here."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

from benchmarks.worlds import fronts, hosting, platforms
from benchmarks.worlds.building import Builder, Site, World, observed
from benchmarks.worlds.faults import spoil

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Site", "World", "make"]


def make(seed: int, scale: float = 1.0, *, skewed: bool = False) -> World:
    """A world of about 10,000 sites, times `scale`: more and smaller or larger groups of every kind, sizes from heavy tails.

    `skewed` makes it a crawl of which four fifths are one platform, half of it behind an edge with nothing but its headers.
    """
    b = Builder(Random(seed))
    scale = scale / 8 if skewed else scale
    _platforms(b, scale)
    _hosting(b, scale)
    _fronts(b, scale)
    if skewed:
        _one_platform(b, 4 * len(b.drafts))
    spoil(b)
    return World(seed, tuple(observed(draft, b) for draft in b.drafts), b.unknown_edge)


def _groups(b: Builder, scale: float, count: int, least: int, most: int) -> Iterator[int]:
    """Sizes of `count` groups, times `scale`: in a smaller world there are fewer, and the largest are smaller."""
    for _ in range(max(1, round(count * min(1.0, scale**0.5 * 1.2) * max(1.0, scale)))):
        yield b.size(least, max(least, round(most * min(1.0, scale * 2))))


def _platforms(b: Builder, scale: float) -> None:
    for size in _groups(b, scale, 6, 50, 450):
        platforms.by_cname(b, size)
    for size in _groups(b, scale, 4, 12, 40):
        platforms.by_tenant_cname(b, b.random.randrange(2, 6), size)
    for size in _groups(b, scale, 6, 40, 260):
        platforms.by_address(b, size)
    for size in _groups(b, scale, 4, 30, 120):
        platforms.by_pointer(b, size)
    for size in _groups(b, scale, 5, 30, 100):
        platforms.balanced(b, size)
    for size in _groups(b, scale, 3, 40, 100):
        platforms.white_label(b, size)
    for size in _groups(b, scale, 2, 3, 4):
        platforms.twin_machines(b, size)
    platforms.cloud_balancers(b, max(8, round(60 * scale)))
    for size in _groups(b, scale, 4, 40, 130):
        platforms.behind_two_edges(b, size, "edge_headers", marks=True)
    for size in _groups(b, scale, 3, 8, 20):
        platforms.behind_two_edges(b, size, "edge_hidden", marks=False)
    for size in _groups(b, scale, 7, 16, 90):
        platforms.by_edge_name(b, size)


def _hosting(b: Builder, scale: float) -> None:
    for size in _groups(b, scale, 4, 220, 1_000):
        hosting.shared_host(b, size)
    for size in _groups(b, scale, 12, 18, 60):
        hosting.hoster(b, size)
    for _ in range(round(1_100 * scale)):
        hosting.own_server(b)
    for size in _groups(b, scale, 90, 2, 60):
        hosting.family(b, size)
    for size in _groups(b, scale, 4, 40, 250):
        hosting.parked(b, size)
    for _ in range(max(2, round(3 * scale))):
        hosting.appliances(b, 16)
    for size in _groups(b, scale, 6, 12, 60):
        hosting.rare_software(b, size)
    hosting.failing_over(b, max(5, round(45 * scale)))


def _fronts(b: Builder, scale: float) -> None:
    fronts.independent(b, round(700 * scale))
    fronts.unknown_cdn(b, 160 if scale >= 0.5 else 40)
    fronts.routers(b, round(600 * scale))
    fronts.mega_platform(b, round(900 * scale))


def _one_platform(b: Builder, size: int) -> None:
    brand, domain = platforms.operator(b)
    look, address = platforms.marked(b, brand), b.address()
    for _ in range(size):
        draft = platforms.tenant(b, "one_platform", domain, (address,), look, 3_600.0)
        if b.random.random() < 0.5:
            fronts.in_front(b, draft, b.random.choice(("cloudflare", "cloudflare", "fastly")))
