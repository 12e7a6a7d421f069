"""How fast texts are read, in MB (10^6 bytes) per second of processor time; and the slowest of them."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.redacting.corpora import Clean, cut
from benchmarks.redacting.pages import listings, with_images
from benchmarks.redacting.peers import PEERS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from random import Random

    from scrapy_polite.redaction import Redactor

__all__ = ["Speed", "asked", "corpora", "measured", "rate"]

# A short document says more of the clock than of itself: its time counts as that of so many characters.
_SHORTEST = 50_000
_WORST_PER = 250_000


@dataclass(frozen=True, slots=True)
class Speed:
    """`rate`: MB per second; `worst`: milliseconds per 250 KB of the slowest text, each at its best of the rounds."""

    rate: float
    worst: float


def corpora(random: Random, texts: Sequence[Clean], megabytes: float) -> dict[str, list[str]]:
    """Four sorts of text, of the clean ones an even sample of about so many MB."""
    pages = max(2, int(megabytes * 10))
    found = {"listing": listings(random, pages), "html": [], "js": [], "base64": with_images(random, max(2, pages // 4))}
    for kind in ("html", "js"):
        pieces = cut(text.text for text in texts if text.kind == kind)
        random.shuffle(pieces)
        size = 0
        for piece in pieces:
            if size > megabytes * 1e6:
                break
            found[kind].append(piece)
            size += len(piece)
    return found


def measured(redactor: Redactor, texts: Sequence[str], rounds: int) -> Speed:
    """The best of the rounds, over all texts and for each."""
    best = [float("inf")] * len(texts)
    whole = float("inf")
    for _ in range(rounds):
        total = 0.0
        for number, text in enumerate(texts):
            begun = time.process_time()
            redactor.text(text)
            taken = time.process_time() - begun
            total += taken
            best[number] = min(best[number], taken)
        whole = min(whole, total)
    worst = max(taken * _WORST_PER / max(len(text), _SHORTEST) for taken, text in zip(best, texts, strict=True))
    return Speed(sum(len(text.encode()) for text in texts) / 1e6 / whole, worst * 1e3)


def asked(python: Path | None, job: Mapping[str, object]) -> dict[str, dict[str, Any]]:
    """What each peer answers that the environment of this Python has; the others with the reason why not, as "missing"."""
    found: dict[str, dict[str, Any]] = {}
    for name in PEERS:
        if python is None:
            found[name] = {"missing": "no environment of the peers was named"}
            continue
        command = [str(python), str(Path(__file__).with_name("peers.py")), name]
        done = subprocess.run(command, input=json.dumps(job), capture_output=True, text=True, check=False)
        if done.returncode:
            found[name] = {"missing": (done.stderr.strip().splitlines() or ["it ended without a word"])[-1]}
        else:
            found[name] = json.loads(done.stdout)
        print(f"{name}: {found[name].get('version', found[name].get('missing'))}", file=sys.stderr, flush=True)
    return found


def rate(peer: Mapping[str, Any], corpus: str) -> float | None:
    """MB per second of this peer on this corpus; None if it was not to be had."""
    run = peer.get("speed", {}).get(corpus)
    return run["bytes"] / 1e6 / run["seconds"] if run and run["seconds"] else None
