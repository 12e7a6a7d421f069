"""Image services: whose account a URL is charged to, and which image is behind it."""

from __future__ import annotations

import re
import time
from base64 import urlsafe_b64encode

import pytest

from scrapy_polite.naming import Target, bucket_key, canonical_source, image_service_key, parse
from scrapy_polite.naming.imageservices import SERVICES
from scrapy_polite.naming.imagesources import _BY_PROVIDER
from scrapy_polite.naming.objectstores import compiled, domain_of

PLAIN = "https://shop.example/a/1.jpg"
BASE64 = urlsafe_b64encode(PLAIN.encode()).decode().rstrip("=")
SITE = "5a0b1c2d3e4f5a6b7c8d9e0f"
UUID = "c1ebe1f2-0000-4000-8000-000000000000"


def target(url: str) -> Target:
    found = parse(url)
    assert isinstance(found, Target), found
    return found


KEYED: list[tuple[str, str, str | None]] = [
    # URL, key, canonical source
    ("https://hearth.imgix.net/a/1.jpg?w=640&s=x", "imgix/hearth", "https://hearth.imgix.net/a/1.jpg"),
    ("https://HEARTH.imgix.net/a/1.jpg", "imgix/hearth", "https://hearth.imgix.net/a/1.jpg"),
    ("https://hearth.imgix.net/https%3A%2F%2Fshop.example%2Fa%2F1.jpg?w=6", "imgix/hearth", PLAIN),
    ("https://images.unsplash.com/photo-1?w=6", "imgix/images.unsplash.com", "https://images.unsplash.com/photo-1"),
    ("https://images.prismic.io/hearth/1.jpg?w=6", "prismic/hearth", "https://images.prismic.io/hearth/1.jpg"),
    ("https://www.datocms-assets.com/123/1.jpg?w=6", "datocms/123", "https://www.datocms-assets.com/123/1.jpg"),
    (
        "https://cdn.sanity.io/images/abc/production/1.jpg?w=6",
        "sanity/abc",
        "https://cdn.sanity.io/images/abc/production/1.jpg",
    ),
    *(
        (url, "cloudinary/hearth", "https://res.cloudinary.com/hearth/image/upload/folder/my_1.jpg")
        for url in (
            "https://res.cloudinary.com/hearth/image/upload/folder/my_1.jpg",
            "https://res.cloudinary.com/Hearth/image/upload/w_640/folder/my_1.jpg",
            "https://res-3.cloudinary.com/hearth/image/upload/w_640,h_2,c_fill/e_sepia/v1234/folder/my_1.jpg",
            "https://res.cloudinary.com/hearth/image/upload/s--abc-_1--/c_fill,w_640/folder/my_1.jpg",
            "https://hearth-res.cloudinary.com/image/upload/w_640/folder/my_1.jpg",
            "https://hearth-res-2.cloudinary.com/image/upload/v1/folder/my_1.jpg",
        )
    ),
    # A folder that could be a transformation, told by the version in front of it.
    (
        "https://res.cloudinary.com/hearth/image/upload/v12/w_640/1.jpg",
        "cloudinary/hearth",
        "https://res.cloudinary.com/hearth/image/upload/w_640/1.jpg",
    ),
    ("https://res.cloudinary.com/hearth/image/fetch/w_1/https://shop.example/a/1.jpg", "cloudinary/hearth", PLAIN),
    ("https://res.cloudinary.com/hearth/image/fetch/w_1/https%3A%2F%2Fshop.example%2Fa%2F1.jpg", "cloudinary/hearth", PLAIN),
    ("https://res.cloudinary.com/hearth/", "cloudinary/hearth", None),
    ("https://imagedelivery.net/HaSh/id/public", "cloudflare/HaSh", "https://imagedelivery.net/HaSh/id"),
    ("https://imagedelivery.net/HaSh/folder/id/w=300", "cloudflare/HaSh", "https://imagedelivery.net/HaSh/folder/id"),
    ("https://ik.imagekit.io/hearth/tr:w-300,h-300/1.jpg", "imagekit/hearth", "https://ik.imagekit.io/hearth/1.jpg"),
    ("https://ik.imagekit.io/hearth/1.jpg?tr=w-300", "imagekit/hearth", "https://ik.imagekit.io/hearth/1.jpg"),
    ("https://hearth.sirv.com/1.jpg?w=3", "sirv/hearth", "https://hearth.sirv.com/1.jpg"),
    ("https://hearth.gumlet.io/1.jpg?w=3", "gumlet/hearth", "https://hearth.gumlet.io/1.jpg"),
    ("https://hearth.cloudimg.io/v7/https://shop.example/a/1.jpg?w=3", "cloudimg/hearth", PLAIN),
    ("https://hearth.cloudimg.io/v7/_alias_/1.jpg?w=3", "cloudimg/hearth", None),
    (f"https://ucarecdn.com/{UUID}/-/resize/200x/1.jpg", "uploadcare/ucarecdn.com", f"https://ucarecdn.com/{UUID}/"),
    ("https://wsrv.nl/?url=shop.example/a/1.jpg&w=3", "weserv/wsrv.nl", "http://shop.example/a/1.jpg"),
    ("https://wsrv.nl/?w=3&url=https%3A%2F%2Fshop.example%2Fa%2F1.jpg", "weserv/wsrv.nl", PLAIN),
    ("https://images.weserv.nl/?url=ssl:shop.example/a/1.jpg", "weserv/wsrv.nl", PLAIN),
    ("https://images.weserv.nl/?url=//shop.example/a/1.jpg", "weserv/wsrv.nl", "http://shop.example/a/1.jpg"),
    ("https://images.weserv.nl/", "weserv/wsrv.nl", None),
    ("https://i0.wp.com/shop.example/a/1.jpg?ssl=1&w=3", "photon/shop.example", PLAIN),
    ("https://i3.wp.com/Shop.example/a/1.jpg?resize=3", "photon/shop.example", "http://shop.example/a/1.jpg"),
    ("https://cdn.statically.io/img/shop.example/f=auto,w=600/a/1.jpg", "statically/shop.example", PLAIN),
    ("https://cdn.statically.io/img/shop.example/a/1.jpg", "statically/shop.example", PLAIN),
    *(
        (
            f"https://cdn.shopify.com/s/files/1/0123/4567/8901/products/shoe{size}.jpg?v=1&width=3",
            "shopify/0123-4567-8901",
            "https://cdn.shopify.com/s/files/1/0123/4567/8901/products/shoe.jpg",
        )
        for size in ("", "_100x100_crop_center", "_100x", "_x100@2x", "_small", "_grande.progressive")
    ),
    (
        "https://static.wixstatic.com/media/11062b_ab~mv2.jpg/v1/fill/w_1,h_2,al_c,q_80/x.jpg",
        "wix/11062b",
        "https://static.wixstatic.com/media/11062b_ab~mv2.jpg",
    ),
    (
        f"https://images.squarespace-cdn.com/content/v1/{SITE}/12/1.jpg?format=500w",
        f"squarespace/{SITE}",
        f"https://images.squarespace-cdn.com/content/v1/{SITE}/12/1.jpg",
    ),
    ("https://images.ctfassets.net/abc/1/2/1.jpg?w=3", "contentful/abc", "https://images.ctfassets.net/abc/1/2/1.jpg"),
    ("https://a.storyblok.com/f/123/9x9/ab/1.jpg/m/200x0", "storyblok/123", "https://a.storyblok.com/f/123/9x9/ab/1.jpg"),
    ("https://s7d1.scene7.com/is/image/Hearth/shoe?wid=3", "scene7/hearth", "https://s7d1.scene7.com/is/image/Hearth/shoe"),
    (
        "https://images.contentstack.io/v3/assets/blt1/blt2/1/1.jpg?width=3",
        "contentstack/blt1",
        "https://images.contentstack.io/v3/assets/blt1/blt2/1/1.jpg",
    ),
]


@pytest.mark.parametrize(("url", "account", "source"), KEYED)
def test_image_services_are_keyed_by_account_and_tell_the_source(url: str, account: str, source: str | None) -> None:
    assert image_service_key(target(url)) == f"imageservice:{account}"
    assert canonical_source(target(url)) == source


def test_every_service_of_the_table_is_tried_dated_and_has_a_source() -> None:
    tried = [target(url) for url, _, _ in KEYED]
    unused = [
        row
        for row in SERVICES
        if not any(domain_of(found.host) in row.domains and compiled(row.host).fullmatch(found.host) for found in tried)
    ]
    assert not unused
    assert all(re.search(r", 20[0-9]{2}-[0-9]{2}\Z", row.source) for row in SERVICES)
    assert {row.provider for row in SERVICES} == set(_BY_PROVIDER)


@pytest.mark.parametrize(
    "url",
    [
        "https://res.cloudinary.com/",
        "https://www.cloudinary.com/hearth/",
        "https://imgix.net/1.jpg",
        "https://a.hearth.imgix.net/1.jpg",
        "https://a.example/res.cloudinary.com/hearth/",
        "https://i0.wp.com/latex.php?x",
        "https://cdn.shopify.com/shopifycloud/x.js",
        f"https://ik.imagekit.io/{'a' * 256}/1.jpg",
        "https://hearth.imgix.net.evil.example/1.jpg",
    ],
)
def test_other_urls_ask_no_service(url: str) -> None:
    assert image_service_key(target(url)) is None
    assert canonical_source(target(url)) is None


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("/cdn-cgi/image/width=80,quality=75/a/1.jpg", PLAIN),
        ("/cdn-cgi/image/width=80/https://other.example/1.jpg", "https://other.example/1.jpg"),
        ("/cdn-cgi/image/width=80/https:/other.example/1.jpg", "https://other.example/1.jpg"),
        ("/cdn-cgi/image/width=80", None),
        ("/cdn-cgi/imagedelivery/HaSh/id/public", "https://imagedelivery.net/HaSh/id"),
        ("/_next/image?url=%2Fa%2F1.jpg&w=640&q=75", PLAIN),
        ("/_next/image/?url=https%3A%2F%2Fother.example%2F1.jpg&w=640", "https://other.example/1.jpg"),
        ("/_next/image?w=640", None),
        ("/_next/image?url=file%3A%2F%2F%2Fetc%2Fpasswd", None),
        ("/_vercel/image?url=/a/1.jpg&w=3", PLAIN),
        ("/_image?href=%2Fa%2F1.jpg&w=3", PLAIN),
        ("/.netlify/images?url=/a/1.jpg&w=3", PLAIN),
        ("/_ipx/w_200/a/1.jpg", PLAIN),
        ("/_ipx/_/https://other.example/1.jpg", "https://other.example/1.jpg"),
        ("/unsafe/300x200/smart/filters:blur(2):quality(80)/other.example/1.jpg", "http://other.example/1.jpg"),
        (
            "/unsafe/trim/10x10:20x20/full-fit-in/-300x0/left/top/smart/https%3A%2F%2Fother.example%2F1.jpg",
            "https://other.example/1.jpg",
        ),
        ("/abcdefghijklmnopqrstuvwxyz0=/300x200/https://other.example/1.jpg", "https://other.example/1.jpg"),
        ("/unsafe/300x200/uploaded/1.jpg", None),
        (
            "/AfrOrF3gWeDA6VOlDG4TzxMv39O7MXnF4CXpKUwGqRM/rs:fill:300:400:0/g:sm/plain/https%3A%2F%2Fother.example%2F1.jpg@png",
            "https://other.example/1.jpg",
        ),
        (f"/unsafe/rs:fill:300:400/{BASE64}.png", PLAIN),
        (f"/insecure/rs:fill:300:400/{BASE64[:10]}/{BASE64[10:]}", PLAIN),
        ("/insecure/rs:fill:300:400/plain/local:///1.jpg", None),
        ("/insecure/rs:fill:300:400/enc/abcdefgh", None),
        ("/insecure/rs:fill:300:400/plain", None),
        ("/insecure/rs:fill", None),
        ("/articles-of-2024/https-explained/", None),
        ("/", None),
    ],
)
def test_a_resizer_on_a_sites_own_host_is_charged_to_the_site_and_tells_the_source(path: str, source: str | None) -> None:
    found = target(f"https://shop.example{path}")
    assert image_service_key(found) is None
    assert bucket_key(found) is None
    assert canonical_source(found) == source


def test_a_bucket_that_resizes_tells_the_object() -> None:
    found = target("https://abc.supabase.co/storage/v1/render/image/public/photos/1.jpg?width=3&token=t")
    assert canonical_source(found) == "https://abc.supabase.co/storage/v1/object/public/photos/1.jpg?token=t"


@pytest.mark.parametrize("part", ["w_1/", "s--a--/", "v/", "http/", "https%3A/", "a:b/", "filters:a(b):", "x/", "%", "a,"])
@pytest.mark.parametrize(
    "start",
    [
        "https://res.cloudinary.com/hearth/image/upload/",
        "https://shop.example/unsafe/",
        "https://shop.example/insecure/",
        "https://shop.example/cdn-cgi/image/",
        "https://cdn.shopify.com/s/files/1/1/2/3/",
        "https://ik.imagekit.io/hearth/",
        "https://storage.googleapis.com/",
    ],
)
def test_a_long_url_costs_no_more_than_its_length(start: str, part: str) -> None:
    """65,000 characters of the same, in time that a quadratic step would not keep."""
    found = target(start + part * (65_000 // len(part)))
    begun = time.process_time()
    canonical_source(found)
    image_service_key(found)
    bucket_key(found)
    assert time.process_time() - begun < 0.5
