"""What all tests share: the example project's packages (`town`) can be imported, and servers have a certificate."""

from __future__ import annotations

import ssl
import sys
from pathlib import Path

import pytest
import trustme

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "example_project"))

pytest_plugins = ["postgres", "anystore", "image_crawls"]


def certified(*protocols: str) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    trustme.CA().issue_cert("127.0.0.1").configure_cert(context)
    if protocols:
        context.set_alpn_protocols(list(protocols))
    return context


@pytest.fixture(scope="session")
def tls() -> ssl.SSLContext:
    """For a server that knows no ALPN."""
    return certified()


@pytest.fixture(scope="session")
def tls_h2() -> ssl.SSLContext:
    """For a server that speaks HTTP/2."""
    return certified("h2", "http/1.1")
