"""Which URLs show one picture, and which of them the most of it."""

from __future__ import annotations

import math
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scrapy_polite.naming import Target, parse
from scrapy_polite.naming.imagesizes import Shown, shown_by

UUID = "https://ucarecdn.com/c1ebe1f2-0000-4000-8000-000000000000"
CLOUDINARY = "https://res.cloudinary.com/hearth/image/upload"
IMAGEKIT = "https://ik.imagekit.io/hearth"
SHOPIFY = "https://cdn.shopify.com/s/files/1/0123/4567/8901/products"
WIX = "https://static.wixstatic.com/media/11062b_ab~mv2.jpg"
SQUARE = "https://images.squarespace-cdn.com/content/v1/5a0b1c2d3e4f5a6b7c8d9e0f/12/1.jpg"
NEXT = "https://shop.example/_next/image?url=%2Fa%2F1.jpg"
SHOP = "https://shop.example/a/1.jpg"
IMGPROXY = "https://img.example"
THUMBOR = "https://img.example"


def shown(url: str) -> Shown:
    target = parse(url)
    assert isinstance(target, Target), target
    return shown_by(target)


# From the one that shows the most to the one that shows the least, and of which the first shows all that the others do.
SAME = [
    ["https://hearth.imgix.net/1.jpg", "https://hearth.imgix.net/1.jpg?w=640&s=ab", "https://hearth.imgix.net/1.jpg?s=c&w=99&q=5"],
    ["https://hearth.imgix.net/1.jpg?w=640&auto=format,compress", "https://hearth.imgix.net/1.jpg?w=100&h=100&fit=crop&crop=faces"],
    ["https://hearth.imgix.net/1.jpg?w=300&dpr=2", "https://hearth.imgix.net/1.jpg?w=500"],
    ["https://images.unsplash.com/photo-1?ixid=a&w=900", "https://images.unsplash.com/photo-1?ixid=b&ixlib=rb-4&w=90&fm=jpg"],
    ["https://cdn.sanity.io/images/abc/p/1.jpg", "https://cdn.sanity.io/images/abc/p/1.jpg?w=6&h=6&fit=max"],
    [f"{CLOUDINARY}/a/1.jpg", f"{CLOUDINARY}/w_640,q_auto,f_auto/a/1.jpg", f"{CLOUDINARY}/s--abc-_1--/c_fill,w_9,h_9/a/1.jpg"],
    [f"{CLOUDINARY}/c_limit,w_900,h_900/1.jpg", "https://hearth-res.cloudinary.com/image/upload/c_limit,w_90,h_90/1.jpg"],
    ["https://imagedelivery.net/HaSh/id/w=600", "https://imagedelivery.net/HaSh/id/w=300,quality=50"],
    [f"{IMAGEKIT}/1.jpg", f"{IMAGEKIT}/1.jpg?tr=w-600", f"{IMAGEKIT}/tr:w-300,h-300,fo-auto/1.jpg"],
    ["https://hearth.cloudimg.io/v7/https://shop.example/a/1.jpg?w=30", "https://hearth.cloudimg.io/v7/https://shop.example/a/1.jpg?w=3"],
    [f"{UUID}/-/preview/900x900/", f"{UUID}/-/preview/200x200/"],
    ["https://wsrv.nl/?url=shop.example/a/1.jpg&w=30", "https://wsrv.nl/?w=3&url=http%3A%2F%2Fshop.example%2Fa%2F1.jpg&output=webp"],
    ["https://i0.wp.com/shop.example/a/1.jpg?w=30", "https://i2.wp.com/shop.example/a/1.jpg?fit=20,20", "https://i2.wp.com/shop.example/a/1.jpg?resize=2,2"],
    ["https://cdn.statically.io/img/shop.example/a/1.jpg", "https://cdn.statically.io/img/shop.example/f=auto,w=600/a/1.jpg"],
    [f"{SHOPIFY}/shoe.jpg?v=1", *(f"{SHOPIFY}/shoe_{size}.jpg?v=1" for size in ("grande", "9x9_crop_top@2x", "x9"))],
    [f"{WIX}/v1/fit/w_900,h_900,q_90/x.jpg", f"{WIX}/v1/fill/w_90,h_90,al_c,q_80,usm_0.66_1.00_0.01,enc_auto/x.jpg"],
    [f"{SQUARE}?format=1500w", f"{SQUARE}?format=500w"],
    ["https://a.storyblok.com/f/123/9x9/ab/1.jpg", "https://a.storyblok.com/f/123/9x9/ab/1.jpg/m/200x0/filters:quality(80):format(webp)"],
    ["https://s7d1.scene7.com/is/image/Hearth/shoe?wid=30", "https://s7d1.scene7.com/is/image/Hearth/shoe?hei=3&wid=3&fmt=webp"],
    [SHOP, f"{NEXT}&w=640&q=75", f"{NEXT}&w=96&q=75"],
    ["https://SHOP.example:443/a/1.jpg#top", SHOP],
    ["https://shop.example/cdn-cgi/image/fit=scale-down,width=900/a/1.jpg", "https://shop.example/cdn-cgi/image/width=300/a/1.jpg"],
    ["https://shop.example/_ipx/w_600/a/1.jpg", "https://shop.example/_ipx/s_300x200&f_webp/a/1.jpg"],
    [
        f"{IMGPROXY}/AbCdEfGhIjK/w:900/plain/{SHOP}@webp",
        f"{IMGPROXY}/LmNoPqRsTuV/rs:fit:300:200:0/q:50/plain/{SHOP}",
        f"{IMGPROXY}/unsafe/resize:fill:30:20/plain/{SHOP}@png",
    ],
    [
        f"{THUMBOR}/unsafe/fit-in/900x900/{SHOP}",
        f"{THUMBOR}/unsafe/300x200/smart/filters:quality(80)/{SHOP}",
    ],
]  # fmt: skip


@pytest.mark.parametrize("urls", SAME)
def test_urls_of_one_picture_are_told_by_how_much_they_show(urls: list[str]) -> None:
    found = [shown(url) for url in urls]
    assert {each.picture for each in found} == {found[0].picture}
    assert all(found[0].covers(each) for each in found)
    if len({(each.width, each.height) for each in found}) > 1:
        assert not found[-1].covers(found[0])
    assert max(found, key=lambda each: each.rank).covers(found[0])


DIFFERENT = [
    # Another image, another part of it, or something done to it.
    ("https://hearth.imgix.net/1.jpg", "https://hearth.imgix.net/2.jpg"),
    ("https://hearth.imgix.net/1.jpg", "https://other.imgix.net/1.jpg"),
    ("https://hearth.imgix.net/1.jpg", "https://hearth.imgix.net/1.jpg?blur=50"),
    ("https://hearth.imgix.net/1.jpg", "https://hearth.imgix.net/1.jpg?rect=0,0,9,9&w=9"),
    ("https://hearth.imgix.net/1.pdf?page=1&w=9", "https://hearth.imgix.net/1.pdf?page=2&w=9"),
    ("https://hearth.imgix.net/1.jpg?auto=format", "https://hearth.imgix.net/1.jpg?auto=enhance"),
    (f"{CLOUDINARY}/1.jpg", f"{CLOUDINARY}/c_crop,w_9,h_9,x_1,y_1/1.jpg"),
    (f"{CLOUDINARY}/1.jpg", f"{CLOUDINARY}/c_thumb,g_face,w_9,h_9/1.jpg"),
    (f"{CLOUDINARY}/1.jpg", f"{CLOUDINARY}/e_grayscale/1.jpg"),
    (f"{CLOUDINARY}/1.jpg", f"{CLOUDINARY}/l_logo,w_9/1.jpg"),
    (f"{CLOUDINARY}/v1/1.jpg", f"{CLOUDINARY}/v2/1.jpg"),
    (f"{CLOUDINARY}/t_thumb/1.jpg", f"{CLOUDINARY}/t_hero/1.jpg"),
    ("https://imagedelivery.net/HaSh/id/public", "https://imagedelivery.net/HaSh/id/thumbnail"),
    (f"{UUID}/", f"{UUID}/-/crop/9x9/1,1/"),
    (f"{SHOPIFY}/shoe.jpg?v=1", f"{SHOPIFY}/shoe.jpg?v=2"),
    (f"{SHOPIFY}/shoe.jpg", f"{SHOPIFY}/shoe-2.jpg"),
    (f"{WIX}/v1/fill/w_9,h_9/x.jpg", f"{WIX}/v1/crop/x_1,y_1,w_9,h_9/x.jpg"),
    ("https://s7d1.scene7.com/is/image/Hearth/shoe?$large$", "https://s7d1.scene7.com/is/image/Hearth/shoe?$small$"),
    (f"{THUMBOR}/unsafe/1x1:9x9/{SHOP}", f"{THUMBOR}/unsafe/{SHOP}"),
    ("https://shop.example/a/1.jpg?size=1", "https://shop.example/a/1.jpg?size=2"),
    # What a resizer says of another host is not that host's word.
    (SHOP, "https://evil.example/_next/image?url=https%3A%2F%2Fshop.example%2Fa%2F1.jpg&w=64"),
    (SHOP, "https://res.cloudinary.com/evil/image/fetch/https://shop.example/a/1.jpg"),
    (SHOP, "https://wsrv.nl/?url=https%3A%2F%2Fshop.example%2Fa%2F1.jpg"),
    (SHOP, f"{THUMBOR}/unsafe/{SHOP}"),
    # Another port may be somebody else's, and whoever is on the way can write what he likes into an answer by http.
    (SHOP, "https://shop.example:8443/_next/image?url=https%3A%2F%2Fshop.example%2Fa%2F1.jpg"),
    (SHOP, "http://shop.example/_next/image?url=https%3A%2F%2Fshop.example%2Fa%2F1.jpg"),
    # Nor is what a tenant of a host says of another: a bucket whose name could be a signature, a key that reads like options.
    ("https://s3.example/hers/1.jpg", "https://s3.example/his-bucket/q:90/plain/https://s3.example/hers/1.jpg"),
    ("https://s3.example/hers/1.jpg", "https://s3.example/his-bucket/q:90/aHR0cHM6Ly9zMy5leGFtcGxlL2hlcnMvMS5qcGc"),
    ("http://s3.example/hers/1.jpg", "http://s3.example/unsafe/s3.example/hers/1.jpg"),
    (
        "https://res.cloudinary.com/evil/image/fetch/https://shop.example/a/1.jpg",
        "https://res.cloudinary.com/hearth/image/fetch/https://shop.example/a/1.jpg",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_what_may_be_another_picture_is_none_of_the_same(one: str, other: str) -> None:
    assert shown(one).picture != shown(other).picture


def test_a_part_of_a_picture_stands_for_the_same_part_alone() -> None:
    base = "https://hearth.imgix.net/1.jpg"
    hero, banner = shown(f"{base}?w=1600&h=400&fit=crop"), shown(f"{base}?w=800&h=200&fit=crop")
    square, edge = shown(f"{base}?w=100&h=100&fit=crop"), shown(f"{base}?w=800&h=200&fit=crop&crop=top")
    whole = shown(f"{base}?w=300")
    assert hero.covers(banner)
    assert not hero.covers(square)
    assert not hero.covers(edge)
    assert not hero.covers(whole)
    assert whole.covers(square)
    assert not whole.covers(banner)
    assert max(hero, whole, square, key=lambda each: each.rank) is whole


def test_a_bound_of_nothing_is_none() -> None:
    base = "https://a.storyblok.com/f/123/9x9/ab/1.jpg/m"
    assert (shown(f"{base}/200x0").width, shown(f"{base}/200x0").height) == (200, math.inf)
    assert shown(f"{base}/0x0").width == math.inf
    assert shown(f"https://hearth.imgix.net/1.jpg?w={'9' * 5000}").width == math.inf


HOSTS = ["hearth.imgix.net", "res.cloudinary.com/hearth", "ik.imagekit.io/hearth", "cdn.shopify.com/s/files/1/1/1", "wsrv.nl"]
PIECES = st.one_of(
    st.text(max_size=12),
    st.sampled_from(
        [
            "w_",
            "h=",
            "dpr=1e9",
            "dpr_0",
            "w=0",
            f"w_{'9' * 400}",
            "x",
            "0x0",
            "_1x1.jpg",
            "rs:fit:",
            "s::",
            "tr:",
            "unsafe",
            "/",
            "?",
            "&",
        ]
    ),
    st.sampled_from(
        ["image/upload", "cdn-cgi/image", "_next/image?url=", "plain/http://a.example/b", "fit-in", "%2F", "#", "@png"]
    ),
)


@settings(deadline=None)
@given(st.sampled_from([*HOSTS, "shop.example"]), st.lists(PIECES, max_size=8), st.sampled_from(["/", "", ","]))
def test_whatever_a_page_gives_is_told_and_shows_itself(host: str, pieces: list[str], between: str) -> None:
    target = parse(f"https://{host}/{between.join(pieces)}")
    if isinstance(target, Target):
        found = shown_by(target)
        assert found.covers(found)
        assert found.width > 0
        assert found.height > 0


def test_a_url_as_long_as_a_page_is_read_in_no_time() -> None:
    began = time.process_time()
    for piece in ("w_1,", "_1x", "tr:", "/x", "&w=1", "@", "%2F", "fl_lossy."):
        shown(f"https://hearth.imgix.net/{piece * 7_000}.jpg")
        shown(f"https://shop.example/unsafe/{piece * 7_000}/https://a.example/1.jpg")
    assert time.process_time() - began < 5.0
