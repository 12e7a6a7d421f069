"""One spider for the sites of all agents: search pages, listings, and whatever the listings point to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy import Spider
from scrapy.http import TextResponse

from agents.facts import town
from agents.items import Listing

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy import Request
    from scrapy.http import Response


class AgentsSpider(Spider):
    """`scrapy crawl agents -a start_urls=https://www.example.com/search,...`; in the demo, every site of the town.

    Nothing here is about politeness: no delays, no lists of hosts to leave alone. That is the add-on's work.
    """

    name = "agents"

    def __init__(self, start_urls: str = "", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        facts = town() or {"sites": []}
        self.start_urls = start_urls.split(",") if start_urls else [site["start_url"] for site in facts["sites"]]

    def parse(self, response: Response, **kwargs: Any) -> Iterator[Request]:
        """A search page: its listings, and the next page."""
        if not isinstance(response, TextResponse):
            return
        yield from response.follow_all(css="a.listing", callback=self.parse_listing)
        yield from response.follow_all(css="a.next", callback=self.parse)

    def parse_listing(self, response: Response) -> Iterator[Listing | Request]:
        """A listing, its photographs, and its "see also" links, which can lead anywhere."""
        if not isinstance(response, TextResponse):
            return
        yield Listing(
            url=response.url,
            title=response.css("h1.title::text").get(),
            price=response.css("span.price::text").get(),
            description=" ".join(response.css("div.description ::text").getall()),
            page="".join(response.css("head, main, footer").getall()),
            state=response.css("script#state::text").get(),
            image_urls=[response.urljoin(source) for source in response.css("img.photo::attr(src)").getall()],
        )
        for link in response.css("a.see-also::attr(href)").getall():
            try:
                yield response.follow(link, callback=self.parse_other)
            except ValueError as error:
                self.logger.info("Not a link (%s): %r on %s", error, link, response.url)

    def parse_other(self, response: Response) -> None:
        """Where a "see also" link led. There is nothing to take from it."""
        self.logger.debug("Seen: %s", response.url)
