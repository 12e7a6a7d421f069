"""What all tests share: the example project's packages (`town`) can be imported."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "example_project"))

pytest_plugins = ["postgres"]
