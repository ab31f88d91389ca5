# `make demo` and `make test` set everything up on a machine that has Python 3.10+ and make.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin

.PHONY: help setup demo test check bench peers paper clean

help:
	@echo "make setup   virtual environment in $(VENV) with everything"
	@echo "make demo    train, evaluate, predict and explain on texts that are on every machine"
	@echo "make test    the whole test suite"
	@echo "make check   ruff and mypy"
	@echo "make bench   every benchmark, results in benchmarks/results (data in ../shared/data or DATA=…)"
	@echo "make peers   the rivals beside ours (hours; installs transformers, fastText and others)"
	@echo "make paper   the paper's tables and figures (days for all of it: PAPER='--sets ag_news_61k --budget epochs=3' is less)"

setup: $(VENV)/.installed $(VENV)/.browser

$(VENV)/.installed: pyproject.toml setup.py constraints.txt $(wildcard src/capsulet/native/*.c src/capsulet/native/*.h)
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10) and "capsulet needs Python 3.10 or newer")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev]'
	touch $@

# Node, Chromium and npm's packages, for the tests of js/; where they cannot be had those are skipped
$(VENV)/.browser: js/package-lock.json js/setup.sh | $(VENV)/.installed
	sh js/setup.sh
	touch $@

demo: $(VENV)/.installed
	$(BIN)/capsulet demo

test: setup
	$(BIN)/python -m pytest

check: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

DATA ?= ../shared/data
bench: setup
	$(BIN)/python -m benchmarks.runtime --write
	$(BIN)/python -m benchmarks.encoder --write
	$(BIN)/python -m benchmarks.routing --write
	$(BIN)/python -m benchmarks.training --write
	$(BIN)/python -m benchmarks.classes --write
	-$(BIN)/python -m benchmarks.multilabel --write  # needs the package lists of a Debian
	$(BIN)/python -m benchmarks.accuracy --data $(DATA) --write
	$(BIN)/python -m docs.results
	$(BIN)/python -m docs.labels

peers: setup
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev,peers]'
	$(BIN)/python -m benchmarks.peers --data $(DATA) --write
	$(BIN)/python -m docs.peers

PAPER ?=
paper: setup
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev,report]'
	$(BIN)/python -m paper parameters
	$(BIN)/python -m paper losses --data $(DATA) $(PAPER)
	$(BIN)/python -m paper routing --data $(DATA) $(PAPER)
	$(BIN)/python -m paper components --data $(DATA) $(PAPER)
	$(BIN)/python -m paper sota --data $(DATA) $(PAPER)
	$(BIN)/python -m paper stability --data $(DATA) $(PAPER)
	$(BIN)/python -m paper codes --data $(DATA) $(PAPER)
	$(BIN)/python -m paper curves --table losses
	$(BIN)/python -m paper confusion
	$(BIN)/python -m docs.paper

clean:
	rm -rf $(VENV) build js/dist js/node_modules src/*.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis capsulet-demo
