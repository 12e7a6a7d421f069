"""An explanation for a person: one fact a line, hosts in their own letters, what is refused with the way to allow it."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any, Final

from scrapy_polite.commands import hand, robotsrules
from scrapy_polite.commands.paces import slowed
from scrapy_polite.commands.words import moment, plural, seen, state
from scrapy_polite.naming.hosts import display_host
from scrapy_polite.stores.base import Ruling

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy_polite.commands.fields import Explanation
    from scrapy_polite.guard.trail import Check

__all__ = ["as_text"]

MARGIN: Final = 13
"""Columns of the labels."""

VOWELS: Final = frozenset("aeiou")

AS_WHAT: Final = {
    "edge": "as an edge, whose hits cost nobody else anything",
    "bucket": "as a bucket, which costs nobody else anything",
    "unknown": "as nothing known: taken as an edge whose answers are all misses",
}

MOST: Final = 16
"""Addresses that are shown, besides those that are refused."""


def as_text(found: Explanation, width: int = 0) -> str:
    """The explanation, wrapped to a terminal of so many columns; 0: one line a fact, however long. What comes from outside is
    shown without characters that a terminal would obey. A line of settings is never wrapped: it is there to be copied."""
    lines = [seen(found["url"])]
    for label, text in _facts(found):
        begin, rest = f"  {label:<{MARGIN - 2}}", " " * MARGIN
        text = seen(text)
        if width > MARGIN and len(text) > width - MARGIN and label != "to allow":
            wrapped = textwrap.wrap(text, max(20, width - MARGIN), break_long_words=False, break_on_hyphens=False)
            lines += [f"{begin if not at else rest}{line}" for at, line in enumerate(wrapped)]
        else:
            lines.append(begin + text)
    return "\n".join(lines)


def _facts(found: Explanation) -> Iterator[tuple[str, str]]:
    """Labels and texts; an empty label goes on with what is above it."""
    if found["canonical"] is not None:
        yield from _named(found)
    yield "admitted", _verdict(found)
    if found["allow"] is not None:
        yield "to allow", found["allow"]
    if found["note"] is not None:
        yield "" if found["allow"] is not None else "to allow", found["note"]
    yield from _looked_at(found)
    yield from _placed(found)
    if found["robots"] is not None:
        yield "robots.txt", robotsrules.as_text(found["robots"])
    yield from _planned(found)


def _named(found: Explanation) -> Iterator[tuple[str, str]]:
    if found["canonical"] != found["url"]:
        yield "canonical", str(found["canonical"])
    if found["sent"] not in (None, found["url"], found["canonical"]):
        yield "sent as", str(found["sent"])
    host, shown, domain = found["host"], found["shown"], found["domain"]
    yield "host", f"{shown}" + (f", in keys {host}" if shown != host else "")
    if domain is not None and domain != host:
        yield "domain", display_host(domain)
    yield {"bucket": "bucket", "imageservice": "service"}.get(str(found["site"]).partition(":")[0], "site"), str(found["site"])
    if found["source"] not in (None, found["canonical"]):
        yield "image", str(found["source"])


def _verdict(found: Explanation) -> str:
    if found["let_through"]:
        return f"let through, since POLITE_GUARD is report; else refused: {found['reason']}"
    reason = f": {found['reason']}" if found["reason"] else ""
    return {True: "yes", False: "no", None: "only DNS can tell"}[found["admitted"]] + reason


def _looked_at(found: Explanation) -> Iterator[tuple[str, str]]:
    """Every rule that was asked; those that say nothing on one line."""
    checks = [check for check in found["checks"] if check["check"] != "address"]
    silent = [f"{check['check']} {check['of']}" for check in checks if check["rule"] is None]
    label = "looked at"
    if silent:
        yield label, f"{', '.join(silent)}: nothing against it"
        label = ""
    for check in checks:
        if check["rule"] is not None:
            yield label, f"{check['check']} {check['of']}: {_said(check, found)}"
            label = ""


def _said(check: Check, found: Explanation) -> str:
    """The verdict of one rule; why, unless the answer as a whole says so already."""
    if check["rule"] is None:
        return "passes"
    if check["passes"]:
        return f"opened by {check['range']} in POLITE_ALLOW_NETWORKS"
    rests = f", {check['range']}" if check["range"] not in (None, check["of"]) else ""
    known = found["reason"] == f"{check['rule']}: {check['why']}"
    return f"refused ({check['rule']}{rests})" + ("" if known else f": {check['why']}")


def _placed(found: Explanation) -> Iterator[tuple[str, str]]:
    if found["chain"]:
        yield "CNAME", " -> ".join(found["chain"])
    pointers = {pointer["address"]: pointer for pointer in found["pointers"]}
    checks = [check for check in found["checks"] if check["check"] == "address"]
    label, left = "address", MOST
    for check in checks:
        if check["passes"] and not left:
            continue
        left -= check["passes"]
        yield label, _address(check, found, pointers.get(check["of"]))
        label = ""
    hidden = sum(check["passes"] for check in checks) - MOST
    if hidden > 0:
        yield "", f"and {hidden} more that pass"
    if found["ttl"] is not None:
        yield "answer", f"used for {found['ttl']:g} s"
    if found["proxy"] is not None:
        yield "through", f"the proxy {found['proxy']}, as the environment says"
    if found["origin"] is not None:
        sure = f", with a confidence of {found['confidence']:g}" if found["confidence"] is not None else ""
        yield "origin", f"{found['origin']}{sure}"
    if found["aliases"]:
        yield "also", ", ".join(found["aliases"])
    if found["edge"] is not None:
        yield "edge", f"{found['edge']['label']}: {found['edge']['because']}"
    label = "because"
    for sentence in found["evidence"]:
        yield label, sentence
        label = ""
    if found["ruling"] is not None:
        yield "ruled", hand.sentence(Ruling(**found["ruling"]))


def _address(check: Check, found: Explanation, pointer: dict[str, Any] | None) -> str:
    names = ""
    if pointer is not None and pointer["names"]:
        names = f" ({', '.join(pointer['names'])})"
    elif pointer is not None and pointer["reason"] != "not_public":
        names = f" (no name: {pointer['reason']})"
    return f"{check['of']}{names}: {_said(check, found)}" + (", dialled first" if check["of"] == found["pinned"] else "")


def _planned(found: Explanation) -> Iterator[tuple[str, str]]:
    if found["kind"] is None:
        return
    yield "kind", f"{found['kind']}, which costs {found['cost']:g}"
    label = "learned"
    for cost in found["learned"]:
        yield label, _learned(cost)
        label = ""
    if found["behaviour"] is not None:
        yield "behaves", _behaviour(found["behaviour"])
    states = {known["key"]: known for known in found["keys"]}
    label = "charged"
    for charge in found["charges"]:
        burst = f", burst {charge['burst']:g}" if charge["burst"] else ""
        least = f", and {charge['least']:g} s between two starts at least" if "least" in charge else ""
        a_second = f"{charge['rate']:g} unit{'s' * (charge['rate'] != 1)} a second{burst}{least}"
        # What is charged ahead for a miss, and given back if it was none.
        slowly = f", at 1/{charge['pace']:g} of it for now" if "pace" in charge else ""
        budget = f"whose misses may take {a_second}; given back on a proven hit"
        allows = budget if "refundable" in charge else f"which allows {a_second}"
        now = states.get(charge["key"])
        when = f"; {state(now['due_in'], now['hold_in'], now['kind'], now['reason'])}" if now is not None else ""
        yield label, f"{charge['cost']:g} to {charge['key']}, {allows}{slowly}{when}"
        label = ""
    label = "slowed"
    for sentence in slowed(found["paces"]):
        yield label, sentence
        label = ""


def _learned(cost: dict[str, Any]) -> str:
    """What a kind costs at the origin, and from what that was learned."""
    kind, samples, pages = cost["kind"], plural(cost["samples"], "answer"), plural(cost["pages"], "page")
    when = moment(cost["at"])
    return (
        f"a{'n' * (kind[:1] in VOWELS)} {kind} costs {cost['cost']:g} here, and {cost['default']:g} elsewhere; "
        f"learned from {samples} and {pages} on {when}: {cost['because']}"
    )


def _behaviour(found: dict[str, Any]) -> str:
    as_what = AS_WHAT[found["behaviour"]]
    return as_what + (f", since {moment(found['at'])}" if found["at"] else "")
