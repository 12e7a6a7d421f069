"""How much is found of what was put into pages, by kind and placement."""

from __future__ import annotations

import html
import re
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import unquote

from benchmarks.redacting.placements import PLACEMENTS, placed
from benchmarks.redacting.values import groups, made
from scrapy_polite.redaction import Policy, policy_from

if TYPE_CHECKING:
    from collections.abc import Iterable
    from random import Random

    from benchmarks.redacting.values import Made
    from scrapy_polite.redaction import Redactor

__all__ = ["Case", "Tally", "cases", "everything", "gone", "tallied"]

_ESCAPE = re.compile(r"\\+(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|(.))", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Case:
    """A piece of a page with a value in it; `group` is anchored, contextual or personal."""

    group: str
    placement: str
    value: Made
    text: str


@dataclass(slots=True)
class Tally:
    """Found and all, by placement and by kind; and of those that were found, how many under another name."""

    placements: dict[tuple[str, str], list[int]] = field(default_factory=lambda: defaultdict(lambda: [0, 0]))
    kinds: dict[tuple[str, str], list[int]] = field(default_factory=lambda: defaultdict(lambda: [0, 0]))
    missed: dict[tuple[str, str], int] = field(default_factory=lambda: defaultdict(int))
    other_name: dict[str, int] = field(default_factory=lambda: defaultdict(int))

    def add(self, case: Case, found: bool, named: bool = True) -> None:
        for counts in (self.placements[case.group, case.placement], self.kinds[case.group, case.value.kind]):
            counts[0] += found
            counts[1] += 1
        if not found:
            self.missed[case.value.kind, case.placement] += 1
        elif not named:
            self.other_name[case.value.kind] += 1

    def worst(self, group: str) -> tuple[str, float] | None:
        """The placement of this group with the smallest share found; None if the group is empty."""
        shares = [(found / all_, place) for (of, place), (found, all_) in self.placements.items() if of == group]
        return (min(shares)[1], min(shares)[0]) if shares else None


def everything() -> Policy:
    """A policy that replaces every kind in every field, also those that the presets keep."""
    policy = policy_from({"preset": "gdpr-strict", "kinds": {"*": "replace"}})
    assert policy is not None
    return policy


def cases(random: Random, each: int, of: Iterable[str] | None = None) -> list[Case]:
    """So many pieces for each kind and placement; of these kinds only, if there are any named."""
    wanted = None if of is None else set(of)
    return [
        Case(group, placement, value, placed(placement, value))
        for group, kinds in groups().items()
        for kind in kinds
        if wanted is None or kind in wanted
        for placement in PLACEMENTS
        for value in (made(kind, random) for _ in range(each))
    ]


def plain(text: str) -> str:
    """The text with its escapes undone, three deep."""
    for _ in range(3):
        undone = _ESCAPE.sub(lambda m: chr(int(m[1] or m[2], 16)) if m[1] or m[2] else m[3], unquote(html.unescape(text)))
        if undone == text:
            break
        text = undone
    return text


def gone(secret: str, text: str) -> bool:
    """True if neither the secret nor either half of it stands in the text, however it is escaped."""
    shown = plain(text)
    half = len(secret) // 2
    pieces = [secret] if half < 8 else [secret[:half], secret[half:]]
    return not any(piece in form for piece in pieces for form in (text, shown))


def tallied(redactor: Redactor, of: Iterable[Case]) -> Tally:
    """What this redactor takes out of the pieces."""
    tally = Tally()
    for case in of:
        result = redactor.text(case.text)
        found = not result.dropped and gone(case.value.secret, result.text)
        tally.add(case, found, any(finding.kind == case.value.kind for finding in result.findings))
    return tally
