"""A Postgres behind TLS: the server is the one it says it is, or nothing is sent to it; and the password is nowhere to be seen.

The server of the tests has no TLS of its own. In front of it stands what stands in front of many: something that ends it.
"""

from __future__ import annotations

import logging
import ssl
import traceback
from typing import TYPE_CHECKING
from urllib.parse import quote

import pytest
import trustme
from loopback import Server, crawl
from postgres import PASSWORD
from relay import Relay

from scrapy_polite.limits.gcra import Booked, Demand
from scrapy_polite.stores.base import open_store, redacted_url

if TYPE_CHECKING:
    from pathlib import Path

    from postgres import Server as Postgres

WORDS_OF_THE_PASSWORD = ("pass/word", "pass%2Fword", "@ll", "%40ll")


def context(authority: trustme.CA, name: str) -> ssl.SSLContext:
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(name).configure_cert(made)
    return made


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture
def root(authority: trustme.CA, tmp_path: Path) -> str:
    path = tmp_path / "root.pem"
    authority.cert_pem.write_to_path(str(path))
    return str(path)


def url(relay: Relay, mode: str, root: str, database: str = "postgres") -> str:
    user = f"postgres:{quote(PASSWORD, safe='')}"
    return f"postgresql://{user}@127.0.0.1:{relay.port}/{database}?sslmode={mode}&sslrootcert={quote(root, safe='')}"


def secret_in(text: str) -> list[str]:
    return [word for word in WORDS_OF_THE_PASSWORD if word in text]


def test_a_server_whose_certificate_and_name_are_right(shared_server: Postgres, authority: trustme.CA, root: str) -> None:
    with Relay(shared_server.port, context(authority, "127.0.0.1")) as relay:
        address = url(relay, "verify-full", root)
        store = open_store(address)
        (answer,) = store.book([(Demand("site:tls", 1, 0),)])
        assert isinstance(answer, Booked)
        assert secret_in(repr(store)) == []
        assert "sslmode=verify-full" in redacted_url(address)
        assert secret_in(redacted_url(address)) == []
        store.close()
        assert (relay.encrypted, relay.plain) == (1, 0)


@pytest.mark.parametrize(
    ("name", "ours", "said"),
    [("other.example", True, "does not match host name"), ("127.0.0.1", False, "certificate verify failed")],
    ids=["another name", "another authority"],
)
def test_a_server_that_is_another_is_refused(
    shared_server: Postgres,
    authority: trustme.CA,
    root: str,
    caplog: pytest.LogCaptureFixture,
    name: str,
    ours: bool,
    said: str,
) -> None:
    caplog.set_level(logging.DEBUG)
    with Relay(shared_server.port, context(authority if ours else trustme.CA(), name)) as relay:
        with pytest.raises(ValueError, match=rf"POLITE_STORE: no store can be had at .*{said}") as refused:
            open_store(url(relay, "verify-full", root))
        assert relay.plain == 0
    text = "".join(traceback.format_exception(refused.value)) + repr(refused.value) + caplog.text
    assert "postgres:***@127.0.0.1" in text
    assert secret_in(text) == []


@pytest.mark.parametrize("mode", ["require", "verify-full"])
def test_a_server_that_does_no_tls_is_refused_where_it_must(shared_server: Postgres, root: str, mode: str) -> None:
    with Relay(shared_server.port, None) as relay:
        with pytest.raises(ValueError, match=r"POLITE_STORE: .*server does not support SSL, but SSL was required") as refused:
            open_store(url(relay, mode, root))
        assert relay.plain == 0, "not a byte was sent in the clear"
    assert secret_in("".join(traceback.format_exception(refused.value))) == []


def test_a_crawl_over_tls_keeps_the_password_out_of_its_log(
    shared_server: Postgres, authority: trustme.CA, root: str, tmp_path: Path
) -> None:
    source = """
class Spider(TestSpider):
    start_urls = ["{url}/1", "{url}/2", "{url}/3"]
"""
    database = shared_server.database().url.partition("?")[0].rpartition("/")[2]
    with Relay(shared_server.port, context(authority, "127.0.0.1")) as relay, Server() as server:
        options = {"POLITE_ALLOW_PORTS": [server.port], "POLITE_SITE_RATE": 50, "POLITE_ORIGIN_RATE": 50, "LOG_LEVEL": "DEBUG"}
        address = url(relay, "verify-full", root, database)
        done = crawl(source.format(url=server.url), tmp_path, POLITE_STORE=address, **options)
        assert len(done.urls()) == 3, done.log
        assert f"postgresql://postgres:***@127.0.0.1:{relay.port}/{database}?sslmode=verify-full&sslrootcert=***" in done.log
        assert secret_in(done.log) == []
        assert relay.encrypted >= 1
