"""Explanations as lines of JSON; of long lists, the parts that many URLs share are written once."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final, TypeVar

from scrapy_polite.commands.fields import invalid, not_found
from scrapy_polite.naming.hosts import Invalid, parse

if TYPE_CHECKING:
    from scrapy_polite.commands.explanation import Explainer
    from scrapy_polite.commands.fields import Explanation

__all__ = ["OfflineLines", "as_json"]

REMEMBERED: Final = 10_000
"""Parts of one kind that are remembered; when there are more, it begins anew."""

K = TypeVar("K")
V = TypeVar("V")

_in_letters = json.JSONEncoder(ensure_ascii=False, check_circular=False).encode
_in_ascii = json.JSONEncoder(check_circular=False).encode
_AFTER: Final = _in_letters(not_found())[1:]


def as_json(found: Explanation) -> str:
    """One line. What is not ASCII stands in its own letters, but for what ends a line to some readers (U+2028) or moves a
    cursor."""
    line = _in_letters(found)
    return line if _fit(line) else _in_ascii(found)


def _fit(line: str) -> bool:
    return line.isascii() or line.isprintable()


class OfflineLines:
    """``as_json(explainer.offline(url))``, three times as fast where hosts and keys come back.

    Of a host and of a plan their JSON is kept and not the objects: text is nothing that the garbage collector looks at.
    """

    def __init__(self, explainer: Explainer) -> None:
        self._explainer = explainer
        self._judged: dict[tuple[str, str, int, bool], tuple[str, bool]] = {}
        self._planned: dict[tuple[tuple[str, ...], str], str] = {}

    def line(self, url: str) -> tuple[str, bool]:
        """The line, and whether it would be refused."""
        target = parse(url)
        if isinstance(target, Invalid):
            return as_json(invalid(url, target)), True
        place = (target.scheme, target.host, target.port, target.userinfo)
        judged = self._judged.get(place)
        if judged is None:
            found = self._explainer.judged(target)
            judged = _remember(self._judged, place, (_in_letters(found)[1:-1], found["admitted"] is False))
        keys = self._explainer.keys(target)
        kind = self._explainer.kind(url)
        planned = self._planned.get((keys, kind))
        if planned is None:
            planned = _remember(self._planned, (keys, kind), _in_letters(self._explainer.planned(keys, kind))[1:-1])
        line = f"{_in_letters(self._explainer.named(url, target))[:-1]}, {judged[0]}, {planned}, {_AFTER}"
        return line if _fit(line) else _in_ascii(self._explainer.offline(url)), judged[1]


def _remember(where: dict[K, V], key: K, value: V) -> V:
    if len(where) >= REMEMBERED:
        where.clear()
    where[key] = value
    return value
