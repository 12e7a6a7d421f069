"""What does not come, or cannot be stored, costs its item that image, a line in the log and a count; never the item."""

from __future__ import annotations

import gzip
import io
import json
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest
from image_crawls import Crawl, Server, encode
from loopback import Answer, Arrival, crawl, limits, ports
from loopback import Server as Sites
from nameserver import Script, name_server_in_a_thread
from PIL import Image

if TYPE_CHECKING:
    from pathlib import Path

SPIDER = """
class Spider(TestSpider):
    async def start(self):
        yield scrapy.Request("{url}/page")
    def parse(self, response):
        yield {{"title": "A house", "image_urls": {links}}}
"""


def picture(side: int = 40) -> bytes:
    buffer = io.BytesIO()
    Image.effect_noise((side, side), 60).convert("RGB").save(buffer, "PNG")
    return buffer.getvalue()


def items(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "items.json").read_text().splitlines()]


def settings_of(folder: Path, *servers: Sites, **own: object) -> dict[str, Any]:
    return {
        **limits(50.0),
        **ports(*servers),
        "IMAGES_STORE": str(folder / "images"),
        "FEEDS": {str(folder / "items.json"): {"format": "jsonlines"}},
        "RETRY_TIMES": 0,
        "DOWNLOAD_TIMEOUT": 5,
        "LOG_LEVEL": "DEBUG",
        **own,
    }


def outcomes(stats: dict[str, Any]) -> dict[str, int]:
    return {key.removeprefix("polite/images/"): n for key, n in stats.items() if key.startswith("polite/images/")}


def test_one_item_with_every_kind_of_failure_keeps_the_images_that_came(tmp_path: Path) -> None:
    large = 200_000

    def answer(arrival: Arrival) -> Answer:
        match arrival.path:
            case "/page":
                return Answer()
            case "/robots.txt":
                return Answer(b"User-agent: *\nDisallow: /private/")
            case "/gone.png":
                return Answer(status=404)
            case "/moved.png":
                return Answer(status=301, headers={"Location": "/good/1.png"})
            case "/empty.png":
                return Answer(b"")
            case "/long.png":
                return Answer(picture() + bytes(large))
            case "/endless.png":  # It does not say how long it is.
                return Answer(picture() + bytes(large), headers={"Content-Length": None}, close=True)
            case "/packed.png":
                return Answer(gzip.compress(picture() + bytes(large)), headers={"Content-Encoding": "gzip"})
            case "/hangs-up.png":
                return Answer(b"", headers={"Content-Length": "999"}, close=True)
            case "/page.png":
                return Answer(b"<!doctype html><h1>Not here</h1>")
        return Answer(picture(), headers={"Content-Type": "image/png"})

    script = Script()
    with name_server_in_a_thread("127.0.0.1", script) as dns, Sites(answer) as server:
        here = server.url
        wanted = {
            f"{here}/gone.png": "http_error",
            f"{here}/moved.png": "redirected",
            f"{here}/empty.png": "empty",
            f"{here}/long.png": "too_many_bytes",
            f"{here}/endless.png": "too_many_bytes",
            f"{here}/packed.png": "too_many_bytes",
            f"{here}/hangs-up.png": "failed",
            f"{here}/page.png": "not_an_image",
            f"{here}/private/1.png": "robots",
            "http://169.254.169.254/latest/meta-data": "refused",
            "file:///etc/passwd": "refused",
            f"http://nobody.example:{server.port}/1.png": "unresolved",
            "/relative.png": "bad_url",
            "": "bad_url",
        }
        good = [f"{here}/good/{n}.png" for n in range(3)]
        settings = settings_of(tmp_path, server, POLITE_DNS_SERVERS=[dns], ROBOTSTXT_OBEY=True)
        settings["POLITE_IMAGES"] = {"max_bytes": 100_000}
        spider = SPIDER.format(url=here, links=[good[0], *wanted, *good[1:]])
        done = crawl(spider, tmp_path, **settings)
        asked = Counter(arrival.path for arrival in server.arrivals)
    assert done.stats["finish_reason"] == "finished", done.log
    assert [[image["url"] for image in item["images"]] for item in items(tmp_path)] == [good]
    assert outcomes(done.stats) == {"ok": 3, **Counter(wanted.values())}, done.log
    assert "Traceback" not in done.log
    said = [line.partition(": <")[2].partition(">")[0] for line in done.log.splitlines() if "Image not kept (" in line]
    assert sorted(said) == sorted(wanted)
    for url, outcome in wanted.items():
        assert f"Image not kept ({outcome}): <{url}>" in done.log
    assert set(asked.values()) == {1}


def test_redirects_are_followed_where_the_project_asks_for_it(tmp_path: Path) -> None:
    def answer(arrival: Arrival) -> Answer:
        if arrival.path == "/moved.png":
            return Answer(status=302, headers={"Location": "/to.png"})
        return Answer(picture()) if "png" in arrival.path else Answer()

    with Sites(answer) as server:
        settings = settings_of(tmp_path, server, MEDIA_ALLOW_REDIRECTS=True)
        done = crawl(SPIDER.format(url=server.url, links=[f"{server.url}/moved.png"]), tmp_path, **settings)
    assert outcomes(done.stats) == {"ok": 1}, done.log
    assert items(tmp_path)[0]["images"][0]["url"] == f"{server.url}/moved.png"


def test_a_redirect_to_where_the_guard_lets_nobody_goes_nowhere(tmp_path: Path) -> None:
    def answer(arrival: Arrival) -> Answer:
        return Answer(status=302, headers={"Location": "http://169.254.169.254/"}) if "png" in arrival.path else Answer()

    with Sites(answer) as server:
        settings = settings_of(tmp_path, server, MEDIA_ALLOW_REDIRECTS=True)
        done = crawl(SPIDER.format(url=server.url, links=[f"{server.url}/moved.png"]), tmp_path, **settings)
    assert outcomes(done.stats) == {"refused": 1}, done.log
    assert items(tmp_path)[0]["images"] == []


def test_where_nothing_can_be_stored_items_go_on_without_their_images(tmp_path: Path) -> None:
    with Sites(lambda arrival: Answer(picture(200)) if "png" in arrival.path else Answer()) as server:
        links = [f"{server.url}/{n}.png" for n in range(3)]
        (tmp_path / "images" / "full").parent.mkdir()
        (tmp_path / "images" / "full").write_bytes(b"a file, where the folder of the images should be")
        done = crawl(SPIDER.format(url=server.url, links=links), tmp_path, **settings_of(tmp_path, server))
    assert outcomes(done.stats) == {"not_stored": 3}, done.log
    assert [(item["title"], item["images"]) for item in items(tmp_path)] == [("A house", [])]
    assert "Traceback" not in done.log
    assert done.log.count("Image not kept (not_stored)") == 3


def test_a_store_of_the_projects_that_fails_costs_no_item(tmp_path: Path, server: Server) -> None:
    photo = encode(Image.effect_noise((60, 40), 60).convert("RGB"), "jpeg")
    links = [server.put(f"/{n}.jpg", photo) for n in range(2)]
    settings = {"IMAGES_STORE": "far://bucket/", "POLITE_IMAGES": {"sizes": {"s": {"width": 9}}}}
    done = Crawl(tmp_path / "run", [{"image_urls": links}], settings, pipeline="Far", broken=True)
    assert done.outcomes == {"not_stored": 2}
    assert [item["images"] for item in done.items] == [[]]
    assert "Traceback" not in done.log


def test_what_a_project_raises_of_its_own_reaches_its_own_code(tmp_path: Path, server: Server) -> None:
    photo = encode(Image.effect_noise((60, 40), 60).convert("RGB"), "jpeg")
    links = [server.put(f"/{n}.jpg", photo) for n in ("blurred", "sharp", "bug")]
    done = Crawl(tmp_path / "run", [{"image_urls": links}], {"IMAGES_STORE": str(tmp_path / "store")}, pipeline="Choosy")
    assert done.items[0]["failed"] == ["Blurred: too blurred", "FileException: 'bug'"]
    assert len(done.items[0]["images"]) == 1
    assert done.outcomes == {"ok": 1, "failed": 2}
    # A bug of the project's is shown where it is.
    assert done.log.count("Traceback") == 1


@pytest.mark.parametrize("kind", ["dataclass", "attrs", "item", "dict"])
def test_items_of_every_type_are_told_of_their_images(kind: str, tmp_path: Path, server: Server) -> None:
    photo = encode(Image.effect_noise((60, 40), 60).convert("RGB"), "jpeg")
    link, settings = (
        server.put("/1.jpg", photo),
        {"IMAGES_STORE": str(tmp_path / "store"), "CHOSEN_IMAGES_URLS_FIELD": "photos"},
    )
    settings["IMAGES_RESULT_FIELD"] = "found"
    done = Crawl(tmp_path / "run", [{"photos": [link, ""]}], settings, pipeline="Chosen", kind=kind)
    assert [(image["url"], image["status"], image["width"]) for image in done.items[0]["found"]] == [(link, "downloaded", 60)]
    assert done.outcomes == {"ok": 1, "bad_url": 1}


def test_a_url_of_a_page_writes_no_line_of_the_log_and_nothing_to_a_terminal(tmp_path: Path) -> None:
    urls = ["a\n2026-01-01 00:00:00 [root] ERROR: forged\x1b[2J", "a\u2028b", "http://[::1\r\nforged", "a\ud800", "a" * 100_000]
    done = Crawl(tmp_path / "run", [{"image_urls": urls}], {"IMAGES_STORE": str(tmp_path / "store")})
    assert done.outcomes == {"bad_url": len(urls)}
    said = [line for line in done.log.splitlines() if "Image not kept (bad_url): <" in line]
    assert len(said) == len(urls)  # a lone surrogate is no UTF-8: the line would be lost
    assert not any("forged" in line.partition("Image not kept")[0] for line in done.log.split("\n") if "image_urls" not in line)
    assert max(map(len, said)) < 5000
    assert not [letter for line in said for letter in line if not letter.isprintable()]


def test_what_a_middleware_filters_is_said(tmp_path: Path) -> None:
    with Sites(address="0.0.0.0") as server:
        spider = SPIDER.format(url=server.url, links=[f"http://127.0.0.2:{server.port}/1.png"])
        spider += '    allowed_domains = ["127.0.0.1"]\n'
        done = crawl(spider, tmp_path, **settings_of(tmp_path, server))
    assert outcomes(done.stats) == {"filtered": 1}, done.log
    assert "Traceback" not in done.log
    assert len(items(tmp_path)) == 1
