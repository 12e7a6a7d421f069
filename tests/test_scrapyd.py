"""The example project on a real Scrapyd: an egg, the documented commands, and jobs that share one store."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from town.client import Town

from scrapy_polite.telemetry.ledger import Ledger, Missed, Sent

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[1]
VENV = Path(os.environ.get("POLITE_SCRAPYD_VENV") or ROOT / ".venv-scrapyd")
MAKE = f"python3 -m venv {VENV} && {VENV}/bin/pip install -e '{ROOT}[all,deploy]'"

RATE = 10.0
WIDTH = 0.05
"""POLITE_SLOT_WIDTH's default."""
STAMP = 0.005
"""How far off the town's stamps may be."""


@contextlib.contextmanager
def alone_at(directory: Path) -> Iterator[None]:
    """One test process at a time."""
    lock = os.open(directory, os.O_RDONLY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


@pytest.fixture(scope="module")
def scrapyd() -> Path:
    """The ``bin`` of an environment that has Scrapyd and this package; made if it is not there."""
    programs = [VENV / "bin" / name for name in ("scrapyd", "scrapyd-deploy")]
    with alone_at(VENV.parent):
        if not all(program.exists() for program in programs):
            try:
                subprocess.run([sys.executable, "-m", "venv", str(VENV)], check=True, capture_output=True, text=True)
                install = [str(VENV / "bin" / "pip"), "install", "-q", "-e", f"{ROOT}[all,deploy]"]
                subprocess.run(install, check=True, capture_output=True, text=True, timeout=240)
            except (OSError, subprocess.SubprocessError) as error:
                shutil.rmtree(VENV, ignore_errors=True)
                said = (getattr(error, "stderr", None) or str(error)).strip().splitlines()[-1]
                pytest.skip(f"Scrapyd's environment is not there and cannot be made ({said}). Make it with: {MAKE}")
    return VENV / "bin"


class Daemon:
    """A Scrapyd of the test's own, to which the example project was deployed."""

    def __init__(self, bin_: Path, folder: Path, environment: dict[str, str]) -> None:
        self.bin, self.home, self.project = bin_, folder / "daemon", folder / "project"
        clean = {name: value for name, value in os.environ.items() if not name.startswith(("SCRAPY", "PYTHON"))}
        self.environment = {**clean, **environment}
        with socket.socket() as sock:
            sock.bind(("127.0.0.1", 0))
            self.port = sock.getsockname()[1]

    def __enter__(self) -> Daemon:
        self.home.mkdir(parents=True)
        conf = f"[scrapyd]\nhttp_port = {self.port}\nbind_address = 127.0.0.1\npoll_interval = 0.2\nmax_proc = 4\n"
        (self.home / "scrapyd.conf").write_text(conf)
        with (self.home / "scrapyd.log").open("w") as log:
            self.process = subprocess.Popen(
                [str(self.bin / "scrapyd"), "--pidfile="], cwd=self.home, env=self.environment, stdout=log, stderr=log
            )
        try:
            self.wait_for(lambda: self.ask("daemonstatus.json")["status"] == "ok")
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()

    def stop(self) -> None:
        """The daemon takes its jobs with it."""
        self.process.terminate()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def deploy(self) -> None:
        """`scrapyd-deploy` in a copy of the example project, as the README says."""
        self.project.mkdir()
        for name in ("agents", "scrapy.cfg", "setup.py"):
            source = ROOT / "example_project" / name
            if source.is_dir():
                shutil.copytree(source, self.project / name, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(source, self.project / name)
        cfg = self.project / "scrapy.cfg"
        cfg.write_text(cfg.read_text().replace("http://localhost:6800/", f"http://127.0.0.1:{self.port}/"))
        done = subprocess.run(
            [str(self.bin / "scrapyd-deploy")],
            cwd=self.project,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        assert '"status": "ok"' in done.stdout, done.stdout + done.stderr

    def ask(self, service: str, data: list[tuple[str, str]] | None = None) -> dict[str, Any]:
        body = urllib.parse.urlencode(data).encode() if data is not None else None
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/{service}", body, timeout=10) as answer:
            found: dict[str, Any] = json.load(answer)
        return found

    def schedule(self, settings: dict[str, str], **arguments: str) -> str:
        """One job; its id."""
        data = [("project", "agents"), ("spider", "agents"), *arguments.items()]
        answer = self.ask("schedule.json", data + [("setting", f"{name}={value}") for name, value in settings.items()])
        assert answer["status"] == "ok", answer
        return str(answer["jobid"])

    def finish(self, jobs: list[str]) -> None:
        self.wait_for(lambda: {job["id"] for job in self.ask("listjobs.json?project=agents")["finished"]} >= set(jobs))

    def log(self, job: str) -> str:
        return (self.home / "logs" / "agents" / "agents" / f"{job}.log").read_text()

    def wait_for(self, met: Any, seconds: float = 120) -> None:
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            with contextlib.suppress(urllib.error.URLError, ConnectionError):
                if met():
                    return
            assert self.process.poll() is None, (self.home / "scrapyd.log").read_text()
            time.sleep(0.1)
        raise AssertionError(f"not within {seconds:g} s: {(self.home / 'scrapyd.log').read_text()}")


@pytest.fixture
def town(tmp_path: Path) -> Iterator[Town]:
    with Town(tmp_path / "town", tenants=7, listings=4, capacity=30, traps="loopback", seconds=280) as town:
        yield town


@pytest.fixture
def daemon(scrapyd: Path, tmp_path: Path, town: Town) -> Iterator[Daemon]:
    with Daemon(scrapyd, tmp_path, {"TOWN": str(town.directory / "town.json")}) as daemon:
        daemon.deploy()
        yield daemon


def of_the_platform(town: Town) -> list[dict[str, Any]]:
    return [site for site in town.info["sites"] if site["inhabitant"] == "platform"]


def test_two_jobs_at_once_share_one_store_and_the_platform_sees_one_rate(daemon: Daemon, town: Town) -> None:
    sites = of_the_platform(town)
    settings = {
        "FEEDS": json.dumps({f"{daemon.home}/%(_job)s.jsonl": {"format": "jsonlines"}}),
        "IMAGES_STORE": "",
        "POLITE_SITE_RATE": "8",
        "POLITE_LIMITS": json.dumps({f"origin:{town.info['platform']['cname']}": {"rate": RATE}}),
    }
    jobs = [
        daemon.schedule(settings, start_urls=",".join(site["start_url"] for site in part)) for part in (sites[::2], sites[1::2])
    ]
    daemon.finish(jobs)

    store = daemon.home / ".scrapy" / "polite" / "limits.sqlite"
    for job in jobs:
        log = daemon.log(job)
        assert f"Store: sqlite:{store}" in log
        assert "scrapy_polite.Addon" in log or "scrapy_polite.addon.Addon" in log
        assert "Disabled" not in log
        assert "'finish_reason': 'finished'" in log, log
        assert (daemon.home / f"{job}.jsonl").read_text().strip()

    arrivals = [one for one in town.arrivals() if one["server"] == "platform"]
    for site in sites:
        pages = {
            one["path"]
            for one in arrivals
            if one["host"].partition(":")[0] == site["host"] and one["kind"] in ("search", "page") and one["status"] == 200
        }
        assert len(pages) == site["pages"], (site, pages)
    assert not [one for one in town.arrivals() if one["server"] == "trap"]
    assert not [one for one in arrivals if one["status"] == 503]

    ledger = list(Ledger.read(store.with_name("limits.ledger.sqlite")))
    runs = [list(Ledger.read(store.with_name("limits.ledger.sqlite"), run=job)) for job in jobs]
    spans = [(min(event.at for event in run), max(event.at for event in run)) for run in runs]
    assert spans[0][0] < spans[1][1], "they ran at the same time"
    assert spans[1][0] < spans[0][1], "they ran at the same time"
    assert len([event for event in ledger if isinstance(event, Sent)]) >= len(arrivals)

    burst = max(one["cost"] for one in arrivals)
    assert worst_window(arrivals, 5.0) <= 1.05 * 5.0 * RATE + burst
    narrow = [
        (after["t"] - before["t"], before["cost"])
        for before, after in pairwise(arrivals)
        if after["t"] - before["t"] < before["cost"] / RATE - WIDTH - STAMP
    ]
    # A slot that was missed (the process was not given the processor) is on the record, and moves one arrival.
    missed = [event for event in ledger if isinstance(event, Missed)]
    assert len(narrow) <= len(missed), narrow


def worst_window(arrivals: list[dict[str, Any]], length: float) -> float:
    """The most units within any half-open window of so many seconds."""
    return max(sum(other["cost"] for other in arrivals[n:] if other["t"] < one["t"] + length) for n, one in enumerate(arrivals))


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ({"POLITE_STORE": "sqlite:/proc/limits.sqlite"}, r"POLITE_STORE.*/proc"),
        ({"POLITE_SITE_RATE": "fast"}, r"POLITE_SITE_RATE = 'fast': accepted is"),
        ({"POLITE_RATE": "1"}, r"POLITE_RATE is not a setting"),
        ({}, r"POLITE_STORE.*\.scrapy"),
    ],
    ids=["no store", "wrong value", "unknown name", "no data directory"],
)
def test_a_job_that_would_not_be_protected_does_not_run(daemon: Daemon, town: Town, setting: dict[str, str], said: str) -> None:
    if not setting:
        (daemon.home / ".scrapy").touch()  # A file where the data directory would be.
    job = daemon.schedule({"FEEDS": "{}", **setting}, start_urls=of_the_platform(town)[0]["start_url"])
    daemon.finish([job])
    log = daemon.log(job)
    assert re.search(f"ValueError: .*{said}", log), log
    assert "Spider opened" not in log
    assert town.arrivals() == []
    assert town.queries() == []
    assert not (daemon.home / ".scrapy").is_dir()
