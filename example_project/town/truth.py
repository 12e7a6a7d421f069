"""The ground truth: all keys and all personal data on the pages that the start URLs lead to, page by page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from town.content import Content, listing_content, search_content

if TYPE_CHECKING:
    from town.addresses import Ports
    from town.world import World


def ground_truth(world: World, ports: Ports) -> dict[str, list[dict[str, str]]]:
    """``{"keys": [{"value", "kind", "url"}], "personal": [{"value", "kind", "url"}]}``, values as the page has them."""
    truth: dict[str, list[dict[str, str]]] = {"keys": [], "personal": []}

    def add(url: str, content: Content) -> None:
        truth["keys"] += [{"value": key.value, "kind": key.kind, "url": url} for key in content.keys]
        truth["personal"] += [{"value": fact.value, "kind": fact.kind, "url": url} for fact in content.personal]

    for site in world.sites:
        base = ports.base(site.host, site.tls)
        for number in range(1, site.search_pages + 1):
            add(f"{base}/search?page={number}", search_content(world.seed, site))
        for listing in site.listings:
            add(f"{base}/listing/{listing.id}", listing_content(world.seed, site, listing))
    return truth
