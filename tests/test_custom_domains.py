"""A custom domain of a bucket, told by DNS alone: what a crawl charges for it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from nameserver import name_server
from scrapy.settings import Settings

from scrapy_polite.dns.resolver import Resolver
from scrapy_polite.politeness import Placed, Politeness
from scrapy_polite.settings import Config
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
