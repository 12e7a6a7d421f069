"""What a spider's arguments put into the URIs of feeds: a key in one would be a file's name, and stand in listings and logs.

`FEEDS = {"homes-%(token)s.json": ...}` writes the argument `token` of the spider into the name of the file. Where a template
has an argument as user or password (`s3://%(user)s:%(password)s@...`) it is what opens the store, and stays.
"""

from __future__ import annotations

import logging
import re
from typing import TYPE_CHECKING, Any, Final

from scrapy.settings import SETTINGS_PRIORITIES, BaseSettings
from scrapy.utils.misc import load_object

from scrapy_polite.written import written

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from scrapy import Spider

    from scrapy_polite.redaction import Policy

__all__ = ["FeedParams", "redact_feed_uris"]

logger = logging.getLogger(__name__)

_PARAMETER: Final = re.compile(r"%\((\w+)\)")
_USER_INFO: Final = re.compile(r"\A[\w+.-]+://([^/@]*)@")


class FeedParams:
    """A `FEED_URI_PARAMS` of Scrapy's, around the one that the user has set."""

    def __init__(self, policy: Policy, inner: str | Callable[..., Any] | None = None) -> None:
        self._policy = policy
        self._inner: Callable[[dict[str, Any], Spider], dict[str, Any] | None] | None = load_object(inner) if inner else None
        self._said: set[str] = set()

    def __call__(self, params: dict[str, Any], spider: Spider) -> dict[str, Any]:
        """The parameters, those that are written into a path redacted."""
        given = self._inner(params, spider) if self._inner else None
        new = dict(params if given is None else given)
        for name in written_into_paths(map(str, spider.crawler.settings.getdict("FEEDS"))):
            value = new.get(name)
            if isinstance(value, str) and (redacted := written(self._policy).named(name, value)) != value:
                new[name] = redacted
                if name not in self._said:
                    self._said.add(name)
                    logger.warning(
                        "FEEDS: the value of %%(%s)s looks like a key or a person's, and is not written into the URI of the "
                        "feed. Two crawls may write the same feed for it: name it by something else, such as %%(time)s",
                        name,
                    )
        return new

    def __repr__(self) -> str:
        return f"<redacted, of {self._inner!r}>" if self._inner else "<redacted>"


def written_into_paths(uris: Iterable[str]) -> set[str]:
    """The parameters of templates but for those that are a user or a password in one."""
    named: set[str] = set()
    opening: set[str] = set()
    for uri in uris:
        named.update(_PARAMETER.findall(uri))
        if info := _USER_INFO.match(uri):
            opening.update(_PARAMETER.findall(info[1]))
    return named - opening


def redact_feed_uris(settings: BaseSettings, policy: Policy) -> None:
    """Put ours around `FEED_URI_PARAMS`, and around the `uri_params` of every feed that has its own, at the priority of the
    user's own."""
    feeds = settings.getdict("FEEDS")
    if not written_into_paths(map(str, feeds)) or isinstance(settings["FEED_URI_PARAMS"], FeedParams):
        return
    own = {uri: options for uri, options in feeds.items() if options.get("uri_params")}
    if own:
        wrapped = {uri: {**options, "uri_params": FeedParams(policy, options["uri_params"])} for uri, options in own.items()}
        settings.set("FEEDS", {**feeds, **wrapped}, priority=_at_least("addon", settings.getpriority("FEEDS")))
    params = FeedParams(policy, settings["FEED_URI_PARAMS"])
    settings.set("FEED_URI_PARAMS", params, priority=_at_least("addon", settings.getpriority("FEED_URI_PARAMS")))


def _at_least(name: str, priority: int | None) -> int:
    return max(SETTINGS_PRIORITIES[name], priority or 0)
