"""What Referer tells, and to whom: nobody outside learns the URL of a page inside.

A crawl that may reach internal hosts (``POLITE_ALLOW_NETWORKS``) finds links to the outside on them. Scrapy's Referer would
name the internal page to whoever is linked to.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from scrapy_polite.guard.policy import Policy
from scrapy_polite.naming.hosts import Invalid, parse

if TYPE_CHECKING:
    from scrapy import Request

    from scrapy_polite.politeness import Politeness

__all__ = ["keep_quiet"]

_PUBLIC: Final = Policy()
"""What everybody may reach."""


def keep_quiet(request: Request, politeness: Politeness) -> None:
    """Take the Referer off where it may name a host that only the operator has opened, and the request may go to one that is
    open to all. A host that was not met yet counts as either."""
    opened = politeness.config.policy
    if not (opened.allow or opened.rules):
        return
    referer = request.headers.get("Referer")
    if referer is None:
        return
    if _is_inside(referer.decode("latin-1"), politeness) is False:
        return
    # A browser takes the header along to whatever the host redirects to, and nobody is asked about that.
    if _is_inside(request.url, politeness) and not request.meta.get("playwright"):
        return
    del request.headers["Referer"]


def _is_inside(url: str, politeness: Politeness) -> bool | None:
    """None where that is not known."""
    target = parse(url)
    if isinstance(target, Invalid):
        return None
    if _PUBLIC.judge_name(target.host) is not None:
        return True
    if target.address is not None:
        return _PUBLIC.judge_address(target.address) is not None
    answer = politeness.answer_of(target)
    return None if answer is None else _PUBLIC.judge_answer(answer.addresses, answer.chain) is not None
