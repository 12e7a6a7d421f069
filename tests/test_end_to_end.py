"""The main job, run as a newcomer runs it, on a small town; judged by the town's own log as well as by the ledger.

What depends on how busy this machine is (the smallest gap to a few milliseconds, the share of the rate) is for the demo; here
it is judged with a bound that a loaded machine keeps, and everything else exactly.
"""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from loopback import ROOT

if TYPE_CHECKING:
    from pathlib import Path

TIMED = {
    "smallest gap at the platform",
    "rate kept at the platform",
    "rate kept at the slow server",
    "promises broken by the ledger",
}
PROMISES = {
    "the crawl ended by itself",
    "sites crawled to their end",
    "trap hits",
    "requests inside a hold",
    "worst 10 s at the platform",
    "503s caused at the platform",
    "503s caused at the server with a knee",
    "left in items",
    "images made",
    "arrived without a slot",
    "the platform's sites share one key",
}


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    directory: Path = tmp_path_factory.mktemp("demo")
    proof = directory / "proof.json"
    done = subprocess.run(
        [
            sys.executable,
            "demo.py",
            *("--tenants", "6", "--listings", "1", "--capacity", "15", "--dir", str(directory / "run"), "--json", str(proof)),
        ],
        cwd=ROOT / "example_project",
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert proof.exists(), done.stdout + done.stderr
    found: dict[str, Any] = json.loads(proof.read_text())
    assert done.returncode == (0 if found["passed"] else 1)
    assert done.stdout.rstrip().splitlines()[-1].startswith("PASS" if found["passed"] else "FAIL")
    return found


def test_every_promise_is_kept_on_a_town(report: dict[str, Any]) -> None:
    checks = {check["name"]: check for check in report["checks"]}
    assert set(checks) == PROMISES | TIMED
    broken = [f"{name}: {checks[name]['said']}" for name in sorted(PROMISES) if not checks[name]["passed"]]
    assert broken == []


def test_every_inhabitant_was_visited_and_the_two_witnesses_agree(report: dict[str, Any]) -> None:
    servers = {origin["server"]: origin for origin in report["origins"]}
    assert {
        "platform",
        "lone",
        "crawl-delay",
        "busy-seconds",
        "busy-date",
        "down",
        "challenge",
        "knee",
        "slow",
        "cdn",
        "bucket",
    } <= set(servers)
    platform = servers["platform"]
    assert platform["key"] == "origin:sites.hearth-platform.example"
    assert platform["ledger"]["requests"] == platform["town"]["requests"]
