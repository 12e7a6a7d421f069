"""Which headers of Scrapy's request a real Chromium is given, and where they go."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from browsing import page, settings
from trapped_world import World, crawl

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.chromium


@pytest.fixture
def world() -> Iterator[World]:
    with World() as world:
        yield world


def test_what_is_meant_for_one_origin_goes_to_no_frame_and_no_target_of_a_redirect(world: World, tmp_path: Path) -> None:
    heard: list[tuple[str, dict[str, str]]] = []

    def hear(request: Any) -> None:
        heard.append((request.path, {name.lower(): value for name, value in request.headers.items()}))
        if request.path == "/locked" and "Authorization" not in request.headers:
            request.answer(401, "", **{"WWW-Authenticate": 'Basic realm="own"'})
            return
        frame = f"<iframe src='http://other.example:{world.port}/frame'></iframe>" if request.path == "/page" else ""
        request.answer(200, f"<html><title>told</title>{frame}</html>")

    for path in ("/page", "/frame", "/landed", "/locked", "/locked-elsewhere"):
        world.served[path] = hear
    headers = {"Authorization": "Basic c2VjcmV0", "Cookie": "sid=secret", "X-Own": "kept", "Referer": "http://before.example/a"}
    landed = world.url(f"/go?to=http://other.example:{world.port}/landed")
    elsewhere = world.url(f"/go?to=http://other.example:{world.port}/locked-elsewhere")
    login = {"username": "user", "password": "word", "origin": f"http://good.example:{world.port}"}
    known = {"playwright_context": "known", "playwright_context_kwargs": {"http_credentials": login}}
    requests = [{**page(url), "headers": headers} for url in (world.url("/page"), landed)]
    requests += [page(world.url("/locked"), **known), page(elsewhere, **known)]
    networks = ["127.30.0.0/16", "127.31.0.0/16"]
    outcome = crawl(tmp_path, settings(world, POLITE_ALLOW_NETWORKS=networks, COOKIES_ENABLED=False), requests)
    assert len(outcome.pages) == 4, outcome.said
    by_path = dict(heard)
    assert set(by_path) == {"/page", "/frame", "/landed", "/locked", "/locked-elsewhere"}
    assert by_path["/locked"]["authorization"].startswith("Basic ")
    del by_path["/locked"]
    for told in by_path.values():
        assert not {"authorization", "cookie"} & set(told)
    assert by_path["/page"]["x-own"] == "kept"
    assert "x-own" not in by_path["/frame"]
    assert by_path["/frame"]["referer"] == f"http://good.example:{world.port}/"
    assert outcome.said.count("Authorization header is not given to the browser") == 1
