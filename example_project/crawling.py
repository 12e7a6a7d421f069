"""One crawl of the town in a process of its own, with a directory of its own for everything that it writes."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from judging.arrivals import arrivals_from
from judging.harvest import read_lines, read_store
from proof import Evidence

from scrapy_polite.telemetry.ledger import Ledger

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from types import TracebackType

    from town.client import Town

    from scrapy_polite.telemetry.events import Event

PROJECT: Final = Path(__file__).resolve().parent
GRACE: Final = 6.0
"""Seconds that a crawl has to end by itself once it is told to."""
KEPT: Final = 3600.0
"""Seconds that the files of an old run stay."""

CLOSED: Final = re.compile(r"Spider closed \((\w+)\)")
"""How Scrapy's engine says in the log that it is done, and why."""

DATADIR: Final = "[datadir]\ndefault = {}\n"
"""A scrapy.cfg of the user's that says where Scrapy keeps its data: the project's own stays as it is."""


def new_directory(name: str, inside: Path | None = None) -> Path:
    """A fresh directory for one run. Those of runs that are long over are removed."""
    home = inside or PROJECT / "out"
    home.mkdir(parents=True, exist_ok=True)
    (home / ".gitignore").write_text("*\n", encoding="utf-8")
    for old in home.glob(f"{name}-*"):
        with contextlib.suppress(OSError):
            if time.time() - old.stat().st_mtime > KEPT:
                shutil.rmtree(old)
    return Path(tempfile.mkdtemp(prefix=f"{name}-", dir=home))


class Crawl:
    """`with Crawl(town, directory) as crawl:` runs `scrapy crawl agents` in `project`; it ends with the block at the latest.

    `settings` are those of the command line. The store is the default one, in a data directory of this run alone.
    """

    def __init__(
        self, town: Town, directory: Path, project: Path = PROJECT, settings: Mapping[str, object] | None = None
    ) -> None:
        self.town = town
        self.directory = directory
        self.project = project
        self.settings = settings or {}
        self.stopped = False

    @property
    def log(self) -> Path:
        return self.directory / "crawl.log"

    def __enter__(self) -> Crawl:
        self.directory.mkdir(parents=True, exist_ok=True)
        (self.directory / "scrapy.cfg").write_text(DATADIR.format(self.directory / "data"), encoding="utf-8")
        environment = {name: value for name, value in os.environ.items() if not name.startswith("SCRAPY_")}
        environment |= {
            "TOWN": str(self.town.directory / "town.json"),
            "XDG_CONFIG_HOME": str(self.directory),
            "PYTHONPATH": str(self.project),
        }
        feeds = {str(self.directory / "items.jsonl"): {"format": "jsonlines"}}
        settings = {
            # Not by -O: that would write the project's own feed as well, and two runs at once would share it.
            "FEEDS": json.dumps(feeds),
            "IMAGES_STORE": self.directory / "images",
            "LOG_FILE": self.log,
            "PROGRESS_FILE": self.directory / "progress.json",
            "TRIPWIRE_FILE": self.directory / "tripwire.jsonl",
            **self.settings,
        }
        command = [sys.executable, "-m", "scrapy", "crawl", "agents"]
        for name, value in settings.items():
            command += ["-s", f"{name}={value}"]
        with (self.directory / "crawl.err").open("wb") as errors:
            # A session of its own: Ctrl-C comes to us alone, and we end the crawl in good order.
            self.process = subprocess.Popen(
                command,
                cwd=self.project,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=errors,
                stderr=errors,
                start_new_session=True,
            )
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.stop()

    def running(self) -> bool:
        return self.process.poll() is None

    def stop(self) -> None:
        """End it: in good order if it can within `GRACE`, else at once."""
        if not self.running():
            return
        self.stopped = True
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(GRACE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def progress(self) -> dict[str, Any]:
        """What the crawl last said about itself; empty before it said anything."""
        try:
            status: dict[str, Any] = json.loads((self.directory / "progress.json").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return status

    def ended(self) -> str:
        """How it ended: Scrapy's reason if it ended by itself."""
        if self.stopped:
            return "stopped"
        if self.process.returncode:
            return f"scrapy ended with status {self.process.returncode}"
        said = self.log.read_text(encoding="utf-8", errors="replace") if self.log.exists() else ""
        reason = CLOSED.search(said)
        return reason[1] if reason else "scrapy ended without a word"

    def complaint(self, lines: int = 12) -> str:
        """The last of what it said, for a crawl that did not work out."""
        said: list[str] = []
        for path in (self.directory / "crawl.err", self.log):
            if path.exists():
                said += path.read_text(encoding="utf-8", errors="replace").splitlines()[-lines:]
        return "\n".join(said)

    def evidence(self) -> Evidence:
        """All that is known about it, to be judged."""
        store = self.directory / "images"
        return Evidence(
            facts=self.town.info,
            truth=self.town.ground_truth(),
            arrivals=arrivals_from(self.town.arrivals()),
            events=tuple(self._events()),
            tripwire=read_lines(self.directory / "tripwire.jsonl"),
            items=read_lines(self.directory / "items.jsonl"),
            stored=read_store(store) if store.exists() else {},
            ended=self.ended(),
        )

    def _events(self) -> Iterable[Event]:
        path = self.directory / "data" / "polite" / "limits.ledger.sqlite"
        return Ledger.read(path) if path.exists() else ()
