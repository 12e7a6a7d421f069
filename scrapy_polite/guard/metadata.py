"""Metadata services: addresses and names at which a cloud hands keys to whoever asks from inside. Never allowed.

Sources: each provider's documentation of its instance metadata service, as collected by cloud-init's data sources
(https://github.com/canonical/cloud-init, `cloudinit/sources/`). Rows marked "cautious" come from one secondary source.
"""

from __future__ import annotations

from ipaddress import ip_address
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from scrapy_polite.naming.hosts import IPAddress

__all__ = ["METADATA_ADDRESSES", "METADATA_NAMES"]

#: Address -> whose it is.
METADATA_ADDRESSES: Final[dict[IPAddress, str]] = {
    ip_address(address): owner
    for address, owner in (
        # AWS, Google, Azure, Oracle, Hetzner, Akamai, OpenStack, DigitalOcean, Vultr, Exoscale, UpCloud and others
        ("169.254.169.254", "instance metadata of most clouds"),
        ("169.254.169.253", "AWS DNS in a VPC (cautious)"),
        ("169.254.169.123", "AWS time service (cautious)"),
        ("169.254.170.2", "AWS ECS task credentials"),
        ("169.254.170.23", "AWS EKS pod identity"),
        ("169.254.0.23", "Tencent Cloud metadata (cautious)"),
        ("169.254.42.42", "Scaleway metadata"),
        ("168.63.129.16", "Azure WireServer"),
        ("100.100.100.200", "Alibaba Cloud metadata"),
        ("192.0.0.192", "Oracle Cloud Classic metadata"),
        ("fd00:ec2::254", "AWS metadata"),
        ("fd00:ec2::253", "AWS DNS in a VPC (cautious)"),
        ("fd00:ec2::23", "AWS EKS pod identity"),
        ("fd20:ce::254", "Google Cloud metadata"),
        ("fd00:c1::a9fe:a9fe", "Oracle Cloud metadata"),
        ("fd00:42::42", "Scaleway metadata"),
        ("fd00:a9fe:a9fe::1", "Akamai (Linode) metadata"),
        ("fe80::a9fe:a9fe", "OpenStack and Hetzner metadata"),
    )
}

#: Name -> whose it is. Names below these are theirs too.
METADATA_NAMES: Final = {
    "metadata": "Google Cloud",
    "metadata.google.internal": "Google Cloud",
    "metadata.goog": "Google Cloud",
    "instance-data": "AWS",
    "instance-data.ec2.internal": "AWS",
    "metadata.tencentyun.com": "Tencent Cloud",
    "metadata.platformequinix.com": "Equinix Metal",
    "api.metadata.cloud.ibm.com": "IBM Cloud (cautious)",
    "rancher-metadata": "Rancher",
    "data-server": "CloudStack",
}
