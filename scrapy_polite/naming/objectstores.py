"""The object stores whose addresses name a bucket: one row for each form of address, with where it is written down.

A row's `host` is a pattern for a whole canonical host. Its groups are ``bucket`` (the bucket, where the host names it),
``scope`` (the account, project or namespace in which the name of a bucket is unique) and ``own`` (a thing with a name of
its own that leads to a bucket which cannot be told from the URL: an access point, a public development host). Where a host
names no bucket, the row's `paths` read it from the path, with the same groups; the first pattern that matches decides.

Regions are no part of a key: many addresses of one bucket do not state one (accelerated, dual, legacy and tethered ones).
Where a provider makes a name unique within a region only, two buckets of one name share a limit. That is the safe side:
one bucket never has two.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import Final

__all__ = ["PATH_STYLE", "ROWS", "Row", "compiled", "domain_of"]


@dataclass(frozen=True, slots=True)
class Row:
    """One form of address of one provider.

    Args:
        provider: the first part of the key.
        domains: the last two labels that its hosts may have.
        host: pattern of the whole host, with groups bucket, scope and own.
        source: where the form is documented, and when that was read.
        paths: patterns of how the bucket is read where the host does not name it. One without a bucket group that matches
            says that this path is no bucket's.
        by_host_header: whether a custom domain that is a CNAME for a host of the row without a bucket is itself the name of
            the bucket: the store then goes by the Host header.
        folds: names in upper and in lower case are one.
    """

    provider: str
    domains: tuple[str, ...]
    host: str
    source: str
    paths: tuple[str, ...] = ()
    by_host_header: bool = True
    folds: bool = False


compiled = cache(re.compile)
"""A pattern, compiled when it is first needed: a crawl meets few of all these hosts, and the table is there at once."""


def domain_of(host: str) -> str:
    """The last two labels of a host: what `Row.domains` holds."""
    return ".".join(host.rsplit(".", 2)[-2:])


PATH_STYLE: Final = (
    # The host answers robots.txt for all its buckets together.
    r"/robots\.txt(?:[?#]|\Z)",
    r"/(?P<bucket>[^/?#]+)",
)
"""The bucket is the first segment of the path."""

_BUCKET: Final = r"(?:(?P<bucket>.+)\.)?"
_REGION: Final = r"[a-z]{2,5}(?:-[a-z]+)+-[0-9]+"
# China and the European sovereign cloud are partitions of their own, with these suffixes.
_AMAZON: Final = r"\.amazonaws\.(?:com|com\.cn|eu)"
_AWS: Final = ("amazonaws.com", "com.cn", "amazonaws.eu")
_BOTOCORE: Final = "botocore 1.44.8, endpoint-tests-1.json of s3, 2026-11"


def _s3_like(provider: str, domains: tuple[str, ...], endpoint: str, source: str) -> Row:
    """A store that copies S3: `endpoint` alone is path style, with one more part in front it names a bucket."""
    return Row(provider, domains, _BUCKET + endpoint, source, PATH_STYLE)


def _rclone(name: str) -> str:
    return f"rclone, backend/s3/provider/{name}.yaml, 2026-11"


_AMAZON_ROWS: Final = (
    # Access points, multi-region ones and object lambdas are names of their own; their buckets cannot be told.
    Row(
        "s3",
        _AWS,
        r"(?P<own>.+)\.(?P<scope>accesspoint)\.vpce-[a-z0-9-]+\.s3\." + _REGION + r"\.vpce" + _AMAZON,
        _BOTOCORE,
    ),
    Row(
        "s3",
        _AWS,
        rf"(?P<own>[a-z0-9-]+)\.s3-(?P<scope>accesspoint)(?:-fips)?(?:\.dualstack)?\.{_REGION}{_AMAZON}",
        _BOTOCORE,
    ),
    Row("s3", _AWS, rf"(?P<own>[a-z0-9-]+)\.(?P<scope>mrap)\.accesspoint\.s3-global{_AMAZON}", _BOTOCORE),
    Row("s3", _AWS, rf"(?P<own>[a-z0-9-]+)\.s3-(?P<scope>object-lambda)(?:-fips)?\.{_REGION}{_AMAZON}", _BOTOCORE),
    Row(
        "s3",
        _AWS,
        rf"(?P<own>[a-z0-9-]+\.(?:op-[a-z0-9]+|ec2))\.s3-(?P<scope>outposts)\.{_REGION}{_AMAZON}",
        _BOTOCORE,
    ),
    # Directory buckets: the name ends in its zone and --x-s3 (--xa-s3: an access point), also where the host is for control.
    Row(
        "s3",
        _AWS,
        rf"(?P<bucket>[a-z0-9.-]+--xa?-s3)\.s3express(?:-fips)?-[a-z0-9-]+(?:\.dualstack)?\.{_REGION}{_AMAZON}",
        _BOTOCORE,
    ),
    Row("s3", _AWS, rf"s3express-control(?:-fips)?(?:\.dualstack)?\.{_REGION}{_AMAZON}", _BOTOCORE, PATH_STYLE),
    # PrivateLink; its addresses are private, so the guard refuses them unless they are allowed.
    Row(
        "s3",
        _AWS,
        rf"{_BUCKET}(?:bucket|control)\.vpce-[a-z0-9-]+\.s3\.{_REGION}\.vpce{_AMAZON}",
        _BOTOCORE,
        PATH_STYLE,
    ),
    # `s3`, `s3-1`, `s3-external-1`, `s3.eu-west-2`, `s3-eu-west-2` (the old dash form), `s3.dualstack.eu-west-2`,
    # `s3-fips.dualstack.eu-west-2`, `s3-accelerate`, websites with a dash or a dot. A bucket may hold dots, so the longest
    # one wins: `a.s3.b.s3.amazonaws.com` is the bucket `a.s3.b`.
    Row(
        "s3",
        _AWS,
        _BUCKET
        + r"s3(?:-fips|-1|-external-[0-9]|-accelerate|-website|-deprecated)?(?:\.dualstack)?"
        + rf"(?:[.-]{_REGION})?{_AMAZON}",
        f"{_BOTOCORE}; the public suffix list; docs.aws.amazon.com/AmazonS3/latest/userguide/WebsiteEndpoints.html",
        PATH_STYLE,
    ),
)

# The JSON interface by its paths. One that names no bucket (a project's list, a batch) is nobody's bucket; any other path of
# the same host is path style of the XML interface, so that an object of a bucket `storage` is still found.
_GCS_JSON: Final = (
    r"/(?:(?:resumable/)?(?:upload|download)/)?storage/v1(?:beta[0-9])?/b/(?P<bucket>[^/?#]+)",
    r"/(?:(?:resumable/)?(?:upload|download)/|batch/)?storage/v1(?:beta[0-9])?(?:[/?#]|\Z)",
)
_GCS_HOSTS: Final = r"storage|commondatastorage|storage-download|content-storage|storage\.mtls|storage\.[a-z0-9-]+\.rep"
_GCS: Final = "cloud.google.com/storage/docs/request-endpoints, 2026-11"

_GOOGLE_ROWS: Final = (
    Row(
        "gcs",
        ("googleapis.com",),
        # `c.` is what a custom domain is a CNAME for; the regional hosts are `storage.REGION.rep`.
        rf"(?:(?:c|(?P<bucket>.+))\.)?(?:{_GCS_HOSTS})\.googleapis\.com",
        f"{_GCS}; mediaLink of objects, and Maven Central's mirror (content-storage, storage-download)",
        (*_GCS_JSON, *PATH_STYLE),
    ),
    Row(
        "gcs",
        ("googleapis.com",),
        r"www\.googleapis\.com",
        f"{_GCS} (the older address of the JSON interface)",
        _GCS_JSON,
        by_host_header=False,
    ),
    Row(
        "gcs",
        ("google.com",),
        r"storage\.cloud\.google\.com",
        f"{_GCS} (downloads in a browser)",
        PATH_STYLE,
        by_host_header=False,
    ),
    Row(
        "gcs",
        ("googleapis.com",),
        r"firebasestorage\.googleapis\.com",
        "firebase.google.com/docs/storage: a Firebase bucket is a bucket of Cloud Storage, 2026-11",
        (r"/(?:v0/)?b/(?P<bucket>[^/?#]+)",),
        by_host_header=False,
    ),
)

# The account is what its limits are for, whatever service, zone or container is asked; the copy in the second region counts
# as the account too. Accounts of other clouds are others.
_AZURE: Final = (
    "learn.microsoft.com/azure/storage/common/storage-account-overview and network-routing-preference, 2026-11; "
    "Azure/azure-sdk-for-java, tests of azure-storage-blob (ipv6, dualstack)"
)
_AZURE_ROUTE: Final = r"(?:-(?:secondary|internetrouting|microsoftrouting|ipv6|dualstack))*"
_AZURE_SERVICE: Final = _AZURE_ROUTE + r"(?:\.z[0-9]{1,2})?(?:\.privatelink)?\.(?:blob|dfs|web|file|queue|table)\."
_AZURE_ROWS: Final = (
    Row(
        "azure",
        ("windows.net", "azure.net"),
        rf"(?P<bucket>[a-z0-9]{{3,24}}){_AZURE_SERVICE}(?:core\.windows\.net|storage\.azure\.net)",
        _AZURE,
    ),
    Row(
        "azure",
        ("usgovcloudapi.net",),
        rf"(?P<bucket>[a-z0-9]{{3,24}}){_AZURE_SERVICE}core\.(?P<scope>usgovcloudapi)\.net",
        _AZURE,
    ),
    Row(
        "azure",
        ("chinacloudapi.cn",),
        rf"(?P<bucket>[a-z0-9]{{3,24}}){_AZURE_SERVICE}core\.(?P<scope>chinacloudapi)\.cn",
        _AZURE,
    ),
)

_ORACLE: Final = "docs.oracle.com/en-us/iaas/Content/Object/Concepts/dedicatedendpoints.htm, 2026-11"
_ORACLE_HOST: Final = r"objectstorage\.[a-z0-9-]+\.(?:oraclecloud|oci\.customer-oci)\.com"
_ORACLE_ROWS: Final = (
    Row(
        "oracle",
        ("oraclecloud.com", "customer-oci.com"),
        rf"(?:[a-z0-9_-]+\.)?{_ORACLE_HOST}",
        _ORACLE,
        # `/p/TOKEN` is a pre-authenticated request.
        (r"/(?:p/[^/?#]+/)?n/(?P<scope>[^/?#]+)/b/(?P<bucket>[^/?#]+)",),
        by_host_header=False,
    ),
    Row(
        "oracle",
        ("oraclecloud.com", "customer-oci.com"),
        rf"(?P<scope>[a-z0-9_-]+)\.compat\.{_ORACLE_HOST}",
        _ORACLE,
        PATH_STYLE,
        by_host_header=False,
    ),
    # A name unique within the region, and the namespace is not told: a key of its own.
    Row("oracle", ("oraclecloud.com", "customer-oci.com"), rf"(?P<own>.+)\.(?P<scope>vhcompat)\.{_ORACLE_HOST}", _ORACLE),
    Row(
        "oracle",
        ("oraclecloud.com", "customer-oci.com"),
        rf"(?:[a-z0-9_-]+\.)?swift{_ORACLE_HOST}",
        _ORACLE,
        (r"/v1/(?P<scope>[^/?#]+)/(?P<bucket>[^/?#]+)",),
        by_host_header=False,
    ),
    Row(
        "oracle-classic",
        ("oraclecloud.com",),
        r"(?:[a-z0-9-]+\.)?storage(?:\.[a-z0-9-]+)?\.oraclecloud\.com",
        "docs.oracle.com/en/cloud/iaas/storage-cloud, 2026-11",
        (r"/v1/(?P<scope>[^/?#]+)/(?P<bucket>[^/?#]+)",),
        by_host_header=False,
    ),
)

_R2: Final = "developers.cloudflare.com/r2/api/s3/api and /r2/buckets/public-buckets, 2026-11"
_B2: Final = "backblaze.com/docs/cloud-storage-call-the-s3-compatible-api, 2026-11"
_SUPABASE: Final = "supabase.com/docs/guides/storage, 2026-11"
_OTHER_ROWS: Final = (
    # A jurisdiction (eu, fedramp) has buckets of its own.
    Row(
        "r2",
        ("cloudflarestorage.com",),
        _BUCKET + r"(?P<scope>[0-9a-f]{32}(?:\.(?:eu|fedramp))?)\.r2\.cloudflarestorage\.com",
        _R2,
        PATH_STYLE,
    ),
    Row("r2", ("r2.dev",), r"(?P<bucket>pub-[0-9a-f]{32})\.r2\.dev", _R2),
    Row(
        "b2",
        ("backblazeb2.com",),
        r"f[0-9]{3}\.backblazeb2\.com",
        "backblaze.com/apidocs/b2-download-file-by-name, 2026-11",
        (r"/file/(?P<bucket>[^/?#]+)",),
        by_host_header=False,
        folds=True,
    ),
    Row("b2", ("backblazeb2.com",), (_BUCKET + r"s3\.[a-z]+-[a-z]+-[0-9]+\.backblazeb2\.com"), _B2, PATH_STYLE, folds=True),
    _s3_like(
        "digitalocean",
        ("digitaloceanspaces.com",),
        r"[a-z]{3}[0-9](?:\.cdn)?\.digitaloceanspaces\.com",
        "docs.digitalocean.com/products/spaces, 2026-11",
    ),
    _s3_like("wasabi", ("wasabisys.com",), r"s3(?:\.[a-z]+-[a-z]+-[0-9]+)?\.wasabisys\.com", _rclone("Wasabi")),
    _s3_like("linode", ("linodeobjects.com",), r"(?:website-)?[a-z]{2}-[a-z]+-[0-9]+\.linodeobjects\.com", _rclone("Linode")),
    _s3_like(
        "scaleway",
        ("scw.cloud",),
        r"s3(?:-website)?\.[a-z]{2}-[a-z]{3}\.scw\.cloud",
        "scaleway.com/en/docs/object-storage, 2026-11",
    ),
    _s3_like(
        "ovh", ("ovh.net", "ovh.us"), r"s3(?:-website)?\.[a-z0-9-]+\.(?:io|perf)\.cloud\.ovh\.(?:net|us)", _rclone("OVHcloud")
    ),
    Row(
        "ovh",
        ("ovh.net", "ovh.us"),
        r"storage\.[a-z0-9-]+\.cloud\.ovh\.(?:net|us)",
        "OpenStack Swift, api-ref/object-store, 2026-11",
        (r"/v1/AUTH_(?P<scope>[^/?#]+)/(?P<bucket>[^/?#]+)",),
        by_host_header=False,
    ),
    _s3_like("hetzner", ("your-objectstorage.com",), r"[a-z]{3}[0-9]\.your-objectstorage\.com", _rclone("Hetzner")),
    _s3_like(
        "ibm",
        ("appdomain.cloud",),
        r"s3(?:-web)?(?:\.(?:private|direct))?(?:\.[a-z0-9-]+){1,2}\.cloud-object-storage\.appdomain\.cloud",
        _rclone("IBMCOS"),
    ),
    # Aliyun refuses path style on its public hosts, so there the host tells all.
    Row(
        "oss",
        ("aliyuncs.com",),
        r"(?P<bucket>[a-z0-9-]+)\.(?:s3\.)?oss-[a-z0-9-]+\.aliyuncs\.com",
        "alibabacloud.com/help/en/oss/user-guide/regions-and-endpoints, 2026-11",
    ),
    Row(
        "oss",
        ("aliyuncs.com",),
        r"(?P<bucket>[a-z0-9-]+)\.[a-z0-9-]+\.oss\.aliyuncs\.com",
        "alibabacloud.com/help/en/oss/user-guide/regions-and-endpoints (dual stack), 2026-11",
    ),
    Row(
        "cos",
        ("myqcloud.com",),
        _BUCKET + r"cos(?:-website)?\.[a-z0-9-]+\.myqcloud\.com",
        "cloud.tencent.com/document/product/436/6224, 2026-11",
        PATH_STYLE,
    ),
    Row(
        "cos",
        ("myqcloud.com",),
        r"(?P<bucket>[a-z0-9-]+)\.file\.myqcloud\.com",
        "cloud.tencent.com/document/product/436/18669 (CDN), 2026-11",
    ),
    _s3_like(
        "obs",
        ("myhuaweicloud.com", "myhuaweicloud.eu"),
        r"obs(?:-website)?\.[a-z0-9-]+\.myhuaweicloud\.(?:com|eu)",
        _rclone("HuaweiOBS"),
    ),
    Row(
        "supabase",
        ("supabase.co", "supabase.in"),
        r"(?P<scope>[a-z0-9]+)\.(?:storage\.)?supabase\.(?:co|in)",
        _SUPABASE,
        (
            r"/storage/v1/(?:object|render/image)/(?:info/)?(?:public|sign|authenticated)/(?P<bucket>[^/?#]+)",
            r"/storage/v1/s3/(?P<bucket>[^/?#]+)",
        ),
        by_host_header=False,
    ),
    _s3_like("dreamhost", ("dream.io",), r"objects-[a-z0-9-]+\.dream\.io", _rclone("Dreamhost")),
    _s3_like("fastly", ("fastlystorage.app",), r"[a-z]{2}-[a-z]+(?:-[0-9]+)?\.object\.fastlystorage\.app", _rclone("Fastly")),
    _s3_like("qiniu", ("qiniucs.com",), r"s3-[a-z]+-[a-z]+-[0-9]+\.qiniucs\.com", _rclone("Qiniu")),
    _s3_like("selectel", ("selcloud.ru",), r"s3\.[a-z0-9-]+\.storage\.selcloud\.ru", _rclone("Selectel")),
    _s3_like("storj", ("storjshare.io",), r"gateway(?:\.[a-z0-9]+)?\.storjshare\.io", _rclone("Storj")),
    _s3_like("ionos", ("ionoscloud.com",), r"s3-[a-z]+-[a-z]+-[0-9]+\.ionoscloud\.com", _rclone("IONOS")),
    _s3_like("mega", ("megas4.com",), r"s3\.[a-z]+-[a-z]+-[0-9]+\.megas4\.com", _rclone("Mega")),
    _s3_like("synology", ("synologyc2.net",), r"[a-z]{2}-[0-9]{3}\.s3\.synologyc2\.net", _rclone("Synology")),
    _s3_like("outscale", ("outscale.com",), r"oos\.[a-z]+(?:-[a-z]+)+-[0-9]+\.outscale\.com", _rclone("Outscale")),
    _s3_like("magalu", ("magaluobjects.com",), r"[a-z]{2}-[a-z]{2}[0-9]\.magaluobjects\.com", _rclone("Magalu")),
    _s3_like("us3", ("ufileos.com",), r"s3-[a-z0-9-]+\.ufileos\.com", _rclone("us3")),
)

ROWS: Final = (*_AMAZON_ROWS, *_GOOGLE_ROWS, *_AZURE_ROWS, *_ORACLE_ROWS, *_OTHER_ROWS)
"""Every form; the first one that fits a host is the one."""
