"""The documentation. Build it with `make docs`, or: sphinx-build -W --keep-going -n -b html docs docs/_build/html"""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE / "_ext")]

from scrapy_polite import __version__  # noqa: E402

project = "scrapy_polite"
author = "the scrapy_polite authors"
copyright = author  # noqa: A001
version = release = __version__

extensions = ["myst_parser", "polite_reference"]
exclude_patterns = ["_build"]
nitpicky = True
# Links to headings of a page are checked as well.
myst_heading_anchors = 3
myst_enable_extensions = ["deflist"]

html_theme = "furo"
html_title = f"scrapy_polite {version}"
html_static_path = ["_static"]
html_css_files = ["lines.css"]
html_copy_source = False
html_show_sphinx = False
