"""Random texts of the shape that a bounded regular expression describes.

Look-arounds write nothing; whoever asks checks the text against the whole expression and asks again. Where a class leaves much
open, letters and digits are taken, so that what stands around a value is never in it.
"""

from __future__ import annotations

import importlib
import string
import sys
from functools import lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from random import Random

__all__ = ["text_of", "texts_before"]

# The parser of `re`, which has another name from Python 3.11 on.
_parser: Any = importlib.import_module("re._parser" if sys.version_info >= (3, 11) else "sre_parse")

_PLAIN = string.ascii_letters + string.digits
_PRINTABLE = _PLAIN + string.punctuation + " "
_CATEGORIES = {
    "CATEGORY_DIGIT": lambda c: c in string.digits,
    "CATEGORY_WORD": lambda c: c in _PLAIN + "_",
    "CATEGORY_SPACE": str.isspace,
}
# How many more than the least a repeat writes at most: values are as short as they usually are.
_MORE = 12


def text_of(pattern: str, random: Random) -> str:
    """A text of this shape."""
    return _sequence(_parsed(pattern), random)


def texts_before(pattern: str, group: str, random: Random) -> tuple[str, str, str]:
    """A text of this shape in three: before the group of that name, in it, after it. Without such a group all is in it."""
    parsed = _parsed(pattern)
    number = parsed.state.groupdict.get(group)
    pieces = ["", "", ""]
    at = 0 if number is not None else 1
    for part in parsed:
        if number is not None and str(part[0]) == "SUBPATTERN" and part[1][0] == number:
            pieces[1], at = _one(part, random), 2
        else:
            pieces[at] += _one(part, random)
    return pieces[0], pieces[1], pieces[2]


@lru_cache(maxsize=1024)
def _parsed(pattern: str) -> Any:
    return _parser.parse(pattern)


def _sequence(parts: Any, random: Random) -> str:
    return "".join(_one(part, random) for part in parts)


def _one(part: Any, random: Random) -> str:
    name, value = str(part[0]), part[1]
    if name == "LITERAL":
        return chr(value)
    if name in ("IN", "NOT_LITERAL", "ANY", "CATEGORY"):
        return random.choice(_allowed(name, value))
    if name == "BRANCH":
        return _sequence(random.choice(value[1]), random)
    if name == "SUBPATTERN":
        return _sequence(value[3], random)
    if name == "ATOMIC_GROUP":
        return _sequence(value, random)
    if name in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"):
        least, most, what = value
        return "".join(_sequence(what, random) for _ in range(random.randint(least, min(int(most), least + _MORE))))
    if name in ("AT", "ASSERT", "ASSERT_NOT"):
        return ""
    raise ValueError(f"a shape has {name}, of which no text can be made")


def _allowed(name: str, value: Any) -> str:
    if name == "ANY":
        return _PLAIN
    if name == "NOT_LITERAL":
        return _PLAIN.replace(chr(value), "")
    items = [(name, value)] if name == "CATEGORY" else [(str(op), argument) for op, argument in value]
    negated = items[0][0] == "NEGATE"
    chosen = [c for c in _PRINTABLE if any(_is(c, op, argument) for op, argument in items) != negated]
    if negated or len(chosen) > 80:
        chosen = [c for c in chosen if c in _PLAIN] or chosen
    elif len(chosen) > 30:
        # Padding, escapes and blanks, which values end with or are written in, but do not have in their middle.
        chosen = [c for c in chosen if c not in "=% "]
    if not chosen:
        # A class of characters beyond ASCII, such as marks.
        chosen = [chr(argument if op == "LITERAL" else argument[0]) for op, argument in items if op in ("LITERAL", "RANGE")]
    return "".join(chosen)


def _is(character: str, op: str, argument: Any) -> bool:
    if op == "LITERAL":
        return ord(character) == argument
    if op == "RANGE":
        return bool(argument[0] <= ord(character) <= argument[1])
    if op == "CATEGORY":
        category = str(argument)
        positive = category.replace("_NOT_", "_")
        return bool(_CATEGORIES[positive](character)) == (category == positive)
    return False
