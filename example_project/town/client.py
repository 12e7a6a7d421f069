"""Starts a town from a test or a script, and stops it for certain."""

from __future__ import annotations

import contextlib
import json
import os
import select
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from town import arrivals

if TYPE_CHECKING:
    from types import TracebackType

START_SECONDS: Final = 60.0
STOP_SECONDS: Final = 5.0


class TownError(RuntimeError):
    """The town did not start; the message has what it said."""


class Town:
    """``with Town(tmp_path, tenants=4, listings=2) as town:`` runs ``python -m town`` in a process of its own.

    `directory` is made if it is not there. Keyword arguments are the command line's options. The process ends with the
    ``with`` block, and with this process, however that ends. Standard error goes to ``town.err`` in the directory.
    """

    def __init__(self, directory: Path | str, **options: object) -> None:
        self.directory = Path(directory)
        self.options = options
        self.info: dict[str, Any] = {}
        self.process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Town:
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.stop()

    def start(self) -> None:
        """Answers when the town is ready; raises `TownError` if it ends before."""
        self.directory.mkdir(parents=True, exist_ok=True)
        home = str(Path(__file__).resolve().parents[1])
        command = [sys.executable, "-m", "town", "--dir", str(self.directory)]
        for name, value in self.options.items():
            command += [f"--{name.replace('_', '-')}", str(value)]
        path = os.pathsep.join(filter(None, (home, os.environ.get("PYTHONPATH", ""))))
        with self._errors.open("w", encoding="utf-8") as errors:
            self.process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                env={**os.environ, "PYTHONPATH": path},
                cwd=self.directory,
            )
        try:
            self._await_ready(self.process)
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Ends the process, if it still runs; may be called again."""
        process, self.process = self.process, None
        if process is None:
            return
        assert process.stdin is not None
        assert process.stdout is not None
        with contextlib.suppress(OSError):
            process.stdin.close()
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()

    def arrivals(self) -> list[dict[str, Any]]:
        """Every request that has arrived so far, in the order of arrival."""
        return sorted(arrivals.read(self.directory / "arrivals.jsonl"), key=lambda entry: float(str(entry["t"])))

    def queries(self) -> list[dict[str, Any]]:
        """Every DNS question so far."""
        return arrivals.read(self.directory / "dns.jsonl")

    def ground_truth(self) -> dict[str, list[dict[str, str]]]:
        """What must not be left in items: ``{"keys": [...], "personal": [...]}``."""
        truth: dict[str, list[dict[str, str]]] = json.loads((self.directory / "ground_truth.json").read_text(encoding="utf-8"))
        return truth

    @property
    def _errors(self) -> Path:
        return self.directory / "town.err"

    def _await_ready(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        until = time.monotonic() + START_SECONDS
        ready, _, _ = select.select([process.stdout], [], [], until - time.monotonic())
        line = process.stdout.readline() if ready else ""
        if not line.startswith("ready "):
            said = self._errors.read_text(encoding="utf-8").strip()
            raise TownError(f"the town did not start within {START_SECONDS:.0f} s: {said or line.strip() or 'it said nothing'}")
        self.info = json.loads(Path(line.removeprefix("ready ").strip()).read_text(encoding="utf-8"))
