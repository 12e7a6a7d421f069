"""Whether a user's expression could take far more steps than the text has characters."""

from __future__ import annotations

from scrapy_polite.redaction.rules import regexes

__all__ = ["trouble"]


def trouble(node: regexes.Node) -> str | None:
    """Why matching could take far more steps than the text has characters; None if it cannot."""
    if regexes.width(node)[1] is None:
        return "a quantifier has no upper bound"
    try:
        ways = _ways(node, frozenset())
    except regexes.UnreadableError as reason:
        return str(reason)
    return (
        f"it can be read in {ways} ways, more than {_MOST_WAYS}: let what follows a quantifier be none of what it takes"
        if ways > _MOST_WAYS
        else None
    )


# Ways to read the same characters, of which each costs some 50 nanoseconds where a value is no value after all.
_MOST_WAYS = 500


def _ways(node: regexes.Node, following: frozenset[str]) -> int:
    """In how many ways the same characters may be taken, at most. Raises `regexes.UnreadableError` for what multiplies them."""
    if node.chars or not node.parts:
        return 1
    if node.each:
        ways = [_ways(part, following) for part in node.parts]
        ways = [sum(ways)] if _alike(node.parts) else ways
        inner = max(ways)
    else:
        inner = 1
        for at, part in enumerate(node.parts):
            rest = regexes.Node(parts=node.parts[at + 1 :])
            inner *= _ways(part, regexes.firsts(rest) if rest.low else regexes.firsts(rest) | following)
    if node.most in (0, 1) and node.least == node.most:
        return inner
    once = regexes.Node(parts=node.parts, each=node.each)
    if node.most is not None and node.most > 1:
        if once.low != regexes.width(once)[1]:
            raise regexes.UnreadableError("a quantifier stands inside a repetition")
        if inner > 1:
            raise regexes.UnreadableError("alternatives that begin alike stand inside a repetition")
    choices = (node.most or 0) - node.least + 1
    return inner * (choices if regexes.firsts(once) & following else 1)


def _alike(parts: tuple[regexes.Node, ...]) -> bool:
    seen: frozenset[str] = frozenset()
    for part in parts:
        if regexes.firsts(part) & seen:
            return True
        seen |= regexes.firsts(part)
    return False
