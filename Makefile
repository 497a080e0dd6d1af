# Everything a newcomer needs: `make demo` and `make test`. `make help` lists the rest.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
OUT    ?= demo

# The demo and the tests start many short processes: each would compile its modules again.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help setup programs weights demo test test-slow test-all test-explore coverage fuzz check format bench docs dist clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

$(VENV)/made:
	@$(PYTHON) -c 'import sys; v = sys.version_info; sys.exit(0 if v >= (3, 11) else f"editgauge needs Python 3.11 or newer, found {v[0]}.{v[1]}: make PYTHON=python3.12 …")'
	$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/installed: $(VENV)/made pyproject.toml constraints.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile --constraint constraints.txt --editable '.[lite]'
	@touch $@

# torch comes first and by its exact version, which is a CPU build where one is available; as a dependency of another
# package it would bring gigabytes for GPUs.
$(VENV)/installed-dev: $(VENV)/installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check torch==2.13.0
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt \
	  --editable '.[captions,dev,diffusers,figures,lite,ray,serve,study,torch,train]'
	@$(BIN)/python -m compileall -q -j 2 src
	@touch $@

$(VENV)/installed-docs: $(VENV)/installed-dev
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[docs]'
	@touch $@

setup: $(VENV)/installed-dev ## make .venv with all that the demo and the tests need

demo: $(VENV)/installed ## evaluate four editors on real photographs and write an HTML report
	$(BIN)/editgauge demo --out $(OUT)

programs:
	@sh scripts/bring-chromium.sh
	@sh scripts/bring-postgres.sh

weights: setup
	$(BIN)/editgauge data pull photos
	$(BIN)/editgauge models pull lite-plus augnet efficientnet-lite3 lpips-vgg sam2-tiny efficientdet-lite0 ssd-mobilenet-v2 migan

test: weights programs ## run the tests (some minutes; every time the same)
	$(BIN)/pytest -n 2 --dist worksteal -m "not slow"

test-slow: weights programs ## run the slow tests only
	$(BIN)/pytest -n 2 --dist loadfile -m slow

COVERAGE_FLOOR ?= 85
coverage: weights programs ## run the quick tests with coverage; fails below COVERAGE_FLOOR percent
	$(BIN)/pytest -n 2 --dist worksteal -m "not slow" --cov --cov-report=term:skip-covered --cov-fail-under=$(COVERAGE_FLOOR)

test-all: test test-slow ## run every test

test-explore: setup ## let the property tests try new, random examples
	HYPOTHESIS_PROFILE=explore $(BIN)/pytest -n 2 -m "not slow" $$(grep -rl 'import.* given' tests)

FUZZ_SECONDS ?= 60
fuzz: setup ## try new hostile inputs, FUZZ_SECONDS for each kind
	EDITGAUGE_FUZZ_SECONDS=$(FUZZ_SECONDS) $(BIN)/pytest -q tests/fuzz

check: setup ## lint, format and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: setup ## put the code into shape
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: setup ## measure speed, as ratios to the plain way in the same run
	$(BIN)/python benchmarks/metrics.py
	$(BIN)/python benchmarks/runner.py
	$(BIN)/python benchmarks/report.py
	$(BIN)/python benchmarks/perception.py
	$(BIN)/python benchmarks/study.py
	$(BIN)/python benchmarks/judges.py
	$(BIN)/python benchmarks/augclip.py
	$(BIN)/python benchmarks/ratios.py
	$(BIN)/python benchmarks/scale.py
	$(BIN)/python benchmarks/one_outcome.py

docs: $(VENV)/installed-docs ## generate the reference and build the site into site/
	$(BIN)/python docs/generate.py
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

dist: setup ## build the wheel and the source archive into dist/
	$(BIN)/python -m pip install --quiet --disable-pip-version-check build
	$(BIN)/python -m build --outdir dist

clean: ## remove what was made here; the cache outside stays
	rm -rf $(VENV) site dist demo .mypy_cache .ruff_cache .pytest_cache .hypothesis
