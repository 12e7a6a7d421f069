"""The URL that is put into the request, so that whoever parses it next finds the host, port and path that were judged.

Between the judgement and the wire other parsers read the URL: w3lib when a request is made, `urllib.parse.urlsplit` in
Scrapy, `twisted.web.client.URI` in Twisted. Each of them reads some URLs differently from the WHATWG URL Standard
(``http://1.1.1.1\\@2.2.2.2/``, ``http:a.example``, ``http://0x7f.1/``, a user name, which Twisted takes as a part of the
host). Comparing parsers would have to know them all; so a URL is sent as it was written only in the plain form in which
there is nothing to read differently, and otherwise in its canonical form, which is plain.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import ada_url

from scrapy_polite.naming.hosts import DEFAULT_PORTS

if TYPE_CHECKING:
    from scrapy_polite.naming.hosts import Target

__all__ = ["as_sent"]

# What may follow a plain authority: nothing, or a path of visible ASCII without a backslash (a slash to the Standard) and
# without segments of dots, which the Standard resolves and a server may not: `/a/../b` is bucket a to one and b to the
# other. `%2e` is a dot to the Standard. In a query and in a fragment the same characters mean the same to everybody.
_PLAIN_REST = re.compile(
    r"""(?: (?: / (?! (?: \. | %2[eE] ){1,2} (?: [/?\#] | \Z ) ) [!"$-.0->@-\[\]-~]* )+ (?: [?\#] [!-~]* )? )?\Z""",
    re.VERBOSE,
)


def as_sent(url: str, target: Target) -> str:
    """`url` itself where every parser reads `target` out of it, else the canonical URL, without user name and password.

    `target` is what `parse` found in `url`; its scheme is http or https. What is answered is ASCII, has exactly the host and
    the port of `target` for every parser, and has the same keys.
    """
    start = f"{target.scheme}://{target.written}"
    if url.startswith(start):
        rest = url[len(start) :]
        if rest.startswith(":"):
            rest = rest.removeprefix(f":{target.port}")
            stated = True
        else:
            stated = DEFAULT_PORTS.get(target.scheme) == target.port
        if stated and _PLAIN_REST.match(rest):
            return url
    return ada_url.replace_url(target.url, username="", password="") if target.userinfo else target.url
