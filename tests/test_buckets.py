"""One bucket, one key: every form of address in the table, and Amazon's own test cases."""

from __future__ import annotations

import json
import re
from pathlib import Path
from urllib.parse import quote

import pytest
from scrapy.settings import Settings

from scrapy_polite.config import Config
from scrapy_polite.naming import Stores, Target, bucket_key, chain_key, own_key, parse
from scrapy_polite.naming.objectstores import ROWS, compiled, domain_of

ACCOUNT = "0123456789abcdef0123456789abcdef"


def target(url: str) -> Target:
    found = parse(url)
    assert isinstance(found, Target), found
    return found


SPELLINGS: dict[str, list[str]] = {
    "bucket:s3/hearth-photos": [
        "https://hearth-photos.s3.amazonaws.com/1.jpg",
        "https://hearth-photos.s3.eu-west-2.amazonaws.com/1.jpg",
        "https://hearth-photos.s3-eu-west-2.amazonaws.com/1.jpg",
        "https://hearth-photos.s3.dualstack.eu-west-2.amazonaws.com/1.jpg",
        "https://hearth-photos.s3-fips.us-gov-west-1.amazonaws.com/1.jpg",
        "https://hearth-photos.s3-fips-us-gov-west-1.amazonaws.com/1.jpg",
        "https://hearth-photos.s3-fips.dualstack.us-east-1.amazonaws.com/1.jpg",
        "https://hearth-photos.s3-accelerate.amazonaws.com/1.jpg",
        "https://hearth-photos.s3-accelerate.dualstack.amazonaws.com/1.jpg",
        "https://hearth-photos.s3-accelerate.dualstack.us-east-1.amazonaws.com/1.jpg",
        "http://hearth-photos.s3-website-eu-west-1.amazonaws.com/1.jpg",
        "http://hearth-photos.s3-website.eu-central-1.amazonaws.com/1.jpg",
        "http://hearth-photos.s3-website.dualstack.eu-central-1.amazonaws.com/1.jpg",
        "https://hearth-photos.s3-deprecated.us-west-2.amazonaws.com/1.jpg",
        "https://hearth-photos.s3-1.amazonaws.com/1.jpg",
        "https://hearth-photos.s3.cn-north-1.amazonaws.com.cn/1.jpg",
        "https://hearth-photos.s3.dualstack.cn-north-1.amazonaws.com.cn/1.jpg",
        "http://hearth-photos.s3-website.cn-northwest-1.amazonaws.com.cn/1.jpg",
        "https://hearth-photos.s3.eusc-de-east-1.amazonaws.eu/1.jpg",
        "https://hearth-photos.bucket.vpce-1a2b3c4d-5e6f.s3.us-west-2.vpce.amazonaws.com/1.jpg",
        "https://bucket.vpce-1a2b3c4d-5e6f.s3.us-west-2.vpce.amazonaws.com/hearth-photos/1.jpg",
        "https://s3.amazonaws.com/hearth-photos/1.jpg",
        "https://s3.amazonaws.com//../hearth-photos/1.jpg",
        "https://s3.amazonaws.com/other/../hearth-photos/1.jpg",
        "https://s3.amazonaws.com/%2e/hearth-photos/1.jpg",
        "https://s3.amazonaws.com\\hearth-photos\\1.jpg",
        "https://s3.eu-west-2.amazonaws.com/hearth-photos/1.jpg",
        "https://s3-eu-west-2.amazonaws.com/hearth-photos?list",
        "https://s3-eu-west-2.amazonaws.com/hearth-photos#list",
        "https://s3.dualstack.eu-west-2.amazonaws.com/%68earth-photos/1.jpg",
        "https://s3-external-1.amazonaws.com/hearth-photos",
        "https://HEARTH-photos.S3.eu-west-2.amazonaws.com./1.jpg",
        "https://hearth-photos.s3.amazonaws.com:443/1.jpg",
        "http://hearth-photos.s3.amazonaws.com:8080/1.jpg",
    ],
    "bucket:s3/accesspoint/ap-123456789012": [
        "https://ap-123456789012.s3-accesspoint.eu-west-1.amazonaws.com/k",
        "https://ap-123456789012.s3-accesspoint-fips.dualstack.eu-west-1.amazonaws.com/k",
        "https://ap-123456789012.accesspoint.vpce-1a2b3c4d-5e6f.s3.us-west-2.vpce.amazonaws.com/k",
    ],
    "bucket:s3/mrap/mfzwi23gnjvgw": ["https://mfzwi23gnjvgw.mrap.accesspoint.s3-global.amazonaws.com/k"],
    "bucket:s3/object-lambda/b-123456789012": [
        "https://b-123456789012.s3-object-lambda.us-east-1.amazonaws.com/k",
        "https://b-123456789012.s3-object-lambda-fips.us-gov-east-1.amazonaws.com/k",
    ],
    "bucket:s3/outposts/ap-123456789012.op-0123": ["https://ap-123456789012.op-0123.s3-outposts.us-east-1.amazonaws.com/k"],
    "bucket:s3/photos--usw2-az1--x-s3": [
        "https://photos--usw2-az1--x-s3.s3express-usw2-az1.us-west-2.amazonaws.com/k",
        "https://photos--usw2-az1--x-s3.s3express-fips-usw2-az1.dualstack.us-west-2.amazonaws.com/k",
        "https://s3express-control.us-west-2.amazonaws.com/photos--usw2-az1--x-s3",
        "https://s3express-control-fips.dualstack.us-west-2.amazonaws.com/photos--usw2-az1--x-s3",
    ],
    "bucket:gcs/hearth.appspot.com": [
        "https://hearth.appspot.com.storage.googleapis.com/1.jpg",
        "https://storage.googleapis.com/hearth.appspot.com/1.jpg",
        "https://storage.googleapis.com/storage/v1/b/hearth.appspot.com/o/1.jpg?alt=media",
        "https://storage.googleapis.com/%73torage/v1/b/hearth%2Eappspot.com/o/1.jpg",
        "https://storage.googleapis.com/download/storage/v1/b/hearth.appspot.com/o/1.jpg?alt=media",
        "https://storage.googleapis.com/upload/storage/v1/b/hearth.appspot.com/o",
        "https://storage.googleapis.com/resumable/upload/storage/v1/b/hearth.appspot.com/o",
        "https://www.googleapis.com/storage/v1/b/hearth.appspot.com/o/1.jpg",
        "https://www.googleapis.com/download/storage/v1/b/hearth.appspot.com/o/1.jpg",
        "https://storage.cloud.google.com/hearth.appspot.com/1.jpg",
        "https://commondatastorage.googleapis.com/hearth.appspot.com/1.jpg",
        "https://hearth.appspot.com.commondatastorage.googleapis.com/1.jpg",
        "https://storage.mtls.googleapis.com/hearth.appspot.com/1.jpg",
        "https://hearth.appspot.com.storage-download.googleapis.com/1.jpg",
        "https://storage-download.googleapis.com/hearth.appspot.com/1.jpg",
        "https://content-storage.googleapis.com/download/storage/v1/b/hearth.appspot.com/o/1.jpg?alt=media",
        "https://storage.europe-west3.rep.googleapis.com/hearth.appspot.com/1.jpg",
        "https://firebasestorage.googleapis.com/v0/b/hearth.appspot.com/o/a%2F1.jpg?alt=media&token=x",
    ],
    "bucket:gcs/hearth.firebasestorage.app": [
        "https://firebasestorage.googleapis.com/v0/b/hearth.firebasestorage.app/o/1.jpg?alt=media",
        "https://storage.googleapis.com/hearth.firebasestorage.app/1.jpg",
    ],
    # A bucket called like a part of the JSON interface.
    "bucket:gcs/storage": ["https://storage.googleapis.com/storage/v2/1.jpg", "https://storage.storage.googleapis.com/1.jpg"],
    "bucket:gcs/download": ["https://storage.googleapis.com/download/1.jpg"],
    "bucket:azure/hearth": [
        *(f"https://hearth.{service}.core.windows.net/c/1.jpg" for service in ("blob", "dfs", "web", "file", "queue", "table")),
        "https://hearth-secondary.blob.core.windows.net/other/2.jpg",
        "https://hearth.z13.web.core.windows.net/",
        "https://hearth-secondary.z13.web.core.windows.net/",
        "https://hearth-internetrouting.blob.core.windows.net/c/1.jpg",
        "https://hearth-microsoftrouting.z2.web.core.windows.net/1.jpg",
        "https://hearth-ipv6.blob.core.windows.net/c/1.jpg",
        "https://hearth-secondary-dualstack.dfs.core.windows.net/c/1.jpg",
        "https://hearth.z07.blob.storage.azure.net/c/1.jpg",
        "https://hearth.privatelink.blob.core.windows.net/c/1.jpg",
        "https://HEARTH.blob.core.windows.net/$root.jpg",
    ],
    "bucket:azure/usgovcloudapi/hearth": ["https://hearth.blob.core.usgovcloudapi.net/c/1.jpg"],
    "bucket:azure/chinacloudapi/hearth": ["https://hearth.blob.core.chinacloudapi.cn/c/1.jpg"],
    f"bucket:r2/{ACCOUNT}/photos": [
        f"https://{ACCOUNT}.r2.cloudflarestorage.com/photos/1.jpg",
        f"https://photos.{ACCOUNT}.r2.cloudflarestorage.com/1.jpg",
    ],
    f"bucket:r2/{ACCOUNT}.eu/photos": [
        f"https://{ACCOUNT}.eu.r2.cloudflarestorage.com/photos/1.jpg",
        f"https://photos.{ACCOUNT}.eu.r2.cloudflarestorage.com/1.jpg",
    ],
    f"bucket:r2/pub-{ACCOUNT}": [f"https://pub-{ACCOUNT}.r2.dev/1.jpg"],
    "bucket:b2/photos": [
        "https://f002.backblazeb2.com/file/photos/1.jpg",
        "https://f002.backblazeb2.com/file/Photos/1.jpg",
        "https://s3.us-west-004.backblazeb2.com/photos/1.jpg",
        "https://photos.s3.us-west-004.backblazeb2.com/1.jpg",
    ],
    "bucket:digitalocean/photos": [
        "https://photos.nyc3.digitaloceanspaces.com/1.jpg",
        "https://nyc3.digitaloceanspaces.com/photos/1.jpg",
        "https://photos.nyc3.cdn.digitaloceanspaces.com/1.jpg",
    ],
    "bucket:wasabi/photos": [
        "https://s3.wasabisys.com/photos/1.jpg",
        "https://s3.eu-central-1.wasabisys.com/photos/1.jpg",
        "https://photos.s3.eu-central-1.wasabisys.com/1.jpg",
        "https://photos.s3.wasabisys.com/1.jpg",
    ],
    "bucket:oss/photos": [
        "https://photos.oss-cn-hangzhou.aliyuncs.com/1.jpg",
        "https://photos.oss-cn-hangzhou-internal.aliyuncs.com/1.jpg",
        "https://photos.oss-accelerate.aliyuncs.com/1.jpg",
        "https://photos.oss-accelerate-overseas.aliyuncs.com/1.jpg",
        "https://photos.cn-hangzhou.oss.aliyuncs.com/1.jpg",
        "https://photos.s3.oss-cn-hangzhou.aliyuncs.com/1.jpg",
    ],
    "bucket:cos/photos-1250000000": [
        "https://photos-1250000000.cos.ap-guangzhou.myqcloud.com/1.jpg",
        "https://photos-1250000000.cos.accelerate.myqcloud.com/1.jpg",
        "https://photos-1250000000.cos-website.ap-guangzhou.myqcloud.com/1.jpg",
        "https://photos-1250000000.file.myqcloud.com/1.jpg",
        "https://cos.ap-guangzhou.myqcloud.com/photos-1250000000/1.jpg",
    ],
    "bucket:obs/photos": [
        "https://photos.obs.cn-north-4.myhuaweicloud.com/1.jpg",
        "https://photos.obs-website.cn-north-4.myhuaweicloud.com/1.jpg",
        "https://obs.cn-north-4.myhuaweicloud.com/photos/1.jpg",
        "https://photos.obs.eu-west-101.myhuaweicloud.eu/1.jpg",
    ],
    "bucket:linode/photos": [
        "https://photos.us-east-1.linodeobjects.com/1.jpg",
        "https://us-east-1.linodeobjects.com/photos/1.jpg",
        "https://photos.website-us-east-1.linodeobjects.com/",
    ],
    "bucket:scaleway/photos": [
        "https://photos.s3.fr-par.scw.cloud/1.jpg",
        "https://s3.fr-par.scw.cloud/photos/1.jpg",
        "https://photos.s3-website.fr-par.scw.cloud/",
    ],
    "bucket:ovh/photos": [
        "https://photos.s3.gra.io.cloud.ovh.net/1.jpg",
        "https://s3.gra.io.cloud.ovh.net/photos/1.jpg",
        "https://s3.us-east-va.io.cloud.ovh.us/photos/1.jpg",
    ],
    "bucket:ovh/0a1b/photos": ["https://storage.gra.cloud.ovh.net/v1/AUTH_0a1b/photos/1.jpg"],
    "bucket:hetzner/photos": [
        "https://photos.fsn1.your-objectstorage.com/1.jpg",
        "https://nbg1.your-objectstorage.com/photos/1",
    ],
    "bucket:ibm/photos": [
        "https://s3.us.cloud-object-storage.appdomain.cloud/photos/1.jpg",
        "https://s3.dal.us.cloud-object-storage.appdomain.cloud/photos/1.jpg",
        "https://s3.private.dal.us.cloud-object-storage.appdomain.cloud/photos/1.jpg",
        "https://s3.direct.eu-de.cloud-object-storage.appdomain.cloud/photos/1.jpg",
        "https://photos.s3.eu-de.cloud-object-storage.appdomain.cloud/1.jpg",
        "https://photos.s3-web.eu-de.cloud-object-storage.appdomain.cloud/",
    ],
    "bucket:oracle/space/photos": [
        "https://objectstorage.eu-frankfurt-1.oraclecloud.com/n/space/b/photos/o/1.jpg",
        "https://objectstorage.eu-frankfurt-1.oraclecloud.com/p/token/n/space/b/photos/o/1.jpg",
        "https://space.objectstorage.eu-frankfurt-1.oci.customer-oci.com/n/space/b/photos/o/1.jpg",
        "https://space.compat.objectstorage.eu-frankfurt-1.oci.customer-oci.com/photos/1.jpg",
        "https://space.compat.objectstorage.eu-frankfurt-1.oraclecloud.com/photos/1.jpg",
        "https://space.swiftobjectstorage.eu-frankfurt-1.oci.customer-oci.com/v1/space/photos/1.jpg",
        "https://swiftobjectstorage.eu-frankfurt-1.oraclecloud.com/v1/space/photos/1.jpg",
    ],
    "bucket:oracle/vhcompat/photos": ["https://photos.vhcompat.objectstorage.eu-frankfurt-1.oci.customer-oci.com/1.jpg"],
    "bucket:oracle-classic/Storage-space/photos": ["https://us2.storage.oraclecloud.com/v1/Storage-space/photos/1.jpg"],
    "bucket:supabase/abcdefghij/photos": [
        "https://abcdefghij.supabase.co/storage/v1/object/public/photos/1.jpg",
        "https://abcdefghij.supabase.co/storage/v1/object/sign/photos/1.jpg?token=x",
        "https://abcdefghij.supabase.co/storage/v1/object/authenticated/photos/1.jpg",
        "https://abcdefghij.supabase.co/storage/v1/object/info/public/photos/1.jpg",
        "https://abcdefghij.supabase.co/storage/v1/render/image/public/photos/1.jpg?width=100",
        "https://abcdefghij.supabase.in/storage/v1/object/public/photos/1.jpg",
        "https://abcdefghij.storage.supabase.co/storage/v1/s3/photos/1.jpg",
    ],
    "bucket:dreamhost/photos": ["https://objects-us-east-1.dream.io/photos/1", "https://photos.objects-us-east-1.dream.io/1"],
    "bucket:fastly/photos": [
        "https://us-east.object.fastlystorage.app/photos/1",
        "https://photos.eu-west-1.object.fastlystorage.app/1",
    ],
    "bucket:qiniu/photos": ["https://s3-cn-east-1.qiniucs.com/photos/1", "https://photos.s3-cn-east-1.qiniucs.com/1"],
    "bucket:selectel/photos": ["https://s3.ru-1.storage.selcloud.ru/photos/1", "https://photos.s3.ru-1.storage.selcloud.ru/1"],
    "bucket:storj/photos": ["https://gateway.storjshare.io/photos/1", "https://photos.gateway.eu1.storjshare.io/1"],
    "bucket:ionos/photos": ["https://s3-eu-central-1.ionoscloud.com/photos/1", "https://photos.s3-eu-south-2.ionoscloud.com/1"],
    "bucket:mega/photos": ["https://s3.eu-paris-1.megas4.com/photos/1", "https://photos.s3.eu-paris-1.megas4.com/1"],
    "bucket:synology/photos": ["https://eu-001.s3.synologyc2.net/photos/1", "https://photos.eu-001.s3.synologyc2.net/1"],
    "bucket:outscale/photos": [
        "https://oos.cloudgouv-eu-west-1.outscale.com/photos/1",
        "https://photos.oos.eu-west-2.outscale.com/1",
    ],
    "bucket:magalu/photos": ["https://br-se1.magaluobjects.com/photos/1", "https://photos.br-ne1.magaluobjects.com/1"],
    "bucket:us3/photos": ["https://s3-hk.ufileos.com/photos/1", "https://photos.s3-cn-bj.ufileos.com/1"],
}


@pytest.mark.parametrize(("key", "url"), [(key, url) for key, urls in SPELLINGS.items() for url in urls])
def test_one_bucket_has_one_key_in_every_spelling(key: str, url: str) -> None:
    assert bucket_key(target(url)) == key
    assert own_key(target(url)) == key


def test_every_row_of_the_table_is_tried() -> None:
    hosts = [target(url).host for urls in SPELLINGS.values() for url in urls]
    unused = [
        row for row in ROWS if not any(domain_of(host) in row.domains and compiled(row.host).fullmatch(host) for host in hosts)
    ]
    assert not unused


def test_every_row_says_where_it_is_from_and_when() -> None:
    assert [row for row in ROWS if not re.search(r", 20[0-9]{2}-[0-9]{2}\b|docs\.aws", row.source)] == []


@pytest.mark.parametrize(
    ("url", "key"),
    [
        ("https://a.b.c.s3.amazonaws.com/k", "bucket:s3/a.b.c"),
        ("https://my.s3.bucket.s3.eu-west-1.amazonaws.com/k", "bucket:s3/my.s3.bucket"),
        ("https://s3.amazonaws.com/Old_Bucket/k", "bucket:s3/Old_Bucket"),
        ("https://s3.amazonaws.com/bucket%21/k", "bucket:s3/bucket%21"),
        ("https://s3.amazonaws.com/%ff/k", "bucket:s3/%FF"),
        (f"https://s3.amazonaws.com/{'b' * 255}/k", f"bucket:s3/{'b' * 255}"),
        (f"https://s3.amazonaws.com/{'b' * 256}/k", None),
        ("https://s3.amazonaws.com/", None),
        ("https://s3.amazonaws.com", None),
        ("https://s3.amazonaws.com//k", None),
        ("https://s3.eu-west-2.amazonaws.com/robots.txt", None),
        ("https://s3.eu-west-2.amazonaws.com/robots.txt?x", None),
        ("https://s3.eu-west-2.amazonaws.com/robots.txt/k", "bucket:s3/robots.txt"),
        ("https://photos.s3.eu-west-2.amazonaws.com/robots.txt", "bucket:s3/photos"),
        ("https://ec2.eu-west-1.amazonaws.com/", None),
        ("https://xs3.amazonaws.com/b/k", None),
        ("https://s3x.amazonaws.com/b/k", None),
        ("https://s3.evil.amazonaws.com/b/k", None),
        ("https://b.s3.amazonaws.com.evil.example/k", None),
        ("https://b.s3.amazonaws.com.com.cn/k", None),
        ("https://www.a.example/s3.amazonaws.com/", None),
        ("https://storage.googleapis.com/storage/v1/b?project=p", None),
        ("https://storage.googleapis.com/storage/v1", None),
        ("https://c.storage.googleapis.com/photos/1.jpg", "bucket:gcs/photos"),
        ("https://storage.googleapis.com/batch/storage/v1", None),
        ("https://www.googleapis.com/youtube/v3/videos", None),
        ("https://firebasestorage.googleapis.com/", None),
        ("https://f002.backblazeb2.com/b2api/v1/b2_download_file_by_id?fileId=x", None),
        ("https://abcdefghij.supabase.co/rest/v1/photos", None),
        ("https://supabase.co/storage/v1/object/public/photos/1.jpg", None),
        ("https://oss-cn-hangzhou.aliyuncs.com/photos/1.jpg", None),
        ("https://blob.core.windows.net/c/1.jpg", None),
        ("https://pub-1.r2.dev/1.jpg", None),
        ("https://objectstorage.eu-frankfurt-1.oraclecloud.com/n/space/b", None),
    ],
)
def test_bucket_names_with_dots_and_urls_without_a_bucket(url: str, key: str | None) -> None:
    assert bucket_key(target(url)) == key


def test_amazons_own_test_cases() -> None:
    """178 buckets and 27 access points; those whose host is none of S3's (an endpoint of somebody's own) are named."""
    data = json.loads((Path(__file__).parent / "data" / "s3_endpoints.json").read_text(encoding="utf-8"))
    right = elsewhere = outposts = 0
    for name, url, cases in data["buckets"]:
        key = bucket_key(target(url))
        if ".example.amazonaws.com" in url or "//amazonaws.com" in url:
            assert key is None, url
            elsewhere += cases
        elif name.endswith("--op-s3"):
            # An alias of an access point: with the outpost, as in the other form.
            assert key is not None, url
            assert key.startswith(f"bucket:s3/outposts/{name}."), url
            outposts += cases
        else:
            assert key == f"bucket:s3/{quote(name, safe='')}", url
            right += cases
    assert (right, outposts, elsewhere) == (171, 4, 3)
    assert right + outposts + elsewhere == 178
    points = 0
    for arn, url, cases in data["arns"]:
        points += cases
        key = bucket_key(target(url))
        if ".example.amazonaws.com" in url:
            assert key is None, url
            continue
        name = re.split("[:/]", arn)[-1].removesuffix(".mrap")
        assert key is not None, url
        assert re.fullmatch(
            rf"bucket:s3/(?:accesspoint|object-lambda|outposts|mrap)/{name}(?:-123456789012(?:\.op-\d+)?)?", key
        ), url
    assert points == 27


# -- stores of an operator's own

LISTED = Stores(
    {"minio.example": "path", "ceph.example": "host", "both.example": "both", "in.both.example": "both", "10.0.0.5": "path"}
)


@pytest.mark.parametrize(
    ("url", "key"),
    [
        ("http://minio.example:9000/photos/1.jpg", "bucket:listed/minio.example/photos"),
        ("https://MINIO.example./%70hotos?x", "bucket:listed/minio.example/photos"),
        ("http://minio.example/", None),
        ("http://minio.example/robots.txt", None),
        ("http://console.minio.example/photos/1.jpg", None),
        ("http://photos.ceph.example/1.jpg", "bucket:listed/ceph.example/photos"),
        ("http://a.b.ceph.example/1.jpg", "bucket:listed/ceph.example/a.b"),
        ("http://ceph.example/photos/1.jpg", None),
        ("http://xceph.example/photos/1.jpg", None),
        ("http://both.example/photos/1.jpg", "bucket:listed/both.example/photos"),
        ("http://photos.both.example/1.jpg", "bucket:listed/both.example/photos"),
        ("http://in.both.example/photos/1.jpg", "bucket:listed/in.both.example/photos"),
        ("http://photos.in.both.example/1.jpg", "bucket:listed/in.both.example/photos"),
        ("http://10.5/photos/1.jpg", "bucket:listed/10.0.0.5/photos"),
        ("https://photos.s3.amazonaws.com/1.jpg", "bucket:s3/photos"),
        ("https://www.other.example/photos/1.jpg", None),
    ],
)
def test_listed_hosts_are_stores(url: str, key: str | None) -> None:
    assert LISTED.bucket_key(target(url)) == key


@pytest.mark.parametrize(
    "given",
    [
        ["Minio.Example.", "bücher.example"],
        "minio.example, bücher.example",
        '["minio.example", "bücher.example"]',
        {"minio.example": "path", "bücher.example": "both"},
        '{"minio.example": "both", "xn--bcher-kva.example": "path"}',
    ],
)
def test_the_setting_takes_lists_and_dicts(given: object) -> None:
    stores = Config.from_settings(Settings({"POLITE_BUCKET_HOSTS": given})).stores
    assert stores.bucket_key(target("http://minio.example/b/k")) == "bucket:listed/minio.example/b"
    assert stores.bucket_key(target("http://bücher.example/b/k")) == "bucket:listed/xn--bcher-kva.example/b"


# -- custom domains


@pytest.mark.parametrize(
    ("url", "chain", "key"),
    [
        # The name of the bucket in the CNAME's target.
        (
            "https://img.shop.example/1.jpg",
            ["photos.s3.eu-west-1.amazonaws.com", "s3-w.eu-west-1.amazonaws.com"],
            "bucket:s3/photos",
        ),
        (
            "https://img.shop.example/1.jpg",
            ["hop.example", "photos.nyc3.cdn.digitaloceanspaces.com"],
            "bucket:digitalocean/photos",
        ),
        (
            "https://img.shop.example/1.jpg",
            ["hearth.blob.core.windows.net", "blob.ams1.store.core.windows.net"],
            "bucket:azure/hearth",
        ),
        ("https://img.shop.example/1.jpg", [f"pub-{ACCOUNT}.r2.dev"], f"bucket:r2/pub-{ACCOUNT}"),
        ("https://img.shop.example/1.jpg", ["photos.oss-cn-hangzhou.aliyuncs.com"], "bucket:oss/photos"),
        # No name in the target: the Host header names the bucket.
        ("https://img.shop.example/1.jpg", ["s3-website-us-east-1.amazonaws.com"], "bucket:s3/img.shop.example"),
        ("https://img.shop.example/1.jpg", ["c.storage.googleapis.com"], "bucket:gcs/img.shop.example"),
        ("https://img.shop.example/1.jpg", [f"{ACCOUNT}.r2.cloudflarestorage.com"], f"bucket:r2/{ACCOUNT}/img.shop.example"),
        # The path tells where the store does not go by the Host header.
        ("https://img.shop.example/file/photos/1.jpg", ["f002.backblazeb2.com"], "bucket:b2/photos"),
        ("https://img.shop.example/photos/1.jpg", ["minio.example"], "bucket:listed/minio.example/photos"),
        ("https://img.shop.example/1.jpg", ["photos.ceph.example"], "bucket:listed/ceph.example/photos"),
        # Services.
        (
            "https://img.shop.example/1.jpg?w=3",
            ["hearth.imgix.net", "dualstack.com.imgix.map.fastly.net"],
            "imageservice:imgix/hearth",
        ),
        ("https://img.shop.example/1.jpg", ["hearth-res.cloudinary.com"], "imageservice:cloudinary/hearth"),
        ("https://img.shop.example/hearth/1.jpg", ["ik.imagekit.io"], None),
        # Nobody's.
        ("https://img.shop.example/1.jpg", ["d111111abcdef8.cloudfront.net"], None),
        ("https://img.shop.example/1.jpg", [], None),
    ],
)
def test_a_custom_domain_has_the_key_of_what_it_stands_for(url: str, chain: list[str], key: str | None) -> None:
    assert own_key(target(url), LISTED) is None
    assert chain_key(target(url), chain, LISTED) == key
