"""Clean texts: real pages, scripts and styles that somebody published, in which no key is anybody's.

What the installed wheels bring is always there. What `make bench-redaction` fetches into a folder (documentation packages of
Debian, bundles from npm) is read from there.
"""

from __future__ import annotations

import sysconfig
import tarfile
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["Clean", "clean", "cut"]

_KINDS = {".html": "html", ".htm": "html", ".js": "js", ".mjs": "js", ".cjs": "js", ".css": "css", ".map": "map"}
# Smaller files say little, larger ones are cut; a whole package would be one voice too loud.
_LEAST, _MOST = 1_000, 8_000_000
PIECE = 250_000
# The same file is often in a package twice, and documentation repeats its frame: so many bytes of one package at most.
PER_PACKAGE = 12_000_000


@dataclass(frozen=True, slots=True)
class Clean:
    """One file: the package it is from, its kind (html, js, css, map), its text."""

    package: str
    kind: str
    text: str


def clean(fetched: Path | None, most: int | None = None) -> list[Clean]:
    """All clean files, in the order of their names; at most so many bytes of each kind of each package."""
    taken: dict[tuple[str, str], int] = defaultdict(int)
    seen: set[int] = set()
    found = []
    for package, name, data in _files(fetched):
        kind = _KINDS.get(Path(name).suffix)
        if kind is None or not _LEAST <= len(data) <= _MOST or hash(data) in seen:
            continue
        if taken[package, kind] + len(data) > (PER_PACKAGE if most is None else most):
            continue
        seen.add(hash(data))
        taken[package, kind] += len(data)
        found.append(Clean(package, kind, data.decode("utf-8", "replace")))
    return found


def cut(texts: Iterable[str], size: int = PIECE) -> list[str]:
    """The texts, those that are longer in pieces of this size."""
    return [text[at : at + size] for text in texts for at in range(0, max(len(text), 1), size)]


def _files(fetched: Path | None) -> Iterator[tuple[str, str, bytes]]:
    site = Path(sysconfig.get_paths()["purelib"])
    for path in sorted(site.rglob("*")):
        if path.suffix in _KINDS and path.is_file():
            yield path.relative_to(site).parts[0], path.name, path.read_bytes()
    if fetched is None:
        return
    for root in sorted((fetched / "debian").glob("*/")):
        for path in sorted(root.rglob("*")):
            if path.suffix in _KINDS and path.is_file() and not path.is_symlink():
                yield root.name, path.name, path.read_bytes()
    for archive in sorted((fetched / "npm").glob("*.tgz")):
        with tarfile.open(archive) as bundle:
            for member in bundle:
                file = bundle.extractfile(member) if member.isfile() and Path(member.name).suffix in _KINDS else None
                if file is not None:
                    yield archive.stem.rpartition("-")[0], member.name, file.read()
