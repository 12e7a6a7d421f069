"""A custom domain of a bucket, told by DNS alone: what a crawl charges for it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from nameserver import name_server
from scrapy.settings import Settings

from scrapy_polite.config import Config
from scrapy_polite.dns.resolver import Resolver
from scrapy_polite.politeness import Placed, Politeness
from scrapy_polite.stores.base import open_store

if TYPE_CHECKING:
    from collections.abc import Mapping

PUBLIC = "93.184.216.34"


def placed(url: str, names: Mapping[str, str], **settings: object) -> Placed:
    """How the URL is placed where each of `names` is a CNAME for the next thing, or has an address."""

    async def run() -> Placed:
        async with name_server() as (script, server):
            for name, leads_to in names.items():
                kind = "A" if leads_to[0].isdigit() else "CNAME"
                script.records[name] = [(60, kind, leads_to if kind == "A" else f"{leads_to}.")]
            config = Config.from_settings(Settings({"POLITE_DNS_SERVERS": [server], "POLITE_STORE": "memory:", **settings}))
            politeness = Politeness(config, open_store("memory:"), Resolver(config.dns_servers, config.dns_timeout), None, None)
            try:
                answer = await politeness.admit(url)
            finally:
                await politeness.close()
            assert isinstance(answer, tuple), answer
            return answer[1]

    return asyncio.run(run())


def test_a_cname_for_a_bucket_shares_the_buckets_limit_and_stays_a_site() -> None:
    bucket = "photos.s3.eu-west-1.amazonaws.com"
    found = placed("http://img.shop.test/1.jpg", {"img.shop.test": bucket, bucket: PUBLIC})
    assert found.keys == ("site:img.shop.test", "bucket:s3/photos")
    assert found.origin is None
    assert "img.shop.test is a custom domain of bucket:s3/photos" in found.evidence
    direct = placed(f"http://{bucket}/1.jpg", {bucket: PUBLIC})
    assert direct.keys == ("bucket:s3/photos",)


def test_a_cname_for_a_store_that_goes_by_the_host_header() -> None:
    names = {"img.shop.test": "c.storage.googleapis.com", "c.storage.googleapis.com": PUBLIC}
    assert placed("http://img.shop.test/1.jpg", names).keys == ("site:img.shop.test", "bucket:gcs/img.shop.test")


def test_a_cname_for_an_image_service_has_site_account_and_whoever_is_behind() -> None:
    account = "hearth.imgix.net"
    names = {"img.shop.test": account, account: PUBLIC}
    found = placed("http://img.shop.test/1.jpg", names)
    assert found.keys == ("site:img.shop.test", "imageservice:imgix/hearth", "origin:imgix/hearth")
    assert found.origin == "origin:imgix/hearth"
    assert found.edge is not None
    assert found.edge.provider == "imgix"
    assert placed(f"http://{account}/1.jpg", names).keys == found.keys[1:]
    # What is behind the account is not the account.
    assert placed("http://img.shop.test/_next/image?url=%2F1.jpg", names).keys == found.keys


def test_an_image_service_says_what_it_is_taken_as_and_who_is_charged() -> None:
    found = placed("http://i0.wp.com/shop.test/1.jpg", {"i0.wp.com": PUBLIC, "shop.test": "203.0.114.7"})
    assert found.keys == ("imageservice:photon/shop.test", "origin:203.0.114.7")
    assert found.evidence[-2:] == (
        "imageservice:photon/shop.test is watched, and taken as an edge whose answers are all misses until they tell more",
        "what it has to fetch is charged to origin:203.0.114.7, since it resizes images of site:shop.test",
    )


@pytest.mark.parametrize("source", ["shop.test", "10.1.2.3", "169.254.169.254", "wiki.internal", "nobody.test"])
def test_a_source_that_may_not_be_reached_or_is_not_there_leaves_the_account_its_own_key(source: str) -> None:
    found = placed(f"http://i0.wp.com/{source}/1.jpg", {"i0.wp.com": PUBLIC, "shop.test": "10.0.0.1"})
    assert found.keys == (f"imageservice:photon/{source}", f"origin:photon/{source}")
    assert found.evidence[-1].endswith("since nothing tells whose images it resizes")


def test_a_source_in_a_bucket_is_charged_as_that_bucket() -> None:
    source = "https://photos.s3.eu-west-1.amazonaws.com/1.jpg"
    url = f"http://res.cloudinary.com/hearth/image/fetch/w_1/{source}"
    found = placed(url, {"res.cloudinary.com": PUBLIC})
    assert found.keys == ("imageservice:cloudinary/hearth", "bucket:s3/photos")
    assert found.origin is None


@pytest.mark.parametrize("listed", [["ceph.shop.test"], {"ceph.shop.test": "host"}])
def test_a_listed_store_is_known_with_and_without_a_cname(listed: object) -> None:
    key = "bucket:listed/ceph.shop.test/photos"
    names = {"img.shop.test": "photos.ceph.shop.test", "photos.ceph.shop.test": PUBLIC}
    assert placed("http://img.shop.test/1.jpg", names, POLITE_BUCKET_HOSTS=listed).keys == ("site:img.shop.test", key)
    assert placed("http://photos.ceph.shop.test/1.jpg", names, POLITE_BUCKET_HOSTS=listed).keys == (key,)


def test_without_the_setting_it_is_a_site_with_an_origin() -> None:
    found = placed("http://photos.ceph.shop.test/1.jpg", {"photos.ceph.shop.test": PUBLIC})
    assert found.keys[0] == "site:photos.ceph.shop.test"
    assert found.keys[-1] == found.origin is not None
