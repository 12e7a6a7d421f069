"""Makes scrapy_polite/origins/data/software.json: header names, cookie names and product names that fingerprint lists publish.

    python -m tools.make_software DIRECTORY --source URL --dated 2026-08

`DIRECTORY` holds one or several ``*.json`` of the form of https://github.com/enthec/webappanalyzer (``src/technologies``), and
its ``categories.json``. Only names are taken, which are facts: no patterns, no descriptions. The result depends on the input
alone.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from scrapy_polite.origins.known import cookie_shape, value_shape

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

TARGET: Final = Path(__file__).resolve().parents[1] / "scrapy_polite" / "origins" / "data" / "software.json"

LEAST: Final = {"header": 200, "cookie": 300, "value": 80}
"""Fewer are taken for a list that is broken or cut short."""

WHOSE: Final = {"CDN": "edge", "Hosting": "hoster", "PaaS": "hoster", "IaaS": "hoster", "Hosting panels": "hoster"}
"""Category of the list -> whose a name is; of all other categories it is software's."""

_PLAIN: Final = re.compile(r"[a-z0-9 _.!#&@+-]*[a-z][a-z0-9 _.!#&@+-]*")


class InputError(ValueError):
    """The input is not what it should be; nothing was written."""


def plain(pattern: str) -> list[str]:
    """The names that a pattern of a fingerprint list stands for, if it is plain enough: ``^ASP\\.NET`` is ``asp.net``,
    ``cfid|cftoken`` are two, ``wiki\\d+_session`` is ``wiki#_session``; of ``(foo|bar)baz`` it is none."""
    text = pattern.partition("\\;")[0].lower().removeprefix("(?i)").strip()
    text = re.sub(r"\\d[+*]?|\[(?:a-f0-9|0-9a-f|a-z0-9|0-9|\\d\\?\.?|\\?d?\.)+\](?:[+*]|\{[0-9,]+\})?", "#", text)
    found = []
    for part in text.split("|"):
        one = re.sub(r"\\b|[\^$]", "", part)
        one = re.sub(r"\\s[?*+]?", " ", one)
        one = re.sub(r"\(\?:.*|\(.*", "", one)  # versions, and what else is optional at the end
        one = re.sub(r"\.[*+].*|\*+$", "", one)
        one = re.sub(r"/\??#?\??$|[/?:]+$", "", one)
        one = re.sub(r"\\([./:_-])", r"\1", one).strip()
        if len(one) > 1 and _PLAIN.fullmatch(one):
            found.append(one)
    return found


def rows(technologies: Mapping[str, Mapping[str, Any]], categories: Mapping[str, str]) -> list[tuple[str, str, str, str]]:
    """(header | cookie | value, name in its shape, edge | hoster | software, the technology), sorted, each name once."""
    best: dict[tuple[str, str], tuple[str, str]] = {}
    for technology, told in sorted(technologies.items(), key=lambda one: (one[0].lower(), one[0])):
        whose = next(
            (WHOSE[name] for name in (categories.get(str(cat), "") for cat in told.get("cats", ())) if name in WHOSE),
            "software",
        )
        for of, name, by in _names(told, whose):
            best.setdefault((of, name), (by, technology))
    order = {"header": 0, "cookie": 1, "value": 2}
    return sorted(((of, name, *best[of, name]) for of, name in best), key=lambda row: (order[row[0]], row[1]))


def _names(told: Mapping[str, Any], whose: str) -> Iterable[tuple[str, str, str]]:
    headers = told.get("headers") or {}
    for name in headers:
        yield "header", name.strip(" :").lower(), whose
        if name.lower() in {"x-powered-by", "x-generator"}:
            for value in plain(str(headers[name])):
                yield "value", value_shape(value), "software"
    generator = (told.get("meta") or {}).get("generator") or ()
    for pattern in [generator] if isinstance(generator, str) else generator:
        for value in plain(str(pattern)):
            yield "value", value_shape(value), "software"
    for name in told.get("cookies") or {}:
        for one in plain(name):
            yield "cookie", cookie_shape(one), "software"


def document(found: Sequence[tuple[str, str, str, str]], source: str, dated: str, at_least: Mapping[str, int] = LEAST) -> str:
    """The file's text: one row a line. Raises `InputError` if the list is too short to be the list."""
    for of, least in at_least.items():
        count = sum(row[0] == of for row in found)
        if count < least:
            raise InputError(f"only {count} rows of the kind {of!r}, and at least {least} are expected: is the list complete?")
    lines = ",\n".join(json.dumps(row, ensure_ascii=False) for row in found)
    about = (
        "Names of headers, cookies and products that fingerprint lists know as an edge's, a hoster's or software's: [what, its "
        "name, whose, by which technology]. Made by tools/make_software.py."
    )
    head = f'"about": {json.dumps(about)},\n"source": {json.dumps(source)},\n"dated": {json.dumps(dated)}'
    return f'{{\n{head},\n"rows": [\n{lines}\n]\n}}\n'


def read(directory: Path) -> tuple[dict[str, Any], dict[str, str]]:
    """Technologies and categories of the files of a directory. Raises `InputError` where a file has another form."""
    technologies: dict[str, Any] = {}
    categories: dict[str, str] = {}
    for path in sorted(directory.glob("*.json")):
        told = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(told, dict) or not all(isinstance(one, dict) for one in told.values()):
            raise InputError(f"{path} is not a dict of dicts")
        if path.name == "categories.json":
            categories = {number: str(one["name"]) for number, one in told.items()}
        else:
            technologies |= told
    if not categories:
        raise InputError(f"{directory} has no categories.json")
    return technologies, categories


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--source", required=True, help="the address of the list")
    parser.add_argument("--dated", required=True, help="how old it is: 2026-08")
    parser.add_argument("--to", type=Path, default=TARGET)
    given = parser.parse_args(arguments)
    try:
        text = document(rows(*read(given.directory)), given.source, given.dated)
    except InputError as error:
        print(f"refused: {error}", file=sys.stderr)
        return 1
    given.to.write_text(text, encoding="utf-8")
    print(f"{given.to}: {text.count(chr(10)) - 7} rows")
    return 0


if __name__ == "__main__":
    sys.exit(main())
