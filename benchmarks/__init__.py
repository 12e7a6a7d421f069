"""Measurements, each comparing in one run. See docs/benchmarks.md. What watches crawls is the example project's town."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1] / "example_project"))
