"""What the crawl brought home: items, what must not be in them, and images. Pure but for the readers at the end."""

from __future__ import annotations

import html
import json
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote, urlsplit

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

SIZES: Final = ("small", "thumb")
"""The sizes that the settings ask for."""


def texts(value: object) -> Iterator[str]:
    """Every text in a value as JSON has it, names of fields included."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for name, inner in value.items():
            yield name
            yield from texts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from texts(inner)


def left_in(items: Iterable[Mapping[str, Any]], values: Iterable[str]) -> list[str]:
    """Those of `values` that are anywhere in the items: as they are, in HTML's or JSON's escapes, or in a URL's."""
    heap = "\n".join(text for item in items for text in texts(item))
    forms = {heap, html.unescape(heap), unquote(heap), html.unescape(heap.replace("\\u0026", "&").replace("\\/", "/"))}
    return sorted(value for value in set(values) if any(value in form for form in forms))


def missing_listings(items: Iterable[Mapping[str, Any]], sites: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    """Sites of which listings are missing among the items: host -> how many."""
    got = Counter(urlsplit(url).hostname for url in {str(item.get("url")) for item in items})
    return {site["host"]: left for site in sites if (left := site["listings"] - got[site["host"]]) > 0}


@dataclass(frozen=True, slots=True)
class Images:
    """Photographs that were made in all their sizes, out of those that there are; bytes of all files."""

    made: int
    wanted: int
    files: int
    bytes: int


def images_of(items: Sequence[Mapping[str, Any]], stored: Mapping[str, int], sites: Iterable[Mapping[str, Any]]) -> Images:
    """Count an image if its original and both sizes are in the store. `stored`: path in the store -> bytes."""
    whole = {(path.partition("/")[0], stem(path)) for path, size in stored.items() if size and path.startswith("full/")}
    sized = {(path.split("/")[1], stem(path)) for path, size in stored.items() if size and path.startswith("thumbs/")}
    paths = {image["path"] for item in items for image in item.get("images", ()) if image.get("path")}
    made = [path for path in paths if ("full", stem(path)) in whole and all((size, stem(path)) in sized for size in SIZES)]
    return Images(len(made), sum(site["images"] for site in sites), len(stored), sum(stored.values()))


def stem(path: str) -> str:
    return path.rpartition("/")[2].partition(".")[0]


def read_lines(path: Path) -> list[dict[str, Any]]:
    """The objects of a file of JSON lines; none if there is no such file. A last line that is not whole is left out."""
    if not path.exists():
        return []
    with path.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines if line.endswith("\n")]


def read_store(root: Path) -> dict[str, int]:
    """Every file below the images store, by its path in it, and its bytes."""
    return {path.relative_to(root).as_posix(): path.stat().st_size for path in root.rglob("*") if path.is_file()}
