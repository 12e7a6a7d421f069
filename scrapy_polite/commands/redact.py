"""``scrapy polite redact``: keys and personal data taken out of a file, or of standard input, with bounded memory."""

from __future__ import annotations

import codecs
import json
import os
import sys
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Final

from scrapy_polite.commands.lines import delivered
from scrapy_polite.redaction import Redactor
from scrapy_polite.redaction.engine import DROPPED_TEXT
from scrapy_polite.redaction.leaves import looks_like_json
from scrapy_polite.redaction.pieces import redacted_pieces
from scrapy_polite.redaction.policy import PROVIDERS
from scrapy_polite.redaction.structured import StructuredRedactor
from scrapy_polite.settings import BY_NAME

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterable, Iterator

    from scrapy.settings import BaseSettings

    from scrapy_polite.redaction import Policy, Result

__all__ = ["add_options", "run"]

STDIN: Final = "-"

CHUNK: Final = 1 << 16
"""Octets that are read at once."""

WHOLE: Final = 8 * 1024 * 1024
"""Characters of an input, or of a line of it, that is read as a whole and by its structure. What is longer is read as text."""

WIDE: Final = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", nargs="?", default=STDIN, metavar="FILE", help="`-`, or none: standard input")
    parser.add_argument(
        "--policy", metavar="POLICY", help="a preset's name or JSON as for POLITE_REDACT; without it, what POLITE_REDACT says"
    )
    parser.add_argument("--kinds", action="store_true", help="list the kinds that are known, and read nothing")
    parser.add_argument("--field", default="", metavar="FIELD", help="the field that it is the text of, for a policy by field")


def run(settings: BaseSettings, options: argparse.Namespace) -> int:
    """0 if all of it was checked, 1 if a part was not and is left out; whether something was found plays no role."""
    policy = _policy(settings, options.policy)
    if options.kinds:
        return delivered(_kinds(policy, options.field, as_json=options.json))
    redactor = StructuredRedactor(Redactor.from_policy(policy))
    good = True

    def answers() -> Iterator[bytes]:
        nonlocal good
        with _opened(options.file) as read:
            encoding, errors, chunks = _decoded(read)
            for result in _results(redactor, chunks, options.field):
                if result.dropped not in (None, "policy"):
                    good = False
                    sys.stderr.write(f"A part of it could not be checked, and is left out: {result.dropped}\n")
                if not options.json:
                    yield result.text.encode(encoding, errors)
                    continue
                for one in result.findings:
                    found = {"kind": one.kind, "start": one.start, "end": one.end, "action": one.action}
                    yield f"{json.dumps(found)}\n".encode()

    ended = delivered(answers())
    return ended or (0 if good else 1)


def _kinds(policy: Policy, field: str, *, as_json: bool) -> Iterator[bytes]:
    """Every kind that the policy may name, and what it does with it in this field."""
    own = {rule.kind: rule.provider for rule in policy.rules}
    for kind, exposure in policy.kinds.items():
        row = {"kind": kind, "exposure": exposure, "provider": own.get(kind) or PROVIDERS.get(kind, "any")}
        row["action"] = policy.action(field, kind)
        yield f"{json.dumps(row) if as_json else '{kind:32}  {exposure:12}  {action:8}  {provider}'.format(**row)}\n".encode()


def _policy(settings: BaseSettings, given: str | None) -> Policy:
    policy: Policy | None = BY_NAME["POLITE_REDACT"].value(settings if given is None else {"POLITE_REDACT": given})
    if policy is None:
        raise ValueError("POLITE_REDACT is None here, so nothing would be redacted: give --policy, such as --policy secrets")
    return policy


@contextmanager
def _opened(path: str) -> Iterator[Callable[[int], bytes]]:
    """A function that reads at most so many octets, and none at the end."""
    if path == STDIN:
        if sys.stdin is None:
            raise ValueError("-: there is no standard input to read from")
        yield partial(os.read, sys.stdin.fileno())
        return
    try:
        file = Path(path).open("rb")  # noqa: SIM115  (closed below)
    except OSError as error:
        raise ValueError(f"{path}: cannot be read ({error.strerror}). Give a file that this user may read") from None
    with file:
        yield file.read


def _decoded(read: Callable[[int], bytes]) -> tuple[str, str, Iterator[str]]:
    """The encoding and how errors in it are kept, and the text: UTF-8 with whatever else is in it, or what the byte order
    mark says."""
    first = read(CHUNK)
    while first and len(first) < len(codecs.BOM_UTF32_LE) and (more := read(CHUNK)):
        first += more
    encoding = next((name for mark, name in WIDE if first.startswith(mark)), "utf-8")
    errors = "surrogateescape" if encoding == "utf-8" else "surrogatepass"
    decoder = codecs.getincrementaldecoder(encoding)(errors)

    def texts() -> Iterator[str]:
        chunk = first
        try:
            while chunk:
                yield decoder.decode(chunk)
                chunk = read(CHUNK)
            yield decoder.decode(b"", final=True)
        except UnicodeDecodeError as error:
            raise ValueError(f"it begins as {encoding} and is not: {error.reason}. What came before is written") from None

    return encoding, errors, texts()


def _results(redactor: StructuredRedactor, chunks: Iterable[str], field: str) -> Iterator[Result]:
    """One for all of a short input; for a longer one, one a line if its lines are JSON, else one a piece. Also one that is
    dropped has the text that is to be written."""
    source = iter(chunks)
    held: list[str] = []
    length = 0
    for chunk in source:
        held.append(chunk)
        length += len(chunk)
        if length > WHOLE:
            break
    else:
        yield _written(redactor.text("".join(held), field))
        return
    beginning = "".join(held)
    line, _, _ = beginning.partition("\n")
    rest = _again(beginning, source)
    if line.strip() == "[" or looks_like_json(line):
        yield from _by_line(redactor, rest, field)
    else:
        yield from map(_written, redacted_pieces(redactor.redactor, rest, field))


def _written(result: Result, instead: str = DROPPED_TEXT, behind: str = "") -> Result:
    return replace(result, text=(instead if result.dropped else result.text) + behind)


def _again(beginning: str, source: Iterator[str]) -> Iterator[str]:
    for at in range(0, len(beginning), CHUNK):
        yield beginning[at : at + CHUNK]
    yield from source


def _by_line(redactor: StructuredRedactor, chunks: Iterable[str], field: str) -> Iterator[Result]:
    """JSON Lines, or the array that Scrapy's feeds write: an object a line, with a comma behind it."""
    offset = 0

    def counted(lines: Iterable[str]) -> Iterator[str]:
        nonlocal offset
        for line in lines:
            yield line
            offset += len(line)

    # What stands between is one text: a key may go over several lines.
    for json_lines, some in groupby(_lines(chunks), key=_may_be_json):
        if not json_lines:
            since = offset
            for result in redacted_pieces(redactor.redactor, counted(some), field):
                yield _written(_moved(result, since))
            continue
        for line in counted(some):
            body = line.rstrip().removesuffix(",")
            yield _written(_moved(redactor.text(body, field), offset), f'"{DROPPED_TEXT}"', line[len(body) :])


def _may_be_json(line: str) -> bool:
    return looks_like_json(line.rstrip().removesuffix(","))


def _moved(result: Result, by: int) -> Result:
    return replace(result, findings=tuple(replace(one, start=one.start + by, end=one.end + by) for one in result.findings))


def _lines(chunks: Iterable[str]) -> Iterator[str]:
    """Lines with their ends; one that is longer than `WHOLE` in parts of that length, which are no JSON."""
    held: list[str] = []
    length = 0
    for chunk in chunks:
        *ended, begun = chunk.split("\n")
        for part in ended:
            yield "".join([*held, part, "\n"])
            held, length = [], 0
        held.append(begun)
        length += len(begun)
        if length > WHOLE:
            raise ValueError(f"a line has more than {WHOLE:,} characters, which no JSON line has: give it as another file")
    if length:
        yield "".join(held)
