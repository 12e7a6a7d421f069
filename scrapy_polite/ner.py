"""Names and postal addresses, found by a language model in processes of their own, with limits.

A model reads a few tens of kilobytes a second and would hold the crawl up for as long; so it runs elsewhere, is asked for one
text at a time, and is ended where it takes too long over one. What it has not looked through is dropped like whatever else
could not be checked.
"""

from __future__ import annotations

import importlib.util
import json
import logging
import os
import socket
import subprocess
import sys
from dataclasses import dataclass
from multiprocessing.connection import Connection
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, Final

from scrapy_polite import nerwork
from scrapy_polite.nerwork import KINDS, READY

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from scrapy_polite.nerwork import Span

__all__ = ["KINDS", "NamePool", "NerOptions", "ner_from"]

logger = logging.getLogger(__name__)

LOADING: Final = 120.0
"""Seconds that a model may take to load."""

INSTALL: Final = "pip install 'scrapy-polite[ner]'"


@dataclass(frozen=True, slots=True)
class NerOptions:
    """What POLITE_NER says."""

    model: str
    """A package with a model of spaCy's, or `package.module:function`, which makes a recogniser for a language."""
    language: str = "en"
    processes: int = 1
    max_characters: int = 20_000
    """Of one text; a longer one is not looked through, and so is dropped."""
    timeout: float = 5.0
    """Seconds for one text."""


_NUMBERS: Final[Mapping[str, tuple[float, float]]] = {
    "processes": (1, 64),
    "max_characters": (1, 1_000_000),
    "timeout": (0.01, 600),
}


def ner_from(value: object) -> NerOptions | None:
    """The options that a value of POLITE_NER stands for; None for None (off). Raises ValueError that names what is wrong."""
    if value is None or value == "":
        return None
    if isinstance(value, str):
        value = {"model": value}
    if not isinstance(value, dict) or not isinstance(value.get("model"), str) or not value["model"]:
        raise ValueError(f"POLITE_NER = {value!r}: accepted is None, the name of a model, or a dict with a 'model'")
    if unknown := sorted(set(map(str, value)) - set(NerOptions.__slots__)):
        raise ValueError(f"POLITE_NER: unknown is {', '.join(unknown)}; known are {', '.join(NerOptions.__slots__)}")
    if not isinstance(value.get("language", "en"), str):
        raise ValueError(f"POLITE_NER: 'language' is {value['language']!r}, no code such as 'en'")
    for name, (low, high) in _NUMBERS.items():
        number = value.get(name, low)
        whole = name == "timeout" or isinstance(number, int)
        if isinstance(number, bool) or not isinstance(number, (int, float)) or not whole or not low <= number <= high:
            raise ValueError(f"POLITE_NER: {name!r} is {number!r}; accepted is a number from {low} to {high}")
    return NerOptions(**value)


def require_packages(options: NerOptions) -> None:
    """Raises ValueError that says what to install, if something is missing."""
    needed = [options.model.partition(":")[0]]
    if ":" not in options.model:
        needed += ["presidio_analyzer", "spacy"]
    missing = [name for name in needed if not _installed(name)]
    if missing:
        raise ValueError(
            f"POLITE_NER = {options.model!r}: not installed: {', '.join(missing)}. The extra [ner] brings Presidio and spaCy "
            f"({INSTALL}); the model is a package of its own, which is never downloaded by a crawl"
        )


def _installed(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except (ImportError, ValueError):
        return False


class NamePool:
    """Processes that look texts through. Use it from threads, each of which may wait for an answer; `close` it at the end.

    Raises ValueError if a package is missing. The processes start at the first text.
    """

    def __init__(self, options: NerOptions) -> None:
        require_packages(options)
        self.options = options
        self._workers: SimpleQueue[_Worker] = SimpleQueue()
        for _ in range(options.processes):
            self._workers.put(_Worker(options))
        self._all = options.processes

    def spans(self, texts: Iterable[str]) -> dict[str, list[Span] | None]:
        """What is in each of them; None for one that could not be looked through: too long, too slow, or an error."""
        worker = self._workers.get()
        try:
            return {
                text: worker.ask(text) if len(text) <= self.options.max_characters else None for text in dict.fromkeys(texts)
            }
        finally:
            self._workers.put(worker)

    def close(self) -> None:
        """End the processes; what is being looked through is not waited for longer than its time."""
        for _ in range(self._all):
            self._workers.get().end()
        self._all = 0


class _Worker:
    """One process, started when it is needed, and started anew after it was ended over a text."""

    def __init__(self, options: NerOptions) -> None:
        self._options = options
        self._process: subprocess.Popen[bytes] | None = None
        self._connection: Connection | None = None
        self._told = False

    def ask(self, text: str) -> list[Span] | None:
        try:
            connection = self._connection or self._start()
            connection.send_bytes(text.encode("utf-8", "surrogatepass"))
            answer = self._said(self._options.timeout)
            if isinstance(answer, list):
                return [(kind, start, end) for kind, start, end in answer]
            if answer is not None:
                self._tell(f"an error ({answer})")
                return None
            self._tell(f"more than {self._options.timeout} s")
        except (OSError, EOFError, ValueError) as error:
            # Its process is gone, or it does not start; never the text.
            self._tell(str(error) if isinstance(error, _NotStartedError) else f"a process that ended ({type(error).__name__})")
        self.end()
        return None

    def _start(self) -> Connection:
        # A fork would copy a reactor with its threads, and `multiprocessing` would run the script that started the crawl.
        ours, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(  # noqa: S603  (our own module, and a model that the settings name)
                [sys.executable, "-m", nerwork.__name__, str(theirs.fileno()), self._options.model, self._options.language],
                env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
                pass_fds=(theirs.fileno(),),
                # A library may warn of a text by quoting it.
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
        self._connection = Connection(ours.detach())
        said = self._said(LOADING) or f"it is not ready after {LOADING:.0f} s"
        if said != READY:
            raise _NotStartedError(f"a model that does not load ({said})")
        return self._connection

    def _said(self, seconds: float) -> Any:
        """What the process answers; None if it does not in this time. Raises EOFError or OSError if it is gone."""
        assert self._connection is not None
        return json.loads(self._connection.recv_bytes()) if self._connection.poll(seconds) else None

    def _tell(self, why: str) -> None:
        if not self._told:
            self._told = True
            logger.warning("POLITE_NER: a text was not looked through for names, and its field is dropped: %s", why)

    def end(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None


class _NotStartedError(OSError):
    pass
