"""What ``origins`` has found, for a person."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from scrapy_polite.commands import hand
from scrapy_polite.commands.words import moment, plural, seen, state
from scrapy_polite.naming.hosts import display_host
from scrapy_polite.stores.base import Ruling

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["as_text"]

KINDS: Final = {
    "cname": "CNAME",
    "pointer": "PTR",
    "peer": "answered from",
    "configuration": "configuration as a hash",
    "product": "product as a hash",
    "tells": "weight of both hashes",
}
"""Kinds of facts, where their names say too little."""

HASHES: Final = ("configuration", "product", "tells")
"""Kinds of facts that are numbers, and 0 where an answer shows nothing of the kind."""

SOURCES: Final = {"dns": "from DNS", "response": "from a response", "file": "from a file of the site", "hand": "by hand"}


def as_text(found: dict[str, Any]) -> str:
    """One object's lines, without what a terminal would obey."""
    if "suspected" in found:
        lines = _suspected(found)
    elif "facts" in found:
        lines = _host(found)
    elif "placed" in found:
        lines = _origin(found)
    elif "lapsed" in found:
        lines = iter([f"  Ran out, to be undone by the next crawl, join or split: {_ruled(found['lapsed'], lapsed=True)}"])
    elif "origin" in found:
        lines = _summary(found)
    else:
        cut = f", of which {found['shown']} are shown" if found["shown"] < found["origins"] else ""
        lines = iter([f"Origins: {found['origins'] or 'none yet'}, of {plural(found['hosts'], 'host')}{cut}"])
    return "\n".join(map(seen, lines))


def _summary(found: dict[str, Any]) -> Iterator[str]:
    yield f"  {found['origin']}  {plural(found['hosts'], 'host')}, {_rate(found)}; {_state(found)}"
    yield from (f"      {line}" for line in _names_and_rulings(found))


def _origin(found: dict[str, Any]) -> Iterator[str]:
    yield f"{found['origin']}: {plural(found['hosts'], 'host')}, {_rate(found)}; {_state(found)}"
    yield from (f"  {line}" for line in _names_and_rulings(found))
    for placed in found["placed"]:
        yield f"  {display_host(placed['host'])}  {placed['confidence']:.3g}{_when(placed)}"
        yield from (f"      {sentence}" for sentence in placed["evidence"])
    left = found["hosts"] - len(found["placed"])
    if left > 0:
        yield f"  and {plural(left, 'host')} more: --most {found['hosts']} shows all"


def _host(found: dict[str, Any]) -> Iterator[str]:
    yield display_host(found["host"])
    yield f"  origin     {found['origin']}, with a confidence of {found['confidence']:.4g}"
    yield from _list("because", found["evidence"])
    if found["ruling"] is not None:
        yield f"  ruled      {_ruled(found['ruling'])}"
    yield from _list("known", [_fact(fact) for fact in found["facts"] if _says_something(fact)])
    yield from _list("changes", _changes(found))


def _says_something(fact: dict[str, Any]) -> bool:
    """Whether a fact is not only that nothing was found: a hash of nothing, and its weight."""
    return not (fact["kind"] in HASHES and not fact["value"].strip("0"))


def _fact(fact: dict[str, Any]) -> str:
    doubts = ""
    if not fact["counts"]:
        doubts = ", and counts no more"
    elif fact["absent"]:
        doubts = f", and not in the last {plural(fact['absent'], 'answer')}"
    source = SOURCES.get(fact["source"], fact["source"])
    what = KINDS.get(fact["kind"], fact["kind"])
    return f"{what} {fact['value']}: {source} at {moment(fact['seen'])}, TTL {fact['ttl']:g} s{doubts}"


def _changes(found: dict[str, Any]) -> Iterator[str]:
    """What would place it elsewhere."""
    ruling, host = found["ruling"], found["host"]
    if ruling is not None:
        end = "" if ruling["until"] is None else f" or at {moment(ruling['until'])}"
        back = f"scrapy polite {ruling['verb']} {ruling['subject']} --remove"
        yield f"when the ruling is taken back ({back}){end}, and not before"
        return
    if found["expires"] is not None:
        yield f"when what is known is not seen again: the first of it runs out at {moment(found['expires'])}"
    yield "when other answers are seen twice, or once and for a whole TTL"
    yield f"by hand: scrapy polite join {host} ORIGIN, scrapy polite split {host}"


def _suspected(found: dict[str, Any]) -> Iterator[str]:
    number = len(found["suspected"])
    yield f"Suspected edges: {number or 'none'}, among {plural(found['hosts'], 'host')}"
    yield from (f"  {sentence}" for sentence in found["suspected"])


def _names_and_rulings(found: dict[str, Any]) -> Iterator[str]:
    if found["aliases"]:
        yield f"also known as {', '.join(found['aliases'])}"
    for ruling in found["rulings"]:
        yield f"ruled: {_ruled(ruling)}"


def _ruled(ruling: dict[str, Any], *, lapsed: bool = False) -> str:
    return hand.sentence(Ruling(**ruling), lapsed=lapsed)


def _list(label: str, texts: Any) -> Iterator[str]:
    for text in texts:
        yield f"  {label:<11}{text}"
        label = ""


def _rate(found: dict[str, Any]) -> str:
    burst = f", burst {found['burst']:g}" if found["burst"] else ""
    return f"{found['rate']:g} unit{'s' * (found['rate'] != 1)} a second{burst}"


def _state(found: dict[str, Any]) -> str:
    return state(found["due_in"], found["hold_in"], found["kind"], found["reason"])


def _when(placed: dict[str, Any]) -> str:
    return f", last seen {moment(placed['seen'])}" if placed["seen"] is not None else ""
