"""Lists of structured fields: a name and parameters each (RFC 8941 and RFC 9651, sections 3.1 and 4.2.1). Lists within lists,
and the dates and display strings of RFC 9651, are in no field that is read here, and are not known.

Strict, as the standard is: a field that cannot be read to its end is left out whole, since whoever writes half a string may
write anything behind it.
"""

from __future__ import annotations

import re
from typing import Final

__all__ = ["items"]

Value = str | int | float | bool
"""Of a parameter; one without "=" is True (section 3.1.2)."""

# RFC 8941 sections 3.3.1 to 3.3.6: integer or decimal, string, token, byte sequence, boolean. A string is printable ASCII in
# which only a quote and a backslash may follow a backslash.
_BARE: Final = re.compile(
    r'(?P<number>-?[0-9]{1,15}(?:\.[0-9]{1,3})?)|"(?P<string>(?:[ !#-\[\]-~]|\\["\\])*)"|(?P<bytes>:[A-Za-z0-9+/=]*:)'
    r"|\?(?P<truth>[01])|(?P<token>[A-Za-z*][A-Za-z0-9!#$%&'*+.^_`|~:/-]*)"
)
_PARAMETER: Final = re.compile(r";[ ]*(?P<key>[a-z*][a-z0-9_.*-]*)(?P<equals>=?)")
_COMMA: Final = re.compile(r"[ \t]*,[ \t]*")
_ESCAPED: Final = re.compile(r'\\(["\\])')


def items(field: str) -> list[tuple[str, dict[str, Value]]]:
    """Every member of the list with its parameters, the last of each name; [] for a field that is no such list."""
    found: list[tuple[str, dict[str, Value]]] = []
    text, at = field.strip(" "), 0
    while at < len(text):
        bare = _BARE.match(text, at)
        if bare is None:
            return []
        at = bare.end()
        parameters: dict[str, Value] = {}
        while parameter := _PARAMETER.match(text, at):
            at = parameter.end()
            value: Value = True
            if parameter["equals"]:
                given = _BARE.match(text, at)
                if given is None:
                    return []
                at, value = given.end(), _value(given)
            parameters[parameter["key"]] = value
        found.append((str(_value(bare)), parameters))
        if at == len(text):
            return found
        comma = _COMMA.match(text, at)
        if comma is None or comma.end() == len(text):
            return []
        at = comma.end()
    return found


def _value(bare: re.Match[str]) -> Value:
    if (number := bare["number"]) is not None:
        return float(number) if "." in number else int(number)
    if (string := bare["string"]) is not None:
        return _ESCAPED.sub(r"\1", string)
    if (truth := bare["truth"]) is not None:
        return truth == "1"
    return str(bare["token"] or bare["bytes"])
