"""What the limits cost and how well they are kept. Measured by the town of the example project, among others."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1] / "example_project"))
