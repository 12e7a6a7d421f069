"""What runs in a process of its own: finds names and postal addresses in texts, and knows nothing of the crawl.

`recogniser` makes the function that is asked, with Presidio and a model of spaCy's (https://microsoft.github.io/presidio/).
Nothing is ever downloaded: Presidio would fetch a model that is missing.
"""

from __future__ import annotations

import importlib
import json
import re
import sys
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__all__ = ["KINDS", "Recogniser", "Span", "addresses", "recogniser", "work"]

Span = tuple[str, int, int]
"""A kind, and where it begins and ends."""

KINDS: Final = ("name", "postal-address")

READY: Final = "ready"

# What makes an address of a place: the number of a house before it, or a postal code behind it.
_BEFORE = re.compile(
    r"(?:\b(?:flat|unit|apt\.?|suite)\s{1,3}\w{1,5},?\s{1,3})?\b\d{1,5}[A-Za-z]?,?\s{1,3}(?:[^\W\d]\S{0,30}\s{1,3}){0,4}[^\W\d]*,?\s{0,3}\Z",
    re.IGNORECASE,
)
_BEHIND = re.compile(
    # With a state before it, five digits, and as in the United Kingdom.
    r",?\s{0,3}(?:[A-Z]{2}\s{1,2}\d{5}(?:-\d{4})?|\d{5}(?:-\d{4})?|[A-Z]{1,2}\d[A-Z\d]?\s?\d[A-Z]{2})\b"
)
_NEXT = re.compile(r",?\s{1,3}")


class Recogniser:
    """A model, asked for one text after another."""

    def __init__(self, model: str, language: str) -> None:
        from presidio_analyzer import AnalyzerEngine, RecognizerRegistry
        from presidio_analyzer.nlp_engine import NlpEngineProvider
        from presidio_analyzer.predefined_recognizers import SpacyRecognizer

        models = [{"lang_code": language, "model_name": model}]
        engine = NlpEngineProvider(nlp_configuration={"nlp_engine_name": "spacy", "models": models}).create_engine()
        # Names alone: numbers and the like are found by the rules, a thousand times faster.
        registry = RecognizerRegistry(supported_languages=[language])
        registry.add_recognizer(SpacyRecognizer(supported_language=language))
        self._analyzer = AnalyzerEngine(nlp_engine=engine, registry=registry, supported_languages=[language])
        self._language = language

    def __call__(self, text: str) -> list[Span]:
        """The names, and the places that are addresses, in order."""
        found = self._analyzer.analyze(text=text, language=self._language, entities=["PERSON", "LOCATION"])
        names = [("name", one.start, one.end) for one in found if one.entity_type == "PERSON"]
        places = sorted((one.start, one.end) for one in found if one.entity_type == "LOCATION")
        return sorted([*names, *addresses(text, places)], key=lambda span: span[1])


def addresses(text: str, places: Iterable[tuple[int, int]]) -> list[Span]:
    """Those of the places (spans, in order) that are a postal address, with the number, the street and the code that belong to
    them. A town alone is none."""
    joined: list[tuple[int, int]] = []
    for start, end in places:
        if joined and _NEXT.fullmatch(text, joined[-1][1], start):
            joined[-1] = joined[-1][0], end
        else:
            joined.append((start, end))
    found: list[Span] = []
    for start, end in joined:
        before = _BEFORE.search(text, max(0, start - 120), start)
        behind = _BEHIND.match(text, end)
        if before or behind:
            found.append(("postal-address", before.start() if before else start, behind.end() if behind else end))
    return found


def recogniser(model: str, language: str) -> Callable[[str], list[Span]]:
    """What `model` names: a function that makes one, as `package.module:function`, or a model of spaCy's."""
    module, colon, name = model.partition(":")
    if colon:
        made: Callable[[str], list[Span]] = getattr(importlib.import_module(module), name)(language)
        return made
    return Recogniser(model, language)


def work(connection: Connection, model: str, language: str) -> None:
    """Answer texts (UTF-8) until there are no more, by JSON: a list of spans, or a text that says what went wrong. Of an
    error over a text that is the name of its type alone, as its message may quote the text."""
    try:
        ask = recogniser(model, language)
    except Exception as error:
        connection.send_bytes(json.dumps(f"{type(error).__name__}: {error}").encode())
        return
    connection.send_bytes(json.dumps(READY).encode())
    while True:
        try:
            text = connection.recv_bytes().decode("utf-8", "surrogatepass")
        except (EOFError, OSError):
            return
        try:
            answer: list[Span] | str = ask(text)
        except Exception as error:
            answer = type(error).__name__
        connection.send_bytes(json.dumps(answer).encode())


if __name__ == "__main__":
    work(Connection(int(sys.argv[1])), *sys.argv[2:4])
