"""Personal data in labelled sentences: spans found exactly, spans touched, and what was found where nothing is labelled."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from scrapy_polite.redaction import Redactor

__all__ = ["LABELS", "Score", "Sentence", "ours", "scored", "sentences"]

SENTENCES = Path(__file__).resolve().parents[1] / "data" / "presidio_research.json"

LABELS: dict[str, str] = {
    "EMAIL_ADDRESS": "email*",
    "PHONE_NUMBER": "phone*",
    "CREDIT_CARD": "*card*",
    "IBAN_CODE": "iban*",
    "IP_ADDRESS": "ip*",
    "US_SSN": "*ssn*",
}
"""The labels of the sentences that stand in texts by their shape, and which of our kinds they are."""

Span = tuple[str, int, int]


@dataclass(frozen=True, slots=True)
class Sentence:
    text: str
    spans: tuple[Span, ...]


@dataclass(slots=True)
class Score:
    """Of one label: labelled spans, those found to the character, those touched; spans found, those that touch none."""

    label: str
    labelled: int = 0
    exact: int = 0
    touched: int = 0
    found: int = 0
    false: int = 0

    def row(self) -> dict[str, Any]:
        return asdict(self)


def sentences() -> list[Sentence]:
    """The labelled sentences (benchmarks/data/README.md says whose)."""
    rows = json.loads(SENTENCES.read_text(encoding="utf-8"))
    return [
        Sentence(
            row["full_text"],
            tuple((span["entity_type"], span["start_position"], span["end_position"]) for span in row["spans"]),
        )
        for row in rows
    ]


def ours(redactor: Redactor, texts: Iterable[Sentence]) -> list[list[Span]]:
    """What this redactor finds, under the labels of the sentences."""
    found = []
    for sentence in texts:
        spans = []
        for finding in redactor.text(sentence.text).findings:
            label = next((label for label, kinds in LABELS.items() if fnmatchcase(finding.kind, kinds)), finding.kind)
            spans.append((label, finding.start, finding.end))
        found.append(spans)
    return found


def scored(texts: Sequence[Sentence], found: Sequence[Sequence[Span]]) -> list[Score]:
    """A score for each label that is told by its shape. A span counts as touched whatever name it was found under."""
    scores = {label: Score(label) for label in LABELS}
    for sentence, spans in zip(texts, found, strict=True):
        for label, start, end in sentence.spans:
            score = scores.get(label)
            if score is not None:
                score.labelled += 1
                score.exact += any((start, end) == (s, e) for _, s, e in spans)
                score.touched += any(s < end and start < e for _, s, e in spans)
        for label, start, end in spans:
            score = scores.get(label)
            if score is not None:
                score.found += 1
                score.false += not any(s < end and start < e for _, s, e in sentence.spans)
    return list(scores.values())
